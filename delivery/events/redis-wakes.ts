/** Wake-ups by the publish/subscribe of Redis. With the first follower a connection of its own is opened. */
import type { Redis } from 'ioredis';
import { wakePrefix } from '../../redis/event-log.ts';
import type { Wakes, WakesListener } from './wakes.ts';

export class RedisWakes implements Wakes {
  readonly #redis: Redis;
  readonly #tenants = new Set<string>();
  #subscriber: Redis | undefined;
  #listener: WakesListener | undefined;

  /** `redis`: a connection; it is duplicated for subscribing. */
  constructor(redis: Redis) {
    this.#redis = redis;
  }

  listen(listener: WakesListener): void {
    this.#listener = listener;
  }

  follow(tenant: string): void {
    this.#tenants.add(tenant);
    this.#subscriber ??= this.#connect();
    if (this.#subscriber.status === 'ready') this.#subscribe(this.#subscriber, [tenant]);
  }

  unfollow(tenant: string): void {
    this.#tenants.delete(tenant);
    if (this.#subscriber?.status === 'ready') {
      this.#subscriber.unsubscribe(`${wakePrefix}${tenant}`).catch(() => undefined);
    }
  }

  close(): void {
    this.#subscriber?.disconnect();
  }

  #connect(): Redis {
    // Every connection subscribes anew: a subscription that failed while Redis was unreachable is repeated.
    const subscriber = this.#redis.duplicate({ autoResubscribe: false, enableAutoPipelining: false });
    // The gateway's other connection logs that Redis is unreachable.
    subscriber.on('error', () => undefined);
    subscriber.on('ready', () => this.#subscribe(subscriber, [...this.#tenants]));
    subscriber.on('message', (channel: string, message: string) =>
      this.#listener?.onWake(channel.slice(wakePrefix.length), Number(message)),
    );
    return subscriber;
  }

  #subscribe(subscriber: Redis, tenants: readonly string[]): void {
    if (tenants.length === 0) return;
    subscriber
      .subscribe(...tenants.map((tenant) => `${wakePrefix}${tenant}`))
      .then(() => this.#listener?.onListening(tenants))
      .catch(() => undefined);
  }
}

/** Wake-ups of all tenants. The returned function ends them. */
export function followAllWakes(redis: Redis, onWake: (tenant: string) => void): () => void {
  redis.on('pmessage', (_pattern: string, channel: string) => onWake(channel.slice(wakePrefix.length)));
  redis.psubscribe(`${wakePrefix}*`).catch(() => undefined);
  return () => redis.removeAllListeners('pmessage');
}
