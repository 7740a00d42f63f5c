/**
 * The calls of a key generation beside each other, beside a store that refuses, and beside nodes that are gone: each gets its one
 * answer, a call that is wrong changes nothing, and the right ones still make the key.
 */
import { describe, expect, test } from 'vitest';
import type { SessionConfig } from '../../coordinator/contract/config.ts';
import { sessionKey } from '../../coordinator/contract/messages.ts';
import type { DkgRecord } from '../../coordinator/contract/record.ts';
import { groupOf } from '../../core/crypto/group.ts';
import { randomPolynomial } from '../../core/crypto/polynomial.ts';
import { commitTo, shareFor } from '../../core/crypto/vss.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { CoordinatorAlone, type Frame } from './support/alone.ts';
import { type Fate, tenant } from './support/steered-store.ts';

useModelCryptography();

const curve = 'secp256k1';
const service = { walletService: true } as const;

/** A key of nodes 1 to 3; of a wallet, whose service makes it in one call, or of a client. */
class Making extends CoordinatorAlone {
  readonly sessionId: string;
  readonly terms: object;

  constructor(isWallet = false, nodesTotal = 3, options: Partial<SessionConfig> = {}) {
    super(nodesTotal, options);
    this.sessionId = isWallet ? 'wal_1' : 'k';
    this.terms = { sessionId: this.sessionId, threshold: 2, totalNodes: 3 };
  }

  /** The call that begins it. */
  begin(more: object = {}): bigint {
    return this.sessionId === 'k'
      ? this.call('initiateDkg', { ...this.terms, ...more })
      : this.call('makeKey', { ...this.terms, ...more }, service);
  }

  exchange(senderNodeId = 0, recipientNodeId = 0, share: object = {}): bigint {
    return this.call('exchangeDkgShares', { sessionId: this.sessionId, senderNodeId, recipientNodeId, ...share });
  }

  get ceremony(): DkgRecord {
    return this.store.session(this.sessionId).ceremony as DkgRecord;
  }

  /** A failed session is resumed. */
  resume(resumeToken: string): bigint {
    return this.call('resumeSession', { sessionId: this.sessionId, resumeToken });
  }
}

/** With a call that waits for the whole round. */
function waiting(isWallet = false): { readonly t: Making; readonly round: bigint } {
  const t = new Making(isWallet);
  const begun = t.begin();
  return { t, round: isWallet ? begun : t.exchange() };
}

/** A session that a node's refusal ended, and its token. */
function failed(isWallet = false) {
  const { t, round } = waiting(isWallet);
  t.serve((answer) => (answer.node === 2 ? [refusal(answer)] : undefined));
  expect(t.code(round)).toBe('NODE_REFUSED');
  const token = t.answer(round).checkpoint!.resumeToken;
  const begins = () => (isWallet ? t.begin() : t.resume(token));
  return { t, token, begins };
}

function refusal({ node, body }: Frame, code = 'NOT_OPEN'): object {
  const { request } = body.value as unknown as { request: number };
  return { case: 'dkgRefused', value: { nodeId: node, code, message: 'no', culprits: [], results: [], request } };
}

const path = { derivation: { curve: 'ed25519', derivationPath: 'm/1' } };

describe.each([false, true])('beside a call that waits (of a wallet: %s)', (isWallet) => {
  test.each([
    ['INVALID_THRESHOLD', { threshold: 4 }],
    ['INVALID_DERIVATION_PATH', path],
    ['INVALID_REQUEST', { derivation: { networkId: 'n'.repeat(257) } }],
    ['UNSUPPORTED_CURVE', { derivation: { curve: 'p256' } }],
  ] as const)('wrong terms are answered %s at once', (code, more) => {
    const { t, round } = waiting(isWallet);
    t.unchanged(() => expect(t.code(t.begin(more))).toBe(code));
    expect(t.code(round)).toBe('waits');
    t.serve();
    expect(t.code(round)).toBe('DKG_COMPLETED');
  });

  test('the same terms again wait with it, or name the session', () => {
    const { t, round } = waiting(isWallet);
    const again = t.begin();
    expect(t.code(again)).toBe(isWallet ? 'waits' : 'DUPLICATE_SESSION');
    t.serve();
    expect([t.code(round), t.code(again)]).toEqual(['DKG_COMPLETED', isWallet ? 'DKG_COMPLETED' : 'DUPLICATE_SESSION']);
  });
});

