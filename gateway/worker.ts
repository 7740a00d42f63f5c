/**
 * A worker process: delivers webhooks. Any number of them run over one Redis; each relays what is to be delivered into
 * BullMQ and makes deliveries out of it. It has no port, and another worker can continue all its work.
 */

import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Cancel, Ports, Timers } from '../actors/contract.ts';
import { type Log, systemPorts } from '../actors/live/ports.ts';
import { RedisWatch } from '../actors/live/redis-watch.ts';
import { repeat, withinLimit } from '../actors/waiting.ts';
import { EventBodies } from '../delivery/deliveries/bodies.ts';
import { Deliverer } from '../delivery/deliveries/deliver.ts';
import { RedisHookStore } from '../delivery/deliveries/hook-store.ts';
import { heartbeatKey } from '../delivery/deliveries/keys.ts';
import {
  type ConsumerOptions,
  consumerDefaults,
  openQueueRedis,
  startConsumer,
  WebhookQueue,
} from '../delivery/deliveries/queue.ts';
import { Relay, type RelayOptions, relayDefaults } from '../delivery/deliveries/relay.ts';
import { Connections } from '../delivery/egress/connections.ts';
import { sendTo } from '../delivery/egress/send.ts';
import { followAllWakes } from '../delivery/events/redis-wakes.ts';
import { RedisTenantStore } from '../store/redis-tenant-store.ts';
import { answerSeal } from '../store/secrets/answer-seal.ts';
import { fileKeyRing } from '../store/secrets/key-ring.ts';
import { assertWorkerConfig, type WorkerConfig } from './config.ts';
import { openRedis } from './redis.ts';

export interface RunningWorker {
  /** Takes on nothing more and gives tries under way a moment; what is cut is made again by another. Repeatable. */
  stop(): Promise<void>;
}

export interface WorkerParts extends Partial<Ports> {
  readonly relay?: Partial<RelayOptions>;
  readonly consumer?: Partial<ConsumerOptions>;
  readonly timeoutMs?: number;
  readonly log?: Log;
}

const drainMs = 3_500;
const cutMs = 250;
const reachableMs = 2_000;
const heartbeatEveryMs = 2_000;
const heartbeatKeptMs = 10_000;

/** `parts`: for tests. Throws an Error when the credential keys cannot be read. */
export async function runWorker(config: WorkerConfig, parts: WorkerParts = {}): Promise<RunningWorker> {
  assertWorkerConfig(config);
  const { clock, timers, random }: Ports = { ...systemPorts, ...parts };
  const log: Log = parts.log ?? pino({ level: config.logLevel, base: { role: 'worker' } });
  const { environment, redisUrl, retryScheduleMs: scheduleMs } = config;
  const seal = answerSeal(fileKeyRing(config.credentialKeysDir, { clock, random }));
  const redis = openRedis(redisUrl, log);
  const watch = new RedisWatch({ redis, url: redisUrl, log, probeKey: 'sm:probe:worker' });
  const queueRedis = openQueueRedis(redisUrl);
  const wakeRedis = openQueueRedis(redisUrl);
  const store = new RedisTenantStore(redis, { clock, random });
  const relayOptions = { ...relayDefaults, ...parts.relay };
  const hooks = new RedisHookStore(redis, relayOptions.overdueMs);
  const bodies = new EventBodies(store, environment);
  const queue = new WebhookQueue(queueRedis);
  const relay = new Relay({ store, hooks, bodies, queue, clock, timers, log }, relayOptions);
  const connections = new Connections();
  const deliverer = new Deliverer({
    ...{ store, hooks, bodies, seal, clock, timers, random, log },
    send: (request) => sendTo(request, { environment, connections }),
    ...(scheduleMs !== undefined && { scheduleMs }),
    ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
  });
  const consumer = startConsumer(
    queueRedis,
    async (job) => {
      const { behind, retryAtMs } = await deliverer.deliver(job);
      if (behind) relay.freed(job.tenant, job.webhookId);
      if (retryAtMs !== undefined) relay.retryAt(job.tenant, job.webhookId, retryAtMs);
    },
    { ...consumerDefaults, ...parts.consumer },
    log,
  );
  const endWakes = followAllWakes(wakeRedis, (tenant) => relay.wake(tenant));
  const endBeats = beatHeart(redis, timers);
  await reachable(redis, timers);
  relay.start();
  log.info({ environment }, 'worker started');
  return {
    stop: once(async () => {
      watch.stop();
      endBeats();
      endWakes();
      await withinLimit(timers, drainMs, Promise.all([relay.stop(), consumer.close()]), () => undefined);
      // What is left of it is another worker's when its lock ends.
      const cut = consumer.close(true).catch(() => undefined);
      await withinLimit(timers, cutMs, cut, () => undefined);
      await connections.stop();
      for (const connection of [redis, queueRedis, wakeRedis]) connection.disconnect();
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
