/** Nonces that were dealt ahead: whatever became of their frames, signing continues. */
import { describe, expect, test } from 'vitest';
import { clusterBehaviour } from '../../coordinator/cluster/cluster.ts';
import {
  awaited,
  depth,
  forgotten,
  noNoncePools,
  put,
  shortage,
  take,
} from '../../coordinator/cluster/nonce-commitments.ts';
import { clusterAddress, type DrawnNonce, type LocalMessage } from '../../coordinator/contract/messages.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { begin, codeOf, makeKey } from './support/world.ts';

useModelCryptography();

const scheme = Scheme.FROST_ED25519;
const none = new Uint8Array();

function batch(first: number, count: number, nodeBoot = 'a'): DrawnNonce[] {
  return Array.from({ length: count }, (_, index) => {
    const number = BigInt(first + index);
    return { nodeId: 1, nodeBoot, number, hiding: none, binding: none, mockNonce: none };
  });
}

describe('a pool of nonces', () => {
  test('takes what was asked for, once, and nothing else', () => {
    const pools = noNoncePools(4);
    put(pools, scheme, 1, batch(1, 100));
    expect(depth(pools, scheme, 1)).toBe(0);
    const asked = shortage(pools, scheme, 1);
    put(pools, scheme, 1, batch(1, 100));
    expect([depth(pools, scheme, 1), awaited(pools, scheme, 1)]).toEqual([asked, 0]);
    put(pools, scheme, 1, batch(1, 100));
    put(pools, scheme, 1, batch(500, 100));
    expect(depth(pools, scheme, 1)).toBe(asked);
  });

  test('is filled again at half a batch, with twice as many when it had run low', () => {
    const pools = noNoncePools(16);
    let dealt = 1;
    const deal = () => {
      const asked = shortage(pools, scheme, 1);
      put(pools, scheme, 1, batch(dealt, asked));
      dealt += asked;
      return asked;
    };
    const drawTo = (left: number) => {
      while (depth(pools, scheme, 1) > left) take(pools, scheme, 1);
    };
    // Empty is low.
    expect(deal()).toBe(32);
    drawTo(17);
    expect(deal()).toBe(0);
    drawTo(16);
    expect(deal()).toBe(32);
    drawTo(4);
    expect(deal()).toBe(32);
    drawTo(3);
    expect(deal()).toBe(64);
  });

  test('continues behind the batch of a nonce that its node forgot', () => {
    const pools = noNoncePools(4);
    const filled = (first: number) => {
      const asked = shortage(pools, scheme, 1);
      put(pools, scheme, 1, batch(first, asked));
      return asked;
    };
    const first = filled(1);
    for (let count = 0; count < first - 1; count += 1) take(pools, scheme, 1);
    filled(101);
    const known = take(pools, scheme, 1)!.number;
    expect(known).toBe(BigInt(first));
    const unknown = take(pools, scheme, 1)!.number;
    expect(unknown).toBe(101n);
    const left = depth(pools, scheme, 1);
    forgotten(pools, scheme, 1, known);
    expect(depth(pools, scheme, 1)).toBe(left);
    forgotten(pools, scheme, 1, unknown);
    expect(depth(pools, scheme, 1)).toBe(0);
    expect(shortage(pools, scheme, 1)).toBeGreaterThan(0);
  });
});

test('frames about nonces that come twenty times leave signing as it was', () => {
  const cluster = new SimCluster({ seed: 'nonces', nodes: 3, config: { nonceBatchFirst: 256 } });
  for (const point of ['deal_nonces', 'nonces_dealt'] as const) {
    cluster.arm({ fault: 'duplicate', target: 'node/*', copies: 20, at: { point } });
  }
  for (const node of [1, 2, 3]) {
    cluster.crash(`node/${node}`);
    cluster.start(`node/${node}`);
  }
  makeKey(cluster, 'k', 'ed25519');
  for (let count = 0; count < 5; count += 1) {
    const { signingSessionId } = begin(cluster, `intent-${count}`);
    const signed = cluster.submitSignatureShare({ signingSessionId }).result();
    expect([codeOf(signed), signed.isComplete]).toEqual(['SIGNATURE_COMPLETED', true]);
  }
});

test('draws of 20 ms have the same signers, and the next others, even when the clock was set back', () => {
  const { start, receive } = clusterBehaviour({
    ...{ nodesTotal: 5, quorum: 3, coordinatorBoot: 'boot', cryptoBackend: 'native', nodesWaitMs: 1_000 },
  });
  const context = (nowMs: number) => ({ self: clusterAddress, nowMs, random: () => none });
  const { state } = start(undefined, context(0));
  const say = (message: LocalMessage, nowMs: number) =>
    receive(state, { kind: 'message', from: 'signing/t/s', message, trace: noTrace }, context(nowMs)).effects;
  const candidates = [1, 2, 3, 4, 5];
  for (const nodeId of candidates)
    say({ kind: 'peerUp', address: `node/${nodeId}`, role: 'node', nodeId, boot: 'a' }, 0);
  const signersAt = (nowMs: number) => {
    const draw = { kind: 'draw', ticket: 1, scheme: Scheme.OWNER_ECDSA, count: 3, candidates, preferred: [] } as const;
    return say(draw, nowMs).flatMap((effect) =>
      effect.kind === 'send' && 'kind' in effect.message && effect.message.kind === 'drawn'
        ? effect.message.nonces.map(({ nodeId }) => nodeId)
        : [],
    );
  };
  expect([1_000, 1_019, 1_020, 1_039, 500, 519, 520].map(signersAt)).toEqual([
    [1, 2, 3],
    [1, 2, 3],
    [2, 3, 4],
    [2, 3, 4],
    [3, 4, 5],
    [3, 4, 5],
    [1, 4, 5],
  ]);
});
