/**
 * A worker process: delivers webhooks and runs reconciliation jobs. Any number of them run over one Redis; each adds due
 * deliveries to BullMQ and makes deliveries from it. It listens on no port, and another worker can continue all its work.
 */

import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Cancel, Ports, Timers } from '../core/actors/contract.ts';
import { type Log, systemPorts } from '../core/actors/live/ports.ts';
import { RedisWatch } from '../core/actors/live/redis-watch.ts';
import { repeat, withinLimit } from '../core/actors/waiting.ts';
import { watchedConnection } from '../core/redis/connect.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry/port.ts';
import { BullReconQueue, type ReconConsumerOptions } from '../wallets/companions/recon/bull-queue.ts';
import { startReconWorker } from '../wallets/companions/recon/public.ts';
import { BullQueue, type ConsumerOptions, openQueueRedis } from '../wallets/delivery/deliveries/bull-queue.ts';
import type { RelayOptions } from '../wallets/delivery/deliveries/public.ts';
import { RedisOutboxStore } from '../wallets/delivery/deliveries/redis-outbox-store.ts';
import { Connections } from '../wallets/delivery/egress/connections.ts';
import type { Send } from '../wallets/delivery/egress/public.ts';
import { sendTo } from '../wallets/delivery/egress/send.ts';
import { followRelayWakes } from '../wallets/delivery/events/redis-wakes.ts';
import { openChains } from '../wallets/providers/chains/public.ts';
import { redisLedgers } from '../wallets/providers/chains/redis-ledgers.ts';
import type { ProviderKind } from '../wallets/providers/port/kinds.ts';
import { withDrifts } from '../wallets/providers/simulated/drift.ts';
import { RedisCustodianBooks } from '../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisDrifts } from '../wallets/providers/simulated/redis-drifts.ts';
import { providerStatements } from '../wallets/providers/statements.ts';
import { RedisTenantStore } from '../wallets/store/redis-tenant-store.ts';
import { fileKeyRing } from '../wallets/store/secrets/file-key-ring.ts';
import { packageVersion } from './api/version.ts';
import { assertWorkerConfig, type WorkerConfig } from './config.ts';
import { openRedis } from './redis.ts';
import { measureQueue, measureSending } from './telemetry/worker.ts';
import { composeWebhookWorker } from './webhook-worker.ts';
import { heartbeatKey } from './worker-heartbeat.ts';

export interface RunningWorker {
  /** Accepts no more work and waits briefly for running tries; another worker repeats interrupted ones. Repeatable. */
  stop(): Promise<void>;
}

export interface WorkerParts extends Partial<Ports> {
  readonly relay?: Partial<RelayOptions>;
  readonly consumer?: Partial<ConsumerOptions>;
  readonly recon?: Partial<ReconConsumerOptions>;
  readonly timeoutMs?: number;
  readonly log?: Log;
  readonly telemetry?: Telemetry;
}

const reachableMs = 2_000;
const heartbeatEveryMs = 2_000;
const heartbeatKeptMs = 10_000;

/** `parts`: for tests. Throws an Error when the credential keys cannot be read. */
export async function runWorker(config: WorkerConfig, parts: WorkerParts = {}): Promise<RunningWorker> {
  assertWorkerConfig(config);
  const { clock, timers, random }: Ports = { ...systemPorts, ...parts };
  const log: Log = parts.log ?? pino({ level: config.logLevel, base: { role: 'worker' } });
  const { environment, redisUrl, retryScheduleMs: scheduleMs } = config;
  const redis = openRedis(redisUrl, log, config.redisReplicas);
  const watched = { redis: watchedConnection(redis), url: redisUrl };
  const watch = new RedisWatch({ ...watched, log, probeKey: 'sm:probe:worker' });
  const queueRedis = openQueueRedis(redisUrl);
  const reconRedis = openQueueRedis(redisUrl);
  const store = new RedisTenantStore(redis, { clock, random, recordKey: config.recordKey, log });
  const connections = new Connections();
  const { telemetry = noTelemetry } = parts;
  const send: Send = (request) => sendTo(request, { environment, connections });
  const queue = new BullQueue({ redis: queueRedis, log, ...(parts.consumer && { consumer: parts.consumer }) });
  measureQueue(telemetry.metrics, () => queue.counts());
  const worker = composeWebhookWorker(
    {
      ...{ clock, timers, random, log },
      store,
      hooks: new RedisOutboxStore(redis, parts.relay?.overdueMs),
      ring: fileKeyRing(config.credentialKeysDir, { timers, random }),
      queue,
      send: telemetry.isOn ? measureSending(telemetry, timers, send) : send,
      followRelayWakes: (onWake) => followRelayWakes(queueRedis, onWake),
    },
    {
      ...{ environment, version: packageVersion(), scheduleMs },
      ...(parts.relay && { relay: parts.relay }),
      ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
    },
  );
  const books = (kind: ProviderKind) => new RedisCustodianBooks(redis, kind);
  const chains = openChains({ ledgers: redisLedgers(redis), blockMs: config.chainBlockMs });
  const statements = providerStatements({ books, chains });
  const recon = startReconWorker(
    {
      ...{ store, clock, timers, random, log },
      statements: environment === 'sandbox' ? withDrifts(statements, new RedisDrifts(redis)) : statements,
    },
    new BullReconQueue({ redis: reconRedis, log, ...(parts.recon && { consumer: parts.recon }) }),
  );
  const endBeats = beatHeart(redis, timers);
  await reachable(redis, timers);
  worker.start();
  log.info({ environment }, 'worker started');
  return {
    stop: once(async () => {
      watch.stop();
      endBeats();
      await Promise.all([worker.stop(), recon.stop()]);
      await connections.stop();
      for (const connection of [redis, queueRedis, reconRedis]) connection.disconnect();
      log.info({}, 'worker stopped');
    }),
  };
}

/** Resolves when Redis is there, or has been waited for long enough: a worker starts without it as well. */
async function reachable(redis: Redis, timers: Timers): Promise<void> {
  if (redis.status === 'ready') return;
  const ready = new Promise<void>((resolve) => {
    redis.once('ready', () => resolve());
  });
  await withinLimit(timers, reachableMs, ready, () => undefined);
}

function beatHeart(redis: Redis, timers: Timers): Cancel {
  const beat = () => {
    redis.set(heartbeatKey(hostname()), '1', 'PX', heartbeatKeptMs).catch(() => undefined);
  };
  redis.on('ready', beat);
  return repeat(timers, heartbeatEveryMs, beat);
}

function once<T>(action: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= action();
    return running;
  };
}
