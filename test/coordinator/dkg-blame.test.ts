/** Byzantine nodes in a DKG: the right one is named, never an honest one; and the session continues without its trick. */
import { describe, expect, test } from 'vitest';
import type { Envelope } from '../../core/actors/contract.ts';
import {
  type DealerOpening,
  type DkgTerms,
  finishTranscript,
  openingTranscript,
  sealedShareTranscript,
  sealingAssociatedData,
  sessionContext,
} from '../../core/crypto/dkg-transcripts.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { identityFromSeed, sign } from '../../core/crypto/identity.ts';
import { seal } from '../../core/crypto/sealing.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { rosterDigest } from '../../proto/roster.ts';
import type { WireBody, WireMessage } from '../../proto/wire.ts';
import { type FrameFate, SimCluster } from '../../simulation/cluster/cluster.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { blamed, codeOf, makeKey, tenant, tokenOf } from './support/world.ts';

type Frame = Envelope<WireMessage>;
type Body<C extends WireBody['case']> = Extract<WireBody, { case: C }>['value'];

/** A session of three nodes; `lie` rewrites what node `liar` says, until the honest phase begins. */
class DkgFixture {
  readonly cluster: SimCluster;
  readonly openings = new Map<number, DealerOpening>();
  honest = false;
  readonly #curve: Curve;

  constructor(
    curve: Curve,
    label: string,
    liar: number,
    lie: (fixture: DkgFixture, body: WireBody, frame: Frame) => WireBody | readonly WireBody[] | boolean | undefined,
    isSlow: (body: WireBody) => boolean = () => false,
  ) {
    this.#curve = curve;
    this.cluster = new SimCluster({
      seed: `${label} ${curve}`,
      nodes: 3,
      onFrame: (frame): FrameFate => {
        const body = frame.message.body as WireBody;
        if (body.case === 'dkgOpened') this.openings.set(body.value.opening!.dealer, body.value.opening!);
        if (this.honest) return true;
        if (!frame.from.startsWith(`node/${liar}/`)) return isSlow(body) ? [{ envelope: frame, afterMs: 100 }] : true;
        const told = lie(this, body, frame) ?? true;
        if (typeof told === 'boolean') return told;
        const bodies: readonly WireBody[] = 'case' in told ? [told] : told;
        return bodies.map((one) => ({
          envelope: { ...frame, message: { ...frame.message, body: answering(body, one) } },
          afterMs: 1,
        }));
      },
    });
  }

  /** As a liar signs: with its own identity. */
  secretKey(id: number): Uint8Array {
    return identityFromSeed(this.cluster.identitySeed(id)).secretKey;
  }

  get terms(): DkgTerms {
    const { roster } = this.cluster;
    return {
      tenant,
      session: 's',
      attempt: 1,
      rosterDigest: rosterDigest(roster),
      curve: this.#curve,
      threshold: 2,
      totalNodes: 3,
      scheme: this.#curve === 'ed25519' ? 'frost_ed25519' : '',
    };
  }