test('a session that runs takes no token, and one of a pause that is over was used', () => {
  const { t, token, begins } = failed();
  expect(t.code(begins())).toBe('SESSION_RESUMED');
  const round = t.exchange();
  expect(t.code(t.resume(token))).toBe('RESUME_TOKEN_REUSED');
  expect(t.code(t.resume('rt1_x'))).toBe('SESSION_NOT_RESUMABLE');
  t.serve();
  expect(t.code(round)).toBe('DKG_COMPLETED');
});

const tampered = { kind: 'tampered' } as const;
const refusals: readonly (readonly [what: string, fate: Fate, code: string])[] = [
  ['was lost', 'lost', 'UNAVAILABLE'],
  ['has no answer', 'unanswered', 'UNAVAILABLE'],
  ['finds the record altered', { kind: 'conflict', code: 'EPOCH', current: tampered }, 'STORE_TAMPERED'],
  ['is refused for another reason', { kind: 'conflict', code: 'FENCED' }, 'UNAVAILABLE'],
];

/** Each makes one write, for which the calls that it returns wait. */
const writes: Readonly<Record<string, (fate: Fate, isWallet: boolean) => { t: Making; calls: readonly bigint[] }>> = {
  beginning: (fate, isWallet) => {
    const t = new Making(isWallet);
    t.store.fates = [fate];
    return { t, calls: [t.begin()] };
  },
  resume: (fate, isWallet) => {
    const { t, begins } = failed(isWallet);
    t.store.fates = [fate];
    return { t, calls: [begins()] };
  },
  result: (fate, isWallet) => {
    const { t, round } = waiting(isWallet);
    const also = isWallet ? t.begin() : t.exchange();
    t.store.fates = [fate];
    t.serve();
    return { t, calls: [round, also] };
  },
};

describe.each([false, true])('when a write (of a wallet’s key: %s)', (isWallet) => {
  for (const [name, act] of Object.entries(writes)) {
    test.each(refusals)(`of a ${name} %s, every call that waits is told`, (_, fate, code) => {
      const { t, calls } = act(fate, isWallet);
      expect(calls.map((call) => t.code(call))).toEqual(calls.map(() => code));
      // The next calls see what is stored.
      const begun = t.begin();
      const isPaused = () => t.store.session(t.sessionId).state === ReceiptState.BACKEND_FAILED;
      if (isPaused() && !isWallet) return;
      const round = isWallet ? begun : t.exchange();
      t.serve();
      expect(t.code(round)).toBe('DKG_COMPLETED');
    });
  }
});

test.each([false, true])(
  'a session that another process ended answers every call as it is stored (wallet: %s)',
  (isWallet) => {
    const { t, round } = waiting(isWallet);
    const also = isWallet ? t.begin() : t.exchange();
    t.deliver();
    t.store.change(t.sessionId, { state: ReceiptState.EXPIRED, reasonCode: 'SESSION_EXPIRED' });
    t.serve();
    expect([round, also].map((call) => t.code(call))).toEqual(['SESSION_EXPIRED', 'SESSION_EXPIRED']);
  },
);

test('a session that another process resumed continues there, and a call beside it refuses the token', () => {
  const { t, token, begins } = failed();
  const before = t.store.session('k');
  t.store.change('k', {
    state: ReceiptState.RESUMED,
    reasonCode: 'SESSION_RESUMED',
    usedResumeEpochs: [...before.usedResumeEpochs, before.epoch],
  });
  expect(t.code(begins())).toBe('RESUME_TOKEN_REUSED');
  const round = t.exchange();
  t.serve();
  expect([t.code(round), t.code(t.resume(token))]).toEqual(['DKG_COMPLETED', 'RESUME_TOKEN_REUSED']);
});

