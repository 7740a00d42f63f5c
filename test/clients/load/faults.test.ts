/** The times of faults in a load report: a faulty service answers late, and what it says late happened before. */
import { expect, test } from 'vitest';
import { createClient } from '../../../clients/client/index.ts';
import { LoadFaults } from '../../../clients/load/run/faults.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';

interface Said {
  readonly state: 'armed' | 'holding' | 'over';
  readonly trigger_count: number;
}

/** The load begins at 1,000. Every answer takes `answersMs`; `said`: of the fault, by the time of the answer since that. */
async function windowOf(fault: Fault, answersMs: number, askedMs: readonly number[], said: (atMs: number) => Said) {
  let nowMs = 1_000;
  const client = createClient({
    baseUrl: 'http://service',
    fetch: async (_, init) => {
      if (init?.method === 'POST') return Response.json({ id: 'f' }, { status: 201 });
      nowMs += answersMs;
      return Response.json({ faults: [{ id: 'f', ...said(nowMs - 1_000) }], has_more: false, next_cursor: null });
    },
  });
  const faults = new LoadFaults(client, { nowMs: () => nowMs });
  await faults.arm([fault], 10_000);
  for (const atMs of askedMs) {
    nowMs = 1_000 + atMs;
    await faults.sample(1_000);
  }
  const [window] = faults.windows();
  return [window!.beganMs, window!.endedMs, window!.triggerCount];
}

const heldFrom = (fromMs: number, toMs: number) => (atMs: number) => ({
  state: atMs < fromMs ? ('armed' as const) : atMs < toMs ? ('holding' as const) : ('over' as const),
  trigger_count: atMs < fromMs ? 0 : 1,
});

test('a fault with a time and a length has them, however late the answers are', async () => {
  const fault: Fault = { fault: 'redis_gone', for_ms: 1_000, at: { after_ms: 5_000 } };
  for (const answersMs of [0, 400, 3_000]) {
    expect(await windowOf(fault, answersMs, [4_700, 5_500, 9_000], heldFrom(5_000, 6_000))).toEqual([5_000, 6_000, 1]);
  }
});

test('a fault at a frame began, and a removed one ended, when an answer first says so', async () => {
  const atFrame: Fault = { fault: 'withhold', target: 'node/1', at: { point: 'partial_reply' } };
  expect(await windowOf(atFrame, 100, [1_000, 2_000, 3_000], heldFrom(1_500, 2_500))).toEqual([2_100, 3_100, 1]);
});

test('one that an answer shows earlier than it was due began then', async () => {
  const fault: Fault = { fault: 'pause', target: 'node/1', for_ms: 500, at: { after_ms: 2_000 } };
  expect(await windowOf(fault, 0, [1_900, 2_300], heldFrom(1_850, 2_300))).toEqual([1_900, 2_300, 1]);
});

test('one that takes no time ended when it began', async () => {
  const fault: Fault = { fault: 'crash', target: 'node/1', at: { after_ms: 2_000 } };
  expect(await windowOf(fault, 700, [1_000, 2_500], heldFrom(2_000, 2_000))).toEqual([2_000, 2_000, 1]);
});

test('one that never began has no times', async () => {
  const fault: Fault = { fault: 'crash', target: 'node/1', at: { after_ms: 9_000 } };
  expect(await windowOf(fault, 10, [1_000], heldFrom(9_000, 9_000))).toEqual([null, null, 0]);
});
