/** Looking into a session shows what is known and changes nothing, in every state. */
import { beforeAll, describe, expect, test } from 'vitest';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType, MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { signingLifetimeMs } from '../../proto/limits.ts';
import type { WireBody } from '../../proto/wire.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, codeOf, digest, makeKey, tenant, tokenOf } from './support/world.ts';

let cluster: SimCluster;
let publicKey: Uint8Array;

beforeAll(() => {
  cluster = new SimCluster({ seed: 'inspection', nodes: 3 });
  publicKey = makeKey(cluster, 'k');
  makeKey(cluster, 'f');
});

/** Looks twice: it must say the same, and leave the record as it was. */
function inspect(sessionId: string, of = cluster) {
  const before = of.storedSession(tenant, sessionId);
  const seen = of.inspectSession({ sessionId }).result();
  expect(of.inspectSession({ sessionId }).result()).toEqual(seen);
  expect(of.storedSession(tenant, sessionId)).toEqual(before);
  return seen;
}

describe('a signature', () => {
  test('shows its state, its key and what is in, from its beginning to its end', () => {
    const { signingSessionId: id, receipt } = begin(cluster, 'whole');
    expect(inspect(id)).toMatchObject({
      found: true,
      kind: 'signing',
      state: ReceiptState.ACCEPTED,
      reasonCode: 'SESSION_ACCEPTED',
      epoch: 1n,
      culprits: [],
      submitted: [],
      given: [],
      keySession: 'k',
      threshold: 2,
      totalNodes: 3,
      curve: 'secp256k1',
    });
    const stored = cluster.storedSession(tenant, id)!;
    const seen = inspect(id);
    expect([Number(seen.createdAtEpochMs), Number(seen.expiresAtEpochMs)]).toEqual([
      stored.createdMs,
      stored.expiresMs,
    ]);
    expect(receipt!.epoch).toBe(seen.epoch);
    cluster.submitSignatureShare({ signingSessionId: id, nodeId: 3 }).result();
    expect(inspect(id)).toMatchObject({ epoch: 2n, attempt: 1, submitted: [3] });
    cluster.submitSignatureShare({ signingSessionId: id }).result();
    const done = inspect(id);
    expect(done).toMatchObject({ state: ReceiptState.BACKEND_COMPLETED, reasonCode: 'SIGNATURE_COMPLETED', epoch: 3n });
    expect(done.submitted).toHaveLength(2);
    expect(done.signers).toEqual([...done.submitted].sort());
    expect(done).toMatchObject({ threshold: 2, totalNodes: 3 });
  });

  test('names the signers that FROST binds, before their partials are in', () => {
    const { signingSessionId: id } = begin(cluster, 'bound', { walletId: 'f', keystoreType: KeystoreType.MPC_FROST });
    cluster.submitSignatureShare({ signingSessionId: id, nodeId: 3 }).result();
    const { signers, submitted } = inspect(id);
    expect([signers.length, signers.includes(3), submitted]).toEqual([2, true, [3]]);
    cluster.submitSignatureShare({ signingSessionId: id }).result();
    expect(inspect(id).signers).toEqual(signers);
  });

  test('shows the same after a crash of the coordinator', () => {
    const { signingSessionId: id } = begin(cluster, 'restarted');
    cluster.submitSignatureShare({ signingSessionId: id, nodeId: 2 }).result();
    const before = inspect(id);
    cluster.crash('coordinator');
    cluster.start('coordinator');
    expect(inspect(id)).toEqual(before);
    expect(before.submitted).toEqual([2]);
  });

  test.each([
    [MockDirective.FORCE_DENIED, ReceiptState.DENIED],
    [MockDirective.FORCE_REVOKED, ReceiptState.REVOKED],
    [MockDirective.FORCE_EXPIRED, ReceiptState.EXPIRED],
    [MockDirective.FORCE_BACKEND_FAILED, ReceiptState.BACKEND_FAILED],
  ])('that was forced (%s) is shown as it ended', (mockDirective, state) => {
    const forced = cluster.initiateSigning({ mockDirective, transactionIntentId: `forced ${state}` }).result();
    expect(inspect(forced.signingSessionId)).toMatchObject({ found: true, state, attempt: 0, threshold: 0 });
  });

  test('past its lifetime is not ended by a look', () => {
    const world = new SimCluster({ seed: 'late look', nodes: 3 });
    makeKey(world, 'k');
    const { signingSessionId: id } = begin(world, 'late');
    world.time.after(signingLifetimeMs + 1, () => undefined);
    world.time.runUntil(() => world.time.nowMs() >= Number(inspectLifetime(world, id)));
    expect(inspect(id, world)).toMatchObject({ state: ReceiptState.ACCEPTED, epoch: 1n });
    expect(codeOf(world.submitSignatureShare({ signingSessionId: id }).result())).toBe('SESSION_EXPIRED');
    expect(inspect(id, world)).toMatchObject({ state: ReceiptState.EXPIRED, epoch: 2n });
  });

  function inspectLifetime(world: SimCluster, id: string): number {
    return world.storedSession(tenant, id)!.expiresMs;
  }

  test('that excluded a node names it for good', () => {
    const lying = lyingCluster('partialReply', 2);
    makeKey(lying, 'k');
    const { signingSessionId: id } = begin(lying, 'lied to');
    expect(codeOf(lying.submitSignatureShare({ signingSessionId: id, nodeId: 2 }).result())).toBe(
      'INVALID_PARTIAL_SIGNATURE',
    );
    expect(inspect(id, lying)).toMatchObject({ culprits: [2], submitted: [] });
    expect(lying.submitSignatureShare({ signingSessionId: id }).result().isComplete).toBe(true);
    expect(inspect(id, lying)).toMatchObject({ culprits: [2], submitted: [1, 3] });
  });
});

