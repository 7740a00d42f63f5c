/** Drifts of a sandbox in Redis: a hash of each tenant, `sm:{t:<tenant>}:drift`, a drift by its id. */
import type { Redis } from 'ioredis';
import type { Drift, Drifts } from './drift.ts';
import { reachable } from './reachable.ts';

export class RedisDrifts implements Drifts {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async put(tenant: string, drift: Drift): Promise<void> {
    await reachable(this.#redis.hset(keyOf(tenant), drift.id, JSON.stringify(drift)));
  }

  /** In the order of their creation. */
  async list(tenant: string): Promise<readonly Drift[]> {
    const drifts = (await reachable(this.#redis.hvals(keyOf(tenant)))).map((json) => JSON.parse(json) as Drift);
    return drifts.sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  async remove(tenant: string, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await reachable(this.#redis.hdel(keyOf(tenant), ...ids));
  }
}

function keyOf(tenant: string): string {
  return `sm:{t:${tenant}}:drift`;
}
