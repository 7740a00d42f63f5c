/** One suite for the store of sessions, run on the memory store of the simulator and on a real Redis. */

import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  keyRecordKey,
  openSessionsKey,
  overdueKey,
  sessionKey,
  sessionPageKey,
} from '../../coordinator/contract/messages.ts';
import {
  advance,
  type KeyRecord,
  openRecord,
  progress,
  type SigningRecord,
} from '../../coordinator/contract/record.ts';
import { type SessionState, transitions } from '../../coordinator/contract/transitions.ts';
import { changeEvent } from '../../coordinator/session/events.ts';
import type { SigningSession } from '../../coordinator/signing/state.ts';
import { holdOf } from '../../coordinator/store/layout.ts';
import { openRedisStore, type RedisStore } from '../../coordinator/store/redis-store.ts';
import type { Store } from '../../core/actors/contract.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { pendingLifetimeMs, retentionMs } from '../../proto/limits.ts';
import type { SessionPageQuery } from '../../proto/session-list.ts';
import { asStore, memoryCoordinatorStore } from '../../simulation/cluster/memory-stores.ts';
import { randomStream } from '../../simulation/cluster/random.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import { startRedis } from '../support/redis.ts';
import { openDatabase, type RedisDatabase } from '../support/redis-database.ts';
import { storePorts } from '../support/store-ports.ts';

type SessionStore = Store<CoordinatorWrite, CoordinatorRecord>;

const random = randomStream('store', 'ids');
const nowMs = 1_700_000_000_000;
const moment = { nowMs, random };
const tenant = 'tn_store';
let count = 0;

function session(
  intentId = '',
  state: SigningSession['state'] = ReceiptState.ACCEPTED,
  sessionId = '',
  facts: Partial<SigningRecord['facts']> = {},
): SigningSession {
  count += 1;
  const ceremony: SigningRecord = {
    kind: 'signing',
    facts: {
      intentId,
      keyId: 'k',
      curve: '',
      derivationPath: 'm/0',
      networkId: 'ünï:"1"',
      messageHash: 'ab',
      keystoreType: KeystoreType.MOCK_THRESHOLD,
      approvalMode: ApprovalMode.DIRECT_ALLOWED,
      intentsOnly: false,
      walletService: false,
      ...facts,
    },
    curve: 'secp256k1',
    witnessMissing: false,
    policyApprovalTokenSha256: '',
    witnessSha256: '',
    attempt: 0,
    submitted: [],
    given: [],
    guarded: intentId !== '',
    excluded: [],
    signature: '',
    recoveryId: -1,
  };
  return openRecord(
    {
      tenant,
      sessionId: sessionId || `sig_${count}`,
      state,
      reasonCode: 'SESSION_ACCEPTED',
      message: 'Open: “quoted” \\ and\nlines',
      expiresMs: nowMs + 1000,
      correlationId: 'c',
      approvalMode: ApprovalMode.DIRECT_ALLOWED,
      keystoreType: KeystoreType.MOCK_THRESHOLD,
      ceremony,
    },
    moment,
  );
}

type Create = Extract<CoordinatorWrite, { kind: 'create' }>;

/** `ends`: the next epoch of the session whose place this one takes. */
function create(of: SigningSession, atMs = nowMs, ends?: SigningSession): Create {
  const write = { kind: 'create', session: of, event: changeEvent(of, moment), nowMs: atMs } as const;
  const guardIntent = of.ceremony.facts.intentId;
  return { ...write, guardIntent, ...(ends && { ends: { session: ends, event: changeEvent(ends, moment) } }) };
}

/** A step within a state. */
const step = (of: SigningSession): CoordinatorWrite => ({ kind: 'update', session: of });
/** A new state. */
const update = (of: SigningSession, key?: KeyRecord) =>
  ({ kind: 'update', session: of, event: changeEvent(of, moment), ...(key && { key }) }) as const;
