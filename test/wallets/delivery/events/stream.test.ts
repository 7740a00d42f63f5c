/** GET /v1/events/stream over sockets and Redis: every event once and in order, over cut, slow and closed connections. */
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import { newToken } from '../../../../gateway/auth/token-format.ts';
import { type EventPage, StoreUnavailable } from '../../../../wallets/store/contract.ts';
import { startRedis } from '../../../support/redis.ts';
import { openDatabase, type RedisDatabase } from '../../../support/redis-database.ts';
import { RestClient } from '../../../support/rest.ts';
import { runs } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { VirtualTimers } from '../../../support/virtual-timers.ts';
import { type Door, type DoorOptions, newEvent, openDoor, write } from './door.ts';
import { ask, Reader, read } from './sse.ts';

let redis: RedisDatabase;
const doors: Door[] = [];
const readers: Reader[] = [];
let tenant: string;
let token: string;
let tenants = 0;

beforeAll(async () => {
  redis = await openDatabase();
});
beforeEach(() => {
  tenants += 1;
  tenant = `tn_stream${tenants}`;
  token = newToken('sandbox', systemRandom);
});
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.cut();
  for (const door of doors.splice(0)) await door.stop();
});
afterAll(() => redis.stop());

async function open(options: DoorOptions = {}): Promise<Door> {
  const door = await openDoor(redis.url, options);
  door.tokens.put(token, { tenant });
  doors.push(door);
  return door;
}

async function follow(door: Door, options: Partial<Parameters<typeof read>[1]> = {}): Promise<Reader> {
  const reader = await read(door.url, { token, ...options });
  readers.push(reader);
  return reader;
}

const upTo = (count: number, from = 1) => Array.from({ length: count }, (_, index) => from + index);
const received = (reader: Reader, count: number) =>
  until(
    () => reader.messages.length >= count,
    () => `${count} messages, not ${reader.messages.length}`,
  );

describe('a stream', () => {
  it('begins now, and shows each event as GET /v1/events does', async () => {
    const door = await open();
    await write(door.store, tenant, 3);
    const reader = await follow(door);
    expect(reader.lastId).toBe('3');
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
      'x-request-id': expect.any(String),
    });
    await write(door.store, tenant, 12, 3);
    await received(reader, 12);
    const api = new RestClient(door.url, token);
    const { body } = await api.get<{ events: { sequence: number; type: string }[] }>(
      '/v1/events?after_sequence=3&limit=100',
    );
    const { events } = body;
    expect(reader.messages.map(({ data }) => JSON.parse(data))).toEqual(events);
    expect(reader.messages.map(({ id, event }) => [Number(id), event])).toEqual(
      events.map(({ sequence, type }) => [sequence, type]),
    );
  });

  it.each([
    ['Last-Event-ID', { lastEventId: '2' }],
    ['after_sequence', { query: 'after_sequence=2' }],
    ['Last-Event-ID before after_sequence', { lastEventId: '2', query: 'after_sequence=0' }],
    ['an empty Last-Event-ID as none', { lastEventId: '', query: 'after_sequence=2' }],
  ])('continues behind %s', async (_name, options) => {
    const door = await open();
    await write(door.store, tenant, 5);
    const reader = await follow(door, options);
    await received(reader, 3);
    await write(door.store, tenant, 2, 5);
    await received(reader, 5);
    expect(reader.sequences()).toEqual([3, 4, 5, 6, 7]);
  });

  it.each([
    ['type=wallet.created', [1, 5, 9]],
    ['type=transaction_intent.*', [2, 3, 6, 7, 10, 11]],
    ['resource_id=thing_1', [2, 5, 8, 11]],
    ['type=wallet.*&resource_id=thing_1', [5]],
  ])('is filtered by %s, and its heartbeat tells how far it has come', async (query, expected) => {
    const door = await open({ times: { heartbeatMs: 20 } });
    await write(door.store, tenant, 6);
    const reader = await follow(door, { query: `${query}&after_sequence=0` });
    await write(door.store, tenant, 6, 6);
    await until(() => reader.lastId === '12', 'the place in the log');
    expect(reader.sequences()).toEqual(expected);
  });

  it('of a limited token has the events of its connections alone', async () => {
    const door = await open({ times: { heartbeatMs: 20 } });
    const limited = newToken('sandbox', systemRandom);
    door.tokens.put(limited, { tenant, providerConnectionIds: ['pcn_1'] });
    await write(door.store, tenant, 4);
    await door.store.commit(tenant, { events: [newEvent(0, { connectionId: null })] });
    const reader = await follow(door, { token: limited, query: 'after_sequence=0' });
    await write(door.store, tenant, 4, 4);
    await until(() => reader.lastId === '9', 'the place in the log');
    expect(reader.sequences()).toEqual([2, 4, 7, 9]);
  });

  it('has nothing of another tenant', async () => {
    const door = await open({ times: { heartbeatMs: 20 } });
    const reader = await follow(door, { query: 'after_sequence=0' });
    await write(door.store, `${tenant}_other`, 5);
    await write(door.store, tenant, 1);
    await received(reader, 1);
    const beats = reader.heartbeats;
    await until(() => reader.heartbeats > beats + 2, 'heartbeats');
    expect(reader.sequences()).toEqual([1]);
  });

  it('lives longer than a request may take to arrive', async () => {
    const door = await open({ times: { heartbeatMs: 50 } });
    door.app.server.requestTimeout = 100;
    door.app.server.headersTimeout = 100;
    const reader = await follow(door);
    // Node looks for late requests every second.
    await until(() => reader.heartbeats > 45, 'heartbeats of two seconds');
    await write(door.store, tenant, 1);
    await received(reader, 1);
    expect(reader.ended).toBe(false);
  });
});

