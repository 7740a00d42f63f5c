/**
 * Which tenants may have due work. The set of them lies outside of any tenant's keys, so a change and its tenant's name
 * in it cannot be one step. A name too many costs a look; a name too few would leave work undone. Therefore:
 *
 * - A tenant is named before a change with due times is sent, and named again once `namedForMs` have passed since this
 *   process last did. So whenever such a change takes effect, the tenant was named less than `namedForMs` before it was
 *   sent.
 * - A tenant is forgotten only when its due set was seen empty, and then only if it was last named more than
 *   `forgottenAfterMs` ago; Redis compares and removes in one step.
 *
 * Can a change slip in between the look and the removal, its tenant's name lost? Its sender named the tenant either
 * after the look: then the removal finds a fresh name and does nothing, or comes first and the name is put back. Or
 * before: then at most `namedForMs` before it sent the change, which at the removal is already more than
 * `forgottenAfterMs` ago. Then the change was under way for longer than the difference of the two, 55 minutes: commands
 * give up after a second. (A process that is stopped between the two steps for that long is the one case that is left;
 * the next change of that tenant names it again.) Clocks may differ by less than that difference.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../actors/contract.ts';
import { asking } from './asking-redis.ts';
import { storeKeys } from './layout.ts';

const namedForMs = 5 * 60_000;
const forgottenAfterMs = 60 * 60_000;
/** Tenants that this process remembers to have named; beyond that it names them once too often. */
const rememberedMax = 10_000;

export class DueTenants {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #forget: (key: string, tenant: string, beforeMs: string) => Promise<number>;
  readonly #namedAtMs = new Map<string, number>();

  constructor(redis: Redis, clock: Clock, forget: (key: string, tenant: string, beforeMs: string) => Promise<number>) {
    this.#redis = redis;
    this.#clock = clock;
    this.#forget = forget;
  }

  /** Before a change with due times is sent. */
  async name(tenant: string): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const namedAtMs = this.#namedAtMs.get(tenant);
    if (namedAtMs !== undefined && nowMs - namedAtMs < namedForMs) return;
    await asking(this.#redis.zadd(storeKeys.dueTenants, 'GT', String(nowMs), tenant));
    if (this.#namedAtMs.size >= rememberedMax) this.#namedAtMs.clear();
    this.#namedAtMs.set(tenant, nowMs);
  }

  /** The store is another: whether it has the names is not known any more. */
  forgetNames(): void {
    this.#namedAtMs.clear();
  }

  async list(): Promise<readonly string[]> {
    return asking(this.#redis.zrange(storeKeys.dueTenants, '0', '-1'));
  }

  /** After this tenant's due set was seen empty. */
  async forget(tenant: string): Promise<void> {
    const beforeMs = this.#clock.nowMs() - forgottenAfterMs;
    // A tenant that this process named lately would be kept anyhow.
    if ((this.#namedAtMs.get(tenant) ?? 0) >= beforeMs) return;
    await asking(this.#forget(storeKeys.dueTenants, tenant, String(beforeMs)));
  }
}
