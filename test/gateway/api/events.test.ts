/** GET /v1/events: order, filters, cursors, the floor, and what limited tokens see. On a real Redis. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../core/actors/live/ports.ts';
import { readPage } from '../../../gateway/api/pages.ts';
import { uuidV7 } from '../../../proto/ids.ts';
import { intentStatuses } from '../../../wallets/custody/intents/states.ts';
import { eventRoutes } from '../../../wallets/delivery/events/routes.ts';
import { eventTypes, isEventFilter } from '../../../wallets/delivery/events/types.ts';
import type { EventPage, NewEvent, TenantStore } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { type RestApp, restApp } from '../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../support/store.ts';

let redis: StoreUnderTest;
let store: RedisTenantStore;
let rest: RestApp;
const tenant = 'tn_events';
const all = { authorization: 'Bearer svc_sk_test_allevents00000' };
const limited = { authorization: 'Bearer svc_sk_test_limited000000' };
const startMs = Date.UTC(2026, 10, 1);

const types = ['wallet.created', 'transaction_intent.created', 'transaction_intent.approved', 'webhook.created'];

function event(at: number): NewEvent {
  const connectionId = at % 4 === 3 ? null : `pcn_${at % 2}`;
  return {
    id: `evt_${uuidV7(startMs + at * 1000, systemRandom)}`,
    type: types[at % 4]!,
    atMs: startMs + at * 1000,
    resource: { type: 'thing', id: `thing_${at % 3}`, version: 1 },
    correlationId: `cor_${at}`,
    provider: at % 4 === 3 ? null : 'fireblocks',
    connectionId,
    object: { id: `thing_${at % 3}`, at },
  };
}

beforeAll(async () => {
  redis = await startStore();
  store = await redis.open();
  rest = await restApp({ routes: eventRoutes(), store });
  rest.tokens.put(all.authorization.slice(7), { tenant });
  rest.tokens.put(limited.authorization.slice(7), { tenant, providerConnectionIds: ['pcn_1'] });
  for (let at = 0; at < 12; at += 1) await store.commit(tenant, { events: [event(at)] });
});
afterAll(async () => {
  await rest.app.close();
  await redis.stop();
});

interface Body {
  readonly events: readonly { readonly id: string; readonly sequence: number; readonly type: string }[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** As the gateway of these tests makes them, with its key. */
function cursorAt(id: string): string {
  return readPage({ tenant, cursorKey: new Uint8Array(32).fill(3) }, 'events', {}).cursorOf(id);
}

async function list(query = '', headers = all): Promise<Body> {
  const answer = await rest.app.inject({ url: `/v1/events?${query}`, headers });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json() as Body;
}

const sequences = async (query: string, headers = all) =>
  (await list(query, headers)).events.map(({ sequence }) => sequence);

