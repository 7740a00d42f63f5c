import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wakePrefix } from '../../../core/redis/event-log.ts';
import { create } from '../../../wallets/store/changes.ts';
import type { EventQuery, NewEvent, StoredEvent } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import {
  done,
  eventFor,
  newTenant,
  type StoreUnderTest,
  startStore,
  storeWorlds,
  thing,
  thingId,
  thingType,
} from '../../support/store.ts';
import { runs } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  let store: RedisTenantStore;

  beforeAll(async () => {
    under = await startStore(world);
    store = await under.open();
  });
  afterAll(() => under.stop());

  const hourMs = 3_600_000;
  const dayMs = 24 * hourMs;
  const nowMs = 1_800_000_000_000;

  /** Page after page, as a client reads. */
  async function readAll(tenant: string, query: Partial<EventQuery> = {}): Promise<StoredEvent[]> {
    const out: StoredEvent[] = [];
    let afterSequence = query.afterSequence ?? 0;
    for (;;) {
      const page = await store.events(tenant, { limit: 7, types: [], ...query, afterSequence });
      expect(page.nextAfterSequence).toBeGreaterThanOrEqual(afterSequence);
      out.push(...page.events);
      if (!page.hasMore) return out;
      expect(page.nextAfterSequence).toBeGreaterThan(afterSequence);
      afterSequence = page.nextAfterSequence;
    }
  }

  it('wakes who follows once for a change, with its last event', async () => {
    const tenant = newTenant();
    const heard: string[] = [];
    const subscriber = under.redis.duplicate();
    subscriber.on('message', (_channel: string, sequence: string) => heard.push(sequence));
    await subscriber.subscribe(`${wakePrefix}${tenant}`);
    await done(store, tenant, { events: [eventFor('thg_1'), eventFor('thg_2'), eventFor('thg_3')] });
    await done(store, tenant, { events: [eventFor('thg_4')] });
    await until(() => heard.includes('4'), 'the last event');
    expect(heard).toEqual(['3', '4']);
    subscriber.disconnect();
  });

  it('comes back as it was written, with its sequence', async () => {
    const tenant = newTenant();
    const written = [
      eventFor('thg_1', { object: { amount: '1', nested: { list: ['é', null, 2] } } }),
      eventFor('thg_2', {
        provider: 'bitgo',
        connectionId: 'pcn_1',
        resource: { type: 'thing', id: 'thg_2', version: 7 },
      }),
    ];
    expect((await done(store, tenant, { events: written })).sequence).toBe(2);
    expect(await store.events(tenant, { afterSequence: 0, limit: 10, types: [] })).toEqual({
      events: written.map((event, k) => ({ ...event, sequence: k + 1 })),
      hasMore: false,
      nextAfterSequence: 2,
      floorSequence: 1,
      lastSequence: 2,
    });
  });

  it('is empty for a tenant without events, and at its end', async () => {
    const tenant = newTenant();
    const empty = { events: [], hasMore: false, nextAfterSequence: 0, floorSequence: 1, lastSequence: 0 };
    expect(await store.events(tenant, { afterSequence: 0, limit: 10, types: [] })).toEqual(empty);
    await done(store, tenant, { events: [eventFor('thg_1')] });
    expect(await store.events(tenant, { afterSequence: 1, limit: 10, types: [] })).toMatchObject({
      events: [],
      hasMore: false,
      nextAfterSequence: 1,
    });
  });

  it('has no holes and no event of a refused change, with concurrent commits', async () => {
    const tenant = newTenant();
    const stores = [store, await under.open()];
    // Every record is made twice: one of the two is refused.
    const ids = Array.from({ length: 150 }, (_, k) => thingId(1_000 + k));
    const outcomes = await Promise.all(
      ids.flatMap((id, k) =>
        stores.map((each) =>
          each.commit(tenant, {
            puts: [create(thingType, thing(id))],
            events: Array.from({ length: 1 + (k % 3) }, () => eventFor(id)),
          }),
        ),
      ),
    );
    const made = outcomes.filter(({ committed }) => committed);
    expect(made).toHaveLength(150);
    const events = await readAll(tenant);
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 300 }, (_, k) => k + 1));
    expect(new Set(events.map(({ id }) => id)).size).toBe(300);
    for (const [k, id] of ids.entries()) {
      expect(events.filter(({ resource }) => resource.id === id)).toHaveLength(1 + (k % 3));
    }
    const last = Math.max(...made.map((outcome) => (outcome.committed ? outcome.sequence : 0)));
    expect(last).toBe(300);
  });

  it('finds by type, resource, connection and time what a look at every event finds', async () => {
    const types = ['wallet.created', 'wallet.archived', 'walletx.created', 'intent.approved'];
    const eventArb = fc.record({
      type: fc.constantFrom(...types),
      resource: fc.constantFrom('thg_1', 'thg_2'),
      connectionId: fc.constantFrom(null, 'pcn_1', 'pcn_2'),
      /** Between one event and the next. */
      laterMs: fc.constantFrom(0, 1, hourMs),
      /** A clock behind the others, or one that was read long before. */
      lateMs: fc.constantFrom(0, 0, 0, 1, 3 * hourMs, 23 * hourMs),
    });
    const optional = <T>(arb: fc.Arbitrary<T>) => fc.option(arb, { nil: undefined });
    const queryArb = fc.record({
      afterSequence: fc.integer({ min: 0, max: 20 }),
      limit: fc.integer({ min: 1, max: 10 }),
      types: fc.subarray(['wallet.created', 'wallet.*', 'intent.*', 'none.*', 'wallet'], { maxLength: 2 }),
      resourceId: optional(fc.constantFrom('thg_1', 'thg_3')),
      connectionIds: optional(fc.subarray(['pcn_1', 'pcn_2', 'pcn_3'])),
      createdAfterMs: optional(fc.integer({ min: -25, max: 25 })),
      createdBeforeMs: optional(fc.integer({ min: -25, max: 25 })),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(eventArb, { maxLength: 40, size: 'max' }),
        fc.array(queryArb, { minLength: 1, maxLength: 5 }),
        async (made, queries) => {
          const tenant = newTenant();
          let time = nowMs;
          const events: NewEvent[] = made.map(({ type, resource, connectionId, laterMs, lateMs }) => {
            time += laterMs;
            return eventFor(resource, {
              type,
              connectionId,
              atMs: time - lateMs,
              resource: { type: 'thing', id: resource, version: 1 },
            });
          });
          if (events.length > 0) await done(store, tenant, { events });
          for (const { createdAfterMs, createdBeforeMs, resourceId, connectionIds, ...rest } of queries) {
            const from = createdAfterMs === undefined ? undefined : nowMs + createdAfterMs * hourMs;
            const before = createdBeforeMs === undefined ? undefined : nowMs + createdBeforeMs * hourMs;
            let latestMs = 0;
            const expected = events
              .map((event, k) => {
                // No event is stamped earlier than the one before it.
                latestMs = Math.max(latestMs, event.atMs);
                return { ...event, atMs: latestMs, sequence: k + 1 };
              })
              .filter(
                (event) =>
                  event.sequence > rest.afterSequence &&
                  (from === undefined || event.atMs >= from) &&
                  (before === undefined || event.atMs < before) &&
                  (resourceId === undefined || event.resource.id === resourceId) &&
                  (connectionIds === undefined || connectionIds.some((id) => id === event.connectionId)) &&
                  (rest.types.length === 0 ||
                    rest.types.some((type) =>
                      type.endsWith('.*') ? event.type.startsWith(type.slice(0, -1)) : event.type === type,
                    )),
              );
            const query = {
              ...rest,
              ...(resourceId === undefined ? {} : { resourceId }),
              ...(connectionIds === undefined ? {} : { connectionIds }),
              ...(from === undefined ? {} : { createdAfterMs: from }),
              ...(before === undefined ? {} : { createdBeforeMs: before }),
            };
            expect(await readAll(tenant, query)).toEqual(expected);
          }
        },
      ),
      { numRuns: runs(30, 80) },
    );
  });

  it('begins exactly at the time that is asked for', async () => {
    const tenant = newTenant();
    const size = 37;
    const events = Array.from({ length: size }, (_, k) => eventFor('thg_1', { atMs: nowMs + 10 * k }));
    await done(store, tenant, { events });
    for (let k = 0; k <= size; k += 1) {
      for (const createdAfterMs of [nowMs + 10 * k, nowMs + 10 * k - 9]) {
        const sequences = (await readAll(tenant, { createdAfterMs, limit: 50 })).map(({ sequence }) => sequence);
        expect(sequences).toEqual(Array.from({ length: size - k }, (_, more) => k + more + 1));
      }
    }
  });

  it('works through many events in portions when few match', async () => {
    const tenant = newTenant();
    for (let k = 0; k < 3; k += 1) {
      await done(store, tenant, { events: Array.from({ length: 800 }, () => eventFor('thg_1')) });
    }
    await done(store, tenant, { events: [eventFor('thg_2')] });
    const first = await store.events(tenant, { afterSequence: 0, limit: 5, types: [], resourceId: 'thg_2' });
    expect(first).toMatchObject({ events: [], hasMore: true, nextAfterSequence: 1_000, lastSequence: 2_401 });
    expect((await readAll(tenant, { resourceId: 'thg_2' })).map(({ sequence }) => sequence)).toEqual([2_401]);
  });

  it('lets events of more than 30 days before the newest go, and says which is the oldest', async () => {
    const tenant = newTenant();
    const at = (atMs: number, size: number) =>
      done(store, tenant, { events: Array.from({ length: size }, () => eventFor('thg_1', { atMs })) });
    await at(nowMs, 200);
    await at(nowMs + 29 * dayMs, 200);
    expect((await store.events(tenant, { afterSequence: 0, limit: 1, types: [] })).floorSequence).toBe(1);
    await at(nowMs + 31 * dayMs, 200);
    const page = await store.events(tenant, { afterSequence: 0, limit: 3, types: [] });
    expect(page).toMatchObject({ floorSequence: 201, lastSequence: 600, nextAfterSequence: 203, hasMore: true });
    expect((await readAll(tenant, { createdAfterMs: nowMs + 30 * dayMs })).map(({ sequence }) => sequence)[0]).toBe(
      401,
    );
  });
});
