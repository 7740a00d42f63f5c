/** What a change sends to the store: each limit at its last allowed value and beyond, and what no change may say. */
import { describe, expect, test } from 'vitest';
import { create, merge, remove, update } from '../../../wallets/store/changes.ts';
import { changeArgument } from '../../../wallets/store/commit-argument.ts';
import type { Change, Guard, NewEvent, RecordType, Versioned } from '../../../wallets/store/contract.ts';
import { RecordSeal } from '../../../wallets/store/secrets/record-seal.ts';
import { TimeHeap } from '../../../wallets/store/time-heap.ts';
import { testRecordKey } from '../../support/store-ports.ts';

interface Thing extends Versioned {
  readonly status: string;
  readonly tags: readonly string[];
  readonly note?: string;
}

// Not those of test/support/store.ts, which need a Redis.
const thingType: RecordType<Thing> = {
  name: 'thing',
  status: ({ status }) => status,
  indices: ({ tags }) => ['things', ...tags.map((tag) => `things:tag:${tag}`)],
};
const thing = (id: string, over: Partial<Thing> = {}): Thing => ({ id, version: 1, status: 'open', tags: [], ...over });
const next = (before: Thing, over: Partial<Thing> = {}): Thing => ({
  ...before,
  ...over,
  version: before.version + 1,
});
const event: NewEvent = {
  id: 'evt_1',
  type: 'thing.changed',
  atMs: 1_800_000_000_000,
  resource: { type: 'thing', id: 'thg_0', version: 1 },
  correlationId: 'cor_1',
  provider: null,
  connectionId: null,
  object: { id: 'thg_0' },
};
const things = (count: number) => Array.from({ length: count }, (_, index) => thing(`thg_${index}`));
const puts = (count: number): Change => ({ puts: things(count).map((each) => create(thingType, each)) });
const one = things(1)[0]!;
const seal = new RecordSeal(testRecordKey);
const argument = (change: Change) => changeArgument('t', change, seal);
const accepted = (change: Change) => () => expect(argument(change)).toEqual(expect.any(Object));

