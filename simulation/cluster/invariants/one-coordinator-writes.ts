/**
 * Two coordinators of a cluster may run at once, but only the later one writes: once it has written for a tenant, no write of an
 * earlier one takes effect there.
 */
import type { Checker, Observation } from '../observation.ts';

export function oneCoordinatorWrites(): Checker {
  /** By tenant: the latest start of the coordinator that has written. */
  const latest = new Map<string, number>();
  return {
    invariant: 'one-coordinator-writes',
    observe(observation: Observation) {
      if (observation.kind !== 'written' || observation.process !== 'coordinator') return undefined;
      const { write, outcome, boot } = observation;
      if (outcome !== 'written') return undefined;
      const { tenant } = write.kind === 'closeKey' ? write : write.session;
      const start = Number(boot.split('#')[1]);
      const before = latest.get(tenant) ?? 0;
      if (start < before) return `start ${start} of the coordinator writes after start ${before} has written`;
      latest.set(tenant, start);
      return undefined;
    },
  };
}