test('a stored session that no coordinator wrote, or that makes no key, answers no call with its content', () => {
  const t = new Making();
  t.begin();
  t.restart();
  t.store.shown.set(sessionKey(tenant, 'k'), tampered);
  expect(t.code(t.exchange())).toBe('STORE_TAMPERED');
  t.store.shown.clear();
  const { t: other } = waiting();
  other.store.fates = [];
  const fresh = new Making();
  const session = { ...other.store.session('k'), ceremony: { kind: 'signing' } } as never;
  fresh.store.fates = [{ kind: 'conflict', code: 'SESSION_EXISTS', current: { kind: 'session', session } }];
  expect(fresh.code(fresh.begin())).toBe('UNAVAILABLE');
});

// --- shares that a client supplies -------------------------------------------------------------------------------------

/** Of dealer 1, whom the client plays. */
function shareOf(recipient: number) {
  const polynomial = randomPolynomial(curve, 2, randomStream('dkg calls', 'dealer'));
  const encryptedShare = groupOf(curve).encodeScalar(shareFor(curve, polynomial, recipient));
  return { encryptedShare, commitments: commitTo(curve, polynomial) };
}

/** A client-supplied dealer 1, and its verified shares. */
function supplied(...recipients: readonly number[]): Making {
  return supplies(new Making(), ...recipients);
}

function supplies(t: Making, ...recipients: readonly number[]): Making {
  t.begin();
  for (const recipient of recipients) {
    const call = t.exchange(1, recipient, shareOf(recipient));
    t.serve();
    expect(t.code(call)).toBe('SHARE_VERIFIED');
  }
  return t;
}

