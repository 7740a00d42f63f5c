/**
 * The Redis-based ports of the wallet control plane, over a client of any Redis: the one of a live gateway
 * (live-wallet-ports.ts), or the one in memory of a simulated world.
 */
import type { Redis } from 'ioredis';
import type { Ports } from '../core/actors/contract.ts';
import { RedisOutboxStore } from '../wallets/delivery/deliveries/redis-outbox-store.ts';
import { RedisWakes } from '../wallets/delivery/events/redis-wakes.ts';
import { redisLedgers } from '../wallets/providers/chains/redis-ledgers.ts';
import { RedisCustodianBooks } from '../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../wallets/providers/simulated/redis-custodian-records.ts';
import { RedisDrifts } from '../wallets/providers/simulated/redis-drifts.ts';
import { RedisAddressBook } from '../wallets/store/redis-address-book.ts';
import { RedisTenantStore, type StorePorts } from '../wallets/store/redis-tenant-store.ts';
import type { WalletPorts } from './wallet-api.ts';

/** `redis`: a connection that fails at once while Redis is unreachable. `tenantBytesMax`: what a tenant may store. */
export function redisWalletPorts(
  redis: Redis,
  { clock, timers, random, recordKey, log }: Ports & Pick<StorePorts, 'recordKey' | 'log'>,
  tenantBytesMax?: number,
): Omit<WalletPorts, 'ring' | 'reconQueue' | 'signer' | 'vaultCluster' | 'sessions' | 'log'> {
  const store = new RedisTenantStore(redis, { clock, timers, random, recordKey, ...(log && { log }) }, tenantBytesMax);
  return {
    ...{ clock, timers, random, store },
    addressBook: new RedisAddressBook(redis),
    hooks: new RedisOutboxStore(redis, undefined, timers),
    wakes: new RedisWakes(redis),
    ledgers: redisLedgers(redis),
    custodianRecords: (kind) => new RedisCustodianRecords(redis, kind),
    custodianBooks: (kind) => new RedisCustodianBooks(redis, kind),
    drifts: new RedisDrifts(redis),
    restored: () => store.restored(),
  };
}
