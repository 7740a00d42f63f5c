import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, merge, remove, update } from '../../../wallets/store/changes.ts';
import type { Change } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { ledgerEntry } from '../../support/ledger-entry.ts';
import * as support from '../../support/store.ts';
import {
  eventFor,
  newTenant,
  next,
  type StoreUnderTest,
  startStore,
  storeWorlds,
  thing,
  thingId,
  thingType,
} from '../../support/store.ts';
import { until } from '../../support/until.ts';

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  let store: RedisTenantStore;

  beforeAll(async () => {
    under = await startStore(world);
    store = await under.open();
  });
  afterAll(() => under.stop());

  const done = (tenant: string, change: Change) => support.done(store, tenant, change);
  const refused = (tenant: string, change: Change) => support.refused(under, store, tenant, change);

  describe('a change', () => {
    it('makes, changes and removes a record together with its indices', async () => {
      const tenant = newTenant();
      const first = thing(thingId(1_000), { tags: ['a', 'b'], note: { deep: ['ünïcode', 1.5, null] } });
      await done(tenant, { puts: [create(thingType, first)] });
      expect(await store.read(tenant, thingType, first.id)).toEqual(first);
      const second = next(first, { status: 'closed', tags: ['b', 'c'] });
      await done(tenant, { puts: [update(thingType, first, second)] });
      expect(await store.read(tenant, thingType, first.id)).toEqual(second);
      const indices = [
        'things',
        'things:status:open',
        'things:status:closed',
        'things:tag:a',
        'things:tag:b',
        'things:tag:c',
      ];
      expect(await Promise.all(indices.map((index) => store.count(tenant, index)))).toEqual([1, 0, 1, 0, 1, 1]);
      await done(tenant, { removals: [remove(thingType, second)] });
      expect(await store.read(tenant, thingType, first.id)).toBeUndefined();
      expect(await under.contents(tenant)).toEqual(new Map());
    });

    it('is refused as a conflict when a record is there already, gone, or at another version', async () => {
      const tenant = newTenant();
      const first = thing(thingId(1_000));
      const second = next(first);
      const absent = thing(thingId(1_001));
      await done(tenant, { puts: [create(thingType, first)] });
      await done(tenant, { puts: [update(thingType, first, second)] });
      const conflict = (id: string) => ({ kind: 'conflict', id });
      expect(await refused(tenant, { puts: [create(thingType, first)] })).toEqual(conflict(first.id));
      expect(await refused(tenant, { puts: [update(thingType, first, second)] })).toEqual(conflict(first.id));
      expect(await refused(tenant, { puts: [update(thingType, absent, next(absent))] })).toEqual(conflict(absent.id));
      expect(await refused(tenant, { removals: [remove(thingType, first)] })).toEqual(conflict(first.id));
      const version = (id: string, version: number): Change => ({ guards: [{ kind: 'version', id, version }] });
      expect(await refused(tenant, version(first.id, 1))).toEqual(conflict(first.id));
      expect(await refused(tenant, version(absent.id, 1))).toEqual(conflict(absent.id));
      await done(tenant, version(first.id, 2));
    });

    it('is refused when a record has another status, and says which', async () => {
      const tenant = newTenant();
      const wallet = thing(thingId(1_000), { status: 'frozen' });
      await done(tenant, { puts: [create(thingType, wallet)] });
      const guarded = (id: string, status: string): Change => ({ guards: [{ kind: 'status', id, status }] });
      expect(await refused(tenant, guarded(wallet.id, 'active'))).toEqual({
        kind: 'status',
        id: wallet.id,
        status: 'frozen',
      });
      expect(await refused(tenant, guarded('thg_none', 'active'))).toEqual({ kind: 'conflict', id: 'thg_none' });
      await done(tenant, guarded(wallet.id, 'frozen'));
    });

    it('is refused when an index is not empty', async () => {
      const tenant = newTenant();
      const guards = [{ kind: 'emptyIndex', index: 'things:tag:a' }] as const;
      const first = thing(thingId(1_000), { tags: ['a'] });
      await done(tenant, { guards, puts: [create(thingType, first)] });
      const second = thing(thingId(1_001), { tags: ['a'] });
      expect(await refused(tenant, { guards, puts: [create(thingType, second)] })).toEqual({
        kind: 'notEmpty',
        index: 'things:tag:a',
      });
      await done(tenant, { puts: [update(thingType, first, next(first, { tags: [] }))] });
      await done(tenant, { guards });
    });

    it('is refused when a record that must not exist does', async () => {
      const tenant = newTenant();
      const first = thing(thingId(1_000));
      const guards = [{ kind: 'version', id: first.id, version: 0 }] as const;
      await done(tenant, { guards });
      await done(tenant, { puts: [create(thingType, first)] });
      expect(await refused(tenant, { guards })).toEqual({ kind: 'conflict', id: first.id });
    });

    it('is refused when an index holds fewer or more than was counted, in all or from a time on', async () => {
      const tenant = newTenant();
      const counted = (min: number, max: number | undefined, createdAfterMs?: number): Change => ({
        guards: [
          { kind: 'count', index: 'things', min, max, ...(createdAfterMs === undefined ? {} : { createdAfterMs }) },
        ],
      });
      const conflict = { kind: 'conflict', id: 'things' };
      await done(tenant, counted(0, 0));
      expect(await refused(tenant, counted(1, undefined))).toEqual(conflict);
      for (const timeMs of [1_000, 2_000, 3_000]) {
        await done(tenant, { puts: [create(thingType, thing(thingId(timeMs)))] });
      }
      for (const change of [counted(3, 3), counted(0, undefined), counted(2, 2, 2_000), counted(0, 0, 3_001)]) {
        await done(tenant, change);
      }
      for (const change of [counted(4, undefined), counted(0, 2), counted(0, 1, 2_000), counted(1, 9, 3_001)]) {
        expect(await refused(tenant, change)).toEqual(conflict);
      }
      // What the change itself adds does not count.
      await done(tenant, { ...counted(3, 3), puts: [create(thingType, thing(thingId(4_000)))] });
    });

    it('is refused when an available balance has left its range, before its own entries', async () => {
      const tenant = newTenant();
      const within = (min: bigint, max: bigint | undefined): Change => ({
        guards: [{ kind: 'available', walletId: 'wal_1', asset: 'ETH', min, max }],
      });
      const conflict = { kind: 'conflict', id: 'wal_1' };
      await done(tenant, within(0n, 0n));
      expect(await refused(tenant, within(1n, undefined))).toEqual(conflict);
      const held = 10n ** 40n + 7n;
      const entry = ledgerEntry('wal_1', 'ETH', held, 5n);
      await done(tenant, { ...within(0n, 0n), ledger: [entry] });
      for (const [min, max] of [
        [held, held],
        [0n, undefined],
        [held - 1n, held + 1n],
        [9n, 10n ** 41n],
      ] as const) {
        await done(tenant, within(min, max));
      }
      for (const [min, max] of [
        [held + 1n, undefined],
        [0n, held - 1n],
        [10n ** 41n, undefined],
        [0n, 9n * 10n ** 39n],
      ] as const) {
        expect(await refused(tenant, within(min, max))).toEqual(conflict);
      }
    });

    it('lets one of a hundred claim a name, and the name is free again when its time is over', async () => {
      const tenant = newTenant();
      const claims = (name: string, lifetimeMs?: number): Change => ({
        guards: [{ kind: 'claim', name, ...(lifetimeMs === undefined ? {} : { lifetimeMs }) }],
      });
      const outcomes = await Promise.all(Array.from({ length: 100 }, () => store.commit(tenant, claims('gold'))));
      expect(outcomes.filter(({ committed }) => committed)).toHaveLength(1);
      expect(await refused(tenant, claims('gold'))).toEqual({ kind: 'claimed', name: 'gold' });
      await done(tenant, claims('silver', 50));
      await until(async () => (await store.commit(tenant, claims('silver'))).committed, 'the name is free again');
      expect(await under.redis.pttl(`sm:{t:${tenant}}:claim:gold`)).toBe(-1);
    });

    it('is refused as a whole: one check that fails after all others leaves nothing behind', async () => {
      const tenant = newTenant();
      const first = thing(thingId(1_000), { tags: ['a'] });
      await done(tenant, { puts: [create(thingType, first)], events: [eventFor(first.id)] });
      const made = thing(thingId(1_001));
      const whole: Change = {
        puts: [update(thingType, first, next(first, { tags: ['b'] })), create(thingType, made, 60_000)],
        guards: [
          { kind: 'claim', name: 'x' },
          { kind: 'emptyIndex', index: 'things:tag:b' },
          { kind: 'status', id: first.id, status: 'open' },
        ],
        allocate: { counter: 'c', recordId: made.id },
        release: { counter: 'd', number: 3 },
        events: [eventFor(made.id)],
        due: [{ member: 'm', atMs: 1 }],
      };
      const overdrawn = { walletId: 'w', asset: 'ETH', available: -1n, reserved: 0n };
      expect(
        await refused(tenant, { ...whole, ledger: [{ ...overdrawn, available: 5n, asset: 'BTC' }, overdrawn] }),
      ).toEqual({
        kind: 'insufficient',
        walletId: 'w',
        asset: 'ETH',
      });
      expect(await done(tenant, whole)).toEqual({ committed: true, sequence: 2, allocated: 0 });
    });

    it.each<[string, () => Change]>([
      ['a version that does not follow', () => ({ puts: [create(thingType, thing('thg_1', { version: 2 }))] })],
      ['an id that changes', () => ({ puts: [update(thingType, thing('thg_1'), thing('thg_2', { version: 2 }))] })],
      ['one record twice', () => ({ puts: [create(thingType, thing('thg_1')), create(thingType, thing('thg_1'))] })],
      [
        'a record that is changed and removed',
        () => ({ puts: [create(thingType, thing('thg_1'))], removals: [remove(thingType, thing('thg_1'))] }),
      ],
      ['a number for a record that is not in it', () => ({ allocate: { counter: 'c', recordId: 'thg_1' } })],
      ['a number given back that is none', () => ({ release: { counter: 'c', number: -1 } })],
      [
        'a name claimed twice',
        () => ({
          guards: [
            { kind: 'claim', name: 'a' },
            { kind: 'claim', name: 'a' },
          ],
        }),
      ],
      [
        'a document beyond the limit',
        () => ({ puts: [create(thingType, thing('thg_1', { note: 'x'.repeat(1 << 20) }))] }),
      ],
      ['a lifetime of nothing', () => ({ puts: [create(thingType, thing('thg_1'), 0)] })],
      [
        'two allocations',
        () => merge({ allocate: { counter: 'c', recordId: 'a' } }, { allocate: { counter: 'c', recordId: 'b' } }),
      ],
    ])('with %s is our bug and throws', async (_what, change) => {
      const tenant = newTenant();
      await expect((async () => store.commit(tenant, change()))()).rejects.toThrow();
      expect(await under.contents(tenant)).toEqual(new Map());
    });

    it('shows a record only to those who ask for its kind', async () => {
      const tenant = newTenant();
      const made = thing(thingId(1_000));
      const otherType = { ...thingType, name: 'other' };
      await done(tenant, { puts: [create(thingType, made)] });
      expect(await store.read(tenant, otherType, made.id)).toBeUndefined();
      expect(await store.readWithBalances(tenant, otherType, made.id)).toBeUndefined();
      expect(await store.readMany(tenant, otherType, [made.id])).toEqual([undefined]);
    });

    it('may be large: a thousand records and a thousand events', async () => {
      const tenant = newTenant();
      const things = Array.from({ length: 1_000 }, (_, k) => thing(thingId(1_000 + k), { tags: ['a', 'b', `c${k}`] }));
      const puts = things.map((each) => create(thingType, each));
      const outcome = await done(tenant, { puts, events: things.map(({ id }) => eventFor(id)) });
      expect(outcome.sequence).toBe(1_000);
      expect(await store.count(tenant, 'things:tag:b')).toBe(1_000);
      expect(
        await store.readMany(
          tenant,
          thingType,
          things.map(({ id }) => id),
        ),
      ).toEqual(things);
      await expect(store.commit(tenant, { puts: [...puts, create(thingType, thing('thg_x'))] })).rejects.toThrow(
        RangeError,
      );
    });

    it('gives a key named __proto__ back as a plain property', async () => {
      const tenant = newTenant();
      const note = JSON.parse('{"__proto__": {"admin": true}, "says": "__proto__"}') as object;
      await done(tenant, { puts: [create(thingType, thing('thg_1', { note }))] });
      const read = await store.read(tenant, thingType, 'thg_1');
      expect(JSON.stringify(read?.note)).toBe('{"__proto__":{"admin":true},"says":"__proto__"}');
      expect({ ...(read?.note as object) }).not.toHaveProperty('admin');
      expect(Object.getPrototypeOf(read?.note)).toBe(Object.prototype);
    });
  });

  describe('numbers', () => {
    const allocating = (tenant: string, counter = 'nonce') => {
      const made = thing(thingId(1_000));
      return done(tenant, { puts: [create(thingType, made)], allocate: { counter, recordId: made.id } }).then(
        async ({ allocated }) => {
          expect(await store.numberOf(tenant, made.id)).toBe(allocated);
          return allocated;
        },
      );
    };

    it('rise from 0 without gaps, each given once, also to many at a time', async () => {
      const tenant = newTenant();
      const numbers = await Promise.all(Array.from({ length: 200 }, () => allocating(tenant)));
      expect(numbers.sort((a, b) => a! - b!)).toEqual(Array.from({ length: 200 }, (_, k) => k));
      expect(await allocating(tenant, 'other')).toBe(0);
    });

    it('come back: the lowest that was given back goes first', async () => {
      const tenant = newTenant();
      for (let k = 0; k < 12; k += 1) await allocating(tenant);
      for (const number of [10, 9, 3, 3]) await done(tenant, { release: { counter: 'nonce', number } });
      expect([
        await allocating(tenant),
        await allocating(tenant),
        await allocating(tenant),
        await allocating(tenant),
      ]).toEqual([3, 9, 10, 12]);
    });

    it('stay with their record when it changes, and a record without one has none', async () => {
      const tenant = newTenant();
      const made = thing(thingId(1_000));
      await done(tenant, { puts: [create(thingType, made)] });
      expect(await store.numberOf(tenant, made.id)).toBeUndefined();
      const second = next(made);
      await done(tenant, { puts: [update(thingType, made, second)], allocate: { counter: 'n', recordId: made.id } });
      await done(tenant, { puts: [update(thingType, second, next(second))] });
      expect(await store.numberOf(tenant, made.id)).toBe(0);
    });
  });

  describe('records that are kept for a time', () => {
    it('leave the store then, and their indices at a later change', async () => {
      const tenant = newTenant();
      const brief = thing(thingId(1_000), { tags: ['a'] });
      await done(tenant, { puts: [create(thingType, brief, 30)] });
      await until(async () => (await store.read(tenant, thingType, brief.id)) === undefined, 'the record is gone');
      await done(tenant, { guards: [{ kind: 'emptyIndex', index: 'things:tag:a' }] });
      await until(async () => {
        await done(tenant, { puts: [create(thingType, thing(thingId(1_001), { tags: ['b'] }), 60_000)] });
        return (await store.count(tenant, 'things:tag:a')) === 0;
      }, 'the index is empty');
    });

    it('drop out of a listing at once', async () => {
      const tenant = newTenant();
      const brief = thing(thingId(1_000));
      const lasting = thing(thingId(1_001));
      await done(tenant, { puts: [create(thingType, brief, 30), create(thingType, lasting)] });
      await until(async () => (await store.read(tenant, thingType, brief.id)) === undefined, 'the record is gone');
      expect(await store.count(tenant, 'things')).toBe(2);
      const page = await store.list(tenant, thingType, {
        indices: ['things', 'things:status:open'],
        order: 'oldest',
        limit: 1,
      });
      expect(page.items).toEqual([lasting]);
      expect(page.hasMore).toBe(false);
      expect(await store.count(tenant, 'things')).toBe(1);
      expect(await store.count(tenant, 'things:status:open')).toBe(1);
    });

    it('stay for ever when a later change says so, and then keep their indices', async () => {
      const tenant = newTenant();
      const first = thing(thingId(1_000), { tags: ['a'] });
      await done(tenant, { puts: [create(thingType, first, 60_000)] });
      const key = `sm:{t:${tenant}}:r:${first.id}`;
      expect(await under.redis.pttl(key)).toBeGreaterThan(50_000);
      await done(tenant, { puts: [update(thingType, first, next(first, { tags: ['a'] }))] });
      expect(await under.redis.pttl(key)).toBe(-1);
      // Its first time is over now, as far as the sweep can tell.
      const [member] = await under.redis.zrange(`sm:{t:${tenant}}:old`, '0', '-1');
      await under.redis.zadd(`sm:{t:${tenant}}:old`, 1, member!);
      await done(tenant, { puts: [create(thingType, thing(thingId(1_002)), 60_000)] });
      expect(await store.count(tenant, 'things:tag:a')).toBe(1);
      expect(await under.redis.zcard(`sm:{t:${tenant}}:old`)).toBe(1);
    });
  });
});
