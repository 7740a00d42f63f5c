/** Gateways that listen on a real port with the events' routes, over one Redis. */
import type { AddressInfo } from 'node:net';
import type { Redis } from 'ioredis';
import type { Timers } from '../../../../core/actors/contract.ts';
import { systemRandom, systemTimers } from '../../../../core/actors/live/ports.ts';
import { openRedis } from '../../../../gateway/redis.ts';
import { uuidV7 } from '../../../../proto/ids.ts';
import type { StreamTimes } from '../../../../wallets/delivery/events/event-stream.ts';
import { type FeedLimits, LiveFeed } from '../../../../wallets/delivery/events/live-feed.ts';
import { RedisWakes } from '../../../../wallets/delivery/events/redis-wakes.ts';
import { eventRoutes } from '../../../../wallets/delivery/events/routes.ts';
import { eventStreamRoutes } from '../../../../wallets/delivery/events/stream-routes.ts';
import type { NewEvent, TenantStore } from '../../../../wallets/store/contract.ts';
import { RedisTenantStore } from '../../../../wallets/store/redis-tenant-store.ts';
import { collectLog } from '../../../support/log.ts';
import { openConnection } from '../../../support/redis-connection.ts';
import { type RestApp, restApp } from '../../../support/rest-app.ts';
import { storePorts } from '../../../support/store-ports.ts';

export interface Door extends RestApp {
  readonly url: string;
  readonly store: RedisTenantStore;
  readonly redis: Redis;
  readonly feed: LiveFeed;
  stop(): Promise<void>;
}

export interface DoorOptions {
  readonly times?: Partial<StreamTimes>;
  /** Of the streams; the system's by default. */
  readonly timers?: Timers;
  readonly limits?: Partial<FeedLimits>;
  /** Where the feed listens for wake-ups, if not where the events are. */
  readonly wakeUrl?: string;
  /** What stands between the routes and the store. */
  readonly wrap?: (store: TenantStore) => TenantStore;
}

export async function openDoor(redisUrl: string, options: DoorOptions = {}): Promise<Door> {
  const { times, timers = systemTimers, limits, wrap, wakeUrl } = options;
  const { log } = collectLog();
  const redis = await openConnection(redisUrl);
  const store = new RedisTenantStore(redis, storePorts);
  const seen = wrap?.(store) ?? store;
  const ears = wakeUrl === undefined ? redis : openRedis(wakeUrl, log);
  const feed = new LiveFeed({ wakes: new RedisWakes(ears), store: seen, timers: systemTimers, log }, limits);
  const routes = [...eventRoutes(), ...eventStreamRoutes({ feed, store: seen, timers, log, ...(times && { times }) })];
  const rest = await restApp({ routes, store: seen });
  await rest.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = rest.app.server.address() as AddressInfo;
  return {
    ...rest,
    url: `http://127.0.0.1:${port}`,
    store,
    redis,
    feed,
    async stop() {
      feed.stop();
      rest.app.server.closeAllConnections();
      await rest.app.close();
      redis.disconnect();
      ears.disconnect();
    },
  };
}

const types = ['wallet.created', 'transaction_intent.created', 'transaction_intent.approved', 'webhook.created'];

export function newEvent(at: number, more: Partial<NewEvent> = {}): NewEvent {
  return {
    id: `evt_${uuidV7(Date.now(), systemRandom)}`,
    type: types[at % 4]!,
    atMs: Date.now(),
    resource: { type: 'thing', id: `thing_${at % 3}`, version: 1 },
    correlationId: `cor_${at}`,
    provider: 'fireblocks',
    connectionId: `pcn_${at % 2}`,
    object: { id: `thing_${at % 3}`, at, text: 'line\nbreak\r\u2028' },
    ...more,
  };
}

export async function write(store: TenantStore, tenant: string, count: number, from = 0): Promise<void> {
  for (let at = from; at < from + count; at += 10) {
    const events = Array.from({ length: Math.min(10, from + count - at) }, (_, index) => newEvent(at + index));
    await store.commit(tenant, { events });
  }
}