describe('a share that a client supplies', () => {
  test('is verified alone: no other exchange acts meanwhile, and a refused call is answered', () => {
    const t = new Making();
    t.begin();
    const first = t.exchange(1, 2, shareOf(2));
    t.deliver();
    t.asked = [];
    expect(t.code(t.begin())).toBe('DUPLICATE_SESSION');
    const others = [t.exchange(), t.exchange(2, 3), t.exchange(1, 3, shareOf(3))];
    expect([t.asked, others.map((call) => t.code(call))]).toEqual([[], ['waits', 'waits', 'waits']]);
    t.serve();
    expect(t.code(first)).toBe('SHARE_VERIFIED');
    expect(others.map((call) => t.code(call)).includes('waits')).toBe(false);
  });

  test.each([
    [
      'commitments that are no points',
      'INVALID_REQUEST',
      () => ({ commitments: [0, 1].map(() => new Uint8Array(33)) }),
    ],
    ['too few commitments', 'INVALID_REQUEST', () => ({ commitments: shareOf(2).commitments.slice(1) })],
    ['a share that is too short', 'INVALID_REQUEST', () => ({ encryptedShare: new Uint8Array(31) })],
    ['a share for another node', 'SHARE_VERIFICATION_FAILED', () => ({ encryptedShare: shareOf(3).encryptedShare })],
    [
      'other commitments than before',
      'COMMITMENT_MISMATCH',
      () => ({ commitments: [...shareOf(2).commitments].reverse() }),
    ],
  ] as const)('with %s is refused with %s, and the right one can follow', (_, code, wrong) => {
    const t = supplied(3);
    const call = t.exchange(1, 2, { ...shareOf(2), ...wrong() });
    t.unchanged(() => t.serve());
    const right = t.exchange(1, 2, shareOf(2));
    t.serve();
    expect([t.code(call), t.code(right)]).toEqual([code, 'SHARE_VERIFIED']);
  });

  test.each([
    ['FINISH_FAILED', 'SHARE_VERIFICATION_FAILED'],
    ['CLIENT_DEALERS_NOT_ALLOWED', 'CLIENT_DEALERS_NOT_ALLOWED'],
  ])('that its node refuses with %s fails its call alone', (refused, code) => {
    const t = supplied(3);
    const call = t.exchange(1, 2, shareOf(2));
    t.unchanged(() =>
      t.serve((answer) => (answer.body.case === 'dkgVerified' ? [refusal(answer, refused)] : undefined)),
    );
    const right = t.exchange(1, 2, shareOf(2));
    t.serve();
    expect([t.code(call), t.code(right)]).toEqual([code, 'SHARE_VERIFIED']);
  });

  test.each(['again', 'with a refusal', 'with a complaint'])(
    'whose call has its answer is answered %s, which changes nothing',
    (how) => {
      const t = supplied(3);
      const call = t.exchange(1, 2, shareOf(2));
      const answers: Frame[] = [];
      t.serve((answer) => {
        if (answer.body.case !== 'dkgVerified') return undefined;
        answers.push(answer);
        return [];
      });
      t.pass(t.config.partialTimeoutMs);
      // The node is asked again, and answers both requests.
      t.deliver();
      const again = t.answers.splice(0);
      for (const answer of answers) t.hear(answer);
      expect([t.code(call), again.length]).toEqual(['SHARE_VERIFIED', answers.length]);
      t.unchanged(() => {
        for (const answer of again) {
          const { value } = answer.body as unknown as { value: { verdicts: readonly object[] } };
          const verdicts = value.verdicts.map((verdict) => ({ ...verdict, verified: false, code: 'SHARE_INVALID' }));
          const said = { case: 'dkgVerified', value: { ...value, verdicts, finished: undefined } };
          if (how === 'again') t.hear(answer);
          else t.hear(answer, how === 'with a refusal' ? refusal(answer, 'FINISH_FAILED') : said);
        }
      });
    },
  );

  test('may be the last one: its node has the result', () => {
    const t = supplied(3);
    for (const dealer of [2, 3]) t.exchange(dealer, 0);
    t.serve();
    const last = t.exchange(1, 2, shareOf(2));
    t.serve();
    expect([t.code(last), t.ceremony.played[1]?.length]).toEqual(['DKG_COMPLETED', 2]);
  });

  test('may be the last one: a node that does not say its result is asked for it', () => {
    const t = supplied(3);
    for (const dealer of [2, 3]) t.exchange(dealer, 0);
    t.serve();
    const last = t.exchange(1, 2, shareOf(2));
    t.serve(({ body }) => {
      const isVerdict = body.case === 'dkgVerified' && body.value.verdicts.some(({ dealer }) => dealer === 1);
      return isVerdict ? [{ ...body, value: { ...body.value, finished: undefined } }] : undefined;
    });
    expect(t.code(last)).toBe('DKG_COMPLETED');
  });

  test('about which one answer has two verdicts is answered by the first', () => {
    const t = supplied(3);
    const call = t.exchange(1, 2, shareOf(2));
    t.serve(({ body }) => {
      if (body.case !== 'dkgVerified') return undefined;
      const [verdict] = body.value.verdicts;
      const verdicts = [verdict, { ...verdict, verified: false, code: 'SHARE_INVALID' }];
      return [{ ...body, value: { ...body.value, verdicts } }];
    });
    expect(t.code(call)).toBe('SHARE_VERIFIED');
  });

  test('is lost with the process: the dealer’s own share then needs a call', () => {
    const t = supplied(2);
    t.restart();
    const next = t.exchange(1, 3, shareOf(3));
    t.serve();
    const round = t.exchange();
    t.serve();
    expect([t.code(next), t.code(round)]).toEqual(['SHARE_VERIFIED', 'SHARE_VERIFIED']);
    expect(t.answer(round).receipt!.message).toContain('missing 1>1; the client supplies dealer 1');
    const own = t.exchange(1, 1, shareOf(1));
    t.serve();
    expect(t.code(own)).toBe('DKG_COMPLETED');
  });

  test('whose dealer refuses its own share stops the attempt, and blames no node', () => {
    // Nodes 4 and 5 replace none: the client's shares are for these nodes.
    const t = supplies(new Making(false, 5), 2);
    t.exchange();
    t.serve();
    const last = t.exchange(1, 3, shareOf(3));
    t.serve(({ node, body }) => {
      if (node !== 1 || body.case !== 'dkgVerified') return undefined;
      const verdicts = body.value.verdicts.map((verdict) => ({ ...verdict, verified: false, code: 'SHARE_INVALID' }));
      return [{ case: 'dkgVerified', value: { ...body.value, verdicts, finished: undefined } }];
    });
    const { culprits, stalledBy, participants } = t.ceremony;
    expect([t.code(last), culprits, stalledBy, participants]).toEqual(['NODE_REFUSED', [], [1], [1, 2, 3]]);
  });
});

