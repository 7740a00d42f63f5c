/**
 * The ports that a gateway process passes to the wallet control plane: Redis, the directory of credential keys, the system's
 * ports.
 */
import type { Redis } from 'ioredis';
import type { Ports } from '../core/actors/contract.ts';
import { type Log, systemPorts } from '../core/actors/live/ports.ts';
import { BullReconQueue } from '../wallets/companions/recon/bull-queue.ts';
import type { VaultCluster } from '../wallets/companions/vaults/public.ts';
import type { ClusterSigner } from '../wallets/providers/self-hosted/cluster-signer.ts';
import { fileKeyRing } from '../wallets/store/secrets/file-key-ring.ts';
import { redisWalletPorts } from './redis-wallet-ports.ts';
import type { SessionReads } from './signing/session-reads.ts';
import type { WalletPorts } from './wallet-api.ts';

export interface LiveWalletOptions extends Partial<Ports> {
  /** A connection that fails at once while Redis is unreachable. */
  readonly redis: Redis;
  readonly credentialKeysDir: string;
  /** Secret: seals what the store holds. */
  readonly recordKey: Uint8Array;
  /** Bytes that a tenant may store; undefined: no bound. */
  readonly tenantBytesMax?: number | undefined;
  readonly signer: ClusterSigner;
  readonly vaultCluster: VaultCluster;
  readonly sessions: SessionReads;
  readonly log: Log;
}

/** Throws an Error when the credential keys cannot be read. */
export function liveWalletPorts(options: LiveWalletOptions): WalletPorts {
  const { redis, credentialKeysDir, recordKey, signer, vaultCluster, sessions, log } = options;
  const { clock, timers, random }: Ports = { ...systemPorts, ...options };
  return {
    ...redisWalletPorts(redis, { clock, timers, random, recordKey, log }, options.tenantBytesMax),
    ...{ signer, vaultCluster, sessions, log },
    ring: fileKeyRing(credentialKeysDir, { timers, random }),
    reconQueue: new BullReconQueue({ redis, log }),
  };
}
