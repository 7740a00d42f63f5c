/** The coordinator's part of a tenant's event log, on a real Redis, with a gateway that writes there at the same time. */

import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answer } from '../../coordinator/contract/call-answer.ts';
import { type CoordinatorWrite, overdueKey } from '../../coordinator/contract/messages.ts';
import { advance, openRecord } from '../../coordinator/contract/record.ts';
import { changeEvent } from '../../coordinator/session/events.ts';
import { openRedisStore, type RedisStore, type RedisStoreOptions } from '../../coordinator/store/redis-store.ts';
import { wakePrefix } from '../../core/redis/event-log.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import type { NewEvent, StoredEvent } from '../../wallets/store/contract.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { storePorts } from '../support/store-ports.ts';
import { until } from '../support/until.ts';

const nowMs = 1_800_000_000_000;
const moment = { nowMs, random: randomStream('event log', 'ids') };

let server: TestRedis;
let redis: Redis;
let sessions: RedisStore;
let records: RedisTenantStore;
const opened: RedisStore[] = [];

async function openStore(over: Partial<RedisStoreOptions> = {}): Promise<RedisStore> {
  const options = {
    redisUrl: server.url,
    clusterId: 'c',
    resumeKey: new Uint8Array(32).fill(7),
    onTampered: () => undefined,
    onStatus: () => undefined,
    onFenced: () => undefined,
  };
  const store = await openRedisStore({ ...options, ...over });
  opened.push(store);
  return store;
}

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
  sessions = await openStore();
  records = new RedisTenantStore(redis, storePorts);
});
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  redis.disconnect();
  await server.stop();
});

function open(tenant: string, sessionId: string, expiresMs = nowMs + 1_000) {
  const { reasonCode, message } = answer('SESSION_ACCEPTED');
  return openRecord(
    {
      tenant,
      sessionId,
      state: ReceiptState.ACCEPTED,
      reasonCode,
      message,
      expiresMs,
      correlationId: 'cor_1',
      approvalMode: ApprovalMode.DIRECT_ALLOWED,
      keystoreType: KeystoreType.MOCK_THRESHOLD,
      ceremony: {
        kind: 'dkg',
        curve: 'ed25519',
        threshold: 2,
        totalNodes: 3,
        account: [],
        networkId: '',
        attempt: 1,
        fresh: false,
        played: {},
        verified: [],
        publicKey: '',
      },
    },
    moment,
  );
}

type Session = ReturnType<typeof open>;

const create = (session: Session): CoordinatorWrite => ({
  kind: 'create',
  session,
  event: changeEvent(session, moment),
  guardIntent: '',
  nowMs,
});

function end(session: Session): CoordinatorWrite {
  const next = advance(session, { ...answer('SESSION_EXPIRED'), state: ReceiptState.EXPIRED as const }, moment);
  return { kind: 'update', session: next, event: changeEvent(next, moment) };
}

async function written(write: CoordinatorWrite, store = sessions): Promise<void> {
  expect(await store.write(write)).toEqual({ kind: 'written' });
}

async function logOf(tenant: string): Promise<readonly StoredEvent[]> {
  return (await records.events(tenant, { afterSequence: 0, limit: 1_000, types: [] })).events;
}

function walletEvent(tenant: string, count: number): NewEvent {
  return {
    id: `evt_${tenant}_${count}`,
    type: 'wallet.updated',
    atMs: nowMs,
    resource: { type: 'wallet', id: `wal_${count}`, version: 1 },
    correlationId: 'req_1',
    provider: 'sandbox',
    connectionId: 'pcn_1',
    object: {},
  };
}

test('two writers at once leave no hole and lose nothing', async () => {
  const tenant = 'tn_both';
  const count = 150;
  const own = new Redis(server.url);
  const other = new RedisTenantStore(own, storePorts);
  const ids = Array.from({ length: count }, (_, index) => index);
  const commit = async (index: number, store: RedisTenantStore): Promise<void> => {
    expect(await store.commit(tenant, { events: [walletEvent(tenant, index)] })).toMatchObject({ committed: true });
  };
  await Promise.all(
    ids.map(async (index) => {
      const session = open(tenant, `s${index}`);
      const isBetween = index % 2 === 0;
      const beside = isBetween ? undefined : commit(index, records);
      await written(create(session));
      // Each writer has its turn while the other is at work.
      if (isBetween) await commit(index, other);
      await written(end(session));
      await beside;
    }),
  );
  own.disconnect();
  const log = await logOf(tenant);
  expect(log.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 3 * count }, (_, index) => index + 1));
  expect(new Set(log.map(({ id }) => id)).size).toBe(3 * count);
  for (const index of ids) {
    const types = log.filter(({ resource }) => resource.id === `s${index}`).map(({ type }) => type);
    expect(types).toEqual(['dkg.session.accepted', 'dkg.session.expired']);
  }
  // Whatever has ended is not among those whose lifetime is watched.
  expect(await redis.exists('sm:{t:tn_both}:ending')).toBe(0);
});

