/** Work by key: one run at a time, and one more for all that asked meanwhile. */
import { expect, test } from 'vitest';
import { Keyed } from '../../../../wallets/delivery/deliveries/run-by-key.ts';

test('of one key one run at a time, and one more after it for all requests during it; of other keys at once', async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const keyed = new Keyed<string>(
    (item) => {
      begun.push(item);
      return new Promise((resolve) => ends.push(resolve));
    },
    () => undefined,
  );
  const first = keyed.run('a', 'a1');
  const [second, third] = [keyed.run('a', 'a2'), keyed.run('a', 'a3')];
  const other = keyed.run('b', 'b1');
  expect(begun).toEqual(['a1', 'b1']);
  for (const end of ends.splice(0)) end();
  await Promise.all([first, other]);
  // The next run has begun by the time at which those who asked for it could see the first one's end.
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['a1', 'b1', 'a2']);
  for (const end of ends.splice(0)) end();
  await Promise.all([second, third, keyed.idle()]);
  expect(begun).toHaveLength(3);
});

test('a run that fails is reported, resolves to undefined, and the next one is made', async () => {
  const failures: unknown[] = [];
  let runs = 0;
  const keyed = new Keyed<string, number>(
    async () => {
      runs += 1;
      if (runs === 1) throw new Error('no');
      return runs;
    },
    (error) => failures.push(error),
  );
  expect(await Promise.all([keyed.run('a', ''), keyed.run('a', '')])).toEqual([undefined, 2]);
  expect(failures).toEqual([new Error('no')]);
});
