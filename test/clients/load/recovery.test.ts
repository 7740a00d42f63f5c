/** When a service counts as recovered after a load. */
import { expect, test } from 'vitest';
import type { Health } from '../../../clients/client/generated-api.ts';
import type { Operation } from '../../../clients/load/operations/operation.ts';
import { recover } from '../../../clients/load/run/recovery.ts';

/** `states`: of health, one after the other; the last one stays. `failures`: of the first operations. */
function service(states: readonly Partial<Health>[], failures = 0) {
  const seen = { operations: 0, looks: 0 };
  const run = async () => {
    seen.operations += 1;
    if (seen.operations <= failures) throw new Error('no');
  };
  const health = async () => {
    const state = states[Math.min(seen.looks, states.length - 1)];
    seen.looks += 1;
    return state as Health | undefined;
  };
  // Far above what an operation without any work takes.
  return { seen, options: { operation: { run } as unknown as Operation, beforeP50Ms: 60_000, health } };
}

const well = { status: 'ok', nodes_ready: 5, nodes_total: 5 } as const;

test('after five operations that are as fast as before, while health is ok with every node', async () => {
  const { seen, options } = service([well]);
  expect(await recover({ ...options, withinMs: 60_000 })).toMatchObject({ holds: true, health: 'ok' });
  expect(seen.operations).toBe(5);
});

test.each([
  ['a node is missing', { ...well, nodes_ready: 4 }],
  ['it is degraded', { ...well, status: 'degraded' }],
] as const)('not while %s', async (_, state) => {
  const { seen, options } = service([...Array.from({ length: 8 }, () => state), well]);
  expect(await recover({ ...options, withinMs: 60_000 })).toMatchObject({ holds: true });
  expect(seen.operations).toBe(8);
});

test('not while operations fail; after the time that it has it says so', async () => {
  const { seen, options } = service([well], 3);
  expect(await recover({ ...options, withinMs: 60_000 })).toMatchObject({ holds: true });
  // The median of five is that of one that succeeds.
  expect(seen.operations).toBe(6);
  const lost = service([well], 100);
  const failed = await recover({ ...lost.options, withinMs: 0 });
  expect(failed).toMatchObject({ holds: false, tookMs: null, afterP50Ms: -1 });
  expect(failed.text).toMatch(/^not as before the load after .* s [(]p50 failing/);
});
