/** One suite for the store of sessions, run on the memory store of the simulator and on a real Redis. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../actors/contract.ts';
import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  keyKey,
  openSessionsKey,
  sessionKey,
} from '../../coordinator/messages.ts';
import { advance, type KeyRecord, openRecord, progress, type SigningRecord } from '../../coordinator/session/record.ts';
import type { SigningSession } from '../../coordinator/signing/state.ts';
import { openRedisStore, type RedisStore } from '../../coordinator/store/redis-store.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { asStore, memoryCoordinatorStore } from '../../sim/memory-stores.ts';
import { randomStream } from '../../sim/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

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

function create(of: SigningSession, atMs = nowMs): CoordinatorWrite {
  const supersede = { checkpointId: `ckp_by_${of.sessionId}`, nowMs: atMs, message: `gave way to ${of.sessionId}` };
  return { kind: 'create', session: of, guardIntent: of.ceremony.facts.intentId, supersede };
}

const update = (of: SigningSession, key?: KeyRecord): CoordinatorWrite => ({
  kind: 'update',
  session: of,
  ...(key ? { key } : {}),
});
const failed = { state: ReceiptState.BACKEND_FAILED, reasonCode: 'QUORUM_UNAVAILABLE', message: 'no quorum' } as const;
const completed = {
  state: ReceiptState.BACKEND_COMPLETED,
  reasonCode: 'SIGNATURE_COMPLETED',
  message: 'done',
} as const;
const stored = (of: SigningSession) => ({ kind: 'session', session: of });
const conflict = (code: string, current?: SigningSession) => ({
  kind: 'conflict',
  code,
  current: current && stored(current),
});
const written = { kind: 'written' };

let redis: TestRedis;
const opened: RedisStore[] = [];

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await redis.stop();
});

let clusters = 0;
async function redisPair(): Promise<SessionStore[]> {
  clusters += 1;
  const options = {
    redisUrl: redis.url,
    clusterId: `c${clusters}`,
    onStatus: () => undefined,
    onFenced: () => undefined,
  };
  const stores = [await openRedisStore(options), await openRedisStore(options)];
  opened.push(...stores);
  return stores;
}

function memoryPair(): Promise<SessionStore[]> {
  const memory = memoryCoordinatorStore();
  return Promise.resolve([asStore(memory.as(1)), asStore(memory.as(2))]);
}

describe.each([
  ['memory', memoryPair],
  ['Redis', redisPair],
])('the session store on %s', (name, open) => {
  let older: SessionStore;
  let store: SessionStore;
  const load = (of: SigningSession) => store.load(sessionKey(tenant, of.sessionId));

  beforeAll(async () => {
    [older, store] = (await open()) as [SessionStore, SessionStore];
  });

  test('gives back what was created, exactly, and nothing for what is not there', async () => {
    const one = session();
    expect(await store.write(create(one))).toEqual(written);
    expect(await load(one)).toEqual(stored(one));
    expect(await store.load(sessionKey(tenant, 'none'))).toBeUndefined();
    expect(await store.load(sessionKey('tn_other', one.sessionId))).toBeUndefined();
    expect(await store.load(keyKey(tenant, one.sessionId))).toBeUndefined();
  });

  test('takes a repeated write as done, and a second session of the same id as a conflict', async () => {
    const one = session();
    await store.write(create(one));
    expect(await store.write(create(one))).toEqual(written);
    const other = session('', ReceiptState.ACCEPTED, one.sessionId);
    expect(await store.write(create(other))).toEqual(conflict('SESSION_EXISTS', one));
    const next = progress(one, moment, { submitted: [1] });
    expect(await store.write(update(next))).toEqual(written);
    expect(await store.write(update(next))).toEqual(written);
    expect(await load(one)).toEqual(stored(next));
  });

  test('updates only from the epoch before', async () => {
    const one = session();
    expect(await store.write(update(progress(one, moment, {})))).toEqual(conflict('EPOCH'));
    await store.write(create(one));
    const [a, b] = [progress(one, moment, { submitted: [1] }), progress(one, moment, { submitted: [2] })];
    expect(await store.write(update(a))).toEqual(written);
    expect(await store.write(update(b))).toEqual(conflict('EPOCH', a));
    expect(await store.write(update(progress(progress(a, moment, {}), moment, {})))).toEqual(conflict('EPOCH', a));
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
      expect(await load(second)).toBeUndefined();
      expect(await store.write(create(second, first.expiresMs))).toEqual(written);
      expect(await load(first)).toMatchObject({
        session: {
          state: ReceiptState.EXPIRED,
          reasonCode: 'SESSION_EXPIRED',
          epoch: 2,
          checkpointId: `ckp_by_${second.sessionId}`,
        },
      });
      expect(await store.write(create(session(intent), second.expiresMs - 1))).toEqual(
        conflict('INTENT_TAKEN', second),
      );
    },
  );

  test('keeps an intent for its completed session for ever', async () => {
    const intent = `${name} completed`;
    const first = session(intent);
    await store.write(create(first));
    const done = advance(first, completed, moment);
    await store.write(update(done));
    expect(await store.write(create(session(intent), nowMs * 2))).toEqual(conflict('INTENT_TAKEN', done));
  });

  test('revokes a session that could be resumed, in the step in which another takes its place', async () => {
    const intent = `${name} failed`;
    const first = session(intent);
    await store.write(create(first));
    const paused = advance(first, failed, moment);
    await store.write(update(paused));
    const second = session(intent);
    expect(await store.write(create(second))).toEqual(written);
    const revoked = {
      ...paused,
      state: ReceiptState.REVOKED,
      reasonCode: 'SESSION_REVOKED',
      message: `gave way to ${second.sessionId}`,
      epoch: 3,
      checkpointId: `ckp_by_${second.sessionId}`,
      checkpointMs: nowMs,
    } as SigningSession;
    expect(await load(first)).toEqual(stored(revoked));
    const resumed = advance(
      paused,
      { ...completed, state: ReceiptState.RESUMED, reasonCode: 'SESSION_RESUMED' },
      moment,
    );
    expect(await store.write(update(resumed))).toEqual(conflict('EPOCH', revoked));
    // Repeated after a lost answer, the creation changes nothing more.
    expect(await store.write(create(second))).toEqual(written);
    expect(await load(first)).toEqual(stored(revoked));
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
      createdMs: nowMs,
    };
    const at = keyKey(tenant, key.keyId);
    expect(await store.write(update({ ...advance(one, completed, moment), epoch: 9 }, key))).toEqual(
      conflict('EPOCH', one),
    );
    expect(await store.load(at)).toBeUndefined();
    expect(await store.write(update(advance(one, completed, moment), key))).toEqual(written);
    expect(await store.load(at)).toEqual({ kind: 'key', key });
    expect(await store.load(at)).toEqual({ kind: 'key', key });
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
    const resumed = { ...failed, state: ReceiptState.RESUMED, reasonCode: 'SESSION_RESUMED' } as const;
    expect(await store.write(update(advance(open, completed, moment)))).toEqual(conflict('KEY_CLOSED'));
    expect(await store.write(update(advance(pausedNow, resumed, moment)))).toEqual(conflict('KEY_CLOSED'));
    expect(await load(open)).toEqual(stored(open));

    const revoked = { ...failed, state: ReceiptState.REVOKED, reasonCode: 'SESSION_REVOKED' } as const;
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
    const back = { ...failed, state: ReceiptState.RESUMED, reasonCode: 'SESSION_RESUMED' } as const;
    await store.write(update({ ...advance(pending, back, moment), expiresMs: pending.expiresMs + 9000 }));
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
    expect(await store.write(update(next))).toEqual(written);
    expect(await older.write(update(progress(next, moment, {})))).toEqual(conflict('FENCED'));
    expect(await older.write(create(session(`${name} fenced`)))).toEqual(conflict('FENCED'));
    expect(await older.write({ kind: 'closeKey', tenant, keyId: 'wal_fenced' })).toEqual(conflict('FENCED'));
    expect(await older.load(sessionKey('tn_fence', one.sessionId))).toEqual(stored(next));
  });
});

test('a store whose Redis is gone rejects, and says so', async () => {
  const own = await startRedis();
  const statuses: boolean[] = [];
  const store = await openRedisStore({
    redisUrl: own.url,
    clusterId: 'gone',
    commandTimeoutMs: 200,
    onStatus: (ready) => statuses.push(ready),
    onFenced: () => undefined,
  });
  await own.stop();
  await expect(store.write(create(session()))).rejects.toThrow();
  expect(statuses).toContain(false);
  await store.close();
});
