/** What a gateway process hands to the wallet control plane: Redis, the directory of credential keys, the system's ports. */
import type { Redis } from 'ioredis';
import type { Ports } from '../actors/contract.ts';
import { type Log, systemPorts } from '../actors/live/ports.ts';
import { RedisHookStore } from '../delivery/deliveries/redis-hook-store.ts';
import { RedisWakes } from '../delivery/events/redis-wakes.ts';
import { BullReconQueue } from '../modules/recon/bull-queue.ts';
import type { VaultCluster } from '../modules/vaults/public.ts';
import { redisLedgers } from '../providers/chains/redis-ledgers.ts';
import type { ClusterSigner } from '../providers/self-hosted/public.ts';
import { RedisCustodianBooks } from '../providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../providers/simulated/redis-custodian-records.ts';
import { RedisDrifts } from '../providers/simulated/redis-drifts.ts';
import { RedisAddressBook } from '../store/redis-address-book.ts';
import { RedisTenantStore } from '../store/redis-tenant-store.ts';
import { fileKeyRing } from '../store/secrets/file-key-ring.ts';
import type { WalletPorts } from './wallet-api.ts';

export interface LiveWalletOptions extends Partial<Ports> {
  /** A connection that fails at once while Redis is unreachable. */
  readonly redis: Redis;
  readonly credentialKeysDir: string;
  /** What a tenant may store; undefined: no bound. */
  readonly tenantBytesMax?: number | undefined;
  readonly signer: ClusterSigner;
  readonly vaultCluster: VaultCluster;
  readonly log: Log;
}

/** Throws an Error when the credential keys cannot be read. */
export function liveWalletPorts(options: LiveWalletOptions): WalletPorts {
  const { redis, credentialKeysDir, signer, vaultCluster, log } = options;
  const { clock, timers, random }: Ports = { ...systemPorts, ...options };
  const store = new RedisTenantStore(redis, { clock, random }, options.tenantBytesMax);
  return {
    ...{ clock, timers, random, store, signer, vaultCluster, log },
    addressBook: new RedisAddressBook(redis),
    hooks: new RedisHookStore(redis),
    ring: fileKeyRing(credentialKeysDir, { clock, random }),
    wakes: new RedisWakes(redis),
    ledgers: redisLedgers(redis),
    custodianRecords: (kind) => new RedisCustodianRecords(redis, kind),
    custodianBooks: (kind) => new RedisCustodianBooks(redis, kind),
    drifts: new RedisDrifts(redis),
    reconQueue: new BullReconQueue({ redis, log }),
    restored: () => store.restored(),
  };
}
