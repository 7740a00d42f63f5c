/**
 * No honest node is blamed: events, session records and answers name only nodes on which a byzantine fault has fired. In a DKG
 * they may also name a node with a lost or rolled-back store: it deals again, and its signatures make it look like a node that
 * equivocates. And a malicious coordinator may blame only a node to which it lied, since the node's answer does not match the
 * request of the coordinator's process.
 */
import type { FaultKind } from '../../../scenarios/faults/vocabulary/fault.ts';
import { byzantineKinds, coordinatorKinds } from '../../../scenarios/faults/vocabulary/kinds.ts';
import type { Checker, Observation } from '../observation.ts';
import { culpritsIn } from './answer-parts.ts';
import { DurableSessions } from './sessions.ts';

const byzantine: ReadonlySet<FaultKind> = new Set(byzantineKinds);
const ofCoordinator: ReadonlySet<FaultKind> = new Set(coordinatorKinds);

export function honestNeverBlamed(): Checker {
  const liars = new Set<number>();
  /** Nodes that got a changed frame; after any lie of the coordinator they count as lied to. */
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