describe('nothing is lost or repeated', () => {
  it('for a reader that is cut after every event, with every id it has seen', async () => {
    const door = await open();
    const count = 40;
    await write(door.store, tenant, count);
    const seen: number[] = [];
    let lastEventId = '0';
    while (seen.length < count) {
      const reader = await follow(door, { lastEventId, onMessage: (_message, one) => one.cut() });
      await reader.end();
      seen.push(...reader.sequences());
      lastEventId = reader.lastId;
    }
    expect(seen).toEqual(upTo(count));
  });

  it('while thousands of events are written by two writers, and readers are cut at any point', async () => {
    const [one, two] = [await open(), await open()];
    const count = runs(2_000, 10_000);
    const steady = await follow(one, { lastEventId: '0' });
    const writing = Promise.all([write(one.store, tenant, count / 2), write(two.store, tenant, count / 2)]);
    const seen: number[] = [];
    let lastEventId = '0';
    let cuts = 0;
    while (seen.length < count) {
      const cutAfter = seen.length + 1 + ((cuts * 7919) % (count / 8));
      let got = seen.length;
      const reader = await follow(cuts % 2 === 0 ? one : two, {
        lastEventId,
        onMessage: (_message, self) => {
          got += 1;
          if (got >= cutAfter) self.cut();
        },
      });
      await until(
        () => reader.ended || got >= count,
        () => `${got} of ${count}`,
      );
      seen.push(...reader.sequences());
      lastEventId = reader.lastId;
      cuts += 1;
    }
    await writing;
    await until(
      () => steady.messages.length >= count,
      () => `${steady.messages.length} of ${count}`,
    );
    expect(cuts).toBeGreaterThan(8);
    expect(seen).toEqual(upTo(count));
    expect(steady.sequences()).toEqual(upTo(count));
  });

  it('when no wake-up arrives: a look at the log finds the events', async () => {
    const elsewhere = await startRedis();
    const door = await open({ limits: { pollEveryMs: 50 }, wakeUrl: elsewhere.url });
    const reader = await follow(door);
    await write(door.store, tenant, 250);
    await received(reader, 250);
    expect(reader.sequences()).toEqual(upTo(250));
    await elsewhere.stop();
  });

  it('when Redis goes away and comes back with its data, or without', async () => {
    let away = false;
    const door = await open({
      limits: { pollEveryMs: 30 },
      wrap: (store) =>
        new Proxy(store, {
          get(target, name) {
            const own = Reflect.get(target, name) as unknown;
            if (name !== 'events') return typeof own === 'function' ? own.bind(target) : own;
            return async (...args: Parameters<typeof target.events>): Promise<EventPage> => {
              if (away) throw new StoreUnavailable('away');
              return target.events(...args);
            };
          },
        }),
    });
    const reader = await follow(door);
    away = true;
    await write(door.store, tenant, 150);
    away = false;
    await received(reader, 150);
    expect(reader.sequences()).toEqual(upTo(150));
    await door.redis.del(`sm:{t:${tenant}}:evt`, `sm:{t:${tenant}}:seq`);
    await reader.end();
    expect(reader.complete).toBe(true);
    const again = await ask(door.url, { token, lastEventId: '150' });
    expect(again).toMatchObject({ status: 400 });
  });
});

