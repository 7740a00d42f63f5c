/** One life of a simulated worker: deliveries of webhooks and reconciliation jobs, in the live composition. */
import type { Redis } from 'ioredis';
import type { Log } from '../../core/actors/live/ports.ts';
import { composeWebhookWorker } from '../../gateway/webhook-worker.ts';
import { type ReconQueue, startReconWorker } from '../../wallets/companions/recon/public.ts';
import type { RelayOptions, WebhookQueue } from '../../wallets/delivery/deliveries/public.ts';
import { RedisOutboxStore } from '../../wallets/delivery/deliveries/redis-outbox-store.ts';
import type { Send } from '../../wallets/delivery/egress/public.ts';
import { followRelayWakes } from '../../wallets/delivery/events/redis-wakes.ts';
import { openChains } from '../../wallets/providers/chains/public.ts';
import { redisLedgers } from '../../wallets/providers/chains/redis-ledgers.ts';
import type { ProviderKind } from '../../wallets/providers/port/kinds.ts';
import type { CustodianBooks } from '../../wallets/providers/simulated/custodian-books.ts';
import { withDrifts } from '../../wallets/providers/simulated/drift.ts';
import { RedisDrifts } from '../../wallets/providers/simulated/redis-drifts.ts';
import { providerStatements } from '../../wallets/providers/statements.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import type { KeyRing } from '../../wallets/store/secrets/key-ring.ts';
import type { WorldConfig } from './gateway-process.ts';
import type { ProcessLife } from './process-life.ts';

export interface SimulatedWorkerParts {
  readonly redis: Redis;
  readonly books: (kind: ProviderKind) => CustodianBooks;
  readonly ring: KeyRing;
  readonly queue: WebhookQueue;
  readonly reconQueue: ReconQueue;
  readonly send: Send;
  readonly config: Pick<WorldConfig, 'environment' | 'chainBlockMs' | 'recordKey'>;
  readonly scheduleMs: readonly number[] | undefined;
  readonly relay: Partial<RelayOptions> | undefined;
  /** That webhooks name; undefined: one that no run depends on. */
  readonly version: string | undefined;
  readonly log: Log;
}

export function startWorker(life: ProcessLife, parts: SimulatedWorkerParts): void {
  const {
    redis,
    books,
    ring,
    queue,
    reconQueue,
    send,
    config,
    scheduleMs,
    relay,
    log,
    version = '0.0.0-world',
  } = parts;
  const { clock, timers, random } = life.ports;
  const store = new RedisTenantStore(redis, { clock, random, timers, recordKey: config.recordKey, log });
  const worker = composeWebhookWorker(
    {
      ...{ clock, timers, random, log, store, ring, queue, send },
      hooks: new RedisOutboxStore(redis, relay?.overdueMs, timers),
      followRelayWakes: (onWake) => followRelayWakes(redis.duplicate(), onWake),
    },
    { environment: config.environment, version, scheduleMs, ...(relay && { relay }) },
  );
  const chains = openChains({ ledgers: redisLedgers(redis), blockMs: config.chainBlockMs });
  const statements = providerStatements({ books, chains });
  startReconWorker(
    {
      ...{ store, clock, timers, random, log },
      statements: config.environment === 'sandbox' ? withDrifts(statements, new RedisDrifts(redis)) : statements,
    },
    reconQueue,
  );
  worker.start();
}