describe('events', () => {
  it('come oldest first, in the decided shape', async () => {
    const { events } = await list();
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(events[0]).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: 'wallet.created',
      timestamp: '2026-11-01T00:00:00.000Z',
      api_version: 'v1',
      environment: 'sandbox',
      sequence: 1,
      resource: { type: 'thing', id: 'thing_0', version: 1 },
      correlation_id: 'cor_0',
      provider: 'fireblocks',
      data: { object: { id: 'thing_0', at: 0 } },
    });
  });

  it.each([
    ['type=wallet.created', [1, 5, 9]],
    ['type=wallet.created,webhook.created', [1, 4, 5, 8, 9, 12]],
    ['type=transaction_intent.*', [2, 3, 6, 7, 10, 11]],
    ['resource_id=thing_1', [2, 5, 8, 11]],
    ['resource_id=thing_1&type=wallet.*', [5]],
    ['after_sequence=9', [10, 11, 12]],
    ['after_sequence=12', []],
    ['after_sequence=999', []],
    ['created_after=2026-11-01T00:00:10Z', [11, 12]],
    ['created_before=2026-11-01T00:00:02Z', [1, 2]],
    ['created_after=2026-11-01T00:00:03Z&created_before=2026-11-01T00:00:05Z', [4, 5]],
  ])('are filtered by %s', async (query, expected) => {
    expect(await sequences(query)).toEqual(expected);
  });

  it('are read by their ids, of the token’s connections alone', async () => {
    const { events } = await list();
    const read = (id: string, headers = all) => rest.app.inject({ url: `/v1/events/${id}`, headers });
    for (const each of events) {
      const { statusCode, body } = await read(each.id);
      expect([statusCode, JSON.parse(body)]).toEqual([200, each]);
    }
    const visible = new Set((await list('', limited)).events.map(({ id }) => id));
    expect(visible.size).toBeLessThan(events.length);
    for (const { id } of events) expect((await read(id, limited)).statusCode).toBe(visible.has(id) ? 200 : 404);
    const unknown = [
      event(3).id,
      event(500).id,
      'evt_1',
      'wal_1',
      events[0]!.id.replace('evt', 'txi'),
      `${events[0]!.id}0`,
    ];
    for (const id of unknown) expect((await read(id)).statusCode, id).toBe(404);
  });

  it('are found by id behind more than a page of others, stamped later or earlier than their ids say', async () => {
    const late = { ...event(20), atMs: event(4000).atMs };
    const early = { ...event(21), atMs: event(21).atMs - 60_000 };
    await store.commit('tn_late', { events: [early] });
    for (const first of [30, 780]) {
      await store.commit('tn_late', { events: Array.from({ length: 750 }, (_, at) => event(first + at)) });
    }
    await store.commit('tn_late', { events: [late] });
    const token = 'svc_sk_test_lateevents0000';
    rest.tokens.put(token, { tenant: 'tn_late' });
    for (const [id, sequence] of [
      [early.id, 1],
      [late.id, 1_502],
    ]) {
      const headers = { authorization: `Bearer ${token}` };
      const { statusCode, body } = await rest.app.inject({ url: `/v1/events/${id}`, headers });
      expect([statusCode, JSON.parse(body)]).toMatchObject([200, { id, sequence }]);
    }
  });

  it.each(['limit=1', 'limit=5', 'limit=1&type=webhook.*', 'limit=2&after_sequence=3'])(
    'are walked by %s',
    async (query) => {
      const found: number[] = [];
      let cursor: string | null = null;
      do {
        const page: Body = await list(cursor === null ? query : `${query}&cursor=${cursor}`);
        found.push(...page.events.map(({ sequence }) => sequence));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(found).toEqual(await sequences(query.replace(/limit=\d/, 'limit=100')));
    },
  );

  it('of other connections, and of none, do not exist for a limited token', async () => {
    expect(await sequences('', limited)).toEqual([2, 6, 10]);
    expect(await sequences('resource_id=thing_0', limited)).toEqual([10]);
  });

  it.each([
    ['type=wallet.nothing', 'type'],
    ['type=', 'type'],
    ['type=wallet.created,', 'type'],
    ['type=*', 'type'],
    [`type=${Array.from({ length: 21 }, () => 'wallet.created').join()}`, 'type'],
    ['after_sequence=-1', 'after_sequence'],
    ['after_sequence=1.5', 'after_sequence'],
    ['after_sequence=9999999999999999', 'after_sequence'],
    ['created_after=yesterday', 'created_after'],
    ['created_after=2026-11-02T00:00:00Z&created_before=2026-11-01T00:00:00Z', 'created_after'],
    ['resource_id=', 'resource_id'],
    ['order=newest', 'order'],
  ])('are not found by %s', async (query, field) => {
    const answer = await rest.app.inject({ url: `/v1/events?${query}`, headers: all });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.details).toMatchObject([{ field }]);
  });

  it.each(['x', '-1', '0-0', '1.5', '01', '', ' 1', '1e3', '99999999999999999999', '9007199254740993'])(
    'are not found behind the place "%s", with the key or without',
    async (id) => {
      const bound = JSON.stringify(['events', {}]);
      const unkeyed = createHash('sha256').update(bound).update('\n').update(id).digest().subarray(0, 9);
      for (const cursor of [cursorAt(id), Buffer.concat([unkeyed, Buffer.from(id)]).toString('base64url')]) {
        const answer = await rest.app.inject({ url: `/v1/events?cursor=${cursor}`, headers: all });
        expect(answer.statusCode, answer.body).toBe(400);
        expect(answer.json().error.details).toMatchObject([{ field: 'cursor', issue: 'invalid_format' }]);
      }
      expect(await sequences(`cursor=${cursorAt('9')}`)).toEqual([10, 11, 12]);
    },
  );
});

describe('what is no longer kept', () => {
  const page: EventPage = { events: [], hasMore: true, nextAfterSequence: 7, floorSequence: 6, lastSequence: 9 };
  const short = { events: async () => page } as unknown as TenantStore;

  it.each([
    ['', 200],
    ['after_sequence=5', 200],
    ['after_sequence=4', 400],
    ['after_sequence=0', 400],
  ])('%s answers %i', async (query, status) => {
    const { app } = await restApp({ routes: eventRoutes(), store: short });
    const answer = await app.inject({ url: `/v1/events?${query}`, headers: all });
    expect(answer.statusCode).toBe(status);
    if (status === 400) {
      expect(answer.json().error).toMatchObject({
        message: 'the oldest stored event has the sequence 6',
        details: [{ field: 'after_sequence', issue: 'too_small', message: 'takes 5 or more' }],
      });
    }
    await app.close();
  });

  it('is told to a cursor that has grown old, too', async () => {
    const { app } = await restApp({ routes: eventRoutes(), store: short });
    const { next_cursor: cursor } = (await app.inject({ url: '/v1/events', headers: all })).json() as Body;
    const old = { ...page, floorSequence: 100 };
    const { app: later } = await restApp({
      routes: eventRoutes(),
      store: { events: async () => old } as unknown as TenantStore,
    });
    const answer = await later.inject({ url: `/v1/events?cursor=${cursor}`, headers: all });
    expect(answer.json().error.details).toMatchObject([{ field: 'cursor', issue: 'too_small' }]);
    await Promise.all([app.close(), later.close()]);
  });
});

describe('the registry of types', () => {
  it('has one for every status of an intent', () => {
    const types = Object.keys(eventTypes).map((type) => type.replace('transaction_intent.', ''));
    expect(types).toEqual(expect.arrayContaining([...intentStatuses]));
  });

  it('names each as resource and happening, with a sentence', () => {
    for (const [type, text] of Object.entries(eventTypes)) {
      expect(type).toMatch(/^[a-z_]+(\.[a-z_]+)+$/);
      expect(text).toMatch(/^[A-Z].*\.$/);
    }
  });

  it('takes types and beginnings that can match', () => {
    for (const good of ['wallet.created', 'wallet.*', 'compliance.screening.*', 'compliance.*'])
      expect(isEventFilter(good)).toBe(true);
    for (const bad of ['', '*', '.*', 'wal*', 'wallet', 'wallet.', 'toString', 'wallet.cre*', 'walle.*'])
      expect(isEventFilter(bad)).toBe(false);
  });
});
