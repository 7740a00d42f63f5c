/** Stores that fail, and Redis that goes away: what callers see, and what is durable afterwards. */
import { describe, expect, test } from 'vitest';
import type { ClusterStatus } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { codeOf, tenant } from '../../coordinator/support/world.ts';
import { withTheModel } from '../../core/crypto/model/support.ts';
import { begin, makeKey, sign, type Watched, watched } from './support/watched.ts';

withTheModel();

/** What the gateway was reported the store, change by change. */
function storeReady({ observations }: Watched): boolean[] {
  const all = observations.flatMap((one) => {
    const { body } = one.kind === 'frame' ? one.envelope.message : { body: undefined };
    return body?.case === 'clusterStatus' ? [(body.value as ClusterStatus).storeReady] : [];
  });
  return all.filter((ready, index) => ready !== all[index - 1]);
}

describe('Redis', () => {
  test('that is away for a moment keeps a call waiting', () => {
    const world = watched();
    const { cluster } = world;
    makeKey(cluster);
    const beganMs = cluster.scenarioMs;
    cluster.arm({ fault: 'redis_gone', for_ms: 2_000 });
    expect(sign(cluster, 't')).toBe('SIGNATURE_COMPLETED');
    expect(cluster.scenarioMs).toBeGreaterThan(beganMs + 2_000);
    expect(storeReady(world)).toEqual([true, false, true]);
  });

  test('that is away for long makes calls fail, and has what it had when it is back', () => {
    const { cluster } = watched();
    makeKey(cluster);
    const signingSessionId = begin(cluster, 't');
    cluster.arm({ fault: 'redis_gone', for_ms: 20_000 });
    expect(() => cluster.submitSignatureShare({ signingSessionId }).result()).toThrow('call failed: unavailable');
    cluster.time.advance(20_000);
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
  });

  test('performs a command whose caller no longer waits', () => {
    const { cluster } = watched();
    cluster.arm({ fault: 'redis_gone', for_ms: 20_000 });
    expect(() => cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result()).toThrow(
      'call failed: unavailable',
    );
    expect(cluster.storedSession(tenant, 'k')).toBeUndefined();
    cluster.time.advance(20_000);
    expect(cluster.storedSession(tenant, 'k')?.reasonCode).toBe('SESSION_ACCEPTED');
  });

  test('that is away when the coordinator starts is reported', () => {
    const world = watched();
    world.cluster.crash('redis');
    world.cluster.crash('coordinator', { restartAfterMs: 10 });
    world.cluster.time.advance(500);
    world.cluster.start('redis');
    world.cluster.time.advance(500);
    expect(storeReady(world)).toEqual([false, true]);
  });
});

describe('a store', () => {
  test('that loses a write keeps its writer waiting, and nothing was promised', () => {
    const { cluster, observations } = watched({ faults: [{ fault: 'store_lost', target: 'coordinator', count: 1 }] });
    expect(() => cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result()).toThrow(
      'call failed: unavailable',
    );
    expect(cluster.scenarioMs).toBeGreaterThan(5_000);
    expect(cluster.storedSession(tenant, 'k')).toBeUndefined();
    expect(observations.filter(({ kind }) => kind === 'written' || kind === 'logged')).toEqual([]);
    expect(makeKey(cluster)).toBe('DKG_COMPLETED');
  });

  test('whose answer is lost has taken the write', () => {
    const { cluster } = watched({ faults: [{ fault: 'store_unanswered', target: 'coordinator', count: 1 }] });
    const answer = cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 });
    expect(() => answer.result()).toThrow('call failed: unavailable');
    expect(cluster.storedSession(tenant, 'k')?.reasonCode).toBe('SESSION_ACCEPTED');
  });

  test('that is slow takes its time', () => {
    const { cluster } = watched({ faults: [{ fault: 'store_slow', target: 'coordinator', by_ms: 700 }] });
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    expect(cluster.scenarioMs).toBeGreaterThan(700);
    expect(cluster.scenarioMs).toBeLessThan(800);
  });

  test('that fails gives up what must be read, and the call is told', () => {
    const { cluster } = watched();
    makeKey(cluster);
    const signingSessionId = begin(cluster, 't');
    cluster.time.advance(120_000);
    cluster.arm({ fault: 'store_failing', target: 'coordinator', for_ms: 30_000 });
    expect(() => cluster.submitSignatureShare({ signingSessionId }).result()).toThrow(
      'the session store cannot be reached',
    );
    cluster.time.advance(30_000);
    expect(codeOf(cluster.submitSignatureShare({ signingSessionId }).result())).toBe('SIGNATURE_COMPLETED');
  });

  test('of a node that fails makes the node silent, and others sign', () => {
    const { cluster } = watched();
    makeKey(cluster);
    cluster.crash('node/1');
    cluster.start('node/1');
    cluster.arm({ fault: 'store_failing', target: 'node/1' });
    for (const intent of ['a', 'b', 'c']) expect(sign(cluster, intent)).toBe('SIGNATURE_COMPLETED');
  });
});
