/** Two clusters on one Redis: one guard of intents for both; fences, lifetimes and records are each cluster's own. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  keyRecordKey,
  overdueKey,
  sessionKey,
} from '../../coordinator/contract/messages.ts';
import { advance, type KeyRecord, openRecord, type SigningRecord } from '../../coordinator/contract/record.ts';
import { changeEvent } from '../../coordinator/session/events.ts';
import type { SigningSession } from '../../coordinator/signing/state.ts';
import { openRedisStore, type RedisStore, type RedisStoreOptions } from '../../coordinator/store/redis-store.ts';
import type { Store } from '../../core/actors/contract.ts';
import { RedisClusters } from '../../core/redis/redis-clusters.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { asStore, memoryCoordinatorStore } from '../../simulation/cluster/memory-stores.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { openDatabase, type RedisDatabase } from '../support/redis-database.ts';

const tenant = 'tn_clusters';
const nowMs = 1_700_000_000_000;
const random = randomStream('clusters', 'ids');
const moment = { nowMs, random };
let server: RedisDatabase;
let redis: Redis;
/** By number. */
const stores = new Map<number, RedisStore>();
const opened: RedisStore[] = [];
const told: string[] = [];
let count = 0;

async function open(cluster: number, over: Partial<RedisStoreOptions> = {}): Promise<RedisStore> {
  const store = await openRedisStore({
    redisUrl: server.url,
    clusterId: `cl_${cluster}`,
    cluster,
    clock: { nowMs: () => 0 },
    resumeKey: new Uint8Array(32).fill(cluster),
    onTampered: (key) => told.push(key),
    onStatus: () => undefined,
    onFenced: () => undefined,
    ...over,
  });
  opened.push(store);
  return store;
}

beforeAll(async () => {
  server = await openDatabase();
  redis = new Redis(server.url);
  for (const cluster of [1, 2]) stores.set(cluster, await open(cluster));
});
beforeEach(async () => {
  await redis.flushdb();
  told.length = 0;
});
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  redis.disconnect();
  await server.stop();
});

const of = (cluster: number): RedisStore => stores.get(cluster)!;

function session(intentId: string): SigningSession {
  count += 1;
  const ceremony: SigningRecord = {
    kind: 'signing',
    facts: {
      ...{ intentId, keyId: 'k', curve: '', derivationPath: '', networkId: '', messageHash: 'ab' },
      ...{ keystoreType: KeystoreType.MOCK_THRESHOLD, approvalMode: ApprovalMode.DIRECT_ALLOWED },
      ...{ intentsOnly: false, walletService: false },
    },
    ...{ curve: 'secp256k1', witnessMissing: false, policyApprovalTokenSha256: '', witnessSha256: '', attempt: 0 },
    ...{ submitted: [], given: [], guarded: true, excluded: [], signature: '', recoveryId: -1 },
  };
  return openRecord(
    {
      ...{ tenant, sessionId: `sig_${count}`, state: ReceiptState.ACCEPTED, reasonCode: 'SESSION_ACCEPTED' },
      ...{ message: '', expiresMs: nowMs + 1_000, correlationId: 'c', approvalMode: ApprovalMode.DIRECT_ALLOWED },
      ...{ keystoreType: KeystoreType.MOCK_THRESHOLD, ceremony },
    },
    moment,
  );
}

const ends = {
  completed: { state: ReceiptState.BACKEND_COMPLETED, reasonCode: 'SIGNATURE_COMPLETED', message: '' },
  failed: { state: ReceiptState.BACKEND_FAILED, reasonCode: 'QUORUM_UNAVAILABLE', message: '' },
  expired: { state: ReceiptState.EXPIRED, reasonCode: 'SESSION_EXPIRED', message: '' },
} as const;

function created(made: SigningSession, gaveWay?: SigningSession): CoordinatorWrite {
  const write = { kind: 'create', session: made, event: changeEvent(made, moment), nowMs } as const;
  const guardIntent = made.ceremony.facts.intentId;
  return { ...write, guardIntent, ...(gaveWay && { ends: { session: gaveWay, event: changeEvent(gaveWay, moment) } }) };
}