/** A node whose partials have a bit changed on their way. */
function lyingCluster(what: 'partialReply', liar: number): SimCluster {
  return new SimCluster({
    seed: `lying ${liar}`,
    nodes: 3,
    onFrame: (envelope) => {
      const { body } = envelope.message;
      if (envelope.from !== `node/${liar}` || body.case !== what || body.value.outcome?.case !== 'partial') return true;
      const value = Uint8Array.from(body.value.outcome.value!);
      value[31]! ^= 1;
      const changed = { ...body.value, outcome: { case: 'partial' as const, value } };
      return { ...envelope, message: { ...envelope.message, body: { case: what, value: changed } } };
    },
  });
}

describe('a key', () => {
  test('shows how far its shares have verified, and with which result', () => {
    const world = new SimCluster({ seed: 'key', nodes: 3 });
    world.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    expect(inspect('k', world)).toMatchObject({ kind: 'dkg', state: ReceiptState.ACCEPTED, verifiedPairs: [] });
    world.exchangeDkgShares({ sessionId: 'k', senderNodeId: 1, recipientNodeId: 2 }).result();
    expect(inspect('k', world)).toMatchObject({ verifiedPairs: ['1>2'], clientSuppliedDealers: [], epoch: 2n });
    const done = world.exchangeDkgShares({ sessionId: 'k' }).result();
    const seen = inspect('k', world);
    expect(seen).toMatchObject({ state: ReceiptState.BACKEND_COMPLETED, threshold: 2, totalNodes: 3, culprits: [] });
    expect(seen.verifiedPairs).toHaveLength(9);
    expect(done.receipt!.message).toContain(Buffer.from(seen.publicKey).toString('hex'));
    expect(seen.message).toBe(done.receipt!.message);
  });

  test('of a wallet is shown to its tenant, though no client may have a part in it', () => {
    const walletService = { walletService: true };
    const sessionId = 'wal_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e';
    cluster.initiateDkg({ sessionId }, tenant, walletService).result();
    expect(inspect(sessionId)).toMatchObject({ found: true, kind: 'dkg' });
    expect(codeOf(cluster.exchangeDkgShares({ sessionId }).result())).toBe('SESSION_NOT_FOUND');
  });

  test('names the dealer that broke the protocol, after a crash too, until it is resumed', () => {
    let lies = true;
    const world = new SimCluster({
      seed: 'bad dealer',
      nodes: 3,
      onFrame: (envelope) => {
        const body = envelope.message.body as WireBody;
        if (!lies || body.case !== 'dkgOpened' || !envelope.from.startsWith('node/3/')) return true;
        const opening = { ...body.value.opening!, signature: new Uint8Array(64) };
        const changed = { case: 'dkgOpened' as const, value: { ...body.value, opening } };
        return { ...envelope, message: { ...envelope.message, body: changed } };
      },
    });
    world.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    const failed = world.exchangeDkgShares({ sessionId: 'k' }).result();
    expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
    expect(inspect('k', world)).toMatchObject({ state: ReceiptState.BACKEND_FAILED, culprits: [3], attempt: 2 });
    world.crash('coordinator');
    world.start('coordinator');
    expect(inspect('k', world)).toMatchObject({ culprits: [3], reasonCode: 'DEALER_MISBEHAVED' });
    lies = false;
    const { resumeToken } = inspect('k', world);
    expect(resumeToken).toBe(tokenOf(failed));
    world.resumeSession({ sessionId: 'k', resumeToken }).result();
    expect(inspect('k', world)).toMatchObject({ state: ReceiptState.RESUMED, culprits: [], resumeToken: '' });
  });
});

