/** What stands in Redis is believed only as a coordinator of the cluster wrote it. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CoordinatorRecord,
  type CoordinatorWrite,
  keyRecordKey,
  sessionKey,
  sessionPageKey,
} from '../../coordinator/contract/messages.ts';
import { openRedisStore, type RedisStore } from '../../coordinator/store/redis-store.ts';
import { RedisClusters } from '../../core/redis/redis-clusters.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { SimCluster } from '../../simulation/cluster/cluster.ts';
import { openDatabase, type RedisDatabase } from '../support/redis-database.ts';
import { begin, codeOf, digest, makeKey, tenant, tokenOf } from './support/world.ts';

/** The writes of a simulated coordinator: a key, and a session that it signs. */
const writes: CoordinatorWrite[] = [];
let sessionId = '';
let server: RedisDatabase;
let redis: Redis;
let store: RedisStore;
const opened: RedisStore[] = [];
const told: string[] = [];
let ends = 0;

async function open(resumeKey = new Uint8Array(32).fill(7), clusterId = 'c'): Promise<RedisStore> {
  const fresh = await openRedisStore({
    redisUrl: server.url,
    clusterId,
    clock: { nowMs: () => 0 },
    resumeKey,
    onTampered: (key) => told.push(key),
    onStatus: () => undefined,
    onFenced: () => {
      ends += 1;
    },
  });
  opened.push(fresh);
  return fresh;
}

beforeAll(async () => {
  server = await openDatabase();
  redis = new Redis(server.url);
  const cluster = new SimCluster({
    seed: 'macs',
    onCoordinatorWrite: (write) => {
      writes.push(write);
      return 'answered';
    },
  });
  makeKey(cluster, 'k');
  makeKey(cluster, 'k2');
  sessionId = begin(cluster, 'intent').signingSessionId;
  begin(cluster, 'other');
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  redis.disconnect();
  await server.stop();
});

/** A Redis as the simulated coordinator would have left it, and a coordinator that has just started. */
async function freshRedis(): Promise<void> {
  await redis.flushdb();
  store = await open();
  for (const write of writes) expect(await store.write(write)).toEqual({ kind: 'written' });
  store = await open();
  told.length = 0;
}

const prefix = `sm:{t:${tenant}}:`;
const sessionAt = () => `${prefix}session:${sessionId}`;

describe('a fence', () => {
  const refused = { kind: 'conflict', code: 'FENCED', current: { kind: 'tampered' } };
  const ofTenant = (of: string) => {
    const write = writes.find((each) => each.kind === 'create')!;
    return { ...write, session: { ...write.session, tenant: of } } as CoordinatorWrite;
  };

  test.each(['999', '1e300', 'x', ''])(
    'that something else set to %j stops the writes of its tenant alone',
    async (value) => {
      await freshRedis();
      ends = 0;
      await redis.set(`${prefix}fence`, value);
      expect(await store.write(ofTenant(tenant))).toEqual(refused);
      expect(await store.write({ kind: 'closeKey', tenant, keyId: 'k' })).toEqual(refused);
      expect([told, ends]).toEqual([[`fence/${tenant}`, `fence/${tenant}`], 0]);
      expect(await store.write(ofTenant('tn_other'))).toEqual({ kind: 'written' });
      await redis.del(`${prefix}fence`);
      expect(await store.write({ kind: 'closeKey', tenant, keyId: 'k' })).toEqual({ kind: 'written' });
    },
  );

  test('of a newer start ends this one, and so does one that may be of a newer start', async () => {
    await freshRedis();
    ends = 0;
    const newer = await open();
    expect(await newer.write(ofTenant('tn_other'))).toEqual({ kind: 'written' });
    expect(await store.write(ofTenant('tn_other'))).toEqual({ ...refused, current: undefined });
    expect([told, ends]).toEqual([[], 1]);
    // Without the counter nothing says that there is no newer start.
    await redis.del('sm:fence:c');
    await redis.set(`${prefix}fence`, '999');
    expect(await newer.write(ofTenant(tenant))).toEqual({ ...refused, current: undefined });
    expect([told, ends]).toEqual([[], 2]);
  });
});

test.each(['n', 'm', 'b'])(
  'a log whose %s is no number refuses the writes that have events, by name',
  async (field) => {
    await freshRedis();
    const write = writes.find((each) => each.kind === 'create')!;
    const other = { ...write, session: { ...write.session, tenant: 'tn_log' } } as CoordinatorWrite;
    await redis.hset('sm:{t:tn_log}:seq', field, 'garbage');
    const before = await redis.keys('*');
    const refused = { kind: 'conflict', code: 'TAMPERED', current: { kind: 'tampered' } };
    expect(await store.write(other)).toEqual(refused);
    expect(told).toEqual(['seq/tn_log']);
    // Its fence is written before; nothing else is.
    expect((await redis.keys('*')).filter((key) => !before.includes(key))).toEqual(['sm:{t:tn_log}:fence']);
    await redis.del('sm:{t:tn_log}:seq');
    expect(await store.write(other)).toEqual({ kind: 'written' });
  },
);