describe('a stream cannot begin', () => {
  it.each([
    ['query', 'type=nothing', 'type', 'not_allowed_value'],
    ['query', 'after_sequence=-1', 'after_sequence', 'invalid_format'],
    ['query', 'after_sequence=6', 'after_sequence', 'too_large'],
    ['query', 'limit=5', 'limit', 'unknown_field'],
    ['header', 'abc', 'last-event-id', 'invalid_format'],
    ['header', '6', 'last-event-id', 'too_large'],
  ])('with the %s %s', async (place, text, field, issue) => {
    const door = await open();
    await write(door.store, tenant, 5);
    const refusal = await ask(door.url, { token, ...(place === 'query' ? { query: text } : { lastEventId: text }) });
    expect(refusal).toMatchObject({ status: 400 });
    const { error } = JSON.parse((refusal as { body: string }).body) as { error: { details: object[] } };
    expect(error.details[0]).toMatchObject({ issue });
    expect(JSON.stringify(error.details[0])).toContain(field);
  });

  it('behind what is kept: the floor is named, and it begins there', async () => {
    const door = await open();
    await write(door.store, tenant, 5);
    await door.redis.xtrim(`sm:{t:${tenant}}:evt`, 'MINID', '4-0');
    const refusal = await ask(door.url, { token, lastEventId: '2' });
    expect(refusal).toMatchObject({
      status: 400,
      body: expect.stringContaining('the oldest stored event has the sequence 4'),
    });
    const reader = await follow(door, { lastEventId: '3' });
    await received(reader, 2);
    expect(reader.sequences()).toEqual([4, 5]);
  });

  it('without a token, with one that may not read events, or by another method', async () => {
    const door = await open();
    const poor = newToken('sandbox', systemRandom);
    door.tokens.put(poor, { tenant, scopes: ['wallets:read'] });
    expect(await ask(door.url, { token: 'nonsense' })).toMatchObject({ status: 401 });
    expect(await ask(door.url, { token: poor })).toMatchObject({ status: 403 });
    for (const method of ['HEAD', 'POST']) {
      const answer = await fetch(`${door.url}/v1/events/stream`, {
        method,
        headers: { authorization: `Bearer ${token}` },
      });
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe('GET');
    }
  });

  it('beyond the places of a tenant, or of the gateway; one that is free again is given away', async () => {
    const door = await open({ limits: { perTenantMax: 3, perGatewayMax: 5 } });
    const other = newToken('sandbox', systemRandom);
    door.tokens.put(other, { tenant: `${tenant}_other` });
    const own = await Promise.all(upTo(3).map(() => follow(door)));
    const refused = await ask(door.url, { token });
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '5' } });
    await Promise.all(upTo(2).map(() => follow(door, { token: other })));
    expect(await ask(door.url, { token: other })).toMatchObject({ status: 429 });
    own[1]!.cut();
    await until(async () => {
      const next = await ask(door.url, { token });
      if (next instanceof Reader) readers.push(next);
      return next instanceof Reader;
    }, 'a free place');
    // A refused beginning holds no place.
    own[0]!.cut();
    for (const _ of upTo(10)) expect(await ask(door.url, { token, lastEventId: '99' })).not.toBeInstanceOf(Reader);
    await until(async () => {
      const next = await ask(door.url, { token });
      if (next instanceof Reader) readers.push(next);
      return next instanceof Reader;
    }, 'a free place');
  });
});

