/** No actor has a bug: none throws, no call ends in INTERNAL, and only another coordinator fences a coordinator out. */
import { CallErrorCode } from '../../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { Checker, Observation } from '../observation.ts';

export function noBugs(): Checker {
  return {
    invariant: 'no-bugs',
    observe(observation: Observation) {
      if (observation.kind === 'bug')
        return `${observation.address} of ${observation.process} threw: ${observation.text}`;
      if (observation.kind !== 'failed' || observation.error.code !== CallErrorCode.INTERNAL) return undefined;
      return `a call failed by a bug: ${observation.error.message}`;
    },
  };
}