  /** Runs the session; returns the answer and the nodes that events blame. */
  run() {
    this.cluster
      .initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3, derivation: { curve: this.#curve } })
      .result();
    return this.cluster.exchangeDkgShares({ sessionId: 's' }).result();
  }

  get culprits(): number[] {
    return blamed(this.cluster);
  }

  /** The nodes that the last event of the session names as having stopped it. */
  get stalledBy(): number[] {
    const { object } = this.cluster.eventLog(tenant).findLast(({ type }) => type === 'dkg.session.failed')!;
    return (object as { stalled_by: number[] }).stalled_by;
  }

  /** Every node is honest from here on: a resume makes the key. */
  recover(resumeToken: string): void {
    this.honest = true;
    expect(this.cluster.resumeSession({ sessionId: 's', resumeToken }).result().state).toBe(ReceiptState.RESUMED);
    expect(codeOf(this.cluster.exchangeDkgShares({ sessionId: 's' }).result())).toBe('DKG_COMPLETED');
  }
}

/** What is said instead answers the same request, unless it names one itself. */
function answering(body: WireBody, instead: WireBody): WireBody {
  const request = 'request' in body.value ? body.value.request : 0;
  return { ...instead, value: { request, ...instead.value } } as WireBody;
}

function flip(bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[7]! ^= 1;
  return changed;
}

function signedOpening(fixture: DkgFixture, id: number, change: Partial<DealerOpening>): WireBody {
  const unsigned = { ...fixture.openings.get(id)!, ...change };
  const signature = sign(fixture.secretKey(id), openingTranscript(sessionContext(fixture.terms), unsigned));
  return { case: 'dkgOpened', value: { opening: { ...unsigned, signature } } as unknown as Body<'dkgOpened'> };
}

function resealed(
  fixture: DkgFixture,
  id: number,
  shares: Body<'dkgSealed'>['shares'],
  change: (box: Uint8Array, to: number) => Uint8Array,
): WireBody {
  const context = sessionContext(fixture.terms);
  const changed = shares.map((share) => {
    const unsigned = { dealer: id, recipient: share.recipient, box: change(share.box, share.recipient) };
    return { ...share, ...unsigned, signature: sign(fixture.secretKey(id), sealedShareTranscript(context, unsigned)) };
  });
  return { case: 'dkgSealed', value: { shares: changed } as Body<'dkgSealed'> };
}

function complaint(
  said: Body<'dkgVerified'>,
  dealer: number,
  code: string,
  revealedSealingKey = new Uint8Array(32),
): WireBody {
  const verdicts = said.verdicts.map((verdict) =>
    verdict.dealer === dealer ? { ...verdict, verified: false, code, message: 'lies', revealedSealingKey } : verdict,
  );
  return { case: 'dkgVerified', value: { ...said, verdicts, finished: undefined } as unknown as Body<'dkgVerified'> };
}

type Lie = ConstructorParameters<typeof DkgFixture>[3];

/** A lie about one kind of frame. */
function about<C extends WireBody['case']>(
  kind: C,
  lie: (value: Body<C>, fixture: DkgFixture) => WireBody | undefined,
): Lie {
  return (fixture, body) => (body.case === kind ? lie(body.value as Body<C>, fixture) : undefined);
}

const lies: [string, Lie, string][] = [
  [
    'an opening that it did not sign',
    about('dkgOpened', ({ opening }) => ({
      case: 'dkgOpened',
      value: { opening: { ...opening!, signature: flip(opening!.signature) } } as Body<'dkgOpened'>,
    })),
    'not signed by it',
  ],
  [
    'an opening without proof of possession',
    about('dkgOpened', (_, fixture) => signedOpening(fixture, 2, { possession: new Uint8Array(64) })),
    'prove possession',
  ],
  [
    'commitments that are no points',
    about('dkgOpened', (_, fixture) =>
      signedOpening(fixture, 2, { commitments: [new Uint8Array(33), new Uint8Array(33)] }),
    ),
    'opening is malformed',
  ],
  [
    'another node’s opening',
    about('dkgOpened', (value, fixture) => ({
      case: 'dkgOpened',
      value: { ...value, opening: { ...value.opening!, ...fixture.openings.get(1)!, dealer: 1 } } as Body<'dkgOpened'>,
    })),
    'another dealer',
  ],
  [
    'a sealing key of small order',
    about('dkgOpened', (_, fixture) => signedOpening(fixture, 2, { sealingKey: new Uint8Array(32) })),
    'sealing key',
  ],
  [
    'broken boxes that it did not sign',
    about('dkgSealed', ({ shares }) => ({
      case: 'dkgSealed',
      value: { shares: shares.map((share) => ({ ...share, box: flip(share.box) })) } as Body<'dkgSealed'>,
    })),
    'not signed by its dealer',
  ],
  [
    'boxes that do not open',
    about('dkgSealed', ({ shares }, fixture) => resealed(fixture, 2, shares, flip)),
    'does not open',
  ],
  [
    'a wrong share, well sealed and signed',
    about('dkgSealed', ({ shares }, fixture) =>
      resealed(fixture, 2, shares, (_, to) =>
        seal({
          recipientPublicKey: fixture.openings.get(to)!.sealingKey,
          plaintext: groupOf(fixture.terms.curve).encodeScalar(5n),
          associatedData: sealingAssociatedData(sessionContext(fixture.terms), 2, to),
          random: randomStream('box', String(to)),
        }),
      ),
    ),
    'does not verify',
  ],
  ...[
    'SHARE_INVALID',
    'BOX_BROKEN',
    'SHARE_UNSIGNED',
    'OPENING_INVALID',
    'POSSESSION_INVALID',
    'COMMITMENT_MISMATCH',
    'NONSENSE',
  ].map((code): [string, Lie, string] => [
    `a false complaint of ${code}`,
    about('dkgVerified', (said) => complaint(said, 1, code)),
    'node 2 on',
  ]),
  [
    'a complaint that reveals the right key about a right share',
    (fixture, body) => {
      if (body.case !== 'dkgVerified') return undefined;
      const record = JSON.parse(new TextDecoder().decode(fixture.cluster.nodeStore(2).loadNow(`dkg/${tenant}/s`)!));
      const key = Buffer.from(record.dealing.sealing_seed as string, 'hex');
      return complaint(body.value, 1, 'SHARE_INVALID', key as unknown as Uint8Array<ArrayBuffer>);
    },
    'node 2 on',
  ],
  [
    'a false result, signed',
    about('dkgVerified', (said, fixture) => {
      if (!said.finished) return undefined;
      const finished = { ...said.finished, transcriptDigest: flip(said.finished.transcriptDigest) };
      finished.signature = Uint8Array.from(
        sign(fixture.secretKey(2), finishTranscript(sessionContext(fixture.terms), finished)),
      );
      return { case: 'dkgVerified', value: { ...said, finished } };
    }),
    'the same result',
  ],
  [
    'a result that it did not sign',
    about(
      'dkgVerified',
      (said) =>
        said.finished && {
          case: 'dkgVerified',
          value: { ...said, finished: { ...said.finished, signature: flip(said.finished.signature) } },
        },
    ),
    'not signed by it',
  ],
];

describe.each(['secp256k1', 'ed25519'] as const)('on %s', (curve) => {
  test.each(lies)('names the node behind %s', (label, lie, told) => {
    const fixture = new DkgFixture(curve, label, 2, lie);
    const failed = fixture.run();
    expect([codeOf(failed), failed.receipt!.state, failed.verified]).toEqual([
      'DEALER_MISBEHAVED',
      ReceiptState.BACKEND_FAILED,
      false,
    ]);
    expect(failed.errorMessage).toMatch(/^node 2 broke the protocol: /);
    expect(failed.errorMessage).toContain(told);
    expect(fixture.culprits).toEqual([2]);
    fixture.recover(tokenOf(failed));
  });
});

test('names a dealer that deals twice', () => {
  const fixture = new DkgFixture('secp256k1', 'deals twice', 2, (fixture, body) =>
    body.case === 'dkgOpened'
      ? [body, signedOpening(fixture, 2, { sealingKey: Uint8Array.of(9, ...new Uint8Array(31)) })]
      : undefined,
  );
  const failed = fixture.run();
  expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
  expect(failed.errorMessage).toContain('node 2 broke the protocol: it dealt twice');
  expect(fixture.culprits).toEqual([2]);
  fixture.recover(tokenOf(failed));
});

test('evaluates a complaint by the box that it relayed, whatever the dealer sends after it', () => {
  const rights: Body<'dkgSealed'>['shares'] = [];
  let answers = 0;
  // Its wrong box for node 1 arrives alone; with the box for node 2 comes a right one for node 1.
  const fixture = new DkgFixture(
    'secp256k1',
    'two boxes',
    3,
    (self, body) => {
      if (body.case !== 'dkgSealed') return undefined;
      answers += 1;
      rights.push(...body.value.shares);
      if (answers > 1) return { ...body, value: { ...body.value, shares: rights } };
      const ofFirst = body.value.shares.filter(({ recipient }) => recipient === 1);
      const group = groupOf('secp256k1');
      const wrong = (_: Uint8Array, to: number) =>
        seal({
          recipientPublicKey: self.openings.get(to)!.sealingKey,
          plaintext: group.encodeScalar(7n),
          associatedData: sealingAssociatedData(sessionContext(self.terms), 3, to),
          random: randomStream('two boxes', 'seal'),
        });
      return resealed(self, 3, ofFirst, wrong);
    },
    (body) => body.case === 'dkgVerified',
  );
  expect(codeOf(fixture.run())).toBe('DEALER_MISBEHAVED');
  expect([answers, fixture.culprits]).toEqual([2, [3]]);
});

test('blames no node for silence, and names those that did not answer', () => {
  const fixture = new DkgFixture('secp256k1', 'silent', 2, () => false);
  const failed = fixture.run();
  expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['NODES_UNAVAILABLE', true]);
  expect(failed.errorMessage).toMatch(/^node 2 did not answer/);
  expect(fixture.culprits).toEqual([]);
  fixture.recover(tokenOf(failed));
});