describe('a session', () => {
  test('is read as it was written', async () => {
    await freshRedis();
    expect(await store.load(sessionKey(tenant, sessionId))).toMatchObject({
      kind: 'session',
      session: { tenant, sessionId, ceremony: { facts: { messageHash: Buffer.from(digest).toString('hex') } } },
    });
    expect(told).toEqual([]);
  });

  const edits: readonly (readonly [string, (data: string) => string])[] = [
    ['message', (data) => data.replace(Buffer.from(digest).toString('hex'), 'ee'.repeat(32))],
    ['key', (data) => data.replace('"keyId":"k"', '"keyId":"k2"')],
    ['path', (data) => data.replace('"derivationPath":""', '"derivationPath":"m/1"')],
    ['scheme', (data) => data.replace('"keystoreType":0', '"keystoreType":4')],
    ['intent', (data) => data.replace('"intentId":"intent"', '"intentId":"another"')],
    ['need of a witness', (data) => data.replace('"witnessMissing":false', '"witnessMissing":true')],
    ['order', (data) => data.replace('"needsWitness":false', '"needsWitness":true')],
  ];
  test.each(edits)('whose %s was changed counts as tampered with, and that is told', async (_, edit) => {
    await freshRedis();
    const data = (await redis.hget(sessionAt(), 'data'))!;
    expect(edit(data)).not.toBe(data);
    await redis.hset(sessionAt(), 'data', edit(data));
    expect(await store.load(sessionKey(tenant, sessionId))).toEqual({ kind: 'tampered' });
    expect(told).toEqual([sessionKey(tenant, sessionId)]);
  });

  test.each(['epoch', 'state', 'reasonCode', 'message', 'checkpointId', 'checkpointMs', 'expiresMs', 'data', 'mac'])(
    'whose field %s was changed or taken away counts as tampered with',
    async (field) => {
      await freshRedis();
      const right = (await redis.hget(sessionAt(), field))!;
      for (const wrong of [`${right}0`, '', undefined]) {
        if (wrong === undefined) await redis.hdel(sessionAt(), field);
        else await redis.hset(sessionAt(), field, wrong);
        expect(await store.load(sessionKey(tenant, sessionId))).toEqual({ kind: 'tampered' });
      }
      await redis.hset(sessionAt(), field, right);
      expect(await store.load(sessionKey(tenant, sessionId))).toMatchObject({ kind: 'session' });
    },
  );

  test.each(['0', '01', '1.5', 'x', ''])('that names %s as its cluster counts as tampered with', async (cluster) => {
    await freshRedis();
    await redis.hset(sessionAt(), { cluster });
    expect(await store.load(sessionKey(tenant, sessionId))).toEqual({ kind: 'tampered' });
    expect(await new RedisClusters(redis).locate(tenant, sessionId)).toBe(cluster === '01' ? 1 : undefined);
  });

  test('of another Redis type counts as tampered with, also in a list and when it is written', async () => {
    await freshRedis();
    const update = writes.find((write) => write.kind === 'create' && write.session.sessionId === sessionId)!;
    await redis.del(sessionAt());
    await redis.set(sessionAt(), 'x');
    expect(await store.load(sessionKey(tenant, sessionId))).toEqual({ kind: 'tampered' });
    expect(await new RedisClusters(redis).locate(tenant, sessionId)).toBeUndefined();
    expect(told).toEqual([sessionKey(tenant, sessionId)]);
    const page = sessionPageKey(tenant, { kind: 'signing', states: [], limit: 9, after: undefined });
    expect(await store.load(page)).toMatchObject({ kind: 'page', sessions: [{ tenant }] });
    expect(told).toHaveLength(2);
    expect(await store.write(update)).toEqual({
      kind: 'conflict',
      code: 'WRONG_TYPE',
      current: { kind: 'tampered' },
    });
  });

  test('does not pass for another, of its tenant or of another tenant', async () => {
    await freshRedis();
    for (const [of, id] of [
      [tenant, 'sig_another'],
      ['tn_other', sessionId],
    ] as const) {
      await redis.copy(sessionAt(), `sm:{t:${of}}:session:${id}`);
      expect(await store.load(sessionKey(of, id))).toEqual({ kind: 'tampered' });
    }
  });

  test('that holds an intent and was changed is told as the conflict that it is', async () => {
    await freshRedis();
    await redis.hset(sessionAt(), 'message', 'changed');
    const begun = writes
      .flatMap((write) => (write.kind === 'create' ? [write] : []))
      .find((write) => write.guardIntent === 'intent')!;
    const again = { ...begun.session, sessionId: 'sig_again', checkpointId: 'ckp_again' };
    const outcome = await store.write({ ...begun, session: again });
    expect(outcome).toEqual({ kind: 'conflict', code: 'INTENT_TAKEN', current: { kind: 'tampered' } });
  });
});