describe('a change', () => {
  test('holds at most 1,000 records, removed ones included, and 1,000 events', () => {
    accepted(puts(1_000))();
    expect(() => argument(puts(1_001))).toThrow('at most 1000 records');
    const removals = things(1_001).map((each) => remove(thingType, each));
    accepted({ removals: removals.slice(1) })();
    expect(() => argument({ ...puts(1), removals: removals.slice(1) })).toThrow('at most 1000 records');
    const events = Array.from({ length: 1_001 }, () => event);
    accepted({ events: events.slice(1) })();
    expect(() => argument({ events })).toThrow('at most 1000 events');
  });

  test('holds documents of at most 1 MiB, in bytes of UTF-8', () => {
    const sized = (letter: string, bytes: number): Change => {
      const size = (note: string) => Buffer.byteLength(JSON.stringify(thing(one.id, { note })));
      const count = Math.floor((bytes - size('')) / Buffer.byteLength(letter));
      const note = letter.repeat(count) + 'x'.repeat(bytes - size(letter.repeat(count)));
      return { puts: [create(thingType, thing(one.id, { note }))] };
    };
    for (const letter of ['x', 'é', '本']) {
      accepted(sized(letter, 1 << 20))();
      expect(() => argument(sized(letter, (1 << 20) + 1))).toThrow('at most 1048576 bytes');
    }
  });

  test('names a record once, with the version that follows', () => {
    const second = next(one);
    accepted({ puts: [update(thingType, one, second)] })();
    for (const wrong of [
      { puts: [create(thingType, one), create(thingType, one)] },
      { puts: [update(thingType, one, second)], removals: [remove(thingType, one)] },
      { removals: [remove(thingType, one), remove(thingType, one)] },
      { puts: [create(thingType, { ...one, id: '' })] },
      { puts: [create(thingType, second)] },
      { puts: [update(thingType, one, one)] },
      { puts: [update(thingType, one, next(second))] },
      { puts: [update(thingType, one, { ...second, id: 'thg_9' })] },
    ] satisfies Change[]) {
      expect(() => argument(wrong)).toThrow();
    }
  });

  test('claims a name once, for a lifetime above 0 and of at most ten years', () => {
    const claim = (lifetimeMs?: number): Guard => ({
      kind: 'claim',
      name: 'n',
      ...(lifetimeMs !== undefined && { lifetimeMs }),
    });
    const tenYearsMs = 10 * 366 * 24 * 3_600_000;
    expect(argument({ guards: [claim(0.5)] })).toMatchObject({ claims: [{ name: 'n', lifetimeMs: 1 }] });
    accepted({ guards: [claim()] })();
    accepted({ guards: [claim(tenYearsMs)] })();
    for (const lifetimeMs of [0, -1, tenYearsMs + 1, Number.NaN]) {
      expect(() => argument({ guards: [claim(lifetimeMs)] })).toThrow(RangeError);
    }
    expect(() => argument({ guards: [claim(), claim()] })).toThrow('claims a name twice');
  });

  test('gives numbers to its own records, and gives whole numbers from 0 back', () => {
    accepted({ puts: [create(thingType, one)], allocate: { counter: 'c', recordId: one.id } })();
    expect(() => argument({ ...puts(1), allocate: { counter: 'c', recordId: 'thg_other' } })).toThrow();
    accepted({ release: { counter: 'c', number: 0 } })();
    for (const number of [-1, 0.5, 2 ** 53]) {
      expect(() => argument({ release: { counter: 'c', number } })).toThrow('whole number from 0');
    }
  });

  test('expects a balance from 0, and adds up what it does to each wallet and asset', () => {
    const range = (min: bigint, max?: bigint): Guard => ({ kind: 'available', walletId: 'w', asset: 'ETH', min, max });
    expect(argument({ guards: [range(0n, 5n), range(1n)] })).toMatchObject({
      available: [
        { min: '0', max: '5' },
        { min: '1', max: undefined },
      ],
    });
    expect(() => argument({ guards: [range(-1n)] })).toThrow(RangeError);
    const entry = (asset: string, available: bigint, reserved: bigint) => ({
      walletId: 'w',
      asset,
      available,
      reserved,
    });
    expect(argument({ ledger: [entry('ETH', -5n, 5n), entry('BTC', 1n, 0n), entry('ETH', 2n, -3n)] })).toEqual({
      ledger: [
        { walletId: 'w', asset: 'ETH', available: '-3', reserved: '2' },
        { walletId: 'w', asset: 'BTC', available: '1', reserved: '0' },
      ],
    });
  });

  test('joins the indices that its record is new in, and leaves those that it was in', () => {
    const before = thing(one.id, { status: 'open', tags: ['a', 'b'] });
    const after = next(before, { status: 'open', tags: ['b', 'c'] });
    expect(argument({ puts: [update(thingType, before, after)] })).toMatchObject({
      joined: [{ index: 'things:tag:c', id: one.id }],
      left: [{ index: 'things:tag:a', id: one.id }],
      versions: [{ id: one.id, version: '1' }],
    });
  });
});

test('merged changes hold all of each, and of what there can be one alone, at most one', () => {
  const [release, allocate] = [
    { counter: 'r', number: 3 },
    { counter: 'a', recordId: one.id },
  ];
  const events = [event];
  const merged = merge({ release }, { allocate, ...puts(1) }, { balancesOf: 'wal_1', events }, {});
  expect(merged).toMatchObject({ release, allocate, balancesOf: 'wal_1', events, ...puts(1) });
  for (const absent of ['release', 'allocate', 'balancesOf']) expect(merge({ events })).not.toHaveProperty(absent);
  expect(() => merge({ release }, { release })).toThrow('two releases');
  expect(() => merge({ allocate }, { allocate })).toThrow('two allocations');
  expect(() => merge({ balancesOf: 'wal_1' }, { balancesOf: 'wal_1' })).toThrow('two wallets to show');
});

test('waits come out by time, each once, and none before its time', () => {
  const heap = new TimeHeap<string>();
  expect(heap.nextAtMs).toBeUndefined();
  expect(heap.popDue(1e9)).toBeUndefined();
  for (const atMs of [30, 10, 20]) heap.push(atMs, `at ${atMs}`);
  expect(heap.nextAtMs).toBe(10);
  expect([9, 10, 10, 30, 30, 30].map((nowMs) => heap.popDue(nowMs))).toEqual([
    undefined,
    'at 10',
    undefined,
    'at 20',
    'at 30',
    undefined,
  ]);
});