function updated(made: SigningSession, key?: KeyRecord): CoordinatorWrite {
  return { kind: 'update', session: made, event: changeEvent(made, moment), ...(key && { key }) };
}

/** A step of a random history: a cluster begins a session of an intent, or moves on its latest one of it. */
const step = fc.record({
  cluster: fc.constantFrom(1, 2),
  intent: fc.constantFrom('i1', 'i2'),
  what: fc.constantFrom('begin', 'completed', 'failed', 'expired' as const),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

type ClusterStore = Store<CoordinatorWrite, CoordinatorRecord>;

/** The simulated world's, as each cluster sees it. */
function memoryStores(): (cluster: number) => ClusterStore {
  const memory = memoryCoordinatorStore();
  return (cluster) => asStore(memory.as(1, cluster));
}

/**
 * Performs a history as coordinators would; returns how many sessions of an intent completed, and what the store answered to
 * each write. `plant` may break a rule.
 */
async function history(
  steps: readonly Step[],
  of: (cluster: number) => ClusterStore,
  plant?: () => Promise<unknown>,
): Promise<{ readonly done: ReadonlyMap<string, number>; readonly answers: readonly string[] }> {
  const live = new Map<string, SigningSession>();
  const done = new Map<string, number>();
  const answers: string[] = [];
  for (const { cluster, intent, what } of steps) {
    const place = `${cluster} ${intent}`;
    if (what !== 'begin') {
      const held = live.get(place);
      if (held === undefined || held.state === ends[what].state) continue;
      if (held.state === ReceiptState.BACKEND_FAILED && what === 'completed') continue;
      const next = advance(held, ends[what], moment);
      expect(await of(cluster).write(updated(next))).toEqual({ kind: 'written' });
      if (what === 'failed') live.set(place, next);
      else live.delete(place);
      if (what === 'completed') done.set(intent, (done.get(intent) ?? 0) + 1);
      continue;
    }
    await plant?.();
    const made = session(intent);
    let outcome = await of(cluster).write(created(made));
    answers.push(outcome.kind === 'conflict' ? outcome.code : outcome.kind);
    if (outcome.kind === 'conflict' && outcome.code === 'INTENT_HELD') {
      // The holder is this cluster's own: only it can be told to give way.
      const held = live.get(place)!;
      expect(outcome.current).toEqual({ kind: 'session', session: held });
      outcome = await of(cluster).write(
        created(made, advance(held, { ...ends.expired, state: ReceiptState.REVOKED }, moment)),
      );
    }
    if (outcome.kind === 'written') live.set(place, made);
  }
  return { done, answers };
}

test('an intent gets one signature, whichever clusters are asked, in any order; Redis and memory answer the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      await redis.flushdb();
      const onRedis = await history(steps, of);
      for (const signatures of onRedis.done.values()) expect(signatures).toBe(1);
      expect(await history(steps, memoryStores())).toEqual(onRedis);
    }),
    { numRuns: 60 },
  );
});

test('that property fails where a guard is lost', async () => {
  const steps: Step[] = [
    { cluster: 1, intent: 'i1', what: 'begin' },
    { cluster: 2, intent: 'i1', what: 'begin' },
    { cluster: 1, intent: 'i1', what: 'completed' },
    { cluster: 2, intent: 'i1', what: 'completed' },
  ];
  expect((await history(steps, of)).done.get('i1')).toBe(1);
  await redis.flushdb();
  const lost = () => redis.del(`sm:{t:${tenant}}:intent:i1`);
  expect((await history(steps, of, lost)).done.get('i1')).toBe(2);
});

test.each([
  ['Redis', () => of],
  ['memory', memoryStores],
])(
  'a session of another cluster holds its intent until that cluster has ended it, and is named, on %s',
  async (_, open) => {
    const of = open();
    const held = session('i');
    await of(1).write(created(held));
    const refused = {
      kind: 'conflict',
      code: 'INTENT_ELSEWHERE',
      current: { kind: 'elsewhere', sessionId: held.sessionId },
    };
    for (const atMs of [nowMs, held.expiresMs + 1]) {
      expect(await of(2).write({ ...created(session('i')), nowMs: atMs } as CoordinatorWrite)).toEqual(refused);
    }
    const failed = advance(held, ends.failed, moment);
    await of(1).write(updated(failed));
    expect(await of(2).write(created(session('i')))).toEqual(refused);
    await of(1).write(updated(advance(failed, ends.expired, moment)));
    expect(await of(2).write(created(session('i')))).toEqual({ kind: 'written' });
    expect(await of(2).load(sessionKey(tenant, held.sessionId))).toEqual({ kind: 'elsewhere', sessionId: '' });
  },
);

