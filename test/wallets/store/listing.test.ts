import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create, update } from '../../../wallets/store/changes.ts';
import type { ListQuery } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { startRedis } from '../../support/redis.ts';
import { openConnection } from '../../support/redis-connection.ts';
import {
  done,
  newTenant,
  next,
  type StoreUnderTest,
  startStore,
  type Thing,
  thing,
  thingId,
  thingType,
} from '../../support/store.ts';
import { runs } from '../../support/thorough.ts';

let under: StoreUnderTest;
let store: RedisTenantStore;

beforeAll(async () => {
  // It counts the commands of the whole server.
  under = await startStore(await startRedis(), openConnection);
  store = await under.open();
});
afterAll(() => under.stop());

async function readAll(tenant: string, query: ListQuery, between = async () => {}): Promise<Thing[]> {
  const out: Thing[] = [];
  let afterId = query.afterId;
  for (;;) {
    const page = await store.list(tenant, thingType, { ...query, ...(afterId === undefined ? {} : { afterId }) });
    out.push(...page.items);
    expect(page.items.length).toBeLessThanOrEqual(query.limit);
    expect(page.nextId === undefined).toBe(!page.hasMore);
    if (!page.hasMore) return out;
    expect(page.nextId).not.toBe(afterId);
    afterId = page.nextId;
    await between();
  }
}

it('finds in every page together what a look at every record finds', async () => {
  const tags = ['a', 'b', 'c', 'd'];
  const thingArb = fc.record({
    laterMs: fc.constantFrom(0, 1, 1, 70_000),
    status: fc.constantFrom('open', 'closed'),
    tags: fc.subarray(tags),
  });
  const optional = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: undefined });
  const queryArb = fc.record({
    tags: fc.subarray(tags, { maxLength: 2 }),
    status: optional(fc.constantFrom('open', 'closed', 'none')),
    anyOf: optional(fc.subarray([...tags, 'none'], { minLength: 1, maxLength: 3 })),
    order: fc.constantFrom<'newest' | 'oldest'>('newest', 'oldest'),
    limit: fc.integer({ min: 1, max: 8 }),
    after: optional(fc.nat(30)),
    from: optional(fc.nat(30)),
    before: optional(fc.nat(30)),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(thingArb, { maxLength: 30, size: 'max' }),
      fc.array(queryArb, { minLength: 1, maxLength: 5 }),
      async (made, queries) => {
        const tenant = newTenant();
        let time = 1_700_000_000_000;
        const times: number[] = [];
        const things = made.map(({ laterMs, ...over }) => {
          time += laterMs;
          times.push(time);
          return thing(thingId(time), over);
        });
        await done(store, tenant, { puts: things.map((each) => create(thingType, each)) });
        for (const { tags, status, anyOf, order, limit, after, from, before } of queries) {
          const afterId = after === undefined ? undefined : things[after]?.id;
          const createdAfterMs = from === undefined ? undefined : times[from];
          const createdBeforeMs = before === undefined ? undefined : times[before];
          const expected = things.filter(
            (each, k) =>
              tags.every((tag) => each.tags.includes(tag)) &&
              (status === undefined || each.status === status) &&
              (anyOf === undefined || anyOf.some((tag) => each.tags.includes(tag))) &&
              (afterId === undefined || (order === 'newest' ? each.id < afterId : each.id > afterId)) &&
              (createdAfterMs === undefined || times[k]! >= createdAfterMs) &&
              (createdBeforeMs === undefined || times[k]! < createdBeforeMs),
          );
          if (order === 'newest') expected.reverse();
          const query: ListQuery = {
            indices: [
              ...(status === undefined ? [] : [`things:status:${status}`]),
              ...tags.map((tag) => `things:tag:${tag}`),
              'things',
            ],
            order,
            limit,
            ...(anyOf === undefined ? {} : { anyOf: anyOf.map((tag) => `things:tag:${tag}`) }),
            ...(afterId === undefined ? {} : { afterId }),
            ...(createdAfterMs === undefined ? {} : { createdAfterMs }),
            ...(createdBeforeMs === undefined ? {} : { createdBeforeMs }),
          };
          expect(await readAll(tenant, query)).toEqual(expected);
          if (createdAfterMs !== undefined) {
            const late = things.filter((each, k) => each.tags.includes('a') && times[k]! >= createdAfterMs);
            expect(await store.count(tenant, 'things:tag:a', createdAfterMs)).toBe(late.length);
          }
        }
      },
    ),
    { numRuns: runs(30, 80) },
  );
});

it('says that there is no more exactly when there is none', async () => {
  const tenant = newTenant();
  const things = Array.from({ length: 6 }, (_, k) => thing(thingId(1_000 + k)));
  await done(store, tenant, { puts: things.map((each) => create(thingType, each)) });
  const page = (limit: number, afterId?: string) =>
    store.list(tenant, thingType, { indices: ['things'], order: 'oldest', limit, ...(afterId && { afterId }) });
  expect(await page(6)).toMatchObject({ hasMore: false, nextId: undefined });
  expect(await page(5)).toMatchObject({ hasMore: true, nextId: things[4]!.id });
  expect(await page(1, things[4]!.id)).toMatchObject({ items: [things[5]], hasMore: false });
  expect(
    (await store.list(tenant, thingType, { indices: ['none'], order: 'oldest', limit: 5, createdAfterMs: 1 })).items,
  ).toEqual([]);
});

