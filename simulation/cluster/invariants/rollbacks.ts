/** Stores that come back with an earlier state: a node's own, or Redis, which is the coordinator's. */
import type { Checker, Observation } from '../observation.ts';

export function isRollbackOf(observation: Observation, of: 'node' | 'coordinator'): boolean {
  if (observation.kind !== 'fault' || observation.fault !== 'rollback' || observation.what !== 'fired') return false;
  return observation.targets.some((target) => target.startsWith(of));
}

/** A rolled-back store no longer holds past writes: from then on the checker reports nothing. */
export function untilRolledBack(checker: Checker, ...of: readonly ('node' | 'coordinator')[]): Checker {
  let rolledBack = false;
  return {
    ...checker,
    observe(observation) {
      // It runs at every event, of which few are faults.
      if (observation.kind === 'fault') rolledBack ||= of.some((one) => isRollbackOf(observation, one));
      return rolledBack ? undefined : checker.observe(observation);
    },
    finish: () => (rolledBack ? undefined : checker.finish?.()),
  };
}