describe('nothing is shown', () => {
  test.each([
    ['an unknown signature', 'sig_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'],
    ['an unknown key', 'nothing'],
    ['no id', ''],
    ['what is no id', 'a/b'],
  ])('of %s', (_, sessionId) => {
    expect(cluster.inspectSession({ sessionId }).result()).toMatchObject({ found: false, kind: '', epoch: 0n });
  });

  test('of another tenant’s session', () => {
    const { signingSessionId: sessionId } = begin(cluster, 'mine');
    expect(cluster.inspectSession({ sessionId }, 'tn_other').result().found).toBe(false);
    expect(cluster.inspectSession({ sessionId: 'k' }, 'tn_other').result().found).toBe(false);
  });

  test('outside of a sandbox', () => {
    const world = new SimCluster({ seed: 'production', nodes: 2, config: { sandbox: false } });
    expect(() => world.inspectSession({ sessionId: 'k' }).result()).toThrow(
      /call failed: invalidRequest: only the coordinator of a sandbox/,
    );
    expect(() => world.readNoncePools({}).result()).toThrow(/call failed: invalidRequest: only/);
    expect(() => world.previewPartial({ sessionId: 'sig_x', nodeId: 1 }).result()).toThrow(
      /call failed: invalidRequest: only/,
    );
  });
});

test('the pools of nonces show what waits, by node and scheme, and no nonce', () => {
  const world = new SimCluster({ seed: 'pools', nodes: 3, config: { nonceBatchFirst: 32 } });
  makeKey(world, 'k');
  const pools = () => world.readNoncePools({}).result().pools;
  const mock = () => pools().filter(({ scheme }) => scheme === Scheme.MOCK_ECDSA);
  expect(pools()).toHaveLength(3 * 3);
  // One batch, of twice the size: the pool was empty.
  expect(mock().map(({ nodeId, waiting }) => [nodeId, waiting])).toEqual([1, 2, 3].map((nodeId) => [nodeId, 64]));
  const { signingSessionId } = begin(world, 'draws');
  world.submitSignatureShare({ signingSessionId }).result();
  // One of each of two signers.
  expect(mock().reduce((sum, { waiting }) => sum + waiting, 0)).toBe(3 * 64 - 2);
  expect(pools()[0]).toEqual(expect.objectContaining({ awaited: 0 }));
  world.crash('node/2');
  expect(new Set(pools().map(({ nodeId }) => nodeId))).toEqual(new Set([1, 3]));
});

test('a look has the resume token of a paused session alone, and no nonce or share', () => {
  const world = new SimCluster({ seed: 'secrets', nodes: 3 });
  makeKey(world, 'k');
  const failed = world
    .initiateSigning({ mockDirective: MockDirective.FORCE_BACKEND_FAILED, walletId: 'k', messageHash: digest })
    .result();
  expect(tokenOf(failed)).not.toBe('');
  expect(inspect(failed.signingSessionId, world).resumeToken).toBe(tokenOf(failed));
  expect(inspect('k', world).resumeToken).toBe('');
  expect(inspect(begin(world, 'open').signingSessionId, world).resumeToken).toBe('');
  expect(world.inspectSession({ sessionId: failed.signingSessionId }, 'tn_other').result().resumeToken).toBe('');
  expect(publicKey).toHaveLength(33);
});