test('names a dealer that withholds a box as the one that did not answer, and does not ask it in a circle', () => {
  let asked = 0;
  const fixture = new DkgFixture('secp256k1', 'withholds', 2, (_, body) => {
    if (body.case !== 'dkgSealed') return undefined;
    asked += 1;
    return { case: 'dkgSealed', value: { ...body.value, shares: [] } };
  });
  const failed = fixture.run();
  expect(codeOf(failed)).toBe('NODES_UNAVAILABLE');
  expect(failed.errorMessage).toMatch(/^node 2 did not answer/);
  expect(asked).toBeLessThan(10);
  expect(fixture.culprits).toEqual([]);
});

test('blames no honest node when a dealer dealt twice to two coordinators', () => {
  let second = false;
  const fixture = new DkgFixture('secp256k1', 'two coordinators', 2, (fixture, body) =>
    second && body.case === 'dkgOpened'
      ? signedOpening(fixture, 2, { sealingKey: fixture.openings.get(1)!.sealingKey })
      : undefined,
  );
  fixture.cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3 }).result();
  expect(
    fixture.cluster.exchangeDkgShares({ sessionId: 's', senderNodeId: 2, recipientNodeId: 1 }).result().verified,
  ).toBe(true);
  fixture.cluster.crash('coordinator');
  fixture.cluster.start('coordinator');
  second = true;
  const failed = fixture.cluster.exchangeDkgShares({ sessionId: 's' }).result();
  expect(failed.receipt!.state).toBe(ReceiptState.BACKEND_FAILED);
  expect(fixture.culprits.filter((id) => id !== 2)).toEqual([]);
  fixture.recover(tokenOf(failed));
});

