/** Wake-ups by the publish/subscribe of Redis. With the first follower a connection of its own is opened. */
import type { Redis } from 'ioredis';
import { relayPrefix, wakePrefix } from '../../../core/redis/event-log.ts';
import { openSubscriber, type Subscriber } from '../../../core/redis/subscriber.ts';
import type { Wakes, WakesListener } from './wakes.ts';

export class RedisWakes implements Wakes {
  readonly #redis: Redis;
  readonly #tenants = new Set<string>();
  #subscriber: Subscriber | undefined;
  #listener: WakesListener | undefined;

  /** `redis`: a connection; another like it subscribes. */
  constructor(redis: Redis) {
    this.#redis = redis;
  }

  listen(listener: WakesListener): void {
    this.#listener = listener;
  }

  follow(tenant: string): void {
    this.#tenants.add(tenant);
    this.#subscriber ??= openSubscriber(this.#redis, (connection) => this.#prepare(connection));
    const { connection } = this.#subscriber;
    if (connection?.status === 'ready') this.#subscribe(connection, [tenant]);
  }

  unfollow(tenant: string): void {
    this.#tenants.delete(tenant);
    const connection = this.#subscriber?.connection;
    if (connection?.status === 'ready') connection.unsubscribe(`${wakePrefix}${tenant}`).catch(() => undefined);
  }

  close(): void {
    this.#subscriber?.close();
  }

  /** Every connection subscribes anew: a subscription that failed while Redis was unreachable is repeated. */
  #prepare(connection: Redis): void {
    connection.on('ready', () => this.#subscribe(connection, [...this.#tenants]));
    connection.on('message', (channel: string, message: string) =>
      this.#listener?.onWake(channel.slice(wakePrefix.length), Number(message)),
    );
  }

  #subscribe(subscriber: Redis, tenants: readonly string[]): void {
    if (tenants.length === 0) return;
    subscriber
      .subscribe(...tenants.map((tenant) => `${wakePrefix}${tenant}`))
      .then(() => this.#listener?.onListening(tenants))
      .catch(() => undefined);
  }
}

/** Wake-ups of all tenants with webhooks, over a connection like `redis`. The returned function ends them. */
export function followRelayWakes(redis: Redis, onWake: (tenant: string) => void): () => void {
  const subscriber = openSubscriber(redis, (connection) => {
    const subscribe = () => void connection.psubscribe(`${relayPrefix}*`).catch(() => undefined);
    connection.on('ready', subscribe);
    connection.on('pmessage', (_pattern: string, channel: string) => onWake(channel.slice(relayPrefix.length)));
    // A connection to the Redis in memory is ready from the beginning, and does not say so.
    if (connection.status === 'ready') subscribe();
  });
  return () => subscriber.close();
}
