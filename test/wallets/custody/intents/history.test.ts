/** The history that rules see: each count begins at its own time. */
import { expect, test } from 'vitest';
import { historyOf, withoutOwn } from '../../../../wallets/custody/intents/history.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';

test('counts the intents of the last hour, of the last day, and all to the destination', async () => {
  const hourMs = 3_600_000;
  const nowMs = 100 * hourMs;
  const agesMs = [0, 0.5, 2, 20, 23.9, 25, 90].map((hours) => hours * hourMs);
  const store = {
    count: async (_tenant: string, index: string, createdAfterMs = 0) => {
      const isTo = index.startsWith('intents:to:');
      return agesMs.filter((ageMs) => nowMs - ageMs >= createdAfterMs).length - (isTo ? 3 : 0);
    },
  } as unknown as TenantStore;
  const history = await historyOf({ store, tenant: 'tn_1', nowMs }, 'wal_1', '0x1');
  expect(history).toEqual({ intentsLastHour: 2, intentsLastDay: 5, intentsToDestination: 4 });
});

test('an intent does not count itself, in each period that its creation lies in', () => {
  const hourMs = 3_600_000;
  const nowMs = 100 * hourMs;
  const history = { intentsLastHour: 3, intentsLastDay: 5, intentsToDestination: 9 };
  const without = (agoMs: number, of = history) => Object.values(withoutOwn(of, nowMs, nowMs - agoMs));
  expect(without(0)).toEqual([2, 4, 8]);
  expect(without(hourMs)).toEqual([2, 4, 8]);
  expect(without(hourMs + 1)).toEqual([3, 4, 8]);
  expect(without(24 * hourMs)).toEqual([3, 4, 8]);
  expect(without(24 * hourMs + 1)).toEqual([3, 5, 8]);
  expect(without(0, { intentsLastHour: 0, intentsLastDay: 0, intentsToDestination: 0 })).toEqual([0, 0, 0]);
});