test('blames no node when one lost its store, and the next attempt works', () => {
  const fixture = new DkgFixture('secp256k1', 'lost store', 2, () => undefined);
  fixture.cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3 }).result();
  expect(
    fixture.cluster.exchangeDkgShares({ sessionId: 's', senderNodeId: 2, recipientNodeId: 1 }).result().verified,
  ).toBe(true);
  fixture.cluster.nodeStore(2).writeNow({ puts: [], deletes: [`dkg/${tenant}/s`] });
  fixture.cluster.crash('node/2');
  fixture.cluster.start('node/2');
  const failed = fixture.cluster.exchangeDkgShares({ sessionId: 's' }).result();
  expect(codeOf(failed)).toBe('NODE_REFUSED');
  expect(fixture.stalledBy).toEqual([2]);
  expect(fixture.culprits).toEqual([]);
  fixture.recover(tokenOf(failed));
});

const refusal = (code: string, more: object = {}): WireBody =>
  ({
    case: 'dkgRefused',
    value: { nodeId: 2, code, message: 'lies', culprits: [], results: [], ...more },
  }) as unknown as WireBody;
const confirmation = (more: object = {}): WireBody =>
  ({ case: 'dkgConfirmed', value: { nodeId: 2, ...more } }) as unknown as WireBody;

test.each([
  [
    'refusals of every kind',
    ['STALE_ATTEMPT', 'ATTEMPT_BROKEN', 'ALREADY_FINAL'].map((code) => refusal(code, { request: 0 })),
  ],
  ['confirmations', [confirmation({ request: 0 })]],
])('ignores %s that answer nothing', (label, more) => {
  const fixture = new DkgFixture('secp256k1', label, 2, (_, body) => [...more, body, ...more]);
  expect(codeOf(fixture.run())).toBe('DKG_COMPLETED');
  expect(fixture.culprits).toEqual([]);
});

const stalling: [string, Lie, string][] = [
  ['that its key is final, without proof', about('dkgSealed', () => refusal('ALREADY_FINAL')), 'NODE_REFUSED'],
  [
    'that its key is final, when it is asked to open',
    about('dkgOpened', () => refusal('ALREADY_FINAL')),
    'NODE_REFUSED',
  ],
  ['that a later attempt is known', about('dkgOpened', () => refusal('STALE_ATTEMPT')), 'NODE_REFUSED'],
  ['that the shares do not add up', about('dkgVerified', () => refusal('FINISH_FAILED')), 'NODE_REFUSED'],
  [
    'that it verified everything, and has no result',
    about('dkgVerified', (said) => ({ case: 'dkgVerified', value: { ...said, finished: undefined } as never })),
    'NODE_REFUSED',
  ],
  ['a confirmation before it is asked', about('dkgSealed', () => confirmation()), 'NODES_UNAVAILABLE'],
];

