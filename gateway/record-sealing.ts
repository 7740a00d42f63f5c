/**
 * Gives what an earlier version stored its MACs: once, at the first start of this version, and when an operator restores an older
 * state. Transfers that are open fall due at once: an order of one whose receipt does not say who had to approve it is refused
 * (wallets/custody/intents/order-check.ts).
 */
import type { Redis } from 'ioredis';
import type { Ports } from '../core/actors/contract.ts';
import { intentType, isFinal } from '../wallets/custody/intents/public.ts';
import { deliveryType } from '../wallets/delivery/deliveries/public.ts';
import { RedisTenantStore } from '../wallets/store/redis-tenant-store.ts';
import { eachKey, sealRecords } from '../wallets/store/seal-records.ts';
import { macParts, tokenKeyPrefix, tokenMacs } from './auth/token-record.ts';
import type { GatewayConfig } from './config.ts';

/** Rejects when Redis does not answer. */
export async function sealStored(
  redis: Redis,
  { tokenKey, recordKey }: Pick<GatewayConfig, 'tokenKey' | 'recordKey'>,
  ports: Pick<Ports, 'clock' | 'random'>,
): Promise<{ readonly tokens: number; readonly records: number }> {
  const macs = tokenMacs(tokenKey);
  const store = new RedisTenantStore(redis, { ...ports, recordKey });
  const tokens = await eachKey(redis, `${tokenKeyPrefix}*`, async (key) => {
    const fields = await redis.hgetall(key);
    if (fields.mac !== undefined || Object.keys(fields).length === 0) return 0;
    await redis.hset(key, { mac: macs.of(macParts(key, fields)) });
    return 1;
  });
  const records = await sealRecords(redis, recordKey, deliveryType.name, async ({ tenant, id, kind, status }) => {
    if (kind !== intentType.name || isFinal(status as Parameters<typeof isFinal>[0])) return;
    await store.commit(tenant, { due: [{ member: `intent/${id}`, atMs: ports.clock.nowMs() }] });
  });
  return { tokens, records };
}