test('a token limited to some connections sees no session', async () => {
  const tenant = 'tn_limited';
  await written(create(open(tenant, 's')));
  await records.commit(tenant, { events: [walletEvent(tenant, 1)] });
  const page = await records.events(tenant, { afterSequence: 0, limit: 10, types: [], connectionIds: ['pcn_1'] });
  expect(page.events.map(({ type }) => type)).toEqual(['wallet.updated']);
  const filtered = await records.events(tenant, { afterSequence: 0, limit: 10, types: ['dkg.*'] });
  expect(filtered.events.map(({ resource }) => resource.id)).toEqual(['s']);
});

test('an event wakes the followers of the tenant', async () => {
  const subscriber = new Redis(server.url);
  const heard: string[] = [];
  subscriber.on('message', (channel: string, sequence: string) => heard.push(`${channel} ${sequence}`));
  await subscriber.subscribe(`${wakePrefix}tn_wake`);
  const session = open('tn_wake', 's');
  await written(create(session));
  await written(end(session));
  await until(() => heard.length === 2, 'two wake-ups');
  expect(heard).toEqual([`${wakePrefix}tn_wake 1`, `${wakePrefix}tn_wake 2`]);
  subscriber.disconnect();
});

test('an answer of Redis that is lost does not write an event twice', async () => {
  const tenant = 'tn_lost';
  const session = open(tenant, 's');
  // Redis does all that it is told, but later than this store waits.
  const hasty = await openStore({ commandTimeoutMs: 1_000 });
  // The tenant is registered as having due work: the write is all that is sent while Redis waits.
  await until(() => written(create(open(tenant, 'earlier')), hasty).then(() => true), 'a write in time');
  await redis.call('CLIENT', 'PAUSE', '60000', 'WRITE');
  await expect(hasty.write(create(session))).rejects.toThrow();
  await redis.call('CLIENT', 'UNPAUSE');
  await until(async () => (await logOf(tenant)).length === 2, 'the late write');
  await until(() => written(create(session), hasty).then(() => true), 'the same write again, in time');
  expect(await logOf(tenant)).toHaveLength(2);
});

/** An empty Redis, and a coordinator that has just started. */
async function startOver(): Promise<void> {
  await redis.flushdb();
  sessions = await openStore();
}

async function overdue(atMs: number, store = sessions): Promise<string[]> {
  const record = await store.load(overdueKey(atMs));
  if (record?.kind !== 'overdue') throw new Error('not what was asked for');
  return record.sessions.map(({ tenant, sessionId }) => `${tenant}/${sessionId}`).sort();
}

test('overdue sessions are found over all tenants, also by the next start of the coordinator', async () => {
  await startOver();
  const all = ['a', 'b', 'c'].flatMap((tenant) => [1, 2].map((id) => open(tenant, `${id}`, nowMs + id)));
  for (const session of all) await written(create(session));
  expect(await overdue(nowMs)).toEqual([]);
  expect(await overdue(nowMs + 1)).toEqual(['a/1', 'b/1', 'c/1']);
  sessions = await openStore();
  expect(await overdue(nowMs + 2)).toEqual(['a/1', 'a/2', 'b/1', 'b/2', 'c/1', 'c/2']);
  for (const session of all) await written(end(session));
  expect(await overdue(nowMs + 2)).toEqual([]);
});

test('a look names a bounded number, and those behind come when the first have ended', async () => {
  await startOver();
  const all = Array.from({ length: 700 }, (_, index) => open('many', `s${index}`, nowMs + index));
  await Promise.all(all.map((session) => written(create(session))));
  const first = await overdue(nowMs + 1_000);
  expect(first).toHaveLength(512);
  const ended = all.filter(({ sessionId }) => first.includes(`many/${sessionId}`));
  await Promise.all(ended.map((session) => written(end(session))));
  expect(await overdue(nowMs + 1_001)).toHaveLength(188);
});

test('a session that begins while its tenant is looked at is not forgotten', async () => {
  await startOver();
  for (let round = 0; round < 30; round += 1) {
    const atMs = nowMs + round * 100_000;
    const [before, after] = [open('race', `a${round}`, atMs), open('race', `b${round}`, atMs + 1)];
    await written(create(before));
    await written(end(before));
    await Promise.all([overdue(atMs), written(create(after)), overdue(atMs + 61_000)]);
    await until(async () => (await overdue(atMs + 99_000)).length > 0, 'the session that began meanwhile');
    await written(end(after));
  }
});

test('what has left Redis, or has ended unnoticed, is not looked for any more', async () => {
  await startOver();
  for (const id of ['gone', 'ended', 'longer']) await written(create(open('lost', id)));
  await redis.del('sm:{t:lost}:session:gone');
  await redis.hset('sm:{t:lost}:session:ended', 'state', ReceiptState.BACKEND_COMPLETED);
  await redis.hset('sm:{t:lost}:session:longer', 'expiresMs', nowMs + 5_000);
  expect(await overdue(nowMs + 1_000)).toEqual([]);
  expect(await redis.zrange('sm:{t:lost}:ending', '0', '-1')).toEqual(['longer']);
  expect(await overdue(nowMs + 4_999)).toEqual([]);
  expect(await overdue(nowMs + 5_000)).toEqual(['lost/longer']);
});
