/** What a session that has ended keeps, and that its answers stay the same. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { SessionRecord } from '../../coordinator/contract/record.ts';
import { signingLifetimeMs } from '../../proto/limits.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, codeOf, makeKey, tenant } from './support/world.ts';

const service = { walletService: true };
const large = Uint8Array.from({ length: 65_536 }, (_, at) => at % 251);
const other = large.with(65_535, 255);
const bytesOf = (record: SessionRecord) => JSON.stringify(record).length;

function signingIn(cluster: SimCluster, sessionId: string) {
  const { ceremony } = cluster.storedSession(tenant, sessionId)!;
  if (ceremony.kind !== 'signing') throw new Error(`${sessionId} signs nothing`);
  return ceremony;
}

function restart(cluster: SimCluster): void {
  cluster.crash('coordinator');
  cluster.start('coordinator');
}

test('a completed signature of 64 KiB keeps a digest of its message, and gives its signature after a restart', () => {
  const cluster = new SimCluster({ seed: 'retained', nodes: 3 });
  makeKey(cluster, 'k', 'ed25519');
  const { signingSessionId: id } = begin(cluster, 'large', { messageHash: large });
  expect(bytesOf(cluster.storedSession(tenant, id)!)).toBeGreaterThan(2 * large.length);
  const signed = cluster.submitSignatureShare({ signingSessionId: id }).result();
  expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
  expect(bytesOf(cluster.storedSession(tenant, id)!)).toBeLessThan(1_500);
  expect(signingIn(cluster, id)).toMatchObject({
    facts: { messageHash: '', messageSha256: createHash('sha256').update(large).digest('hex') },
    order: undefined,
  });
  for (const again of [() => {}, () => restart(cluster)]) {
    again();
    const repeated = cluster.submitSignatureShare({ signingSessionId: id }).result();
    expect(repeated.fullSignature).toEqual(signed.fullSignature);
    expect(codeOf(repeated)).toBe('SIGNATURE_COMPLETED');
    const resumed = cluster.resumeSession({ sessionId: id, resumeToken: 'rt1_x' }).result();
    expect(codeOf(resumed)).toBe('SESSION_NOT_RESUMABLE');
  }
});

test('the order of a wallet for the same long message finds its session by the digest; one for another message is refused', () => {
  const cluster = new SimCluster({ seed: 'retained order', nodes: 3 });
  cluster.makeKey({ sessionId: 'wal_1', derivation: { curve: 'ed25519' } }, tenant, service).result();
  const order = (messageHash: Uint8Array) =>
    cluster.sign({ transactionIntentId: 'txi_1', walletId: 'wal_1', messageHash }, tenant, service).result();
  const signed = order(large);
  expect(codeOf(signed)).toBe('SIGNATURE_COMPLETED');
  restart(cluster);
  const again = order(large);
  expect([codeOf(again), again.receipt!.sessionId]).toEqual(['DUPLICATE_INTENT', signed.receipt!.sessionId]);
  expect(codeOf(order(other))).toBe('INVALID_REQUEST');
});

test('a session that expires or that another takes the place of gives up its message and its order; one that may be resumed keeps them', () => {
  const cluster = new SimCluster({ seed: 'retained end', nodes: 3 });
  makeKey(cluster, 'k', 'ed25519');
  const { signingSessionId: id } = begin(cluster, 'late', { messageHash: large });
  const open = signingIn(cluster, id);
  expect([open.facts.messageHash.length, open.order === undefined]).toEqual([2 * large.length, false]);
  cluster.advance(signingLifetimeMs + 1);
  expect(codeOf(cluster.submitSignatureShare({ signingSessionId: id }).result())).toBe('SESSION_EXPIRED');
  expect(signingIn(cluster, id)).toMatchObject({ facts: { messageHash: '' }, order: undefined });

  const first = cluster
    .initiateSigning({
      ...{ walletId: 'k', messageHash: large, transactionIntentId: 'held' },
      mockDirective: 4,
    })
    .result().signingSessionId;
  expect(signingIn(cluster, first).facts.messageHash).toHaveLength(2 * large.length);
  begin(cluster, 'held', { messageHash: other });
  expect(signingIn(cluster, first).facts).toMatchObject({ messageHash: '' });
});

test('a completed key generation lists no pairs, and shows all of them, also after a restart', () => {
  const cluster = new SimCluster({ seed: 'retained pairs', nodes: 4 });
  makeKey(cluster, 'k', 'secp256k1', 2, 3);
  const { ceremony } = cluster.storedSession(tenant, 'k')!;
  expect(ceremony).toMatchObject({ verified: [], allVerified: true });
  const pairs = ['1>1', '1>2', '1>3', '2>1', '2>2', '2>3', '3>1', '3>2', '3>3'];
  expect(cluster.inspectSession({ sessionId: 'k' }).result().verifiedPairs).toEqual(pairs);
  restart(cluster);
  expect(cluster.inspectSession({ sessionId: 'k' }).result().verifiedPairs).toEqual(pairs);
  const repeated = cluster.exchangeDkgShares({ sessionId: 'k', senderNodeId: 1, recipientNodeId: 2 }).result();
  expect([codeOf(repeated), repeated.verified]).toEqual(['DKG_COMPLETED', true]);
});
