/** An intent gets one message, also when the coordinator's store is rolled back: the nodes remember what they signed. */
import { describe, expect, test } from 'vitest';
import { PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, digest, makeKey, tokenOf } from './support/world.ts';

const otherDigest = digest.map((byte) => byte ^ 1);

function world(threshold = 2, nodes = 3) {
  const cluster = new SimCluster({
    seed: 'intent-message',
    nodes,
    config: { nodesWaitMs: 500, partialTimeoutMs: 100 },
  });
  makeKey(cluster, 'k', 'secp256k1', threshold, nodes);
  return cluster;
}

const sign = (cluster: SimCluster, signingSessionId: string) =>
  cluster.submitSignatureShare({ signingSessionId }).result();

const refusals = (cluster: SimCluster) =>
  cluster.events.filter(({ event }) => event.type === 'signing.node_refused').map(({ event }) => event.fields.code);

describe('a coordinator whose store was rolled back', () => {
  test('gets no second signature of an intent for another message, and the same one again', () => {
    const cluster = world();
    const before = cluster.snapshot();
    const first = sign(cluster, begin(cluster, 'pay').signingSessionId);
    expect(first.isComplete).toBe(true);
    const after = cluster.snapshot();
    cluster.restore({ ...after, coordinator: before.coordinator });

    const changed = begin(cluster, 'pay', { messageHash: otherDigest });
    const failed = sign(cluster, changed.signingSessionId);
    expect([codeOf(failed), failed.receipt!.state, failed.isComplete]).toEqual([
      'INTENT_MESSAGE_CHANGED',
      ReceiptState.BACKEND_FAILED,
      false,
    ]);
    expect(failed.receipt!.message).toContain('something else was signed there for this transaction intent');
    expect(new Set(refusals(cluster))).toEqual(
      new Set([PartialRefusalCode[PartialRefusalCode.INTENT_MESSAGE_CHANGED]]),
    );
    expect(blamed(cluster)).toEqual([]);
    // The message that the intent is for is signed again, in a new session.
    expect(sign(cluster, begin(cluster, 'pay').signingSessionId).isComplete).toBe(true);
  });

  test('a snapshot of all takes the memory back, too', () => {
    const cluster = world();
    const before = cluster.snapshot();
    sign(cluster, begin(cluster, 'pay').signingSessionId);
    cluster.restore(before);
    expect(sign(cluster, begin(cluster, 'pay', { messageHash: otherDigest }).signingSessionId).isComplete).toBe(true);
  });
});

test('a session that failed half-way continues with the nodes that signed in it, and so does a new one of its intent', () => {
  const cluster = world(2, 3);
  const { signingSessionId } = begin(cluster, 'pay');
  expect(codeOf(cluster.submitSignatureShare({ signingSessionId, nodeId: 1 }).result())).toBe('SHARE_ACCEPTED');
  for (const id of [2, 3]) cluster.crash(`node/${id}`);
  const failed = sign(cluster, signingSessionId);
  expect(codeOf(failed)).toBe('QUORUM_UNAVAILABLE');
  for (const id of [2, 3]) cluster.start(`node/${id}`);
  const again = begin(cluster, 'pay');
  expect(sign(cluster, again.signingSessionId).isComplete).toBe(true);
});

test('a step for a node that signed something else for the intent is told so, and the session continues with others', () => {
  const cluster = world(2, 3);
  const { signingSessionId } = begin(cluster, 'pay');
  cluster.submitSignatureShare({ signingSessionId, nodeId: 1 }).result();
  for (const id of [2, 3]) cluster.crash(`node/${id}`);
  const failed = sign(cluster, signingSessionId);
  for (const id of [2, 3]) cluster.start(`node/${id}`);
  expect(tokenOf(failed)).not.toBe('');
  // The contract lets a new session take the place of one that failed, with another message, too.
  const changed = begin(cluster, 'pay', { messageHash: otherDigest }).signingSessionId;
  const step = cluster.submitSignatureShare({ signingSessionId: changed, nodeId: 1 }).result();
  expect([codeOf(step), step.checkpoint!.state]).toEqual(['INTENT_MESSAGE_CHANGED', ReceiptState.ACCEPTED]);
  expect(sign(cluster, changed).isComplete).toBe(true);
});
