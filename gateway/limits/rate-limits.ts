/**
 * Rate limits per tenant, counted in Redis, so that all gateways and both doors share them. A window is fixed: it opens
 * with a tenant's first call of a class and all of its allowance comes back at its end.
 *
 * While Redis is unreachable every call passes (and a warning is logged once): refusing all work because a counter is down would be worse, and the queues behind the gateway bound the calls.
 */
import type { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Clock } from '../../actors/contract.ts';
import { type Log, silentLog } from '../../actors/live/ports.ts';

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

/** How long Redis is left alone after it failed. */
const retryMs = 1_000;

interface ClassLimiter {
  readonly limiter: RateLimiterRedis;
  readonly policy: string;
}

export class RedisRateLimits implements RateLimits {
  readonly #classes: Readonly<Record<LimitClass, ClassLimiter>>;
  readonly #clock: Clock;
  readonly #log: Log;
  #redisAway = false;
  #retryAtMs = 0;

  constructor(redis: Redis, config: RateLimitConfig, clock: Clock, log: Log = silentLog) {
    this.#log = log;
    this.#clock = clock;
    const of = (limitClass: LimitClass): ClassLimiter => ({
      policy: `"${limitClass}";q=${config[limitClass]};w=${config.windowS}`,
      limiter: new RateLimiterRedis({
        storeClient: redis,
        keyPrefix: '',
        points: config[limitClass],
        duration: config.windowS,
        // A tenant that is over its limit costs Redis nothing more in this window.
        inMemoryBlockOnConsumed: config[limitClass],
        rejectIfRedisNotReady: true,
      }),
    });
    this.#classes = { reads: of('reads'), writes: of('writes'), signing: of('signing') };
  }

  async consume(tenant: string, limitClass: LimitClass): Promise<RateVerdict> {
    const { limiter, policy } = this.#classes[limitClass];
    // A Redis that hangs must not slow down every call: it is tried again only now and then.
    if (this.#redisAway && this.#clock.nowMs() < this.#retryAtMs) return uncounted(policy);
    try {
      const result = await limiter.consume(`sm:{t:${tenant}}:rl:${limitClass}`);
      this.#redisIs('back');
      return toVerdict(true, policy, limitClass, result);
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return toVerdict(false, policy, limitClass, refusal);
      this.#retryAtMs = this.#clock.nowMs() + retryMs;
      this.#redisIs('away', refusal);
      return uncounted(policy);
    }
  }

  #redisIs(state: 'away' | 'back', error?: unknown): void {
    const away = state === 'away';
    if (away === this.#redisAway) return;
    this.#redisAway = away;
    const reason = error instanceof Error ? error.message : '';
    if (away) this.#log.warn({ reason }, 'rate limits are off while Redis is unreachable');
    else this.#log.info({}, 'rate limits count again');
  }
}

function uncounted(policy: string): RateVerdict {
  return { allowed: true, policy, state: undefined, resetS: 0 };
}

/** Structured fields of draft-ietf-httpapi-ratelimit-headers: r calls left, t seconds until the window ends. */
function toVerdict(allowed: boolean, policy: string, limitClass: LimitClass, result: RateLimiterRes): RateVerdict {
  const resetS = Math.max(1, Math.ceil(result.msBeforeNext / 1000));
  const remaining = allowed ? result.remainingPoints : 0;
  return { allowed, policy, state: `"${limitClass}";r=${remaining};t=${resetS}`, resetS };
}
