import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dueKeys } from '../../../core/redis/redis-due-work.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { done, newTenant, type StoreUnderTest, startStore, storeWorlds } from '../../support/store.ts';

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;

  beforeAll(async () => {
    under = await startStore(world);
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
    expect((await store.takeDue(tenant, 69, 50, 10)).members).toEqual([]);
    expect((await store.takeDue(tenant, 100, 50, 3)).members).toEqual(['b', 'd', 'a']);
    expect((await store.takeDue(tenant, 100, 50, 3)).members).toEqual(['c']);
    expect((await store.takeDue(tenant, 149, 50, 10)).members).toEqual(['later']);
    expect((await store.takeDue(tenant, 150, 50, 10)).members.toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('gives each member to one of many who ask at once', async () => {
    const { store } = await withClock();
    const { store: other } = await withClock();
    const tenant = newTenant();
    await done(store, tenant, { due: Array.from({ length: 100 }, (_, k) => ({ member: `m${k}`, atMs: k })) });
    const taken = await Promise.all(
      Array.from({ length: 30 }, (_, k) => (k % 2 === 0 ? store : other).takeDue(tenant, 1_000, minuteMs, 7)),
    ).then((all) => all.map(({ members }) => members));
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
    expect((await store.takeDue(tenant, 1, minuteMs, 10)).members).toEqual(['a', 'b']);
    await done(store, tenant, {
      due: [
        { member: 'a', atMs: 5 },
        { member: 'b', atMs: undefined },
      ],
    });
    expect((await store.takeDue(tenant, 10 * minuteMs, minuteMs, 10)).members).toEqual(['a']);
  });

  it('says when a tenant’s next work is due, behind what is leased now', async () => {
    const { store } = await withClock();
    const tenant = newTenant();
    expect(await store.takeDue(tenant, 1, minuteMs, 10)).toEqual({ members: [], nextAtMs: undefined });
    await done(store, tenant, { due: ['a', 'b', 'c'].map((member, k) => ({ member, atMs: 10 * (k + 1) })) });
    expect(await store.takeDue(tenant, 20, 50, 1)).toEqual({ members: ['a'], nextAtMs: 20 });
    expect(await store.takeDue(tenant, 20, 5, 10)).toEqual({ members: ['b'], nextAtMs: 25 });
  });

  it('finds the tenants whose work is due and no others, also when the change was refused', async () => {
    const { store } = await withClock();
    await under.redis.del(dueKeys('work').tenantsKey);
    const [now, later, refused, finished] = [newTenant(), newTenant(), newTenant(), newTenant()];
    await store.commit(now, { due: [{ member: 'a', atMs: 1_000 }] });
    await store.commit(later, { due: [{ member: 'a', atMs: 1_001 }] });
    const guards = [{ kind: 'version', id: 'thg_none', version: 1 }] as const;
    expect((await store.commit(refused, { guards, due: [{ member: 'a', atMs: 1 }] })).committed).toBe(false);
    await store.commit(finished, { due: [{ member: 'a', atMs: undefined }] });
    const found: string[] = [];
    await store.sweepDue(1_000, async (tenant) => {
      found.push(tenant);
      return (await store.takeDue(tenant, 1_000, minuteMs, 10)).nextAtMs;
    });
    expect(found.toSorted()).toEqual([now, refused].toSorted());
  });
});
