/**
 * Gives the records and tokens of an earlier version, which had no MACs, theirs: once, at the first start of this version, and
 * when an operator restores an older state. It believes what it finds, so nothing else may call it. It may stop at any point
 * and run again.
 *
 * Transfers that are open fall due at once: the order of one whose receipt does not say who had to approve it is refused
 * (custody/intents/order-check.ts).
 */
import type { Redis } from 'ioredis';
import type { Ports } from '../actors/contract.ts';
import { intentType, isFinal } from '../custody/intents/public.ts';
import { deliveryType } from '../delivery/deliveries/public.ts';
import { mastersOf } from '../redis/connect.ts';
import { luaCommand, luaScript } from '../redis/lua.ts';
import { storeKeys, tenantPrefix } from '../store/layout.ts';
import { RedisTenantStore } from '../store/redis-tenant-store.ts';
import { RecordSeal, unsealed } from '../store/secrets/record-seal.ts';
import { macParts, tokenKeyPrefix, tokenMacs } from './auth/token-record.ts';

export interface SealingKeys {
  /** As in GatewayConfig; both secret. */
  readonly tokenKey: Uint8Array;
  readonly recordKey: Uint8Array;
}

export interface Sealed {
  readonly records: number;
  readonly tokens: number;
}

const scannedAtOnce = 500;

interface SealRecord {
  readonly keys: { readonly [name: string]: string; readonly prefixKey: string };
  readonly args: { readonly id: string; readonly before: string; readonly after: string };
}

const sealRecord = luaScript<SealRecord, number>('store/seal-record.lua');

/** Rejects when Redis does not answer. */
export async function sealStored(redis: Redis, keys: SealingKeys, ports: Pick<Ports, 'clock' | 'random'>) {
  const seal = new RecordSeal(keys.recordKey);
  const macs = tokenMacs(keys.tokenKey);
  const store = new RedisTenantStore(redis, { ...ports, recordKey: keys.recordKey });
  const write = luaCommand(redis, sealRecord);

  const ofToken = async (key: string): Promise<number> => {
    const fields = await redis.hgetall(key);
    if (fields.mac !== undefined || Object.keys(fields).length === 0) return 0;
    await redis.hset(key, { mac: macs.of(macParts(key, fields)) });
    return 1;
  };
  const ofRecord = async (key: string): Promise<number> => {
    const [tenant, id] = namesIn(key);
    const [kind, before, status] = await redis.hmget(key, 'k', 'd', 's');
    if (typeof kind !== 'string' || typeof before !== 'string' || kind === deliveryType.name) return 0;
    if (before !== unsealed(before)) return 0;
    const after = seal.seal({ key, kind }, before);
    const isDone = (await write({ prefixKey: tenantPrefix(tenant) }, { id, before, after })) === 1;
    if (isDone && kind === intentType.name && !isFinal(status as Parameters<typeof isFinal>[0])) {
      await store.commit(tenant, { due: [{ member: `intent/${id}`, atMs: ports.clock.nowMs() }] });
    }
    return isDone ? 1 : 0;
  };
  const tokens = await each(redis, `${tokenKeyPrefix}*`, ofToken);
  const records = await each(redis, storeKeys.record('*', '*'), ofRecord);
  return { tokens, records };
}

const [head, between] = storeKeys.record('*', '*').split('*') as [string, string];

function namesIn(key: string): [tenant: string, id: string] {
  const at = key.indexOf(between, head.length);
  return [key.slice(head.length, at), key.slice(at + between.length)];
}

/** The sum of what `work` answers for each key. */
async function each(redis: Redis, pattern: string, work: (key: string) => Promise<number>): Promise<number> {
  let sum = 0;
  for (const master of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await master.scan(cursor, 'MATCH', pattern, 'COUNT', scannedAtOnce);
      for (const done of await Promise.all(keys.map(work))) sum += done;
      cursor = next;
    } while (cursor !== '0');
  }
  return sum;
}
