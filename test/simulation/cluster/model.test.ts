/** The reference model: a run of the product keeps to it, and each planted contradiction of that run is named. */
import { beforeAll, describe, expect, test } from 'vitest';
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import type { NoncesDealt, PartialReply, PartialRequest } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { PartialRefusalCode } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ApprovalMode, ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { identitiesOf } from '../../../simulation/cluster/identities.ts';
import type { Observation } from '../../../simulation/cluster/observation.ts';
import { modelCheckers } from '../../../simulation/model/checkers.ts';
import { landmarks } from '../../../simulation/model/landmarks.ts';
import { runSeed } from '../../../simulation/search/signing/workload.ts';
import { digest } from '../../coordinator/support/world.ts';
import { runs } from '../../support/thorough.ts';

type Of<K extends Observation['kind']> = Extract<Observation, { kind: K }>;
// biome-ignore lint/suspicious/noExplicitAny: plants change fields that the types call read-only
type Changed = any;

const timing = { nodesWaitMs: 1_000, partialTimeoutMs: 100 };
const lifetimesMs = { signing: 60_000, pending: 90_000, dkg: 50_000 };

/** A key, a signature by steps, one that waits for a human, one of a node that is down, and a key that is closed. */
function run(): Observation[] {
  const seen: Observation[] = [];
  const cluster = new SimCluster({
    seed: 'model',
    nodes: 3,
    config: { ...timing, lifetimes: { signingMs: 60_000, pendingMs: 90_000, dkgMs: 50_000 } },
    keepTrace: false,
    sweeping: true,
    observe: (observation) => seen.push(observation),
  });
  const wallet = { walletService: true };
  cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
  cluster.exchangeDkgShares({ sessionId: 'k' }).result();
  const asked = (transactionIntentId: string) => ({ walletId: 'k', messageHash: digest, transactionIntentId });
  const { signingSessionId } = cluster.initiateSigning(asked('steps')).result();
  for (const nodeId of [1, 2]) cluster.submitSignatureShare({ signingSessionId, nodeId }).result();
  const waits = cluster.initiateSigning({ ...asked('human'), approvalMode: ApprovalMode.HUMAN_REQUIRED }).result();
  const resumeToken = waits.checkpoint!.resumeToken;
  const humanApprovalWitness = new Uint8Array([1]);
  cluster.resumeSession({ sessionId: waits.signingSessionId, resumeToken, humanApprovalWitness }).result();
  cluster.submitSignatureShare({ signingSessionId: waits.signingSessionId }).result();
  cluster.makeKey({ sessionId: 'wal_a', threshold: 2, totalNodes: 3 }, 'tn_sim', wallet).result();
  cluster.initiateSigning({ ...asked('open'), walletId: 'wal_a' }).result();
  cluster.closeKey({ keyId: 'wal_a' }, 'tn_sim', wallet).result();
  cluster.readSessions({ kind: 'signing', limit: 2 }).result();
  cluster.readSessions({ sessionId: 'k' }).result();
  cluster.heal();
  return seen;
}

/** What the checkers say, as "invariant: text". */
function verdicts(observations: readonly Observation[]): string[] {
  return withCryptography('model', () => checked(observations));
}

function checked(observations: readonly Observation[]): string[] {
  const checkers = modelCheckers({
    nodesTotal: 3,
    ...timing,
    lifetimesMs,
    callsWaitingMax: 2,
    hasSmallMailboxes: false,
    linkNewsMs: 0,
    identities: () => identitiesOf({ seed: 'model', nodes: 3 }),
  });
  const said: string[] = [];
  for (const observation of observations) {
    for (const checker of checkers) {
      const text = checker.observe(observation);
      if (text !== undefined) said.push(`${checker.invariant}: ${text}`);
    }
  }
  return said;
}

