/** The snapshots of an embedded service. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { States } from '../../../simulation/embedded/states.ts';
import type { WorldNow } from '../../../simulation/embedded/world-injector.ts';

test('are 20 at the most: a further one is refused until one is deleted', async () => {
  const world = { nowMs: 1_790_000_000_000, snapshot: () => ({}) } as unknown as ReturnType<WorldNow>;
  const states = new States(() => world, randomBytes);
  for (let count = 1; count <= 20; count += 1) await states.take(`number ${count}`, 0);
  await expect(states.take('one more', 0)).rejects.toThrow('20 snapshots exist: delete one first');
  const [first] = states.list();
  states.delete(first!.id);
  expect(await states.take('one more', 0)).toMatchObject({ name: 'one more' });
  expect(() => states.delete(first!.id)).toThrow(`there is no snapshot ${first!.id}`);
});
