/** A key generation that expires leaves no dealt polynomial and no share behind in the nodes' stores. */
import { expect, test } from 'vitest';
import { dkgRecordKey, keyRecordKey } from '../../nodes/records/records.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { codeOf, tenant } from './support/world.ts';

const lifetimes = { signingMs: 60_000, pendingMs: 60_000, dkgMs: 10_000 };

/** What each node holds of the session. */
function recordsOf(cluster: SimCluster, session: string): string[] {
  return [1, 2, 3].map((id) => {
    const record = cluster.nodeStore(id).loadNow(dkgRecordKey(tenant, session));
    return record === undefined ? '' : Buffer.from(record).toString();
  });
}

function begun(seed: string): SimCluster {
  const cluster = new SimCluster({ seed, nodes: 3, config: { lifetimes } });
  const derivation = { curve: 'secp256k1' };
  const asked = { sessionId: 'k', threshold: 2, totalNodes: 3, derivation };
  expect(codeOf(cluster.initiateDkg(asked).result())).toBe('SESSION_ACCEPTED');
  for (const [senderNodeId, recipientNodeId] of [
    [1, 2],
    [2, 3],
    [3, 1],
  ] as const) {
    const step = cluster.exchangeDkgShares({ sessionId: 'k', senderNodeId, recipientNodeId }).result();
    expect(codeOf(step)).toBe('SHARE_VERIFIED');
  }
  for (const record of recordsOf(cluster, 'k')) expect(record).toContain('polynomial');
  return cluster;
}

test('the nodes keep the number of its attempt alone', () => {
  const cluster = begun('expires');
  cluster.time.advance(12_000);
  cluster.sweep();
  cluster.time.advance(100);
  expect(cluster.storedSession(tenant, 'k')!.reasonCode).toBe('SESSION_EXPIRED');
  for (const record of recordsOf(cluster, 'k'))
    expect(JSON.parse(record)).toEqual({ v: 1, phase: 'discarded', attempt: 1 });
  for (const id of [1, 2, 3]) expect(cluster.nodeStore(id).loadNow(keyRecordKey(tenant, 'k'))).toBeUndefined();
});

test('it does not end before its time', () => {
  const cluster = begun('continues');
  cluster.time.advance(8_000);
  for (const record of recordsOf(cluster, 'k')) expect(record).toContain('polynomial');
  expect(codeOf(cluster.exchangeDkgShares({ sessionId: 'k' }).result())).toBe('DKG_COMPLETED');
});
