/** One life of a simulated worker: deliveries of webhooks and reconciliation jobs, in the live composition. */
import type { Redis } from 'ioredis';
import type { Log } from '../actors/live/ports.ts';
import type { RelayOptions, WebhookQueue } from '../delivery/deliveries/public.ts';
import { RedisOutboxStore } from '../delivery/deliveries/redis-outbox-store.ts';
import type { Send } from '../delivery/egress/public.ts';
import { followRelayWakes } from '../delivery/events/redis-wakes.ts';
import { composeWebhookWorker } from '../gateway/webhook-worker.ts';
import { type ReconQueue, startReconWorker } from '../modules/recon/public.ts';
import { openChains } from '../providers/chains/public.ts';
import { redisLedgers } from '../providers/chains/redis-ledgers.ts';
import type { ProviderKind } from '../providers/port/kinds.ts';
import type { CustodianBooks } from '../providers/simulated/custodian-books.ts';
import { withDrifts } from '../providers/simulated/drift.ts';
import { RedisDrifts } from '../providers/simulated/redis-drifts.ts';
import { providerStatements } from '../providers/statements.ts';
import { RedisTenantStore } from '../store/redis-tenant-store.ts';
import type { KeyRing } from '../store/secrets/key-ring.ts';
import type { WorldConfig } from './gateway-process.ts';
import type { ProcessLife } from './process-life.ts';

export interface WorkerParts {
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

export function startWorker(life: ProcessLife, parts: WorkerParts): void {
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