test('landmarks are reached by few seeds, and each at most once a run', () => {
  const reached = new Set<string>();
  for (let seed = 1; seed <= runs(6, 12); seed += 1) {
    const once: string[] = [];
    runSeed(seed, 'stormy', {
      crypto: 'model',
      record: false,
      reached: (landmark) => void once.push(landmark),
    });
    expect(new Set(once).size).toBe(once.length);
    for (const landmark of once) reached.add(landmark);
  }
  expect([...reached]).toEqual(expect.arrayContaining(['ACCEPTED>BACKEND_COMPLETED', 'nonces are dealt again']));
  expect(reached.size).toBeLessThan(landmarks.length);
});

describe('of a run, the reference model', () => {
  let seen: Observation[];
  beforeAll(() => {
    seen = withCryptography('model', run);
  });
  const copy = () => structuredClone(seen) as Observation[];
  /** Of the latest plant. */
  let lastVerdicts: readonly string[] = [];

  /** The run with the first observation changed that `change` takes. */
  function planted<K extends Observation['kind']>(kind: K, change: (one: Changed) => boolean): string {
    const changed = copy();
    const found = changed.some((one) => one.kind === kind && change(one as Of<K>));
    expect(found).toBe(true);
    lastVerdicts = verdicts(changed);
    return lastVerdicts[0] ?? 'nothing';
  }
  const written = (wanted: (record: Changed) => boolean, change: (record: Changed) => void) =>
    planted('written', (one) => {
      const record = one.process === 'coordinator' ? one.write.session : undefined;
      if (!record || !wanted(record)) return false;
      change(record);
      return true;
    });
  const framed = (name: string, change: (value: Changed, message: Changed) => boolean | undefined) =>
    planted('frame', ({ envelope: { message } }) => {
      if (message.body.case !== name) return false;
      return change(message.body.value, message) !== false;
    });
  const answered = (method: string, change: (response: Changed, one: Changed) => boolean | undefined) =>
    planted('promised', (one) => one.method === method && change(one.response, one) !== false);
  const without = (name: string, from: string) =>
    verdicts(
      copy().filter(
        (one) => one.kind !== 'frame' || one.envelope.message.body.case !== name || !one.envelope.from.startsWith(from),
      ),
    )[0];

  test('finds nothing in it', () => {
    expect(verdicts(seen)).toEqual([]);
    expect(seen.filter(({ kind }) => kind === 'promised').length).toBeGreaterThanOrEqual(10);
  });

  test('finds a record that counts what no one gave', () => {
    expect(without('dkgVerified', 'node/2')).toContain('record-as-modelled: session k');
    expect(without('dkgConfirmed', 'node/2')).toContain('nodes 2 did not confirm');
    expect(without('partialReply', 'node/1')).toContain('node 1 gave no partial that could count');
    const completes = ({ state, ceremony }: Changed) =>
      ceremony.kind === 'signing' && state === ReceiptState.BACKEND_COMPLETED;
    expect(
      written(completes, ({ ceremony }) => {
        ceremony.submitted = [1];
      }),
    ).toContain('1 partials make its signature');
    expect(
      written(completes, ({ ceremony }) => {
        ceremony.facts = { ...ceremony.facts, messageHash: '00' };
      }),
    ).toContain('what it was asked for has changed');
    expect(
      written(completes, ({ ceremony }) => {
        ceremony.excluded = [3];
      }),
    ).toContain('node 3 is excluded, and gave no partial');
  });

  test('finds a record whose ceremony goes back, or is of other nodes', () => {
    const dkg = (wanted: (record: Changed) => boolean) => (record: Changed) =>
      record.ceremony.kind === 'dkg' && wanted(record);
    expect(
      written(
        dkg(({ epoch }) => epoch === 2),
        ({ ceremony }) => {
          ceremony.attempt = 3;
          ceremony.verified = [];
          ceremony.mayBeFinal = false;
        },
      ),
    ).toContain('attempt 3 follows 1');
    expect(
      written(
        dkg(({ state }) => state === ReceiptState.BACKEND_COMPLETED),
        ({ ceremony }) => {
          ceremony.allVerified = undefined;
          ceremony.verified = ['1>1'];
        },
      ),
    ).toContain('1 pairs have verified');
    expect(
      written(
        ({ state }) => state === ReceiptState.REVOKED,
        (record) => {
          record.reasonCode = 'SESSION_EXPIRED';
        },
      ),
    ).toContain('its reason is SESSION_EXPIRED');
  });

  test('finds a lifetime that is another, or over', () => {
    expect(
      written(
        () => true,
        (record) => {
          record.expiresMs += 1;
        },
      ),
    ).toContain('lifetime-kept: session k (ACCEPTED): it lives 50001 ms');
    expect(
      written(
        ({ state }) => state === ReceiptState.RESUMED,
        (record) => {
          record.expiresMs += 30_000;
        },
      ),
    ).toContain('resumed, it lives 90000 ms');
    expect(
      written(
        ({ state, ceremony }) => ceremony.kind === 'signing' && state === ReceiptState.BACKEND_COMPLETED,
        (record) => {
          record.checkpointMs = record.expiresMs;
        },
      ),
    ).toContain('it continues 0 ms past its lifetime');
    const open = copy().filter((one) => one.kind !== 'written' || one.process !== 'coordinator' || one.atMs < 10);
    const late: Observation = { kind: 'answered', atMs: 200_000 } as Changed;
    expect(verdicts([...open, late]).at(-1)).toContain('and no scan ended it');
  });

  test('finds a request that the session does not ask for', () => {
    expect(framed('partialRequest', (value: PartialRequest) => void value.message.set([9]))).toContain(
      'request-as-recorded: node 1 is asked for a partial',
    );
    expect(
      framed('partialRequest', (value: Changed) => {
        value.nonceNumber = 99n;
      }),
    ).toContain('with a nonce that it never dealt');
    expect(
      framed('dealNonces', (value: Changed) => {
        value.coordinatorBoot = 'coordinator#7';
      }),
    ).toContain('in the name of another start');
    expect(
      framed('dealNonces', (value: Changed) => {
        value.count = 10_000;
      }),
    ).toContain('is asked for 10000 nonces');
  });

  test('finds an answer that is not what is durable', () => {
    const hears = (method: string, reasonCode: string) =>
      answered(method, ({ receipt }) => {
        receipt.reasonCode = reasonCode;
      });
    expect(hears('initiateSigning', 'WALLET_KEY_NOT_FOUND')).toContain('expected SESSION_ACCEPTED');
    expect(hears('submitSignatureShare', 'NODE_NOT_PARTICIPANT')).toContain('it hears NODE_NOT_PARTICIPANT');
    expect(hears('resumeSession', 'RESUME_TOKEN_INVALID')).toContain('it hears RESUME_TOKEN_INVALID in state RESUMED');
    expect(hears('exchangeDkgShares', 'NODE_REFUSED')).toContain('it hears NODE_REFUSED');
    expect(hears('initiateDkg', 'INVALID_THRESHOLD')).toContain('it hears INVALID_THRESHOLD');
    expect(
      answered('submitSignatureShare', ({ receipt }) => {
        receipt.resumable = true;
      }),
    ).toContain('whether its session is resumable');
    const kept = copy().filter(
      (one) =>
        one.kind !== 'written' || one.process !== 'node/2' || !one.write.deletes.some((key) => key.startsWith('key/')),
    );
    expect(verdicts(kept)[0]).toContain('the key wal_a is closed, and node/2 holds its share');
  });

  test('finds a receipt or an event that is not of its session', () => {
    const receipt = (field: string, value: unknown) =>
      answered('submitSignatureShare', (response) => {
        response.receipt[field] = value;
      });
    expect(receipt('checkpointId', 'ckp_other')).toContain('name two checkpoints');
    expect(receipt('clientName', 'another')).toContain('names another client');
    expect(receipt('correlationId', 'cor_other')).toContain('names another correlation');
    expect(
      answered('submitSignatureShare', ({ checkpoint }) => {
        checkpoint.state = ReceiptState.REVOKED;
      }),
    ).toContain('its checkpoint names another state');
    expect(
      answered('makeKey', (response) => {
        response.participants = [1, 2];
      }),
    ).toContain('it names other nodes than its session');
    const told = (field: string, value: unknown) =>
      planted('written', ({ process, write }) => {
        if (process !== 'coordinator' || write.event === undefined) return false;
        write.event = { ...write.event, object: { ...write.event.object, [field]: value } };
        return true;
      });
    expect(told('message', 'else')).toContain(
      'event-as-modelled: the event dkg.session.accepted of session k says message',
    );
    expect(told('threshold', 3)).toContain('says threshold 3, expected 2');
  });

  test('finds a key that is closed, or whose shares are deleted, without its gateway', () => {
    const without = copy().filter((one) => one.kind !== 'called' || one.method !== 'closeKey');
    expect(verdicts(without)).toContain('closing-as-asked: the key wal_a is closed, and no gateway asked for it');
    const revoked = copy();
    for (const one of revoked as Changed[])
      if (one.kind === 'called' && one.method === 'closeKey') one.request.revokeOnly = true;
    expect(verdicts(revoked).join()).toContain('nodes are told to delete the key wal_a, which no gateway closed');
    const open = copy().filter(
      (one) =>
        one.kind !== 'written' ||
        one.process !== 'coordinator' ||
        (one as Changed).write.session?.state !== ReceiptState.REVOKED,
    );
    expect(verdicts(open).join()).toMatch(/told to delete the key wal_a, and session sig_\S+ is ACCEPTED/);
  });

  test('finds a read that shows other sessions than the store has, or other fields of one', () => {
    const page = (change: (response: Changed, request: Changed) => void) =>
      answered('readSessions', (response, { request }) => {
        if (request.sessionId !== '') return false;
        change(response, request);
        return true;
      });
    const newest = /reads-as-modelled: a read: it shows sig_\S+, expected sig_/;
    expect(page(({ sessions }) => void sessions.reverse())).toMatch(newest);
    expect(page(({ sessions }) => void sessions.pop())).toMatch(newest);
    expect(
      page((response) => {
        response.nextId = '';
      }),
    ).toContain('its next page begins after nothing, expected sig_');
    expect(page((_, request) => void request.states.push(ReceiptState.DENIED))).toContain('expected nothing');
    for (const [field, value] of Object.entries({ epoch: 9n, resumable: true, submitted: [3], expiresAtEpochMs: 1n })) {
      const shown = page(({ sessions }) => {
        sessions[0][field] = value;
      });
      expect(shown).toContain(`it shows another ${field} of session sig_`);
    }
  });

  test('finds a key generation, or a session, that fails for what no node said', () => {
    const dkgFails = (reasonCode: string, culprits: readonly number[], stalledBy: readonly number[], attempt = 2) =>
      written(
        ({ ceremony, state, epoch }) => ceremony.kind === 'dkg' && state === ReceiptState.ACCEPTED && epoch > 1,
        (record) => {
          record.state = ReceiptState.BACKEND_FAILED;
          record.reasonCode = reasonCode;
          record.ceremony = { ...record.ceremony, attempt, verified: [], mayBeFinal: undefined, culprits, stalledBy };
        },
      );
    const expected = 'failure-as-modelled: key k at epoch 2';
    const said = (text: string) => text.includes(expected);
    const of = (...terms: Parameters<typeof dkgFails>) => {
      dkgFails(...terms);
      return lastVerdicts.find(said);
    };
    expect(of('NODE_REFUSED', [], [2])).toContain('node 2 refused nothing and disputed nothing');
    expect(of('NODE_REFUSED', [], [])).toContain('it names no node');
    expect(of('DEALER_MISBEHAVED', [], [])).toContain('it names 0 culprits');
    expect(of('DEALER_MISBEHAVED', [9], [])).toContain('node 9, which takes no part');
    expect(of('TRANSCRIPT_MISMATCH', [], [])).toContain('its nodes report one result');
    expect(of('NODES_UNAVAILABLE', [], [1])).toContain('its attempt is abandoned');
    written(
      ({ ceremony, state }) => ceremony.kind === 'signing' && state === ReceiptState.BACKEND_COMPLETED,
      (record) => {
        record.state = ReceiptState.BACKEND_FAILED;
        record.reasonCode = 'KEYSTORE_MISMATCH';
        record.ceremony = { ...record.ceremony, signature: '', submitted: [], given: [] };
      },
    );
    expect(lastVerdicts).toContainEqual(
      expect.stringContaining('it failed for KEYSTORE_MISMATCH, and no node said so'),
    );
  });

  test('finds a node that deals an attempt twice, or reveals its sealing key of an attempt that continues', () => {
    const rewritten = (change: (json: Changed) => void) =>
      planted('written', ({ process, write }) => {
        const put = process === 'node/1' && write.puts.find(({ key }: Changed) => key.startsWith('dkg/'));
        const json = put && JSON.parse(Buffer.from(put.record).toString());
        if (json?.phase !== 'provisional') return false;
        change(json);
        put.record = Buffer.from(JSON.stringify(json));
        return true;
      });
    expect(rewritten((json) => (json.dealing.opening.signature = '00'))).toContain('it deals one attempt twice');
    expect(rewritten((json) => (json.phase = 'final'))).toContain('node-record-as-modelled: the record of node/1');
    expect(rewritten((json) => delete json.dealing)).toContain('its polynomial is there, or gone');
    const reveals = framed('dkgVerified', ({ verdicts }) => {
      verdicts[0].revealedSealingKey = new Uint8Array(32);
    });
    expect([reveals, ...lastVerdicts]).toContainEqual(expect.stringContaining('reveals its sealing key of an attempt'));
    framed('dkgVerified', ({ request }, message) => {
      const value = { nodeId: 1, code: 'NOT_OPEN', message: '', culprits: [], request, results: [] };
      message.body = { case: 'dkgRefused', value };
      return true;
    });
    expect(lastVerdicts).toContainEqual(expect.stringContaining('refuses (NOT_OPEN), and its record is'));
  });

  test('finds a call that did not wait for the nodes that it hears are unavailable', () => {
    const hears = answered('submitSignatureShare', ({ receipt, checkpoint }, one) => {
      if (one.request.nodeId === 0 || checkpoint.state !== ReceiptState.ACCEPTED) return false;
      receipt.reasonCode = 'NODES_UNAVAILABLE';
      return true;
    });
    expect(hears).toContain('it hears NODES_UNAVAILABLE in state ACCEPTED');
  });

  test('finds a node that deals a number twice, says two things, or refuses without a reason', () => {
    expect(
      framed('noncesDealt', ({ nonces }: NoncesDealt) => {
        nonces.push(nonces[0]!);
      }),
    ).toContain('gives a nonce a number that it gave before');
    const opened = copy().find((one) => one.kind === 'frame' && one.envelope.message.body.case === 'dkgOpened');
    const again = structuredClone(opened) as Changed;
    again.envelope.message.body.value.opening.signature[0] ^= 1;
    expect(verdicts([opened!, again])).toContainEqual(expect.stringContaining('gives another opening'));
    const refuses = (code: PartialRefusalCode) =>
      framed('partialReply', (value: PartialReply) => {
        (value as Changed).outcome = { case: 'refusal', value: { code, message: '' } };
      });
    expect(refuses(PartialRefusalCode.KEY_UNKNOWN)).toContain('says that it lacks a key that it holds');
    expect(refuses(PartialRefusalCode.NONCE_UNKNOWN)).toContain('does not know a nonce that it dealt');
    expect(refuses(PartialRefusalCode.INTENT_MESSAGE_CHANGED)).toContain('an intent that is new to it');
    expect(refuses(PartialRefusalCode.ORDER_EXPIRED)).toContain('says that an order is over');
  });

  test('finds a node that blames its token for nothing, and a preview without a reason in calm', () => {
    const refuses = () =>
      framed('partialReply', (value: PartialReply) => {
        const refusal = { code: PartialRefusalCode.HSM_TIMEOUT, message: '' };
        (value as Changed).outcome = { case: 'refusal', value: refusal };
      });
    expect(refuses()).toMatch(/node\/\d says HSM_TIMEOUT, and its token did not fail so/);
    const tokens = [1, 2, 3].map((id): Observation => {
      return { kind: 'token', atMs: 0, process: `node/${id}`, fault: 'HSM_TIMEOUT' };
    });
    seen.unshift(...tokens);
    expect([refuses(), ...lastVerdicts].join()).not.toContain('its token did not fail so');
    seen.splice(0, tokens.length);
    const about = {
      tenant: 'tn_sim',
      callId: 901n,
      walletService: false,
      method: 'previewPartial',
      request: {},
    } as const;
    const hears = (message: string): Observation[] => [
      ...seen,
      { kind: 'called', atMs: 20_000, ...about },
      { kind: 'answered', atMs: 20_000, ...about, response: { reasonCode: 'NODES_UNAVAILABLE', message } },
    ];
    expect(verdicts(hears('node 1 is unreachable'))).toContainEqual(expect.stringContaining('previewPartial hears'));
    expect(verdicts(hears('node 1 cannot sign with this key'))).toEqual([]);
  });

  test('finds a node that follows what it must refuse, or refuses what is right', () => {
    const asked = (name: string, change: (value: Changed) => void) =>
      framed(name, (value: Changed) => {
        change(value);
      });
    expect(asked('dkgOpen', (value) => (value.threshold = 1))).toContain(
      'request-followed: node/1 was asked (dkgOpen)',
    );
    expect(asked('dkgOpen', (value) => (value.participants = [1, 1]))).toContain('must refuse (REQUEST_INVALID)');
    expect(asked('dkgSeal', (value) => value.recipients[0].sealingKey.fill(7))).toContain('(OPENING_INVALID)');
    expect(asked('dkgVerify', (value) => (value.sealed = []))).toContain('asked (dkgVerify) what it must refuse');
    asked('dkgConfirm', (value) => value.results.pop());
    expect(lastVerdicts).toContainEqual(expect.stringContaining('asked (dkgConfirm) what it must refuse'));
    const opened = copy().find((one) => one.kind === 'frame' && one.envelope.message.body.case === 'dkgOpened');
    const refuses = structuredClone(opened) as Changed;
    const { request } = refuses.envelope.message.body.value;
    const value = { nodeId: 1, code: 'REQUEST_INVALID', message: '', culprits: [], request, results: [] };
    refuses.envelope.message.body = { case: 'dkgRefused', value };
    const before = copy().slice(
      0,
      seen.findIndex((one) => one.kind === 'frame' && one.envelope.message.body.case === 'dkgOpened'),
    );
    expect(verdicts([...before, refuses])).toContainEqual(expect.stringContaining('a request that is right'));
  });

  test('finds a result that omits a dealing, and a key without every participant’s signature', () => {
    const finished = (change: (result: Changed) => void) =>
      framed('dkgVerified', ({ finished: result }: Changed) => {
        if (!result) return false;
        change(result);
        return true;
      });
    expect(finished((result) => result.signature.fill(7))).toMatch(/the result of node\/\d .* is not signed by it/);
    const ofDealer = (dealer: number) =>
      verdicts(
        copy().map((one: Changed) => {
          if (one.kind !== 'frame' || one.envelope.message.body.case !== 'dkgVerify') return one;
          const { value } = one.envelope.message.body;
          value.dealers = value.dealers.filter((opening: Changed) => opening.dealer !== dealer);
          return one;
        }),
      );
    expect(ofDealer(2)).toContainEqual(expect.stringContaining('came without an opening of dealer 2'));
    const opening = (change: (opening: Changed) => void) => {
      const changed = copy().map((one: Changed) => {
        if (one.kind !== 'frame' || one.envelope.message.body.case !== 'dkgVerify') return one;
        for (const each of one.envelope.message.body.value.dealers) if (each.dealer === 2) change(each);
        return one;
      });
      return verdicts(changed);
    };
    const omits = expect.stringContaining('its transcript does not cover every opening');
    expect(opening((each) => each.sealingKey.fill(7))).toContainEqual(omits);
    expect(opening((each) => each.commitments.reverse())).toContainEqual(
      expect.stringContaining('its chain code does not follow from the openings'),
    );
    expect(framed('dkgConfirm', ({ results }) => void results[1].signature.fill(7))).toContain(
      'node/1 is asked to confirm the key k, and not every participant signed one result',
    );
    expect(without('dkgConfirm', 'coordinator') ?? without('dkgConfirm', 'dkg')).toContain(
      "was not shown every participant's signature",
    );
    const made = ({ state, ceremony }: Changed) =>
      ceremony.kind === 'dkg' && state === ReceiptState.BACKEND_COMPLETED && ceremony.confirmation;
    expect(
      written(made, ({ ceremony }) => {
        ceremony.confirmation = { ...ceremony.confirmation, signatures: ceremony.confirmation.signatures.slice(1) };
      }),
    ).toContain("is complete without every participant's signature");
  });

  test('finds an answer about a session that is past its lifetime', () => {
    const submits = seen.findIndex((one) => one.kind === 'promised' && one.method === 'submitSignatureShare');
    const late = { ...(copy()[submits] as Changed), atMs: 80_000 };
    expect(verdicts([...copy().slice(0, submits + 1), late])).toContainEqual(
      expect.stringMatching(/lifetime-kept: submitSignatureShare hears that session \S+ is ACCEPTED, \d+ ms past/),
    );
  });

  test('finds a gateway whose status names other nodes than are linked, or that gets none', () => {
    expect(
      framed('clusterStatus', (value: Changed) => {
        value.nodesReady = [];
      }),
    ).toContain('status-told: the gateway was told that nodes none are ready');
    const silent = copy().filter((one) => one.kind !== 'frame' || one.envelope.message.body.case !== 'clusterStatus');
    expect(verdicts(silent)[0]).toContain('was told nothing of the cluster');
  });

  test('finds a node that is suspected twice at once, or not twice as long as before', () => {
    const news = (atMs: number, for_ms: number, reason = 'silent'): Observation => {
      const event = { type: 'node.suspected', level: 'warn', fields: { node: 2, reason, for_ms } } as const;
      return { kind: 'emitted', atMs, process: 'coordinator', address: 'cluster', event };
    };
    const suspected = (...events: readonly (readonly [atMs: number, forMs: number])[]) =>
      verdicts(events.map(([atMs, forMs]) => news(atMs, forMs)));
    expect(suspected([1_000, 10_000], [11_000, 20_000], [640_000, 10_000])).toEqual([]);
    expect(suspected([1_000, 10_000], [10_999, 20_000])[0]).toContain(
      'suspected-as-modelled: node 2 is suspected again',
    );
    expect(suspected([1_000, 10_000], [11_000, 10_000])[0]).toContain('for 10000 ms, and is again for 10000 ms');
    expect(suspected([1_000, 20_000])[0]).toContain('a first suspicion of node 2 lasts 20000 ms');
    const jump: Observation = { kind: 'clock', atMs: 2_000, process: 'coordinator', offsetMs: 20_000 };
    expect(verdicts([news(1_000, 10_000), jump, news(3_000, 20_000)])).toEqual([]);
    expect(verdicts([news(1_000, 10_000), jump, news(3_000, 10_000)])).toEqual([]);
    const start: Observation = { kind: 'link', atMs: 2_000, peer: 'node/2', what: 'linkUp', boot: 'node/2#2' };
    const lies = 'bad_partial';
    expect(verdicts([news(1_000, 10_000), start, news(3_000, 10_000)])).toEqual([]);
    expect(verdicts([news(1_000, 10_000, lies), start, news(11_000, 20_000, lies)])).toEqual([]);
    expect(verdicts([news(1_000, 10_000, lies), start, news(11_000, 10_000, lies)])).not.toEqual([]);
  });

  test('finds a node that works for no call, shares in an attempt that it has not opened, or signs with a refused nonce', () => {
    const uncalled = (method: string) =>
      verdicts(copy().filter((one) => one.kind !== 'called' || one.method !== method));
    expect(uncalled('exchangeDkgShares')).toContainEqual(
      expect.stringMatching(/asked \(dkgOpen\).*no call waits for it/),
    );
    expect(uncalled('submitSignatureShare')).toContainEqual(
      expect.stringMatching(/asked \(partialRequest\).*no call waits for it/),
    );
    const unopened = copy().filter((one) => one.kind !== 'frame' || one.envelope.message.body.case !== 'dkgOpened');
    expect(verdicts(unopened)).toContainEqual(expect.stringContaining('has not opened attempt 1'));
    framed('noncesDealt', ({ nonces }: NoncesDealt) => {
      if (nonces[0]!.mockNonce.length === 0) return false;
      nonces[0]!.mockNonce.fill(0);
      return true;
    });
    expect(lastVerdicts).toContainEqual(expect.stringContaining('with a nonce that it never dealt'));
  });

  test('finds a node that leaves a request to its timeout, or serves a request for nonces twice', () => {
    const unanswered = (name: string) => {
      const later: Observation = { kind: 'delivered', atMs: 5_000, tenant: 'tn_sim', eventId: 'e' };
      const isLeft = (one: Observation) => one.kind !== 'frame' || one.envelope.message.body.case !== name;
      // Healing begins the calm anew.
      const rest = copy().filter((one) => one.kind !== 'healed' && isLeft(one));
      return verdicts([...rest, later]).filter((text) => text.startsWith('answered-at-once'));
    };
    expect(unanswered('dkgSealed')[0]).toMatch(/no answer: node\/\d dkg \d+/);
    expect(unanswered('partialReply')[0]).toMatch(/no answer: node\/\d partial \d+/);
    expect(unanswered('noncesDealt')[0]).toContain('no answer: node/1 nonces');
    expect(unanswered('keyDeleted')[0]).toContain('no answer: node/1 deletion');
    const dealt = copy().find((one) => one.kind === 'frame' && one.envelope.message.body.case === 'noncesDealt');
    const until = seen.findIndex((one) => one.kind === 'frame' && one.envelope.message.body.case === 'noncesDealt');
    expect(verdicts([...copy().slice(0, until + 1), dealt!])).toContainEqual(
      expect.stringContaining('serves a request for nonces twice'),
    );
    // A request that it cannot serve gets the same answer each time (seed 700147, malformed).
    const refused = copy()[until] as Changed;
    refused.envelope.message.body.value.nonces = [];
    expect(verdicts([...copy().slice(0, until), refused, refused])).not.toContainEqual(
      expect.stringContaining('serves a request for nonces twice'),
    );
  });

  test('finds a node that is asked the same over and over', () => {
    const frames = copy().filter((one) => one.kind === 'frame' && one.envelope.message.body.case === 'dkgOpen');
    const repeated = [1, 2, 3, 4, 5, 6, 7].map((ms) => ({ ...frames[0]!, atMs: ms }) as Changed);
    expect(verdicts(repeated)).toContainEqual(expect.stringMatching(/is asked \d times \(dkgOpen\)/));
  });

  test('finds a call that is lost, late, answered twice, or told in calm that nodes are missing', () => {
    const calm = 20_000;
    const about = { tenant: 'tn_sim', callId: 900n, walletService: false, method: 'sign', request: {} } as const;
    const called: Observation = { kind: 'called', atMs: calm, ...about };
    const receipt = { reasonCode: 'QUORUM_UNAVAILABLE' };
    const said: Observation = { kind: 'answered', atMs: calm, ...about, response: { receipt, checkpoint: {} } };
    expect(verdicts([...seen, called, said])).toContainEqual(expect.stringContaining('sign hears QUORUM_UNAVAILABLE'));
    const later: Observation = { kind: 'delivered', atMs: calm + 9_000, tenant: 'tn_sim', eventId: 'e' };
    expect(verdicts([...seen, called, later])).toContainEqual(expect.stringContaining('sign waits for 9000 ms'));
    const error = { kind: 'deadlineExceeded', message: '', cause: undefined } as const;
    const armed: Observation = { kind: 'fault', atMs: 1, id: 'f', fault: 'store_lost', targets: [], what: 'armed' };
    const lost: Observation = { kind: 'failed', atMs: calm, ...about, error };
    expect(verdicts([...seen, armed, called, lost])).toContainEqual(expect.stringContaining('sign was lost'));
    const reply = seen.find((one) => one.kind === 'frame' && one.envelope.message.body.case === 'callReply')!;
    expect(verdicts([...seen, reply])).toContainEqual(expect.stringContaining('is answered twice'));
  });
});
