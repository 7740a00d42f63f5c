/** RefreshKey: every node of a key gets a new share of the same secret; what is committed signs, whatever dies on the way. */
import { describe, expect, test } from 'vitest';
import { groupOf } from '../../core/crypto/group.ts';
import { interpolateAt } from '../../core/crypto/polynomial.ts';
import { decodeKeyRecord } from '../../nodes/records/key-record.ts';
import { keyRecordKey } from '../../nodes/records/records.ts';
import type { MakeKeyResponse } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { DkgOpen } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import { type PartialRequest, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ApprovalMode, KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import { type FrameFate, SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import { allCheckers } from '../../simulation/cluster/invariants/checkers.ts';
import type { WriteFate } from '../../simulation/cluster/memory-stores.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { runs } from '../support/thorough.ts';
import { begin, blamed, codeOf, makeKey, tenant } from './support/world.ts';

useModelCryptography();

const kinds = [
  ['MOCK_THRESHOLD on secp256k1', 'secp256k1', KeystoreType.MOCK_THRESHOLD, Scheme.MOCK_ECDSA],
  ['MPC_FROST on secp256k1', 'secp256k1', KeystoreType.MPC_FROST, Scheme.FROST_BIP340],
  ['MPC_FROST on ed25519', 'ed25519', KeystoreType.MPC_FROST, Scheme.FROST_ED25519],
] as const;

let intents = 0;

/** They follow the coordinator's store, and do not observe what some tests do to it. */
const ofSessions = ['events-complete', 'promised-is-durable', 'token-used-once', 'transitions-on-table'];

/** Every invariant of a run, but these. */
function checking(...without: readonly string[]): NonNullable<SimOptions['observe']> {
  const checkers = allCheckers().filter(({ invariant }) => !without.includes(invariant));
  return (observation) => {
    for (const checker of checkers) {
      const fault = checker.observe(observation);
      if (fault) throw new Error(`${checker.invariant}: ${fault}`);
    }
  };
}

/** A client with a key of 2 of 3 nodes, which has signed once. */
class Client {
  readonly cluster: SimCluster;
  readonly #keystoreType: KeystoreType;
  readonly #scheme: Scheme;

  constructor(
    options: SimOptions,
    curve: string = 'secp256k1',
    keystoreType: KeystoreType = KeystoreType.MPC_FROST,
    scheme: Scheme = Scheme.FROST_BIP340,
  ) {
    this.cluster = new SimCluster({ nodes: 3, observe: checking(), ...options });
    this.#keystoreType = keystoreType;
    this.#scheme = scheme;
    makeKey(this.cluster, 'k', curve);
    this.sign();
  }

  begin(): string {
    const { signingSessionId } = begin(this.cluster, `intent-${++intents}`, { keystoreType: this.#keystoreType });
    return signingSessionId;
  }

  sign(signingSessionId = this.begin()): void {
    expect(codeOf(this.cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
  }

  refresh(version = 2, keyId = 'k'): MakeKeyResponse {
    return this.cluster.refreshKey({ keyId, version, scheme: this.#scheme }).result();
  }

  /** Repeats the call until the version is made. */
  insist(): void {
    for (let count = 0; count < 20; count += 1) {
      this.cluster.time.runUntil(() => this.cluster.stateOf('coordinator') !== 'down');
      const call = this.cluster.refreshKey({ keyId: 'k', version: 2, scheme: this.#scheme });
      if (!this.cluster.time.runUntil(() => call.isDone)) continue;
      try {
        if (codeOf(call.result()) === 'DKG_COMPLETED') return;
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('call failed: ')) throw error;
      }
    }
    throw new Error('the refresh does not come to its end');
  }

  shares() {
    return [1, 2, 3].map((id) => {
      const { keyPackage, version } = decodeKeyRecord(this.cluster.nodeStore(id).loadNow(keyRecordKey(tenant, 'k'))!);
      return { x: id, value: keyPackage.signingShare, version };
    });
  }

  /** Whether these shares give the key. */
  give(shares: readonly { readonly x: number; readonly value: bigint }[]): boolean {
    const { curve, publicKey } = this.cluster.storedKey(tenant, 'k')!;
    const secret = interpolateAt(curve, shares, 0);
    return Buffer.from(groupOf(curve).baseMultiply(secret)).toString('hex') === publicKey;
  }
}

describe.each(kinds)('%s', (_, curve, keystoreType, scheme) => {
  test('a key keeps its public key and chain code; two shares give its secret, and none of two versions', () => {
    const erased: string[] = [];
    const onNodeWrite: SimOptions['onNodeWrite'] = (nodeId, write) => {
      for (const key of write.erased ?? []) erased.push(`${nodeId} ${key}`);
      return 'answered';
    };
    const client = new Client({ seed: 'refresh', onNodeWrite }, curve, keystoreType, scheme);
    const { cluster } = client;
    const [before, old] = [cluster.storedKey(tenant, 'k')!, client.shares()];
    for (const version of [2, 3]) {
      const made = client.refresh(version);
      expect([codeOf(made), Buffer.from(made.publicKey).toString('hex')]).toEqual(['DKG_COMPLETED', before.publicKey]);
      expect(made.receipt!.message).toContain(`version ${version} of k, group public key ${before.publicKey}`);
    }
    // The records with the shares that were replaced, and with the nodes' parts of the secret.
    const records = [2, 3].flatMap((version) => [`dkg/${tenant}/${refreshSessionId('k', version)}`, `key/${tenant}/k`]);
    expect(erased.sort()).toEqual([1, 2, 3].flatMap((id) => records.map((key) => `${id} ${key}`)).sort());
    const committed = cluster.eventLog(tenant).filter(({ type }) => type === 'key.version.committed');
    const shared = { public_key: before.publicKey, threshold: 2, total_nodes: 3, participants: [1, 2, 3] };
    expect(committed.map(({ resource, object }) => [resource.id, resource.version, object])).toMatchObject([
      ['k', 2, { ...shared, session_id: refreshSessionId('k', 2) }],
      ['k', 3, shared],
    ]);
    const after = cluster.storedKey(tenant, 'k')!;
    expect(after).toEqual({ ...before, version: 3, verificationShares: after.verificationShares });
    const fresh = client.shares();
    expect(fresh.map(({ version }) => version)).toEqual([3, 3, 3]);
    for (const [a, b] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ] as const) {
      expect(client.give([fresh[a]!, fresh[b]!])).toBe(true);
      expect([client.give([old[a]!, fresh[b]!]), client.give([fresh[a]!, old[b]!])]).toEqual([false, false]);
    }
    client.sign();
  });

  test('a session that has begun, and has drawn its nonces, signs with the new shares', () => {
    const asked: number[] = [];
    const onFrame: SimOptions['onFrame'] = ({ message: { body } }) => {
      if (body.case === 'partialRequest') asked.push((body.value as PartialRequest).keyVersion || 1);
      return true;
    };
    const client = new Client({ seed: 'refresh under way', onFrame }, curve, keystoreType, scheme);
    const id = client.begin();
    client.cluster.time.advance(100);
    expect(codeOf(client.refresh())).toBe('DKG_COMPLETED');
    client.sign(id);
    // It finds out by the refusal of a node.
    expect([asked.at(-1), asked.includes(1)]).toEqual([2, true]);
  });

  test('a session that begins while nodes replace their shares waits for them', () => {
    let late = false;
    const onFrame: SimOptions['onFrame'] = (envelope) => {
      if (!late || envelope.message.body.case !== 'dkgConfirm' || envelope.to.startsWith('node/3/')) return true;
      return [{ envelope, afterMs: 300 }];
    };
    const client = new Client({ seed: 'in the middle', onFrame }, curve, keystoreType, scheme);
    const { cluster } = client;
    late = true;
    const call = cluster.refreshKey({ keyId: 'k', version: 2, scheme });
    cluster.time.runUntil(() => client.shares()[2]!.version === 2);
    const beganMs = cluster.time.nowMs();
    client.sign();
    expect(cluster.time.nowMs() - beganMs).toBeLessThan(1_000);
    expect(codeOf(call.result())).toBe('DKG_COMPLETED');
  });
});

describe('a refresh', () => {
  test('is of a key that exists, is bound, and has the version before; asked for again, it is the same', () => {
    const client = new Client({ seed: 'refused' });
    const { cluster } = client;
    const says = (version: number, keyId = 'k') => client.refresh(version, keyId).receipt!.message;
    expect(says(2, 'other')).toContain('there is no key "other"');
    expect(says(3)).toContain('version: the key "k" has version 1: ask for 2');
    makeKey(cluster, 'unbound');
    expect(says(2, 'unbound')).toContain('signs with nothing yet');
    expect(() => client.refresh(1)).toThrow('call failed: invalidRequest');
    expect(() => client.refresh(2, 'wal_1')).toThrow('call failed: invalidRequest');
    const made = client.refresh();
    expect(client.refresh().publicKey).toEqual(made.publicKey);
    expect(cluster.storedKey(tenant, 'k')!.version).toBe(2);
  });

  test('is no session of a client', () => {
    const client = new Client({ seed: 'hidden' });
    client.refresh();
    const sessionId = refreshSessionId('k', 2);
    expect(codeOf(client.cluster.exchangeDkgShares({ sessionId }).result())).toBe('SESSION_NOT_FOUND');
    expect(codeOf(client.cluster.resumeSession({ sessionId, resumeToken: 'x' }).result())).toBe('SESSION_NOT_FOUND');
    expect(codeOf(client.cluster.initiateDkg({ sessionId }).result())).toBe('INVALID_REQUEST');
  });

  test('needs every node: without one the present shares sign, and the next call continues', () => {
    const client = new Client({ seed: 'one is down' });
    const { cluster } = client;
    cluster.crash('node/3');
    expect(codeOf(client.refresh())).toBe('NODES_UNAVAILABLE');
    client.sign();
    const endOf = () => cluster.inspectSession({ sessionId: refreshSessionId('k', 2) }).result().expiresAtEpochMs;
    const end = endOf();
    cluster.start('node/3');
    client.insist();
    expect(endOf()).toBe(end);
    expect(client.shares().map(({ version }) => version)).toEqual([2, 2, 2]);
    client.sign();
  });

  test('is of the nodes of its key, also where others could take their place', () => {
    const client = new Client({ seed: 'no other node', nodes: 5 });
    const { cluster } = client;
    cluster.crash('node/3');
    expect([codeOf(client.refresh()), client.refresh().participants]).toEqual(['NODES_UNAVAILABLE', [1, 2, 3]]);
    cluster.start('node/3');
    client.insist();
  });

  test('without a gateway’s order changes nothing at the nodes', () => {
    const onFrame = (envelope: Parameters<NonNullable<SimOptions['onFrame']>>[0]): FrameFate => {
      const { body } = envelope.message;
      if (body.case !== 'dkgOpen' || !(body.value as DkgOpen).refresh) return true;
      const { refresh } = body.value as DkgOpen;
      const forged = { ...body.value, refresh: { ...refresh!, mac: new Uint8Array(16) } };
      return { ...envelope, message: { ...envelope.message, body: { case: 'dkgOpen', value: forged } } };
    };
    const client = new Client({ seed: 'forged', onFrame });
    const before = client.shares();
    expect(client.refresh().receipt!.message).toContain('ORDER_INVALID');
    expect(client.shares()).toEqual(before);
  });

  test('that a dealer spoils names it; nodes that have signed its result go on when another one shows that it has not', () => {
    const said = { refusals: 0, renounced: 0 };
    const onFrame: SimOptions['onFrame'] = ({ message: { body } }) => {
      if (body.case === 'dkgRefused' && body.value.code === 'RESULT_SIGNED') said.refusals += 1;
      if (body.case === 'dkgOpen' && body.value.renounced) said.renounced += 1;
      return true;
    };
    const client = new Client({ seed: 'spoiled', onFrame });
    client.cluster.arm({ fault: 'bad_share', target: 'node/2', count: 1 });
    const failed = client.refresh();
    expect([codeOf(failed), failed.culprits]).toEqual(['DEALER_MISBEHAVED', [2]]);
    client.sign();
    const atMs = client.cluster.time.nowMs();
    expect(codeOf(client.refresh())).toBe('DKG_COMPLETED');
    // No node had to be asked again by a timer.
    expect(client.cluster.time.nowMs() - atMs).toBeLessThan(1_000);
    expect(said.refusals).toBeGreaterThan(0);
    expect(said.renounced).toBeGreaterThan(0);
    expect(blamed(client.cluster)).toEqual([2]);
    client.sign();
  });

  test('is not over with its time: the same call completes it later', () => {
    const client = new Client({ seed: 'late' });
    const { cluster } = client;
    cluster.crash('node/3');
    client.refresh();
    cluster.start('node/3');
    cluster.time.advance(40 * 24 * 3_600_000);
    expect(codeOf(client.refresh())).toBe('DKG_COMPLETED');
  });

  test('is one for all who ask for it at once, while the key is read too', () => {
    const client = new Client({ seed: 'at once', config: { callsWaitingMax: 2 } });
    const { cluster } = client;
    const asked = { keyId: 'k', version: 2, scheme: Scheme.FROST_BIP340 };
    const calls = Array.from({ length: 4 }, () => cluster.refreshKey(asked));
    cluster.time.runUntil(() => calls.every(({ isDone }) => isDone));
    const outcomes = calls.map((call) => {
      try {
        return codeOf(call.result());
      } catch (error) {
        return (error as Error).message;
      }
    });
    const tooMany = 'call failed: overloaded: this session has too many calls waiting: repeat later';
    expect(outcomes.sort()).toEqual(['DKG_COMPLETED', 'DKG_COMPLETED', tooMany, tooMany]);
    client.sign();
  });

  test('that a node has missed is made up for before the next one', () => {
    let live = false;
    const onFrame: SimOptions['onFrame'] = ({ to, message: { body } }) => {
      return !(live && body.case === 'dkgConfirm' && to.startsWith('node/1/'));
    };
    const client = new Client({ seed: 'missed before', onFrame });
    live = true;
    client.refresh();
    live = false;
    expect(client.refresh(3).receipt!.message).toContain('KEY_UNKNOWN');
    client.cluster.time.advance(1_000);
    expect(codeOf(client.refresh(3))).toBe('DKG_COMPLETED');
    expect(client.shares().map(({ version }) => version)).toEqual([3, 3, 3]);
  });

  test('of a key that mock ECDSA may have exposed says so', () => {
    const client = new Client({ seed: 'exposed' }, 'secp256k1', KeystoreType.MOCK_THRESHOLD, Scheme.MOCK_ECDSA);
    const { cluster } = client;
    makeKey(cluster, 'quiet');
    // It is bound, and has not signed: a session that begins to sign meanwhile may expose it.
    const request = { walletId: 'quiet', messageHash: new Uint8Array(32), approvalMode: ApprovalMode.HUMAN_REQUIRED };
    cluster.initiateSigning({ ...request, transactionIntentId: 'waits' }).result();
    expect(cluster.storedKey(tenant, 'quiet')).toMatchObject({ scheme: 'mock_ecdsa', exposed: false });
    client.refresh(2, 'quiet');
    expect(cluster.storedKey(tenant, 'quiet')).toMatchObject({ version: 2, exposed: true });
  });

  test('signs with the new shares of children, too', () => {
    const client = new Client({ seed: 'children' });
    const derivation = { derivationPath: 'm/0/7' };
    const signChild = () => {
      const more = { keystoreType: KeystoreType.MPC_FROST, derivation };
      client.sign(begin(client.cluster, `child-${++intents}`, more).signingSessionId);
    };
    signChild();
    client.refresh();
    signChild();
  });

  test('that a node misses after the commit does not wait for it: the node gets its new share when a session asks it', () => {
    let live = false;
    const onFrame: SimOptions['onFrame'] = ({ to, message: { body } }) => {
      return !(live && body.case === 'dkgConfirm' && to.startsWith('node/1/'));
    };
    const client = new Client({ seed: 'missed', onFrame });
    live = true;
    expect(client.refresh().receipt!.message).toContain('node 1 did not confirm it yet');
    live = false;
    expect(client.shares().map(({ version }) => version)).toEqual([1, 2, 2]);
    // A draw selects it last, so that it is asked by name.
    const signingSessionId = client.begin();
    const step = () => client.cluster.submitSignatureShare({ signingSessionId, nodeId: 1 }).result();
    expect(codeOf(step())).toBe('NODES_UNAVAILABLE');
    client.cluster.time.advance(1_000);
    expect(codeOf(step())).toBe('SHARE_ACCEPTED');
    expect(client.shares().map(({ version }) => version)).toEqual([2, 2, 2]);
  });
});

test('a signature gives nodes their new shares where the coordinator died right after the commit', () => {
  let live = false;
  const onFrame: SimOptions['onFrame'] = ({ message: { body } }) => !(live && body.case === 'dkgConfirm');
  const client = new Client({ seed: 'died after the commit', onFrame });
  const { cluster } = client;
  live = true;
  cluster.refreshKey({ keyId: 'k', version: 2, scheme: Scheme.FROST_BIP340 });
  expect(cluster.time.runUntil(() => cluster.storedKey(tenant, 'k')!.version === 2)).toBe(true);
  cluster.crash('coordinator');
  live = false;
  cluster.start('coordinator');
  client.sign();
  expect(client.shares().filter(({ version }) => version === 2).length).toBeGreaterThan(1);
});

describe('a coordinator whose store was rolled back to before a refresh', () => {
  test.each([
    ['first', 0],
    ['second', 1],
  ])('takes the new shares of its %s attempt from the nodes, when it is asked for again', (_, spoiled) => {
    const client = new Client({ seed: `rolled back ${spoiled}`, observe: checking(...ofSessions) });
    const { cluster } = client;
    const before = cluster.snapshot();
    if (spoiled > 0) cluster.arm({ fault: 'bad_share', target: 'node/2', count: spoiled });
    client.insist();
    const [made, shares] = [cluster.storedKey(tenant, 'k'), client.shares()];
    cluster.restore({ ...cluster.snapshot(), coordinator: before.coordinator });
    expect(cluster.storedKey(tenant, 'k')!.version).toBeUndefined();
    const signingSessionId = client.begin();
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('QUORUM_UNAVAILABLE');
    client.insist();
    expect([cluster.storedKey(tenant, 'k'), client.shares()]).toEqual([made, shares]);
    client.sign();
  });
});

/** Refreshes the key; the functions see its frames and writes by their index. */
function walk(
  seed: string,
  on: {
    readonly frame?: (index: number, cluster: SimCluster) => FrameFate;
    readonly write?: (index: number) => WriteFate;
    readonly nodeWrite?: (index: number) => WriteFate;
  },
) {
  const counts = { frames: 0, writes: 0, nodeWrites: 0 };
  let live = false;
  const counted = <T>(what: keyof typeof counts, usual: T, fate: ((index: number) => T) | undefined): T => {
    if (!live) return usual;
    counts[what] += 1;
    return fate?.(counts[what] - 1) ?? usual;
  };
  const client: Client = new Client({
    seed,
    observe: on.write || on.nodeWrite ? checking(...ofSessions) : checking(),
    onFrame: ({ message: { body } }) => {
      if (body.case === 'dealNonces' || body.case === 'noncesDealt') return true;
      return counted<FrameFate>('frames', true, (index) => on.frame?.(index, client.cluster) ?? true);
    },
    onCoordinatorWrite: () => counted<WriteFate>('writes', 'answered', on.write),
    onNodeWrite: () => counted<WriteFate>('nodeWrites', 'answered', on.nodeWrite),
  });
  live = true;
  client.insist();
  live = false;
  const { cluster } = client;
  cluster.time.advance(5_000);
  client.sign();
  const shares = client.shares();
  // A version has a quorum, and it is the new one.
  const fresh = shares.filter(({ version }) => version === 2);
  expect(fresh.length).toBeGreaterThanOrEqual(2);
  expect(client.give(fresh.slice(0, 2))).toBe(true);
  expect(blamed(cluster)).toEqual([]);
  return counts;
}

describe('the crash walk', () => {
  const down = (process: string, cluster: SimCluster) => {
    if (cluster.stateOf(process) === 'down') return;
    cluster.crash(process);
    cluster.time.after(20, () => cluster.start(process));
  };

  test.each([
    ['the coordinator, the frame sent', () => 'coordinator', true],
    ['the coordinator, the frame lost', () => 'coordinator', false],
    ['each node in turn, the frame sent', (index: number) => `node/${(index % 3) + 1}`, true],
    ['each node in turn, the frame lost', (index: number) => `node/${((index + 1) % 3) + 1}`, false],
  ] as const)('survives a crash at many frames: %s', (label, processOf, sent) => {
    const { frames } = walk('quiet', {});
    expect(frames).toBeGreaterThan(20);
    for (let at = 0; at < frames; at += runs(3, 1)) {
      walk(`${label} ${at}`, {
        frame: (index, cluster) => {
          if (index !== at) return true;
          down(processOf(index), cluster);
          return sent;
        },
      });
    }
  });

  test.each(['lost', 'unanswered'] as const)('survives a store whose writes are %s once', (fate) => {
    const { writes, nodeWrites } = walk('quiet', {});
    expect([writes, nodeWrites]).toEqual([3, 9]);
    for (let at = 0; at < writes; at += 1)
      walk(`${fate} ${at}`, { write: (index) => (index === at ? fate : 'answered') });
    for (let at = 0; at < nodeWrites; at += 1) {
      walk(`node ${fate} ${at}`, { nodeWrite: (index) => (index === at ? fate : 'answered') });
    }
  });
});
