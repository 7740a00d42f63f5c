import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RedisTenantStore } from '../../store/redis-tenant-store.ts';
import { done, newTenant, type StoreUnderTest, startStore } from '../support/store.ts';

let under: StoreUnderTest;

beforeAll(async () => {
  under = await startStore();
});
afterAll(() => under.stop());

const minuteMs = 60_000;

/** A store whose clock stands until it is moved. */
async function withClock(nowMs = 1_800_000_000_000): Promise<{ store: RedisTenantStore; clock: { now: number } }> {
  const clock = { now: nowMs };
  return { store: await under.open({ nowMs: () => clock.now }), clock };
}

it('gives out what is due, earliest first, and each again only when its lease is over', async () => {
  const { store } = await withClock();
  const tenant = newTenant();
  const due = ['c', 'a', 'd', 'b'].map((member, k) => ({ member, atMs: 100 - 10 * k }));
  await done(store, tenant, { due: [...due, { member: 'later', atMs: 101 }] });
  expect(await store.takeDue(tenant, 69, 50, 10)).toEqual([]);
  expect(await store.takeDue(tenant, 100, 50, 3)).toEqual(['b', 'd', 'a']);
  expect(await store.takeDue(tenant, 100, 50, 3)).toEqual(['c']);
  expect(await store.takeDue(tenant, 149, 50, 10)).toEqual(['later']);
  expect((await store.takeDue(tenant, 150, 50, 10)).toSorted()).toEqual(['a', 'b', 'c', 'd']);
});

it('gives each member to one of many who ask at once', async () => {
  const { store } = await withClock();
  const { store: other } = await withClock();
  const tenant = newTenant();
  await done(store, tenant, { due: Array.from({ length: 100 }, (_, k) => ({ member: `m${k}`, atMs: k })) });
  const taken = await Promise.all(
    Array.from({ length: 30 }, (_, k) => (k % 2 === 0 ? store : other).takeDue(tenant, 1_000, minuteMs, 7)),
  );
  expect(taken.flat()).toHaveLength(100);
  expect(new Set(taken.flat()).size).toBe(100);
});

it('lets a change say when its work is due next, or that there is none left', async () => {
  const { store } = await withClock();
  const tenant = newTenant();
  await done(store, tenant, {
    due: [
      { member: 'a', atMs: 1 },
      { member: 'b', atMs: 1 },
    ],
  });
  expect(await store.takeDue(tenant, 1, minuteMs, 10)).toEqual(['a', 'b']);
  await done(store, tenant, {
    due: [
      { member: 'a', atMs: 5 },
      { member: 'b', atMs: undefined },
    ],
  });
  expect(await store.takeDue(tenant, 10 * minuteMs, minuteMs, 10)).toEqual(['a']);
});

it('names a tenant before its change, even when the change is refused', async () => {
  const { store } = await withClock();
  const tenant = newTenant();
  const guards = [{ kind: 'version', id: 'thg_none', version: 1 }] as const;
  expect((await store.commit(tenant, { guards, due: [{ member: 'a', atMs: 1 }] })).committed).toBe(false);
  expect(await store.dueTenants()).toContain(tenant);
  const other = newTenant();
  await done(store, other, { due: [{ member: 'a', atMs: undefined }] });
  expect(await store.dueTenants()).not.toContain(other);
});

it('names a tenant once in five minutes, not with every change', async () => {
  const { store, clock } = await withClock();
  const tenant = newTenant();
  const score = () => under.redis.zscore('sm:due:tenants', tenant);
  await done(store, tenant, { due: [{ member: 'a', atMs: 1 }] });
  const first = await score();
  clock.now += 5 * minuteMs - 1;
  await done(store, tenant, { due: [{ member: 'a', atMs: 1 }] });
  expect(await score()).toBe(first);
  clock.now += 1;
  await done(store, tenant, { due: [{ member: 'a', atMs: 1 }] });
  expect(Number(await score())).toBe(clock.now);
});

it('forgets a tenant only when it has nothing due and was not named for an hour', async () => {
  const { store, clock } = await withClock();
  const sweeper = await withClock(clock.now);
  const tenant = newTenant();
  const sweep = async (): Promise<boolean> => {
    await sweeper.store.takeDue(tenant, 0, minuteMs, 10);
    return (await sweeper.store.dueTenants()).includes(tenant);
  };
  await done(store, tenant, { due: [{ member: 'a', atMs: clock.now }] });
  sweeper.clock.now += 61 * minuteMs;
  // Something is due, if not yet.
  expect(await sweep()).toBe(true);
  await done(store, tenant, { due: [{ member: 'a', atMs: undefined }] });
  sweeper.clock.now = clock.now + 59 * minuteMs;
  expect(await sweep()).toBe(true);
  sweeper.clock.now = clock.now + 61 * minuteMs;
  expect(await sweep()).toBe(false);
  // Whoever named it that long ago names it again.
  clock.now = sweeper.clock.now;
  await done(store, tenant, { due: [{ member: 'a', atMs: clock.now }] });
  expect(await store.dueTenants()).toContain(tenant);
});

it('does not forget a tenant that was named after the look at its due set', async () => {
  const { store, clock } = await withClock();
  const sweeper = await withClock(clock.now + 120 * minuteMs);
  const tenant = newTenant();
  await done(store, tenant, { due: [{ member: 'a', atMs: 1 }] });
  await done(store, tenant, { due: [{ member: 'a', atMs: undefined }] });
  clock.now = sweeper.clock.now;
  // The sweeper sees an empty set; its removal reaches Redis behind the name and its change.
  const looking = sweeper.store.takeDue(tenant, 1, minuteMs, 10);
  await Promise.all([looking, done(store, tenant, { due: [{ member: 'b', atMs: 1 }] })]);
  expect(await store.dueTenants()).toContain(tenant);
  expect(await store.takeDue(tenant, 1, minuteMs, 10)).toContain('b');
});
