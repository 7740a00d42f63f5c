/** No actor has a bug: none throws, no call ends in INTERNAL, and only another coordinator fences a coordinator out. */
import type { Checker, Observation } from '../observation.ts';

export function noBugs(): Checker {
  return {
    invariant: 'no-bugs',
    observe(observation: Observation) {
      if (observation.kind === 'bug')
        return `${observation.address} of ${observation.process} threw: ${observation.text}`;
      if (observation.kind !== 'failed' || observation.error.kind !== 'internalError') return undefined;
      const { message, cause } = observation.error;
      return `a call failed by a bug: ${cause instanceof Error ? cause.message : message}`;
    },
  };
}