it('shows the balances of what it lists when asked', async () => {
  const tenant = newTenant();
  const [rich, poor] = [thing(thingId(1_000)), thing(thingId(1_001))];
  await done(store, tenant, {
    puts: [create(thingType, rich), create(thingType, poor)],
    ledger: [{ walletId: rich.id, asset: 'ETH', available: 10n ** 24n, reserved: 3n }],
  });
  const query = { indices: ['things'], order: 'oldest', limit: 10 } as const;
  const page = await store.list(tenant, thingType, { ...query, withBalances: true });
  expect(page.balances).toEqual(
    new Map([
      [rich.id, new Map([['ETH', { available: 10n ** 24n, reserved: 3n }]])],
      [poor.id, new Map()],
    ]),
  );
  expect((await store.list(tenant, thingType, query)).balances.size).toBe(0);
});

it('neither skips nor repeats what stood there before, while others come, change and go', async () => {
  for (const order of ['newest', 'oldest'] as const) {
    const tenant = newTenant();
    const standing = Array.from({ length: 60 }, (_, k) => thing(thingId(5_000 + 10 * k)));
    await done(store, tenant, { puts: standing.map((each) => create(thingType, each)) });
    let page = 0;
    const seen = await readAll(tenant, { indices: ['things'], order, limit: 7 }, async () => {
      page += 1;
      const changing = standing[page]!;
      await done(store, tenant, {
        puts: [4_000 - page, 5_001 + 50 * page, 9_000 + page]
          .map((time) => create(thingType, thing(thingId(time), { status: 'new' })))
          .concat(update(thingType, changing, next(changing))),
      });
    });
    const old = seen.filter(({ status }) => status === 'open').map(({ id }) => id);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    expect(old).toEqual(order === 'oldest' ? standing.map(({ id }) => id) : standing.map(({ id }) => id).reverse());
  }
});

it.each<[string, Partial<ListQuery>]>([
  ['no index', { indices: [] }],
  ['no alternative', { anyOf: [] }],
  ['a limit of 0', { limit: 0 }],
  ['a limit of 101', { limit: 101 }],
  ['half a limit', { limit: 1.5 }],
])('refuses a listing with %s', async (_what, over) => {
  const query: ListQuery = { indices: ['things'], order: 'newest', limit: 5, ...over };
  await expect(store.list(newTenant(), thingType, query)).rejects.toThrow(RangeError);
});

/** Far more than a call may look at. */
const largeSize = runs(10_000, 100_000);

describe(`with ${largeSize} records`, () => {
  const small = newTenant();
  const large = newTenant();

  async function fill(tenant: string, size: number): Promise<void> {
    for (let from = 0; from < size; from += 250) {
      const puts = Array.from({ length: Math.min(250, size - from) }, (_, k) =>
        create(
          thingType,
          thing(thingId(1_700_000_000_000 + from + k), {
            // Few have the tag "rare", and those that have it are not closed.
            status: (from + k) % 2 === 0 ? 'open' : 'closed',
            tags: [...((from + k) % 3 === 0 ? ['third'] : []), ...(from + k === 8 ? ['rare'] : [])],
          }),
        ),
      );
      await done(store, tenant, { puts });
    }
  }

  beforeAll(async () => {
    await fill(small, 10);
    await fill(large, largeSize);
  });

  /** What a piece of work asks of Redis, by command. */
  async function costs(work: () => Promise<unknown>): Promise<Record<string, number>> {
    await under.redis.config('RESETSTAT');
    await work();
    const lines = (await under.redis.info('commandstats')).matchAll(/cmdstat_(\S+?):calls=(\d+)/g);
    const {
      info,
      config,
      'config|resetstat': _reset,
      eval: _eval,
      evalsha: _sha,
      ...calls
    } = Object.fromEntries([...lines].map(([, name, calls]) => [name!, Number(calls)]));
    return calls;
  }

  const list = (tenant: string, over: Partial<ListQuery>) => () =>
    store.list(tenant, thingType, { indices: ['things'], order: 'newest', limit: 5, ...over });

  it('a page costs what it costs with ten', async () => {
    for (const over of [{}, { createdAfterMs: 1_700_000_000_002 }, { order: 'oldest', withBalances: true }] as const) {
      const cost = await costs(list(large, over));
      expect(cost).toEqual(await costs(list(small, over)));
      expect(cost.zrange).toBeLessThanOrEqual(2);
      expect(cost.hmget).toBe(6);
    }
  });

  it('a page far from both ends costs the same', async () => {
    const first = await store.list(large, thingType, {
      indices: ['things'],
      order: 'newest',
      limit: 1,
      createdBeforeMs: 1_700_000_000_000 + largeSize / 2,
    });
    expect(await costs(list(large, { afterId: first.items[0]!.id }))).toEqual(await costs(list(large, {})));
  });

  it('walks the smallest index', async () => {
    const cost = await costs(list(large, { indices: ['things', 'things:status:open', 'things:tag:rare'] }));
    expect(cost).toMatchObject({ zrange: 1, zmscore: 2, hmget: 1 });
  });

  it('looks at a bounded number of ids when nothing matches, and says where to go on', async () => {
    const query: ListQuery = {
      indices: ['things'],
      anyOf: ['things:tag:rare', 'things:tag:none'],
      order: 'newest',
      limit: 5,
    };
    // Batches of 200, 2,000 in all.
    expect(await costs(() => store.list(large, thingType, query))).toMatchObject({ zrange: 10, zmscore: 20 });
    const page = await store.list(large, thingType, query);
    expect(page).toMatchObject({ items: [], hasMore: true });
    expect(await store.count(large, 'things', 1_700_000_000_000 + largeSize - 2_000)).toBe(2_000);
    const rest = await store.list(large, thingType, { ...query, createdBeforeMs: 1_700_000_000_010 });
    expect(rest.items).toHaveLength(1);
    expect(rest.hasMore).toBe(false);
    expect(page.nextId?.slice(4, 17)).toBe(
      (1_700_000_000_000 + largeSize - 2_000)
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-'),
    );
  });
});