describe('a key', () => {
  const at = `${prefix}key:k`;

  test('of another Redis type counts as tampered with', async () => {
    await freshRedis();
    await redis.del(at);
    await redis.lpush(at, 'x');
    expect(await store.load(keyRecordKey(tenant, 'k'))).toEqual({ kind: 'tampered' });
    // The key generation of this name is still found.
    expect(await new RedisClusters(redis).locate(tenant, 'k')).toBe(1);
  });

  test('is read as it was written, and not when a byte of it was changed', async () => {
    await freshRedis();
    expect(await store.load(keyRecordKey(tenant, 'k'))).toMatchObject({ kind: 'key', key: { keyId: 'k' } });
    const right = (await redis.get(at))!;
    const json = right.slice(22);
    for (const wrong of [
      right.replace('"threshold":2', '"threshold":1'),
      right.replace(/"publicKey":"02|"publicKey":"03/, '"publicKey":"ff'),
      json,
      `${'A'.repeat(22)}${json}`,
      '',
      '{}',
    ]) {
      expect(wrong).not.toBe(right);
      await redis.set(at, wrong);
      store = await open();
      expect(await store.load(keyRecordKey(tenant, 'k'))).toEqual({ kind: 'tampered' });
    }
  });

  test('does not pass for another', async () => {
    await freshRedis();
    await redis.copy(`${prefix}key:k2`, at, 'REPLACE');
    expect(await store.load(keyRecordKey(tenant, 'k'))).toEqual({ kind: 'tampered' });
  });
});

test('neither is believed by the coordinator of another cluster, or with another resume key', async () => {
  await freshRedis();
  for (const stranger of [await open(new Uint8Array(32).fill(8)), await open(undefined, 'c2')]) {
    expect(await stranger.load(sessionKey(tenant, sessionId))).toEqual({ kind: 'tampered' });
    expect(await stranger.load(keyRecordKey(tenant, 'k'))).toEqual({ kind: 'tampered' });
  }
});

describe('the coordinator, told that a record was tampered with,', () => {
  /** A cluster whose coordinator starts anew after its store was edited. */
  function edited(seed: string, which: (keys: readonly string[]) => string) {
    const cluster = new SimCluster({ seed });
    makeKey(cluster, 'k');
    const begun = begin(cluster, 't');
    const snapshot = cluster.snapshot();
    const records = new Map<string, CoordinatorRecord>(snapshot.coordinator.records);
    const broken = which([...records.keys()]);
    expect(records.has(broken)).toBe(true);
    records.set(broken, { kind: 'tampered' });
    cluster.restore({ ...snapshot, coordinator: { ...snapshot.coordinator, records } });
    return { cluster, sessionId: begun.signingSessionId, resumeToken: tokenOf(begun) || 'x' };
  }
  const signed = (cluster: SimCluster) =>
    cluster.events.filter(({ event }) => event.type === 'signer.partial.signed').length;

  test('refuses every call to that session by name, and nothing is signed', () => {
    const { cluster, sessionId: id, resumeToken } = edited('session', (keys) => keys.find((key) => /sig_/.test(key))!);
    const answers = [
      cluster.submitSignatureShare({ signingSessionId: id }).result(),
      cluster.submitSignatureShare({ signingSessionId: id, nodeId: 2 }).result(),
      cluster.resumeSession({ sessionId: id, resumeToken }).result(),
    ];
    for (const answer of answers) {
      expect([codeOf(answer), answer.receipt!.state]).toEqual(['STORE_TAMPERED', ReceiptState.BACKEND_FAILED]);
      expect([answer.receipt!.resumable, answer.receipt!.sessionId]).toEqual([false, '']);
    }
    expect(signed(cluster)).toBe(0);
  });

  test('refuses to sign with that key, in sessions that are open and in new ones', () => {
    const { cluster, sessionId: id } = edited('key', (keys) => keys.find((key) => key.startsWith('key/'))!);
    const share = cluster.submitSignatureShare({ signingSessionId: id }).result();
    expect(codeOf(share)).toBe('STORE_TAMPERED');
    expect(share.checkpoint!.state).toBe(ReceiptState.ACCEPTED);
    const begun = cluster.initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId: 't2' }).result();
    expect([codeOf(begun), begun.signingSessionId]).toEqual(['STORE_TAMPERED', '']);
    expect(signed(cluster)).toBe(0);
  });

  test('refuses calls to that key generation', () => {
    const { cluster } = edited('dkg', (keys) => keys.find((key) => /^session\/[^/]+\/k$/.test(key))!);
    expect(codeOf(cluster.exchangeDkgShares({ sessionId: 'k' }).result())).toBe('STORE_TAMPERED');
    expect(codeOf(cluster.resumeSession({ sessionId: 'k', resumeToken: 'x' }).result())).toBe('STORE_TAMPERED');
  });
});
