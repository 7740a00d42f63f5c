/**
 * Rate limits per tenant, counted in Redis, so that all gateways and both APIs share them. Windows are fixed: a window opens
 * with a tenant's first call of a class, and the full limit is available again at its end.
 *
 * While Redis is unreachable every call passes (and a warning is logged once): refusing all work because a counter is down
 * would be worse, and the queues behind the gateway bound the calls.
 */
import type { Redis } from 'ioredis';
import type { Timers } from '../../core/actors/contract.ts';
import { type Log, silentLog } from '../../core/actors/live/ports.ts';
import { type LuaCommand, luaCommand, luaScript } from '../../core/redis/lua.ts';

export type LimitClass = 'reads' | 'writes' | 'signing';

export interface RateLimitConfig {
  readonly windowS: number;
  /** Calls a window. */
  readonly reads: number;
  readonly writes: number;
  readonly signing: number;
}

export const rateLimitDefaults: RateLimitConfig = { windowS: 10, reads: 300, writes: 100, signing: 2_000 };

export interface RateVerdict {
  readonly allowed: boolean;
  /** The `RateLimit-Policy` field. */
  readonly policy: string;
  /** The `RateLimit` field; undefined while Redis is unreachable. */
  readonly state: string | undefined;
  /** Whole seconds until the window ends. */
  readonly resetS: number;
}

/** What admission needs. Never rejects. */
export interface RateLimits {
  consume(tenant: string, limitClass: LimitClass): Promise<RateVerdict>;
}

/** The pause of counting after Redis failed. */
const retryMs = 1_000;
/** Tenants over their limit that are remembered before those whose window is over are evicted. */
const blockedMax = 1_000;

interface CountCall {
  readonly keys: { readonly counterKey: string };
  readonly args: { readonly windowMs: number };
}
type Counted = readonly [calls: number, leftMs: number];

const countCall = luaScript<CountCall, Counted>('gateway/limits/count-call.lua');

export class RedisRateLimits implements RateLimits {
  readonly #redis: Redis;
  readonly #config: RateLimitConfig;
  readonly #count: LuaCommand<CountCall, Counted>;
  readonly #timers: Pick<Timers, 'elapsedMs'>;
  readonly #log: Log;
  /** By counter: until when a tenant is over its limit. It costs Redis nothing more in that window. */
  readonly #blockedUntilMs = new Map<string, number>();
  #isUnreachable = false;
  #retryAtMs = 0;

  constructor(redis: Redis, config: RateLimitConfig, timers: Pick<Timers, 'elapsedMs'>, log: Log = silentLog) {
    this.#redis = redis;
    this.#config = config;
    this.#count = luaCommand(redis, countCall);
    this.#timers = timers;
    this.#log = log;
  }

  async consume(tenant: string, limitClass: LimitClass): Promise<RateVerdict> {
    const nowMs = this.#timers.elapsedMs();
    const counterKey = `sm:{t:${tenant}}:rl:${limitClass}`;
    const blockedMs = (this.#blockedUntilMs.get(counterKey) ?? nowMs) - nowMs;
    if (blockedMs > 0) return this.#verdict(limitClass, this.#config[limitClass] + 1, blockedMs);
    // A Redis that hangs must not delay every call: retry it only occasionally.
    if (this.#isUnreachable && nowMs < this.#retryAtMs) return this.#uncounted(limitClass);
    try {
      if (this.#redis.status !== 'ready') throw new Error('the connection to Redis is not ready');
      const [calls, leftMs] = await this.#count({ counterKey }, { windowMs: this.#config.windowS * 1_000 });
      this.#redisIs('back');
      if (calls > this.#config[limitClass]) this.#block(counterKey, leftMs);
      return this.#verdict(limitClass, calls, leftMs);
    } catch (error) {
      this.#retryAtMs = this.#timers.elapsedMs() + retryMs;
      this.#redisIs('away', error);
      return this.#uncounted(limitClass);
    }
  }

  /** The store was replaced: tenants are no longer blocked by what the old one counted. */
  restored(): void {
    this.#blockedUntilMs.clear();
  }

  #block(counterKey: string, leftMs: number): void {
    const nowMs = this.#timers.elapsedMs();
    if (this.#blockedUntilMs.size >= blockedMax) {
      for (const [key, untilMs] of this.#blockedUntilMs) if (untilMs <= nowMs) this.#blockedUntilMs.delete(key);
    }
    this.#blockedUntilMs.set(counterKey, nowMs + leftMs);
  }

  #redisIs(state: 'away' | 'back', error?: unknown): void {
    const away = state === 'away';
    if (away === this.#isUnreachable) return;
    this.#isUnreachable = away;
    const reason = error instanceof Error ? error.message : '';
    if (away) this.#log.warn({ reason }, 'rate limits are off while Redis is unreachable');
    else this.#log.info({}, 'rate limits count again');
  }

  /** Structured fields of draft-ietf-httpapi-ratelimit-headers: r calls left, t seconds until the window ends. */
  #verdict(limitClass: LimitClass, calls: number, leftMs: number): RateVerdict {
    const remaining = Math.max(0, this.#config[limitClass] - calls);
    const resetS = Math.max(1, Math.ceil(leftMs / 1_000));
    const state = `"${limitClass}";r=${remaining};t=${resetS}`;
    return { allowed: calls <= this.#config[limitClass], policy: this.#policy(limitClass), state, resetS };
  }

  #uncounted(limitClass: LimitClass): RateVerdict {
    return { allowed: true, policy: this.#policy(limitClass), state: undefined, resetS: 0 };
  }

  #policy(limitClass: LimitClass): string {
    const { windowS, [limitClass]: allowance } = this.#config;
    return `"${limitClass}";q=${allowance};w=${windowS}`;
  }
}