test.each(stalling)(
  'names a node without blame that says %s, and an honest resume makes the key',
  (label, lie, code) => {
    const fixture = new DkgFixture('secp256k1', label, 2, lie);
    let failed: { receipt?: unknown } & ReturnType<DkgFixture['run']> = fixture.run();
    for (let resumes = 0; resumes < 3; resumes += 1) {
      expect([codeOf(failed), failed.receipt!.resumable]).toEqual([code, true]);
      expect(failed.receipt!.message).toContain('node 2');
      expect(fixture.stalledBy).toEqual([2]);
      fixture.cluster.resumeSession({ sessionId: 's', resumeToken: tokenOf(failed) }).result();
      failed = fixture.cluster.exchangeDkgShares({ sessionId: 's' }).result();
    }
    expect(fixture.culprits).toEqual([]);
    fixture.recover(tokenOf(failed));
  },
);

test('an early confirmation beside a broken attempt does not hold the session to it', () => {
  const fixture = new DkgFixture('secp256k1', 'early and broken', 2, (_, body) => {
    if (body.case === 'dkgVerified') return [confirmation(), complaint(body.value, 1, 'NONSENSE')];
    return [confirmation({ request: 0 }), body];
  });
  const failed = fixture.run();
  expect(failed.receipt!.state).toBe(ReceiptState.BACKEND_FAILED);
  fixture.recover(tokenOf(failed));
});

test('finds a key that nodes made final with a coordinator whose store was rolled back, by their proof', () => {
  const fixture = new DkgFixture('secp256k1', 'rolled back', 2, () => undefined);
  const { cluster } = fixture;
  cluster.initiateDkg({ sessionId: 's', threshold: 2, totalNodes: 3 }).result();
  const { coordinator } = cluster.snapshot();
  const made = cluster.exchangeDkgShares({ sessionId: 's' }).result();
  cluster.restore({ ...cluster.snapshot(), coordinator });
  const again = cluster.exchangeDkgShares({ sessionId: 's' }).result();
  expect([codeOf(again), again.receipt!.message]).toEqual(['DKG_COMPLETED', made.receipt!.message]);
});

test('a proof of another session, or one that was changed, proves nothing', () => {
  const proofs: Body<'dkgRefused'>['results'][] = [];
  const fixture = new DkgFixture('secp256k1', 'false proofs', 2, (_, body) =>
    body.case === 'dkgSealed' ? refusal('ALREADY_FINAL', { results: proofs[0]! }) : undefined,
  );
  const { cluster } = fixture;
  fixture.honest = true;
  makeKey(cluster, 'other');
  const record = JSON.parse(new TextDecoder().decode(cluster.nodeStore(2).loadNow(`dkg/${tenant}/other`)!));
  const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
  const { finished, proof } = record as {
    finished: Record<string, never>;
    proof: { node_id: number; signature: string }[];
  };
  proofs.push(
    proof.map(({ node_id, signature }) => ({
      nodeId: node_id,
      publicKey: bytes(finished.public_key!),
      verificationShares: (finished.verification_shares as unknown as string[]).map(bytes),
      chainCode: bytes(finished.chain_code!),
      transcriptDigest: bytes(finished.digest!),
      signature: bytes(signature),
    })) as Body<'dkgRefused'>['results'],
  );
  fixture.honest = false;
  const failed = fixture.run();
  expect(codeOf(failed)).toBe('NODE_REFUSED');
  expect(fixture.stalledBy).toEqual([2]);
  fixture.recover(tokenOf(failed));
});

test('is not disturbed by frames that come twice, late and out of order', () => {
  let count = 0;
  const cluster = new SimCluster({
    seed: 'disorder',
    nodes: 3,
    onFrame: (envelope) => {
      count += 1;
      const late = 1 + ((count * 7) % 13);
      return [late, late + 5, late + 60].map((afterMs) => ({ envelope, afterMs }));
    },
  });
  for (const [id, curve] of [
    ['a', 'secp256k1'],
    ['b', 'ed25519'],
  ] as const) {
    makeKey(cluster, id, curve);
  }
  expect(cluster.events.flatMap(({ event }) => event.fields.culprits ?? [])).toEqual([]);
});