describe('a stream ends', () => {
  it('when its token is revoked, and not when another is', async () => {
    const door = await open({ times: { recheckMs: 50 } });
    const other = newToken('sandbox', systemRandom);
    door.tokens.put(other, { tenant });
    const [kept, ended] = [await follow(door, { token: other }), await follow(door)];
    door.tokens.put(token, { tenant, revokedAtMs: 1 });
    await ended.end();
    expect(ended.complete).toBe(true);
    expect(kept.ended).toBe(false);
    expect(await ask(door.url, { token })).toMatchObject({ status: 401 });
  });

  it('when its token expires', async () => {
    const door = await open({ times: { recheckMs: 50 } });
    const short = newToken('sandbox', systemRandom);
    door.tokens.put(short, { tenant, expiresAtMs: Date.now() + 3_600_000 });
    const reader = await follow(door, { token: short });
    expect(reader.ended).toBe(false);
    door.clock.offsetMs = 3_600_000;
    await reader.end();
    expect(reader.complete).toBe(true);
  });

  it('when the gateway stops; it continues at another one', async () => {
    const [one, two] = [await open(), await open()];
    await write(one.store, tenant, 3);
    const reader = await follow(one, { lastEventId: '1' });
    await received(reader, 2);
    one.feed.stop();
    await reader.end();
    expect(reader.complete).toBe(true);
    // Nothing of it holds up the close of the door.
    await one.app.close();
    await write(two.store, tenant, 2, 3);
    const next = await follow(two, { lastEventId: reader.lastId });
    await received(next, 2);
    expect([...reader.sequences(), ...next.sequences()]).toEqual([2, 3, 4, 5]);
  });

  it('with 503 for who asks while it stops', async () => {
    const door = await open();
    door.feed.stop();
    expect(await ask(door.url, { token })).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
  });

  it('when its reader goes: the place and the subscription are given back', async () => {
    const door = await open();
    const [one, two] = [await follow(door), await follow(door)];
    const subscribers = async () =>
      ((await door.redis.call('PUBSUB', 'NUMSUB', `sm:wake:${tenant}`)) as [string, number])[1];
    await until(async () => (await subscribers()) === 1, 'one subscription for both');
    one.cut();
    two.cut();
    await until(async () => (await subscribers()) === 0, 'none');
  });
});

describe('a reader that is gone before its stream stands', () => {
  it('holds no place', async () => {
    const door = await open();
    const head = `GET /v1/events/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`;
    let closed = 0;
    for (let turn = 0; turn < 60; turn += 1) {
      const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
      socket
        .on('error', () => undefined)
        .on('close', () => {
          closed += 1;
        });
      socket.write(head, () => setTimeout(() => socket.destroy(), turn % 12));
    }
    await until(() => closed === 60, 'all to be gone');
    await until(() => door.feed.places === 0, 'their places');
    expect(await follow(door)).toBeInstanceOf(Reader);
  });
});

describe('a slow reader', () => {
  it('is not buffered for without bound, and is cut when it takes nothing', async () => {
    let pages = 0;
    const timers = new VirtualTimers();
    const door = await open({
      times: { stallMs: 300 },
      timers,
      wrap: (store) =>
        new Proxy(store, {
          get(target, name) {
            const own = Reflect.get(target, name) as unknown;
            if (name !== 'events') return typeof own === 'function' ? own.bind(target) : own;
            return (...args: Parameters<typeof target.events>) => {
              if (args[1].limit > 1) pages += 1;
              return target.events(...args);
            };
          },
        }),
    });
    const large = 'x'.repeat(20_000);
    for (let at = 0; at < 2_000; at += 50) {
      const events = upTo(50).map((index) => newEvent(at + index, { object: { large } }));
      await door.store.commit(tenant, { events });
    }
    const quick = await follow(door, { lastEventId: '0' });
    const socket = connect(Number(new URL(door.url).port), '127.0.0.1');
    let closed = false;
    socket
      .on('error', () => undefined)
      .on('close', () => {
        closed = true;
      });
    socket.pause();
    await until(() => quick.messages.length === 2_000, 'all for the quick reader');
    const read = pages;
    socket.write(
      `GET /v1/events/stream?after_sequence=0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`,
    );
    await until(() => door.feed.places === 2, 'the slow reader');
    // A look lets a tenth of the time pass: a reader that takes something meanwhile is not cut.
    await until(async () => {
      await timers.advance(30);
      return door.feed.places === 1;
    }, 'the cut');
    // 40 MB wait for it; the sockets of both sides hold a few.
    expect(pages - read).toBeLessThan(12);
    expect(quick.ended).toBe(false);
    socket.resume();
    await until(() => closed, 'the end of its connection');
  });

  it('gets everything if it takes its time', async () => {
    const door = await open();
    const large = 'x'.repeat(5_000);
    for (let at = 0; at < 1_000; at += 50) {
      await door.store.commit(tenant, { events: upTo(50).map((index) => newEvent(at + index, { object: { large } })) });
    }
    const reader = await follow(door, {
      lastEventId: '0',
      onMessage: ({ id }, self) => {
        if (Number(id) % 100 !== 0) return;
        self.response.pause();
        setTimeout(() => self.response.resume(), 20);
      },
    });
    await received(reader, 1_000);
    expect(reader.sequences()).toEqual(upTo(1_000));
  });
});
