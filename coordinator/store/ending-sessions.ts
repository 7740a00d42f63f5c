/**
 * Which sessions are past their lifetime, over all tenants. Each tenant keeps its own set of them, in its own slot, exact
 * because the scripts of sessions keep it. The set of tenants lies outside, so it cannot be kept in the same step: it
 * names each tenant with a time that is not after the end of any lifetime there.
 *
 * - A tenant is named before its session is written, unless this process has named it with an earlier time.
 * - This process evicts its memory of named tenants before it scans a tenant, so that a writer of a session
 *   after the look names the tenant again.
 * - A tenant without sessions is dropped only after two scans a minute apart found none, and no write named it between.
 *   So a write that was under way during one look is seen by the other.
 *
 * One process at a time writes sessions (the fence), and only it looks.
 */
import type { Redis } from 'ioredis';
import { tenantPrefix } from '../../proto/event-log.ts';
import type { SessionName } from '../messages.ts';
import { redisKeys } from './layout.ts';
import { overdueSessions } from './scripts.ts';

/** Of one look, over all tenants; each gets its part. */
const sessionsMax = 512;
const tenantsMax = 64;

const emptyForMs = 60_000;
/** Tenants that are remembered; beyond that they are named once too often. */
const rememberedMax = 10_000;

interface Script {
  overdueSessions(...keysAndArguments: (string | number)[]): Promise<[ids: string[], next: string]>;
}

export class EndingSessions {
  readonly #redis: Redis;
  readonly #script: Script;
  /** What tenants stand in the set with, or less. */
  readonly #named = new Map<string, number>();
  /** Tenants that were found without sessions. */
  readonly #empty = new Set<string>();

  constructor(redis: Redis) {
    redis.defineCommand('overdueSessions', { numberOfKeys: 1, lua: overdueSessions });
    this.#redis = redis;
    this.#script = redis as unknown as Script;
  }

  /** To be sent before the session; it must hold before the session counts as written. undefined: it holds already. */
  name(tenant: string, expiresMs: number): Promise<unknown> | undefined {
    this.#empty.delete(tenant);
    if ((this.#named.get(tenant) ?? Number.POSITIVE_INFINITY) <= expiresMs) return undefined;
    if (this.#named.size >= rememberedMax) this.#named.delete(this.#named.keys().next().value!);
    this.#named.set(tenant, expiresMs);
    return this.#redis.zadd(redisKeys.endingTenants, 'LT', expiresMs, tenant).catch((error: unknown) => {
      this.#named.delete(tenant);
      throw error;
    });
  }

  /** Some of the sessions past their lifetime; those that go on being so are named again, after others. */
  async overdue(nowMs: number): Promise<readonly SessionName[]> {
    const { endingTenants } = redisKeys;
    const tenants = await this.#redis.zrangebyscore(endingTenants, '-inf', nowMs, 'LIMIT', 0, tenantsMax);
    const found = await Promise.all(
      tenants.map((tenant) => this.#look(tenant, nowMs, Math.ceil(sessionsMax / tenants.length))),
    );
    return found.flat();
  }

  async #look(tenant: string, nowMs: number, limit: number): Promise<SessionName[]> {
    const { endingTenants } = redisKeys;
    this.#named.delete(tenant);
    const key = redisKeys.ending(tenant);
    const [ids, next] = await this.#script.overdueSessions(key, tenantPrefix(tenant), nowMs, limit);
    const named = this.#named.get(tenant) ?? Number.POSITIVE_INFINITY;
    if (ids.length > 0 || next !== '') {
      this.#empty.delete(tenant);
      // Overdue ones are looked for again, once others had their turn.
      const again = ids.length > 0 ? nowMs : Math.min(Number(next), named);
      await this.#redis.zadd(endingTenants, again, tenant);
    } else if (this.#empty.has(tenant)) {
      this.#empty.delete(tenant);
      await this.#redis.zrem(endingTenants, tenant);
    } else {
      this.#empty.add(tenant);
      await this.#redis.zadd(endingTenants, Math.min(nowMs + emptyForMs, named), tenant);
    }
    return ids.map((sessionId) => ({ tenant, sessionId }));
  }
}
