/** What listings and event queries send to the store: exact limits, bounds of time, and what continues a page. */
import { describe, expect, test } from 'vitest';
import type { EventQuery, ListQuery } from '../../../wallets/store/contract.ts';
import { eventQueryArguments, listArguments, timeToken } from '../../../wallets/store/query-arguments.ts';

const listing: ListQuery = { indices: ['things'], order: 'newest', limit: 20 };
const query: EventQuery = { afterSequence: 0, limit: 20, types: [] };
const names = (count: number) => Array.from({ length: count }, (_, index) => `i${index}`);
const refused = expect.any(RangeError);

function listed(over: Partial<ListQuery>): unknown {
  try {
    return listArguments({ ...listing, ...over }, 0);
  } catch (error) {
    return error;
  }
}

function queried(over: Partial<EventQuery>): unknown {
  try {
    return eventQueryArguments({ ...query, ...over });
  } catch (error) {
    return error;
  }
}

test('a page has 1 to 100 records, or 1 to 1,000 events', () => {
  for (const limit of [1, 100]) expect(listed({ limit })).toMatchObject({ pageMax: limit });
  for (const limit of [0, 101, 1.5, -1, Number.NaN]) expect(listed({ limit })).toEqual(refused);
  for (const limit of [1, 1_000]) expect(queried({ limit })).toMatchObject({ pageMax: limit });
  for (const limit of [0, 1_001, 1.5, -1, Number.NaN]) expect(queried({ limit })).toEqual(refused);
});

test('a listing names 1 to 200 indices, alternatives included; a single alternative is one more that is required', () => {
  expect(listed({ indices: names(200) })).toMatchObject({ all: names(200), any: [] });
  expect(listed({ indices: ['a'], anyOf: names(199) })).toMatchObject({ all: ['a'], any: names(199) });
  expect(listed({ indices: names(201) })).toEqual(refused);
  expect(listed({ indices: ['a'], anyOf: names(200) })).toEqual(refused);
  expect(listed({ indices: [] })).toEqual(refused);
  expect(listed({ anyOf: [] })).toEqual(refused);
  expect(listed({ indices: ['a', 'b', 'a'], anyOf: ['b'] })).toMatchObject({ all: ['a', 'b'], any: [] });
  expect(listed({ indices: ['a'], anyOf: ['b'] })).toMatchObject({ all: ['a', 'b'], any: [] });
});

test('a query of events names at most 100 types, and a sequence from 0', () => {
  expect(queried({ types: names(100) })).toMatchObject({ types: names(100) });
  expect(queried({ types: names(101) })).toEqual(refused);
  for (const afterSequence of [0, 1, Number.MAX_SAFE_INTEGER]) {
    expect(queried({ afterSequence })).toMatchObject({ after: afterSequence });
  }
  for (const afterSequence of [-1, 0.5, 2 ** 53]) expect(queried({ afterSequence })).toEqual(refused);
});

test('what is absent is empty, and what is given stands', () => {
  expect(listed({})).toMatchObject({ order: 'newest', afterId: '', fromTime: '', toTime: '', withBalances: 0 });
  expect(listed({ withBalances: false })).toMatchObject({ withBalances: 0 });
  expect(listed({ withBalances: true })).toMatchObject({ withBalances: 1 });
  expect(queried({})).toMatchObject({ resourceId: '', fromMs: '', beforeMs: '' });
  const range = { createdAfterMs: 0, createdBeforeMs: 7, resourceId: 'wal_1', connectionIds: ['pcn_1'] };
  expect(queried(range)).toMatchObject({ fromMs: 0, beforeMs: 7, resourceId: 'wal_1', connections: ['pcn_1'] });
});

describe('a time', () => {
  test('is the start of the UUIDv7s of its millisecond', () => {
    expect(timeToken(0)).toBe('00000000-0000');
    expect(timeToken(0x01a2_0000_0001)).toBe('01a20000-0001');
    expect(timeToken(1.9)).toBe(timeToken(1));
    expect(timeToken(-5)).toBe(timeToken(0));
    expect(timeToken(2 ** 48 - 1)).toBe('ffffffff-ffff');
    expect(timeToken(2 ** 60)).toBe('ffffffff-ffff');
  });

  test('bounds a listing, whose page continues after an id within the range alone', () => {
    const [from, before] = [1_000, 2_000];
    const afterId = (order: ListQuery['order'], timeMs: number, range: object) => {
      const id = `thg_${timeToken(timeMs)}-7000-8000-000000000000`;
      return (listed({ order, ...range, afterId: id }) as { afterId: string }).afterId === id;
    };
    const both = { createdAfterMs: from, createdBeforeMs: before };
    expect(listed(both)).toMatchObject({ fromTime: timeToken(from), toTime: timeToken(before) });
    expect([999, 1_000, 1_999, 2_000].map((time) => afterId('newest', time, both))).toEqual([true, true, true, false]);
    expect([999, 1_000, 1_999, 2_000].map((time) => afterId('oldest', time, both))).toEqual([false, true, true, true]);
    for (const order of ['newest', 'oldest'] as const) expect(afterId(order, 1, {})).toBe(true);
  });
});