// --- nodes that are gone ---------------------------------------------------------------------------------------------------

describe('a node that is gone', () => {
  test('fails a step alone, each time, until it is back', () => {
    const t = new Making();
    t.begin();
    t.linkDown(2);
    for (let tries = 0; tries < 2; tries += 1) {
      const call = t.exchange(1, 2);
      t.unchanged(() => t.pass(t.config.nodesWaitMs));
      expect(t.code(call)).toBe('NODES_UNAVAILABLE');
    }
    t.linkUp(2);
    const call = t.exchange(1, 2);
    t.serve();
    expect(t.code(call)).toBe('SHARE_VERIFIED');
  });

  test('and that lost a request gets it again', () => {
    const { t, round } = waiting();
    for (let left = 6; left > 0; left -= 1) {
      t.serve(undefined, [2]);
      t.asked = [];
      t.pass(t.config.partialTimeoutMs);
      t.deliver();
      for (const answer of t.answers.splice(0)) t.hear(answer);
    }
    t.serve();
    expect(t.code(round)).toBe('DKG_COMPLETED');
  });

  /** Each leaves a round that node 3 has stopped; its session is resumed. */
  const fixed: Readonly<Record<string, () => Making>> = {
    'a client supplies a dealer': () => {
      const t = supplies(new Making(false, 5), 2);
      return t;
    },
    'the key may be final': () => {
      const t = new Making(false, 5);
      t.begin();
      t.exchange();
      t.serve(({ body }) => (body.case === 'dkgConfirmed' ? [] : undefined));
      return t;
    },
    'the key is ready-made': () => {
      const t = new Making(false, 5, { readyMade: { tenant, sessions: ['k'] } });
      t.begin();
      return t;
    },
  };
  test.each(Object.keys(fixed))('is not replaced where %s', (name) => {
    const t = fixed[name]!();
    t.linkDown(3);
    const call = t.exchange();
    for (let left = 6; left > 0; left -= 1) {
      t.serve(({ body }) => (body.case === 'dkgConfirmed' ? [] : undefined));
      t.pass(t.config.partialTimeoutMs);
    }
    t.pass(t.config.nodesWaitMs);
    expect([t.code(call), t.ceremony.stalledBy]).toEqual(['NODES_UNAVAILABLE', expect.arrayContaining([3])]);
    expect(t.code(t.resume(t.answer(call).checkpoint!.resumeToken))).toBe('SESSION_RESUMED');
    t.exchange();
    t.pass(2 * t.config.partialTimeoutMs);
    expect([t.ceremony.attempt, t.ceremony.participants ?? [1, 2, 3]]).toEqual([1, [1, 2, 3]]);
  });

  test('when the last pair has verified is named', () => {
    const t = new Making();
    t.begin();
    for (const [dealer, recipient] of [
      [1, 0],
      [2, 0],
      [3, 2],
    ] as const) {
      t.exchange(dealer, recipient);
      t.serve();
    }
    // What this process has not heard: the result of node 2.
    t.restart();
    t.linkDown(2);
    const last = t.exchange(3, 1);
    t.serve();
    t.pass(t.config.nodesWaitMs);
    expect([t.code(last), t.ceremony.stalledBy]).toEqual(['NODES_UNAVAILABLE', [2]]);
  });
});
