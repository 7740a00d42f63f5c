/** A cluster of `signmesh/testing` with several clusters: the same test, simulated and on real ports. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CeremonyFailed, cluster, type Key, type TestCluster } from '../../../clients/testing/index.ts';
import { isThorough } from '../../support/thorough.ts';

const size = { threshold: 2, totalNodes: 3 };
const kinds = isThorough ? (['simulated', 'listening', 'live'] as const) : (['simulated', 'listening'] as const);

describe.each(kinds)('two clusters, %s', (kind: 'simulated' | 'listening' | 'live') => {
  let custody: TestCluster;
  let keys: readonly [Key, Key];
  beforeAll(async () => {
    custody = await cluster({ live: kind === 'live', listen: kind === 'listening', clusters: 2, nodes: 3 });
    keys = [await custody.makeKey(size), await custody.makeKey(size)];
  });
  afterEach(() => custody.heal());
  afterAll(() => custody.stop());

  const reasonOf = (work: Promise<unknown>) =>
    work.then(
      () => 'SIGNATURE_COMPLETED',
      (error: unknown) => {
        if (error instanceof CeremonyFailed) return error.receipt.reasonCode;
        throw error;
      },
    );

  test('spread their keys, and a fault of the second leaves the first at work', async () => {
    expect([custody.clusters, custody.nodes, await custody.nodesReady()]).toEqual([2, 3, 6]);
    for (const [index, key] of keys.entries()) {
      const { signature, signed } = await custody.sign(key, `pay ${index}`);
      expect(secp256k1.verify(signature, signed, key.publicKey, { prehash: false })).toBe(true);
    }
    const pause = await custody.inject({ fault: 'pause', target: 'cluster/2/node/*', for_ms: 600_000 });
    const reasons = [];
    for (const key of keys) reasons.push(await reasonOf(custody.sign(key, 'while the second is paused')));
    expect(reasons).toEqual(['SIGNATURE_COMPLETED', 'QUORUM_UNAVAILABLE']);
    expect(await pause.triggerCount()).toBe(1);
    await custody.heal();
    expect(await reasonOf(custody.sign(keys[1], 'after it is healed'))).toBe('SIGNATURE_COMPLETED');
  });

  test('sign with keys that an HTTP client made, and tell what a node would submit', async () => {
    const post = (path: string, body: object) =>
      custody.fetch(path, {
        method: 'POST',
        headers: { authorization: `Bearer ${custody.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const made: Key[] = [];
    for (const id of ['by-http-1', 'by-http-2']) {
      expect((await post('/v1/dkg/initiate', { session_id: id, threshold: 2, total_nodes: 3 })).status).toBe(200);
      expect((await post('/v1/dkg/shares', { session_id: id })).status).toBe(200);
      const { publicKey } = (await custody.session(id))!;
      made.push({ ...keys[0], id, publicKey: Buffer.from(publicKey, 'hex') });
    }
    for (const key of made) expect(await reasonOf(custody.sign(key, 'pay'))).toBe('SIGNATURE_COMPLETED');
    const { signingSessionId } = await custody.initiateSigning({
      ...{ walletId: 'by-http-2', transactionIntentId: 'preview', messageHash: Buffer.alloc(32, 7) },
    });
    expect(await custody.previewPartial(signingSessionId, 1)).toHaveLength(32);
  });

  test('go back to a snapshot and to the beginning together', async () => {
    const snapshot = await custody.takeSnapshot();
    const later = [await custody.makeKey(size), await custody.makeKey(size)];
    await custody.restoreSnapshot(snapshot);
    for (const { id } of later) expect(await custody.session(id)).toBeUndefined();
    for (const key of keys) expect(await reasonOf(custody.sign(key, 'restored'))).toBe('SIGNATURE_COMPLETED');
    await custody.reset();
    for (const { id } of keys) expect(await custody.session(id)).toBeUndefined();
    expect(await custody.nodesReady()).toBe(6);
    expect(custody.violations()).toEqual([]);
  });
});

test('a number of clusters that cannot be is refused', async () => {
  for (const clusters of [0, 1.5, 101])
    await expect(cluster({ clusters })).rejects.toThrow('clusters must be a whole number from 1 to 100');
});
