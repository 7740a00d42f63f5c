/**
 * What Redis holds at rest: answers of idempotency keys expire, each entry of an index has its record, and nothing is long overdue.
 * docs/durability.md.
 */
import { tenantPrefix } from '../../../core/redis/event-log.ts';
import type { CustodyWorld } from '../custody-world.ts';
import { found } from './finding.ts';

/** Gateways' clocks may differ, and a sweep takes its time. */
const overdueMs = 600_000;

/** Throws a Finding. */
export function checkStored({ redis, nowMs }: CustodyWorld, tenants: readonly string[]): void {
  const { space } = redis;
  const prefixes = tenants.map(tenantPrefix);
  for (const key of space.keys()) {
    const prefix = prefixes.find((one) => key.startsWith(one));
    if (prefix === undefined) continue;
    const name = key.slice(prefix.length);
    if (name.startsWith('idem:') && space.expiryOf(key) === Number.POSITIVE_INFINITY) {
      found('one-answer-a-key', `${key} never expires`);
    }
    if (name.startsWith('ix:')) {
      const lost = space.find(key, 'zset')?.set.entries.find(({ member }) => !space.exists(`${prefix}r:${member}`));
      if (lost !== undefined) found('pages-complete', `${key} names ${lost.member}, of which there is no record`);
    }
  }
  for (const prefix of prefixes) {
    const [first] = space.find(`${prefix}due`, 'zset')?.set.entries ?? [];
    if (first !== undefined && first.score < nowMs - overdueMs) {
      found('orders-end', `${first.member} of ${prefix} is due since ${nowMs - first.score} ms`);
    }
  }
}
