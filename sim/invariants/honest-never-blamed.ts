/**
 * No honest node is blamed: a node that an event, a session's record or an answer names is one on which a
 * byzantine fault has fired. One whose store was lost or rolled back may be named too, in a DKG: it deals anew what it has
 * dealt, and by what it signed it cannot be told from a node that equivocates. And a malicious coordinator may blame a node to which it
 * lied, since the node's answer does not fit what the coordinator's process asked: that node and no other.
 */
import { byzantineKinds, coordinatorKinds, type FaultKind } from '../../faults/vocabulary/fault.ts';
import type { Checker, Observation } from '../observation.ts';
import { culpritsIn } from './answers.ts';
import { DurableSessions } from './sessions.ts';

const byzantine: ReadonlySet<FaultKind> = new Set(byzantineKinds);
const ofCoordinator: ReadonlySet<FaultKind> = new Set(coordinatorKinds);

export function honestNeverBlamed(): Checker {
  const liars = new Set<number>();
  /** Nodes that got a changed frame; they count as lied to once the coordinator has lied at all. */
  const misled = new Set<number>();
  let isCoordinatorFalse = false;
  const sessions = new DurableSessions();

  const honestAmong = (ids: readonly number[]) =>
    ids.filter((id) => !liars.has(id) && !(isCoordinatorFalse && misled.has(id)));
  const complaint = (where: string, ids: readonly number[]) => {
    const honest = honestAmong(ids);
    return honest.length === 0 ? undefined : `${where} blames node ${honest.join(', ')}, on which nothing was amiss`;
  };

  return {
    invariant: 'honest-never-blamed',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'fault':
          if (observation.what === 'fired' && ofCoordinator.has(observation.fault)) isCoordinatorFalse = true;
          if (observation.what !== 'fired') return undefined;
          if (!byzantine.has(observation.fault) && observation.fault !== 'rollback') return undefined;
          for (const target of observation.targets) liars.add(Number(target.slice('node/'.length)));
          return undefined;
        case 'frame': {
          const { envelope, touched } = observation;
          if (touched && envelope.to.startsWith('node/')) misled.add(Number(envelope.to.split('/')[1]));
          return undefined;
        }
        case 'process':
          if (observation.what !== 'down' || !observation.storeLost) return undefined;
          if (observation.process.startsWith('node/')) liars.add(Number(observation.process.slice('node/'.length)));
          return undefined;
        case 'emitted': {
          const { culprits } = observation.event.fields;
          if (!Array.isArray(culprits) || culprits.length === 0) return undefined;
          return complaint(`the event ${observation.event.type} of ${observation.address}`, culprits as number[]);
        }
        case 'logged': {
          const { culprits } = observation.event.object as { culprits?: readonly number[] };
          if (!culprits || culprits.length === 0) return undefined;
          return complaint(`the logged event ${observation.event.type}`, culprits);
        }
        case 'written':
          for (const { record } of sessions.take(observation)) {
            const { ceremony } = record;
            const named = ceremony.kind === 'signing' ? ceremony.excluded : (ceremony.culprits ?? []);
            const wrong = complaint(`session ${record.sessionId}`, named);
            if (wrong) return wrong;
          }
          return undefined;
        case 'promised':
          return complaint('an answer', culpritsIn(observation.response));
        default:
          return undefined;
      }
    },
  };
}
