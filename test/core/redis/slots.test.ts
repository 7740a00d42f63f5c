/** Addresses of Redis and of a Redis Cluster; tags and slots, and what the in-memory Redis refuses as a Redis Cluster does. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../core/actors/live/ports.ts';
import { redisAddress, redisHosts } from '../../../core/redis/address.ts';
import { ofCluster } from '../../../core/redis/clusters.ts';
import {
  claimedMax,
  holdMs,
  lateWriteMs,
  recheckMs,
  registeredForMs,
  unsettledMs,
} from '../../../core/redis/due-work.ts';
import { relayPrefix, tenantPrefix, wakePrefix } from '../../../core/redis/event-log.ts';
import { clusterKeys, clusterSilentMs } from '../../../core/redis/redis-clusters.ts';
import { dueKeys } from '../../../core/redis/redis-due-work.ts';
import { absentKey, slotOf, slotsTotal, tagOf } from '../../../core/redis/slots.ts';
import { MemoryRedis } from '../../../simulation/redis/memory-redis.ts';
import { asking } from '../../../wallets/store/asking-redis.ts';

test('an address names one Redis, or nodes of a Redis Cluster that share scheme, user and password', () => {
  expect(redisAddress('rediss://u:p%40@[::1]/3')).toEqual({
    nodes: [{ host: '::1', port: 6379 }],
    isTls: true,
    username: 'u',
    password: 'p@',
  });
  expect(redisAddress('redis://:p@a:7000, b:7001,redis://c')).toEqual({
    nodes: [
      { host: 'a', port: 7000 },
      { host: 'b', port: 7001 },
      { host: 'c', port: 6379 },
    ],
    isTls: false,
    username: undefined,
    password: 'p',
  });
  expect(redisHosts('redis://:secret@a:7000,b:7001')).toBe('a:7000, b:7001');
  expect(redisHosts('rediss://u:secret@[::1],[fe80::1]:7001')).toBe('[::1]:6379, [fe80::1]:7001');
  for (const wrong of [
    '',
    'http://a',
    'a:7000',
    'redis://a,',
    'redis://a,rediss://b',
    'redis://a/1,b',
    'redis://u:%zz@a',
    'redis://a,b/2',
  ]) {
    expect(redisAddress(wrong), wrong).toBe(undefined);
  }
});

test.each([
  ['123456789', '123456789', 12_739],
  ['{user1000}.following', 'user1000', 3_443],
  ['foo{}{bar}', 'foo{}{bar}', 8_363],
  ['foo{{bar}}zap', '{bar', 4_015],
  ['foo{bar}{zap}', 'bar', 5_061],
  ['}a{b', '}a{b', 4_079],
  ['{a', '{a', 10_276],
])('the slot of %s is that of %s: %i', (key, tag, slot) => {
  expect([tagOf(key), slotOf(key)]).toEqual([tag, slot]);
});

test('the absent key lies in the slot of its key', () => {
  for (const key of ['sm:{t:a}:r:1', 'sm:{due:work}', 'sm:tok:1']) {
    expect(tagOf(absentKey(key))).toBe(tagOf(key));
    expect(slotOf(absentKey(key))).toBe(slotOf(key));
  }
});

test('the in-memory Redis refuses commands and scripts that touch several tags', async () => {
  const redis = new MemoryRedis(systemClock).client();
  const planted = (lua: string) => {
    redis.defineCommand('planted', { lua, numberOfKeys: 1 });
    return (redis as unknown as { planted(key: string): Promise<unknown> }).planted('sm:{t:a}:');
  };
  expect(await planted("redis.call('SET', KEYS[1] .. 'x', '1') return 1")).toBe(1);
  await expect(planted("redis.call('SET', 'sm:{t:b}:x', '1') return 1")).rejects.toThrow(/CROSSSLOT/);
  await expect(planted("return redis.call('MGET', KEYS[1], 'sm:tok:1')")).rejects.toThrow(/CROSSSLOT/);
  await expect(redis.del('sm:{t:a}:x', 'sm:{t:b}:x')).rejects.toThrow(/CROSSSLOT/);
  expect(await redis.mget('sm:{t:a}:x', 'sm:{t:a}:y')).toEqual(['1', null]);
});

test('a command that a Redis Cluster has sent on too often has changed nothing; one whose answer was lost may have', async () => {
  const fate = (message: string) => asking(Promise.reject(new Error(message))).catch((error: unknown) => error);
  for (const last of [
    'TRYAGAIN Multiple keys request',
    'MOVED 1 a:1',
    'ASK 1 a:1',
    'CLUSTERDOWN The cluster is down',
  ]) {
    const error = await fate(`Too many Cluster redirections. Last error: ReplyError: ${last}`);
    expect(error).toMatchObject({ name: 'StoreUnavailable', changedNothing: true });
  }
  for (const lost of ['Connection is closed.', 'Command timed out', 'REPLICAS 0 of 1 replicas']) {
    expect(await fate(lost)).toMatchObject({ name: 'StoreUnavailable', changedNothing: false });
  }
  expect(await fate("Cluster isn't ready and enableOfflineQueue options is false")).toMatchObject({
    changedNothing: true,
  });
});

test('the times of due work, and the names that all processes share in Redis, are the stated ones', () => {
  expect({ registeredForMs, unsettledMs, lateWriteMs, recheckMs, holdMs, claimedMax, clusterSilentMs }).toEqual({
    ...{ registeredForMs: 10_000, unsettledMs: 30_000, lateWriteMs: 20_000, recheckMs: 1_000, holdMs: 10_000 },
    ...{ claimedMax: 64, clusterSilentMs: 10_000 },
  });
  expect(slotsTotal).toBe(16_384);
  expect(dueKeys('sessions:2')).toEqual({
    tenantsKey: 'sm:{due:sessions:2}',
    registeredKey: 'sm:{due:sessions:2}:registered',
  });
  expect(clusterKeys).toEqual({ clustersKey: 'sm:{clusters}', placedKey: 'sm:{clusters}:placed' });
  expect([tenantPrefix('acme'), wakePrefix, relayPrefix, ofCluster('ending', 1), ofCluster('ending', 2)]).toEqual([
    ...['sm:{t:acme}:', 'sm:wake:', 'sm:relay:', 'ending', 'ending:2'],
  ]);
});
