/** The scripts of the chains' ledgers. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toDigits } from '../../../providers/chains/lua-units.ts';
import { describeScript } from '../../support/redis-script.ts';

describeScript(
  'providers/chains/units.lua',
  ({ call }) => {
    const amount = fc.oneof(
      fc.bigInt({ min: 0n, max: 10n ** 41n }),
      // Around the edges of the limbs.
      fc
        .record({ power: fc.constantFrom(14n, 28n, 41n), off: fc.bigInt({ min: -3n, max: 3n }) })
        .map(({ power, off }) => 10n ** power + off),
      fc.bigInt({ min: 0n, max: 3n }),
    );
    const run = (how: string, a: bigint, b: bigint) => call({}, { how, a: toDigits(a), b: toDigits(b) });

    test('amounts add up and subtract exactly', async () => {
      await fc.assert(
        fc.asyncProperty(amount, amount, async (a, b) => {
          const [more, less] = a > b ? [a, b] : [b, a];
          const answer = [await run('plus', more, less), await run('minus', more, less)];
          expect(answer).toEqual([toDigits(more + less), toDigits(more - less)]);
        }),
        { numRuns: 300 },
      );
    });

    test('an absent field is zero; no amount leaves its range', async () => {
      const top = 10n ** 42n - 1n;
      expect(await call({}, { how: 'amount', a: '', b: '' })).toBe(toDigits(0n));
      await expect(run('plus', top, 1n)).rejects.toThrow(/out of range/);
      await expect(run('minus', 1n, 2n)).rejects.toThrow(/out of range/);
      expect(() => toDigits(top + 1n)).toThrow(/42 digits/);
      expect(() => toDigits(-1n)).toThrow(/42 digits/);
    });
  },
  "-- @keys none\n-- @args how, a, b\nif how == 'plus' then return plus(a, b) end\nif how == 'minus' then return minus(a, b) end\nreturn amount(false)",
);