test('a later start of one cluster fences its earlier one, and no other cluster', async () => {
  let fenced = 0;
  const earlier = await open(2, { onFenced: () => (fenced += 1) });
  expect(await of(1).write(created(session('a')))).toEqual({ kind: 'written' });
  const later = await open(2);
  for (let start = 0; start < 3; start += 1) await open(1);
  expect(await later.write(created(session('b')))).toEqual({ kind: 'written' });
  expect(await earlier.write(created(session('c')))).toMatchObject({ kind: 'conflict', code: 'FENCED' });
  expect(fenced).toBe(1);
  expect(await of(1).write(created(session('d')))).toEqual({ kind: 'written' });
});

test('a cluster expires its own sessions, and no other’s', async () => {
  const [one, two] = [session('a'), session('b')];
  // New ones: the others remember what they have registered in a Redis that was emptied since.
  const fresh = new Map([
    [1, await open(1)],
    [2, await open(2)],
  ]);
  await fresh.get(1)!.write(created(one));
  await fresh.get(2)!.write(created(two));
  for (const [cluster, own] of [
    [1, one],
    [2, two],
  ] as const) {
    const found = await fresh.get(cluster)!.load(overdueKey(nowMs + 2_000));
    expect(found).toEqual({ kind: 'overdue', sessions: [{ tenant, sessionId: own.sessionId }] });
  }
});

test('records name their cluster; what another cluster wrote is none of ours, and cannot be made ours', async () => {
  const made = session('a');
  const at = `sm:{t:${tenant}}:`;
  const key = { ...{ tenant, keyId: 'k', curve: 'secp256k1', threshold: 2, totalNodes: 3 } } as unknown as KeyRecord;
  await of(2).write(created(made));
  await of(2).write(updated(advance(made, ends.completed, moment), key));
  expect(await redis.hget(`${at}session:${made.sessionId}`, 'cluster')).toBe('2');
  expect((await redis.get(`${at}key:k`))!.slice(22)).toContain('"cluster":2}');
  const registry = new RedisClusters(redis);
  for (const id of [made.sessionId, 'k']) expect(await registry.locate(tenant, id)).toBe(2);
  expect(await registry.locate(tenant, 'unknown')).toBeUndefined();
  await redis.copy(`${at}session:${made.sessionId}`, `${at}session:earlier`);
  await redis.hdel(`${at}session:earlier`, 'cluster');
  expect(await registry.locate(tenant, 'earlier')).toBe(1);
  expect(await registry.session(tenant, made.sessionId)).toMatchObject({ epoch: 2, correlationId: 'c' });
  const own = await open(2);
  expect(await own.load(keyRecordKey(tenant, 'k'))).toEqual({ kind: 'key', key });
  for (const name of [sessionKey(tenant, made.sessionId), keyRecordKey(tenant, 'k')]) {
    expect(await of(1).load(name)).toEqual({ kind: 'elsewhere', sessionId: '' });
  }
  expect(told).toEqual([]);
  // An attacker who writes to Redis moves both to cluster 1.
  await redis.hset(`${at}session:${made.sessionId}`, 'cluster', '1');
  await redis.set(`${at}key:k`, (await redis.get(`${at}key:k`))!.replace('"cluster":2}', '"cluster":1}'));
  for (const cluster of [1, 2]) {
    const fresh = await open(cluster);
    const session = await fresh.load(sessionKey(tenant, made.sessionId));
    expect(session?.kind).toBe(cluster === 1 ? 'tampered' : 'elsewhere');
    expect((await fresh.load(keyRecordKey(tenant, 'k')))?.kind).toBe(cluster === 1 ? 'tampered' : 'elsewhere');
  }
  expect(told).toHaveLength(2);
});