const failed = { state: ReceiptState.BACKEND_FAILED, reasonCode: 'QUORUM_UNAVAILABLE', message: 'no quorum' } as const;
const completed = {
  state: ReceiptState.BACKEND_COMPLETED,
  reasonCode: 'SIGNATURE_COMPLETED',
  message: 'done',
} as const;
const expired = { state: ReceiptState.EXPIRED, reasonCode: 'SESSION_EXPIRED', message: 'over' } as const;
const revoked = { state: ReceiptState.REVOKED, reasonCode: 'SESSION_REVOKED', message: 'gave way' } as const;
const resumed = { state: ReceiptState.RESUMED, reasonCode: 'SESSION_RESUMED', message: 'continues' } as const;
const stored = (of: SigningSession) => ({ kind: 'session', session: of });
const conflict = (code: string, current?: SigningSession) => ({
  kind: 'conflict',
  code,
  current: current && stored(current),
});
const written = { kind: 'written' };

interface Opened {
  /** Two starts of the coordinator, one after the other. */
  readonly stores: readonly SessionStore[];
  /** The event log of a tenant, after a look whether its sequence has holes. */
  readonly events: (tenant: string) => Promise<readonly LoggedEvent[]>;
}

let redis: RedisDatabase;
let client: Redis;
const opened: RedisStore[] = [];

beforeAll(async () => {
  redis = await openDatabase();
  client = new Redis(redis.url);
});

afterAll(async () => {
  client.disconnect();
  await Promise.all(opened.map((store) => store.close()));
  await redis.stop();
});

let clusters = 0;
async function redisPair(): Promise<Opened> {
  clusters += 1;
  const options = {
    redisUrl: redis.url,
    clusterId: `c${clusters}`,
    clock: { nowMs: () => nowMs },
    resumeKey: new Uint8Array(32).fill(7),
    onTampered: () => undefined,
    onStatus: () => undefined,
    onFenced: () => undefined,
  };
  const stores = [await openRedisStore(options), await openRedisStore(options)];
  opened.push(...stores);
  // Read as the gateway reads it, whose scripts write there too.
  const log = new RedisTenantStore(client, storePorts);
  const events = async (of: string) => {
    const page = await log.events(of, { afterSequence: 0, limit: 1000, types: [] });
    expect(page.events.map(({ sequence }) => sequence)).toEqual(page.events.map((_, index) => index + 1));
    expect(page.lastSequence).toBe(page.events.length);
    return page.events.map(({ sequence: _, ...event }) => event);
  };
  return { stores, events };
}

function memoryPair(): Promise<Opened> {
  const memory = memoryCoordinatorStore();
  const events = (of: string) => Promise.resolve(memory.events(of));
  return Promise.resolve({ stores: [asStore(memory.as(1)), asStore(memory.as(2))], events });
}

