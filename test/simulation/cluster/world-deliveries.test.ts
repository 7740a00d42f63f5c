/** Webhooks of the simulated world: every event reaches the receiver at least once, whatever happens to worker and queue. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { tenant } from '../../coordinator/support/world.ts';
import { withTheModel } from '../../core/crypto/model/support.ts';
import { begin, makeKey, sign, type Watched, watched } from './support/watched.ts';

withTheModel();

const all = ['dkg.session.accepted', 'dkg.session.completed', 'signing.session.accepted', 'signing.session.completed'];

function signed(faults: readonly Fault[] = []): Watched {
  const world = watched({ receiver: true, faults });
  makeKey(world.cluster);
  sign(world.cluster, 't');
  return world;
}

describe('a receiver', () => {
  test('gets every event of the log, once', () => {
    const { cluster, events, observations } = signed();
    cluster.time.advance(100);
    expect(cluster.delivered()).toEqual(all);
    expect(cluster.deliveries().map(({ status, type }) => `${status} ${type}`)).toEqual(
      all.map((type) => `200 ${type}`),
    );
    expect(cluster.queue).toEqual({ outstanding: 0, putAside: 0 });
    const ids = cluster.eventLog(tenant).map(({ id }) => id);
    expect(observations.flatMap((one) => (one.kind === 'delivered' ? [one.eventId] : []))).toEqual(ids);
    expect(events.flatMap((one) => (one.kind === 'delivery' ? [one.text] : []))).toEqual(all.map(() => 'try 1: 200'));
  });

  test('that fails is tried again by the schedule, and given up after it', () => {
    const { cluster } = signed([{ fault: 'receiver_status', status: 503, for_ms: 60_000 }]);
    cluster.time.advance(60_000);
    expect(cluster.delivered()).toEqual([]);
    const first = cluster.deliveries().filter(({ eventId }) => eventId === cluster.eventLog(tenant)[0]!.id);
    expect(first.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    const pauses = first.slice(1).map(({ atMs }, index) => atMs - first[index]!.atMs);
    for (const [index, pauseMs] of [200, 1_000, 5_000].entries()) {
      expect(pauses[index]).toBeGreaterThanOrEqual(pauseMs * 0.8);
      expect(pauses[index]).toBeLessThanOrEqual(pauseMs * 1.2 + 5);
    }
    expect(cluster.queue.outstanding).toBe(0);
  });

  test.each<Fault>([
    { fault: 'receiver_status', status: 500, for_ms: 900 },
    { fault: 'receiver_reset', for_ms: 900 },
    { fault: 'receiver_slow', by_ms: 15_000, for_ms: 900 },
    { fault: 'receiver_slow', by_ms: 700, for_ms: 900 },
  ])('that mends has every event in the end: $fault', (fault) => {
    const { cluster } = signed([fault]);
    cluster.time.runUntil(() => false);
    expect([...cluster.delivered()].sort()).toEqual(all);
  });

  test('that said it is gone is asked no more', () => {
    const { cluster } = signed([{ fault: 'receiver_status', status: 410 }]);
    cluster.time.runUntil(() => false);
    expect(cluster.deliveries().map(({ status }) => status)).toEqual([410, 410, 410, 410]);
    expect(cluster.delivered()).toEqual([]);
  });

  test('that is down, or stands still, has them when it is back', () => {
    const { cluster } = watched({ receiver: true });
    cluster.crash('receiver', { restartAfterMs: 500 });
    makeKey(cluster);
    cluster.time.advance(2_000);
    expect(cluster.delivered()).toHaveLength(2);
    expect(cluster.deliveries()[0]?.status).toBe(0);
    cluster.pause('receiver');
    begin(cluster, 't');
    cluster.time.advance(5_000);
    expect(cluster.delivered()).toHaveLength(2);
    cluster.resume('receiver');
    cluster.time.runUntil(() => false);
    expect(cluster.delivered()).toHaveLength(3);
  });
});

describe('the worker', () => {
  test('that is stalled delivers nothing, and everything afterwards', () => {
    const { cluster } = watched({ receiver: true, faults: [{ fault: 'worker_stalled', for_ms: 5_000 }] });
    makeKey(cluster);
    cluster.time.advance(4_000);
    expect(cluster.deliveries()).toEqual([]);
    cluster.time.advance(2_000);
    expect(cluster.delivered()).toHaveLength(2);
  });

  test('that dies before it has recorded a try makes it again', () => {
    const { cluster } = watched({ receiver: true });
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    cluster.time.runUntil(() => cluster.deliveries().length === 1);
    cluster.crash('worker', { restartAfterMs: 50 });
    cluster.time.advance(1_000);
    const [first, second, ...more] = cluster.deliveries();
    expect([first?.eventId, more]).toEqual([second?.eventId, []]);
    expect(cluster.delivered()).toEqual(['dkg.session.accepted']);
    expect(cluster.queue.outstanding).toBe(0);
  });

  test('makes a job that is there twice once, and puts one aside that makes no sense', () => {
    const { cluster } = watched({ receiver: true, faults: [{ fault: 'poison_job' }] });
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes: 3 }).result();
    cluster.time.advance(100);
    cluster.arm({ fault: 'double_delivery' });
    begin2(cluster);
    cluster.time.advance(1_000);
    expect(cluster.queue).toEqual({ outstanding: 0, putAside: 1 });
    expect(new Set(cluster.delivered())).toEqual(new Set(['dkg.session.accepted']));
    expect(cluster.delivered()).toHaveLength(2);
    // Both jobs of the second event were taken before either had recorded its try: at least once.
    expect(cluster.deliveries()).toHaveLength(3);
  });
});

function begin2(cluster: Watched['cluster']): void {
  cluster.initiateDkg({ sessionId: 'l', threshold: 2, totalNodes: 3 }).result();
}

test('whatever dies and when, every event is delivered at least once', () => {
  const processes = ['worker', 'receiver', 'redis', 'coordinator'] as const;
  const trouble = fc.record({
    process: fc.constantFrom(...processes),
    atMs: fc.nat(60),
    downMs: fc.integer({ min: 1, max: 400 }),
  });
  fc.assert(
    fc.property(fc.array(trouble, { maxLength: 6 }), (troubles) => {
      const { cluster } = watched({ receiver: true, deliveryScheduleMs: [300, 300, 300, 300, 300, 300, 300, 300] });
      for (const { process, atMs, downMs } of troubles) {
        cluster.time.after(atMs, () => cluster.crash(process, { restartAfterMs: downMs }));
      }
      for (const sessionId of ['a', 'b', 'c']) {
        try {
          cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 3 }).result();
        } catch {
          // Whether it took effect is unknown.
        }
      }
      cluster.time.runUntil(() => false);
      const delivered = new Set(
        cluster.deliveries().flatMap(({ eventId, status }) => (status === 200 ? [eventId] : [])),
      );
      expect(delivered).toEqual(new Set(cluster.eventLog(tenant).map(({ id }) => id)));
      expect(cluster.queue.outstanding).toBe(0);
    }),
    { numRuns: 12 },
  );
});
