/**
 * Due work has one worker at a time: what a process takes falls due again at the end of its lease, and not before. And it finds one
 * soon: a tenant with due work is registered, nothing stays due for long, and no delivery stays on its way. It looks at Redis after
 * the commands of a run whose clocks agree.
 */
import { tenantPrefix } from '../../../core/redis/event-log.ts';
import type { CustodyWorld } from '../custody-world.ts';
import { Finding } from './finding.ts';

const leaseMs = 30_000;
/** The way of a call to Redis. */
const wayMs = 1_000;
const takeDue = 'store/take-due.lua';
/** Gateways sweep twice a second; a claim holds a tenant for ten seconds. */
const dueWithinMs = 12_000;
/** A receiver has 15 s; a job of the queue that was lost is found after 20 s. */
const outWithinMs = 45_000;
const lookEveryMs = 2_000;

export class Leases {
  readonly #world: () => CustodyWorld;
  readonly #tenants: readonly string[];
  #finding: Finding | undefined;
  #lookedMs = 0;

  constructor(world: () => CustodyWorld, tenants: readonly string[]) {
    this.#world = world;
    this.#tenants = tenants;
  }

  /** After each call of Redis. Its finding waits for the end: a script of the product must not fail by it. */
  heard(name: string, reply: () => unknown): void {
    if (this.#finding !== undefined) return;
    if (this.#world().nowMs - this.#lookedMs >= lookEveryMs) this.#look();
    if (name !== takeDue) return;
    const [, members] = reply() as readonly [string, readonly string[]];
    for (const member of members) this.#leased(member);
  }

  #leased(member: string): void {
    const { redis, nowMs } = this.#world();
    for (const tenant of this.#tenants) {
      const atMs = redis.space.find(`${tenantPrefix(tenant)}due`, 'zset')?.set.score(member);
      if (atMs === undefined || atMs >= nowMs + leaseMs - wayMs) continue;
      this.#finding = new Finding('orders-end', `${member} was taken at ${nowMs}, and is due again at ${atMs}`);
    }
  }

  #look(): void {
    const { redis, nowMs } = this.#world();
    this.#lookedMs = nowMs;
    const registered = redis.space.find('sm:{due:work}', 'zset')?.set;
    for (const tenant of this.#tenants) {
      const prefix = tenantPrefix(tenant);
      const [first] = redis.space.find(`${prefix}due`, 'zset')?.set.entries ?? [];
      if (first !== undefined && registered?.score(tenant) === undefined)
        this.#finding = new Finding('orders-end', `${first.member} is due, and ${tenant} is not registered`);
      if (first !== undefined && first.score < nowMs - dueWithinMs)
        this.#finding = new Finding('orders-end', `${first.member} is due since ${first.score}, and it is ${nowMs}`);
      for (const { member: hook } of redis.space.find(`${prefix}ix:webhooks`, 'zset')?.set.entries ?? []) {
        const [oldest] = redis.space.find(`${prefix}hko:${hook}`, 'zset')?.set.entries ?? [];
        if (oldest === undefined || oldest.score >= nowMs - outWithinMs) continue;
        const sinceMs = nowMs - oldest.score;
        this.#finding = new Finding('hooks-get-events', `${oldest.member} of ${hook} is on its way for ${sinceMs} ms`);
      }
    }
  }

  /** Throws its first finding. */
  end(): void {
    if (this.#finding !== undefined) throw this.#finding;
  }
}
