/**
 * Due work has one worker at a time: what a process takes falls due again at the end of its lease, and not before. It reads the replies
 * of the script that takes work, in a run whose clocks agree.
 */
import { tenantPrefix } from '../redis/event-log.ts';
import type { CustodyWorld } from '../world/custody-world.ts';
import { Finding } from '../world/invariants/finding.ts';

const leaseMs = 30_000;
/** The way of a call to Redis. */
const wayMs = 1_000;
const takeDue = 'store/take-due.lua';

export class Leases {
  readonly #world: () => CustodyWorld;
  readonly #tenants: readonly string[];
  #finding: Finding | undefined;

  constructor(world: () => CustodyWorld, tenants: readonly string[]) {
    this.#world = world;
    this.#tenants = tenants;
  }

  /** After each call of Redis. Its finding waits for the end: a script of the product must not fail by it. */
  heard(name: string, reply: () => unknown): void {
    if (name !== takeDue || this.#finding !== undefined) return;
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

  /** Throws its first finding. */
  end(): void {
    if (this.#finding !== undefined) throw this.#finding;
  }
}