describe.each([
  ['memory', memoryPair],
  ['Redis', redisPair],
])('the session store on %s', (name, open) => {
  let older: SessionStore;
  let store: SessionStore;
  let log: Opened['events'];
  const load = (of: SigningSession) => store.load(sessionKey(tenant, of.sessionId));

  beforeAll(async () => {
    const { stores, events } = await open();
    [older, store] = stores as [SessionStore, SessionStore];
    log = events;
  });

  test('gives back what was created, exactly, and nothing for what is not there', async () => {
    const one = session();
    expect(await store.write(create(one))).toEqual(written);
    expect(await load(one)).toEqual(stored(one));
    expect(await store.load(sessionKey(tenant, 'none'))).toBeUndefined();
    expect(await store.load(sessionKey('tn_other', one.sessionId))).toBeUndefined();
    expect(await store.load(keyRecordKey(tenant, one.sessionId))).toBeUndefined();
  });

  test('lists sessions page by page, newest first, with their last change', async () => {
    const of = 'tn_listed';
    const begin = async (sessionId: string, createdMs: number) => {
      const one = { ...session('', ReceiptState.ACCEPTED, sessionId), tenant: of, createdMs, checkpointMs: createdMs };
      expect(await store.write({ ...create(one, createdMs), session: one })).toEqual(written);
      return one;
    };
    const page = async (query: Partial<SessionPageQuery>) => {
      const key = sessionPageKey(of, { kind: '', states: [], limit: 2, after: undefined, ...query });
      const record = await store.load(key);
      if (record?.kind !== 'page') throw new Error('no page');
      return { ids: record.sessions.map(({ sessionId }) => sessionId), ...record };
    };
    expect(await page({})).toMatchObject({ ids: [], next: undefined });
    const [a, b, c] = [await begin('sig_a', nowMs), await begin('sig_b', nowMs), await begin('sig_c', nowMs + 1)];
    const ended = advance(b!, completed, moment, {});
    await store.write({ kind: 'update', session: ended, event: changeEvent(ended, moment) });
    const first = await page({});
    expect(first.sessions).toEqual([c, ended]);
    expect(first.next).toEqual({ atMs: nowMs, id: 'sig_b' });
    expect(await page({ after: first.next })).toMatchObject({ ids: ['sig_a'], next: undefined });
    expect((await page({ after: first.next })).sessions).toEqual([a]);
    expect(await page({ states: [ReceiptState.BACKEND_COMPLETED] })).toMatchObject({ ids: ['sig_b'], next: undefined });
    expect(await page({ kind: 'dkg' })).toMatchObject({ ids: [], next: undefined });
    expect(await page({ kind: 'signing', limit: 3 })).toMatchObject({ ids: ['sig_c', 'sig_b', 'sig_a'] });
  });

  test('takes a repeated write as done, and a second session of the same id as a conflict', async () => {
    const one = session();
    await store.write(create(one));
    expect(await store.write(create(one))).toEqual(written);
    const other = session('', ReceiptState.ACCEPTED, one.sessionId);
    expect(await store.write(create(other))).toEqual(conflict('SESSION_EXISTS', one));
    const next = progress(one, moment, { submitted: [1] });
    expect(await store.write(step(next))).toEqual(written);
    expect(await store.write(step(next))).toEqual(written);
    expect(await load(one)).toEqual(stored(next));
  });

  test('updates only from the epoch before', async () => {
    const one = session();
    expect(await store.write(step(progress(one, moment, {})))).toEqual(conflict('EPOCH'));
    await store.write(create(one));
    const [a, b] = [progress(one, moment, { submitted: [1] }), progress(one, moment, { submitted: [2] })];
    expect(await store.write(step(a))).toEqual(written);
    expect(await store.write(step(b))).toEqual(conflict('EPOCH', a));
    expect(await store.write(step(progress(progress(a, moment, {}), moment, {})))).toEqual(conflict('EPOCH', a));
    expect(await load(one)).toEqual(stored(a));
  });

  test.each([ReceiptState.ACCEPTED, ReceiptState.PENDING_HUMAN_APPROVAL] as const)(
    'keeps an intent for its live session (state %s) until that is over',
    async (state) => {
      const intent = `${name} live ${state}`;
      const first = session(intent, state);
      await store.write(create(first));
      const second = session(intent);
      expect(await store.write(create(second, first.expiresMs - 1))).toEqual(conflict('INTENT_TAKEN', first));
      expect(await store.write(create(second, first.expiresMs))).toEqual(conflict('INTENT_HELD', first));
      expect(await load(second)).toBeUndefined();
      const ended = advance(first, expired, moment);
      expect(await store.write(create(second, first.expiresMs, ended))).toEqual(written);
      expect(await load(first)).toEqual(stored(ended));
      expect(await store.write(create(session(intent), second.expiresMs - 1))).toEqual(
        conflict('INTENT_TAKEN', second),
      );
    },
  );

  test('answers for a session that has an intent as the table says, in every state and at the end of its lifetime', async () => {
    const codes = { keeps: 'INTENT_TAKEN', yields: 'INTENT_HELD', '': undefined } as const;
    for (const state of Object.keys(transitions).map(Number) as SessionState[]) {
      for (const beforeEndMs of [1, 0]) {
        const intent = `${name} held ${state} ${beforeEndMs}`;
        const first = { ...session(intent), state };
        expect(await store.write(create(first))).toEqual(written);
        const atMs = first.expiresMs - beforeEndMs;
        const code = codes[holdOf(first, atMs)];
        const outcome = code === undefined ? written : conflict(code, first);
        expect([state, await store.write(create(session(intent), atMs))]).toEqual([state, outcome]);
      }
    }
  });

  test('keeps an intent for its completed session as long as that is retained', async () => {
    const intent = `${name} completed`;
    const first = session(intent);
    await store.write(create(first));
    const done = advance(first, completed, moment);
    await store.write(update(done));
    const retainedMs = retentionMs + pendingLifetimeMs;
    expect(await store.write(create(session(intent), nowMs + retainedMs - 1))).toEqual(conflict('INTENT_TAKEN', done));
  });

  test('revokes a session that could be resumed, in the step in which another takes its place', async () => {
    const intent = `${name} failed`;
    const first = session(intent);
    await store.write(create(first));
    const paused = advance(first, failed, moment);
    await store.write(update(paused));
    const second = session(intent);
    expect(await store.write(create(second))).toEqual(conflict('INTENT_HELD', paused));
    // What was decided about a session that has changed since, or about another one, is decided anew.
    for (const wrong of [first, { ...paused, sessionId: 'sig_other' }]) {
      const creation = create(second, nowMs, advance(wrong, revoked, moment));
      expect(await store.write(creation)).toEqual(conflict('INTENT_HELD', paused));
    }
    expect(await load(second)).toBeUndefined();
    expect(await load(first)).toEqual(stored(paused));
    const ended = advance(paused, revoked, moment);
    const creation = create(second, nowMs, ended);
    expect(await store.write(creation)).toEqual(written);
    expect(await load(first)).toEqual(stored(ended));
    expect(await store.write(update(advance(paused, resumed, moment)))).toEqual(conflict('EPOCH', ended));
    // Repeated after a lost answer, the creation changes nothing more.
    expect(await store.write(creation)).toEqual(written);
    expect(await load(first)).toEqual(stored(ended));
  });

  test('gives an intent to one of many that come at once', async () => {
    const intent = `${name} at once`;
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => store.write(create(session(intent)))));
    expect(outcomes.filter(({ kind }) => kind === 'written')).toHaveLength(1);
  });

  test('keeps the same intent of two tenants apart', async () => {
    const one = session(`${name} apart`);
    await store.write(create(one));
    expect(await store.write(create({ ...one, tenant: 'tn_other' }))).toEqual(written);
  });

  test('writes a key with the session that made it, or not at all', async () => {
    const one = session();
    await store.write(create(one));
    const key: KeyRecord = {
      tenant,
      keyId: `key of ${one.sessionId}`,
      curve: 'ed25519',
      threshold: 2,
      totalNodes: 3,
      account: [44, 0],
      publicKey: 'aa',
      chainCode: 'bb',
      verificationShares: ['c', 'd'],
      clientSuppliedDealers: [],
      scheme: 'frost_ed25519',
      exposed: false,
      createdMs: nowMs,
    };
    const at = keyRecordKey(tenant, key.keyId);
    expect(await store.write(update({ ...advance(one, completed, moment), epoch: 9 }, key))).toEqual(
      conflict('EPOCH', one),
    );
    expect(await store.load(at)).toBeUndefined();
    expect(await store.write(update(advance(one, completed, moment), key))).toEqual(written);
    expect(await store.load(at)).toEqual({ kind: 'key', key });
    expect(await store.load(at)).toEqual({ kind: 'key', key });
  });

  describe('a key that is not bound', () => {
    /** Made by a session of its own. */
    async function unbound(): Promise<KeyRecord> {
      const maker = session();
      await store.write(create(maker));
      const key: KeyRecord = {
        tenant,
        keyId: `bound ${maker.sessionId}`,
        curve: 'secp256k1',
        threshold: 2,
        totalNodes: 3,
        account: [],
        publicKey: 'aa',
        chainCode: 'bb',
        verificationShares: ['c', 'd'],
        clientSuppliedDealers: [2],
        scheme: '',
        exposed: false,
        createdMs: nowMs,
      };
      await store.write(update(advance(maker, completed, moment), key));
      return key;
    }
    const asBound = (key: KeyRecord, scheme: KeyRecord['scheme']): KeyRecord => ({
      ...key,
      scheme,
      exposed: scheme === 'mock_ecdsa',
    });
    const refused = (key: KeyRecord) => ({ kind: 'conflict', code: 'KEY_BOUND', current: { kind: 'key', key } });

    test('gets one scheme of two first sessions that come at once, and the other changes nothing', async () => {
      const key = await unbound();
      const [mock, frost] = [asBound(key, 'mock_ecdsa'), asBound(key, 'frost_bip340')];
      const ones = [session(`${name} mock`), session(`${name} frost`)];
      const outcomes = await Promise.all([
        store.write({ ...create(ones[0]!), binds: mock }),
        store.write({ ...create(ones[1]!), binds: frost }),
      ]);
      const won = outcomes.findIndex(({ kind }) => kind === 'written');
      const winner = [mock, frost][won]!;
      expect(outcomes[1 - won]).toEqual(refused(winner));
      expect(await store.load(keyRecordKey(tenant, key.keyId))).toEqual({ kind: 'key', key: winner });
      expect(await load(ones[won]!)).toEqual(stored(ones[won]!));
      expect(await load(ones[1 - won]!)).toBeUndefined();
      // The intent of the one that was refused is free, and the same scheme may bind again.
      expect(await store.write({ ...create(ones[1 - won]!), binds: winner })).toEqual(written);
    });

    test('is bound by a session that continues, or not at all', async () => {
      const key = await unbound();
      const [mock, frost] = [asBound(key, 'mock_ecdsa'), asBound(key, 'frost_bip340')];
      const one = session();
      await store.write(create(one));
      expect(await store.write({ ...update(progress(one, moment, {})), binds: frost })).toEqual(written);
      expect(await store.load(keyRecordKey(tenant, key.keyId))).toEqual({ kind: 'key', key: frost });
      const other = session();
      await store.write(create(other));
      expect(await store.write({ ...update(progress(other, moment, {})), binds: mock })).toEqual(refused(frost));
      expect(await load(other)).toEqual(stored(other));
    });

    test('with new shares is read as such, and no session writes the one of before over it', async () => {
      const before = asBound(await unbound(), 'mock_ecdsa');
      const one = session();
      await store.write({ ...create(one), binds: before });
      const after = { ...before, version: 2, verificationShares: ['new'] };
      expect(await store.write({ ...update(progress(one, moment, {})), key: after })).toEqual(written);
      expect(await store.load(keyRecordKey(tenant, after.keyId))).toEqual({ kind: 'key', key: after });
      const late = { ...create(session()), binds: { ...before, exposed: true } };
      expect(await store.write(late)).toEqual(refused(after));
      expect(await store.load(keyRecordKey(tenant, after.keyId))).toEqual({ kind: 'key', key: after });
    });

    test.runIf(name === 'Redis')('is read again after a refresh whose outcome is unknown', async () => {
      const before = asBound(await unbound(), 'mock_ecdsa');
      const [one, two] = [session(), session()];
      await store.write({ ...create(one), binds: before });
      await store.write(create(two));
      const named = async (id: string) => {
        const found = await client.keys('*');
        return found.filter((key) => key.endsWith(`:${id}`));
      };
      const [keyName] = await named(before.keyId);
      const text = (await client.get(keyName!))!;
      const key = { ...before, version: 2 };
      await store.write({ ...update(progress(one, moment, {})), key });
      await client.set(keyName!, text);
      for (const sessionName of await named(two.sessionId)) {
        await client.del(sessionName);
        await client.rpush(sessionName, 'no session');
      }
      await store.write({ ...update(progress(two, moment, {})), key: { ...key, version: 3 } });
      expect(await store.load(keyRecordKey(tenant, key.keyId))).toEqual({ kind: 'key', key: before });
    });

    test('that is gone binds nothing', async () => {
      const key = { ...(await unbound()), keyId: 'gone', scheme: 'mock_ecdsa' } as const;
      expect(await store.write({ ...create(session()), binds: key })).toEqual({
        kind: 'conflict',
        code: 'KEY_BOUND',
        current: undefined,
      });
    });
  });

  test('opens no session of a closed wallet key, and lets none go on or complete', async () => {
    const keyId = `wal_${name}`;
    const begin = (intent: string) => session(`${name} ${intent}`, ReceiptState.ACCEPTED, '', { keyId });
    const [open, paused] = [begin('open'), begin('paused')];
    await store.write(create(open));
    await store.write(create(paused));
    const pausedNow = advance(paused, failed, moment);
    await store.write(update(pausedNow));
    expect(await store.write({ kind: 'closeKey', tenant, keyId })).toEqual(written);
    expect(await store.write({ kind: 'closeKey', tenant, keyId })).toEqual(written);

    const refused = begin('after');
    expect(await store.write(create(refused))).toEqual(conflict('KEY_CLOSED'));
    expect(await load(refused)).toBeUndefined();
    // A session that could be resumed keeps its place when the one that would follow is refused.
    expect(await store.write(create(begin('paused')))).toEqual(conflict('KEY_CLOSED'));
    expect(await load(paused)).toEqual(stored(pausedNow));
    expect(await store.write(update(advance(open, completed, moment)))).toEqual(conflict('KEY_CLOSED'));
    expect(await store.write(update(advance(pausedNow, resumed, moment)))).toEqual(conflict('KEY_CLOSED'));
    expect(await load(open)).toEqual(stored(open));

    expect(await store.write(update(advance(open, revoked, moment)))).toEqual(written);
    const other = session(`${name} other key`, ReceiptState.ACCEPTED, '', { keyId: `${keyId}_2` });
    expect(await store.write(create(other))).toEqual(written);
    expect(await store.write(create({ ...refused, tenant: 'tn_other' }))).toEqual(written);
  });

  test('takes the repeated completion of a key that was closed since as done', async () => {
    const keyId = `wal_${name}_done`;
    const one = session(`${name} done`, ReceiptState.ACCEPTED, '', { keyId });
    await store.write(create(one));
    const done = advance(one, completed, moment);
    await store.write(update(done));
    await store.write({ kind: 'closeKey', tenant, keyId });
    expect(await store.write(update(done))).toEqual(written);
  });

  test('lists the sessions of a wallet key that have not ended', async () => {
    const keyId = `wal_${name}_list`;
    const listed = async () => {
      const record = await store.load(openSessionsKey(tenant, keyId));
      return record?.kind === 'openSessions' ? [...record.sessionIds].sort() : undefined;
    };
    const begin = (state: SigningSession['state'], facts = {}) => session('', state, '', { keyId, ...facts });
    expect(await listed()).toEqual([]);
    const open = begin(ReceiptState.ACCEPTED);
    const pending = begin(ReceiptState.PENDING_HUMAN_APPROVAL);
    const denied = begin(ReceiptState.DENIED);
    const elsewhere = begin(ReceiptState.ACCEPTED, { keyId: 'k' });
    for (const each of [open, pending, denied, elsewhere]) await store.write(create(each));
    expect(await listed()).toEqual([open.sessionId, pending.sessionId].sort());
    await store.write(update(advance(open, completed, moment)));
    expect(await listed()).toEqual([pending.sessionId]);
    // Past its lifetime a session is over; the next one that begins clears it away.
    const later = begin(ReceiptState.ACCEPTED);
    await store.write(create({ ...later, expiresMs: pending.expiresMs + 1000 }, pending.expiresMs));
    expect(await listed()).toEqual([later.sessionId]);
    await store.write(update({ ...advance(pending, resumed, moment), expiresMs: pending.expiresMs + 9000 }));
    expect(await listed()).toEqual([later.sessionId, pending.sessionId].sort());
    expect(await store.load(openSessionsKey('tn_other', keyId))).toEqual({ kind: 'openSessions', sessionIds: [] });
  });

  test('keeps intents of clients and of the wallet service apart', async () => {
    const intent = `${name} both`;
    const [client, service] = [session(intent), session(intent, undefined, '', { walletService: true })];
    expect(await store.write(create(client))).toEqual(written);
    expect(await store.write(create(service))).toEqual(written);
    const again = session(intent, undefined, '', { walletService: true });
    expect(await store.write(create(again))).toEqual(conflict('INTENT_TAKEN', service));
  });

  test('lets no earlier start of the coordinator write once a later one has', async () => {
    const one = session();
    expect(await older.write(create({ ...one, tenant: 'tn_fence' }))).toEqual(written);
    const next = progress({ ...one, tenant: 'tn_fence' }, moment, {});
    expect(await store.write(step(next))).toEqual(written);
    expect(await older.write(step(progress(next, moment, {})))).toEqual(conflict('FENCED'));
    expect(await older.write(create(session(`${name} fenced`)))).toEqual(conflict('FENCED'));
    expect(await older.write({ kind: 'closeKey', tenant, keyId: 'wal_fenced' })).toEqual(conflict('FENCED'));
    expect(await older.load(sessionKey('tn_fence', one.sessionId))).toEqual(stored(next));
    expect((await log('tn_fence')).map(({ resource }) => resource.version)).toEqual([1]);
  });

  describe('the event log', () => {
    /** A session of a tenant of its own, so that the whole log is looked at. */
    const alone = (of: SigningSession) => ({ ...of, tenant: `tn_log_${count}` });

    test('has the event of every new state, and none of a step within one', async () => {
      const one = alone(session());
      const begun = create(one);
      await store.write(begun);
      const stepped = progress(one, moment, { submitted: [1] });
      await store.write(step(stepped));
      expect(await log(one.tenant)).toEqual([begun.event]);
      const paused = update(advance(stepped, failed, moment));
      await store.write(paused);
      const back = update(advance(paused.session, resumed, moment));
      await store.write(back);
      const done = update(advance(back.session, completed, moment));
      await store.write(done);
      const events = await log(one.tenant);
      expect(events).toEqual([begun, paused, back, done].map(({ event }) => event));
      expect(events.map(({ type, resource: { version } }) => `${version} ${type}`)).toEqual([
        '1 signing.session.accepted',
        '3 signing.session.failed',
        '4 signing.session.resumed',
        '5 signing.session.completed',
      ]);
    });

    test('has one event of a write that is repeated', async () => {
      const one = alone(session());
      const [begun, done] = [create(one), update(advance(one, completed, moment))];
      for (let time = 0; time < 3; time += 1) expect(await store.write(begun)).toEqual(written);
      for (let time = 0; time < 3; time += 1) expect(await store.write(done)).toEqual(written);
      expect(await log(one.tenant)).toEqual([begun.event, done.event]);
    });

    test('has no event of what was refused', async () => {
      const one = alone(session('i', ReceiptState.ACCEPTED, '', { keyId: 'wal_log' }));
      const { tenant: its } = one;
      await store.write(create(one));
      await store.write({ kind: 'closeKey', tenant: its, keyId: 'wal_log' });
      const other = session('j', ReceiptState.ACCEPTED, '', { keyId: 'wal_log' });
      const refused = [
        await store.write(create({ ...session('i'), tenant: its })),
        await store.write(create({ ...session('', ReceiptState.ACCEPTED, one.sessionId), tenant: its })),
        await store.write(update(advance(progress(one, moment, {}), revoked, moment))),
        await store.write(update(advance(one, completed, moment))),
        await store.write(create({ ...other, tenant: its })),
        await older.write(update(advance(one, revoked, moment))),
      ];
      expect(refused.map((outcome) => outcome.kind === 'conflict' && outcome.code)).toEqual([
        'INTENT_TAKEN',
        'SESSION_EXISTS',
        'EPOCH',
        'KEY_CLOSED',
        'KEY_CLOSED',
        'FENCED',
      ]);
      expect((await log(its)).map(({ type }) => type)).toEqual(['signing.session.accepted']);
    });

    test('has both events of a session that takes the place of another, each once', async () => {
      const first = alone(session('i'));
      await store.write(create(first));
      const paused = update(advance(first, failed, moment));
      await store.write(paused);
      const second = { ...session('i'), tenant: first.tenant };
      expect(await store.write(create(second))).toEqual(conflict('INTENT_HELD', paused.session));
      expect(await log(first.tenant)).toHaveLength(2);
      const creation = create(second, nowMs, advance(paused.session, revoked, moment));
      for (let time = 0; time < 2; time += 1) expect(await store.write(creation)).toEqual(written);
      const events = await log(first.tenant);
      expect(events.slice(2)).toEqual([creation.ends?.event, creation.event]);
      const resource = { type: 'signing_session', id: first.sessionId, version: 3 };
      expect(events[2]).toMatchObject({ type: 'signing.session.revoked', resource });
    });

    test('of several sessions that take one place at once, has the events of one', async () => {
      const first = alone(session('i'));
      await store.write(create(first));
      const paused = update(advance(first, failed, moment));
      await store.write(paused);
      const rivals = [1, 2, 3].map(() =>
        create({ ...session('i'), tenant: first.tenant }, nowMs, advance(paused.session, revoked, moment)),
      );
      const outcomes = await Promise.all(rivals.map((rival) => store.write(rival)));
      const winners = rivals.filter((_, index) => outcomes[index]!.kind === 'written');
      expect(winners).toHaveLength(1);
      expect((await log(first.tenant)).slice(2)).toEqual([winners[0]!.ends?.event, winners[0]!.event]);
    });
  });

  test('names sessions past their lifetime until their end is written', async () => {
    const its = `tn_overdue_${name}`;
    const begin = (expiresMs: number, state?: SigningSession['state'], intent = '') => ({
      ...session(intent, state),
      tenant: its,
      expiresMs,
    });
    const overdue = async (atMs: number) => {
      const record = await store.load(overdueKey(atMs));
      const found = record?.kind === 'overdue' ? record.sessions.filter((one) => one.tenant === its) : [];
      return found.map(({ sessionId }) => sessionId).sort();
    };
    const [late, soon] = [begin(9_000), begin(5_000)];
    const [pending, denied] = [begin(6_000, ReceiptState.PENDING_HUMAN_APPROVAL), begin(1_000, ReceiptState.DENIED)];
    const held = begin(7_000, undefined, 'held');
    for (const each of [late, soon, pending, denied, held]) await store.write(create(each));
    expect(await overdue(4_999)).toEqual([]);
    expect(await overdue(5_000)).toEqual([soon.sessionId]);
    expect(await overdue(5_000)).toEqual([soon.sessionId]);
    // A pause leaves the lifetime as it was; a resumed session has one of its own.
    const stepped = progress(soon, moment, {});
    await store.write(step(stepped));
    const paused = advance(stepped, failed, moment);
    await store.write(update(paused));
    expect(await overdue(6_000)).toEqual([soon.sessionId, pending.sessionId].sort());
    await store.write(update({ ...advance(paused, resumed, moment), expiresMs: 8_000 }));
    expect(await overdue(6_500)).toEqual([pending.sessionId]);
    await store.write(update(advance(pending, expired, moment)));
    expect(await overdue(6_600)).toEqual([]);
    await store.write(create(begin(20_000, undefined, 'held'), 7_000, advance(held, expired, moment)));
    await store.write(update(advance(late, completed, moment)));
    expect(await overdue(19_999)).toEqual([soon.sessionId]);
  });
});

test('a store whose Redis is gone rejects, and says so', async () => {
  const own = await startRedis();
  const statuses: boolean[] = [];
  const store = await openRedisStore({
    redisUrl: own.url,
    clusterId: 'gone',
    resumeKey: new Uint8Array(32).fill(7),
    onTampered: () => undefined,
    commandTimeoutMs: 60_000,
    onStatus: (ready) => statuses.push(ready),
    onFenced: () => undefined,
  });
  await own.stop();
  await expect(store.write(create(session()))).rejects.toThrow();
  expect(statuses).toContain(false);
  await store.close();
});
