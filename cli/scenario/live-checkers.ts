/**
 * The invariants that a live run shows in its tenant's events: sessions move along the table with rising epochs, and blame falls
 * only on nodes that the scenario makes lie, or makes the coordinator lie to. The runner itself verifies signatures.
 */

import { initialStates, mayFollow, type SessionState } from '../../coordinator/contract/transitions.ts';
import { ofOneCluster } from '../../faults/cluster-names.ts';
import { targetsOf } from '../../faults/describe.ts';
import { byzantineKinds, coordinatorKinds, type Fault, type FaultKind } from '../../faults/vocabulary/fault.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { LoggedEvent } from '../../redis/event-log.ts';
import type { CheckedScenario } from '../../runner/scenario/format.ts';
import type { Checker } from '../../sim/observation.ts';

export function liveCheckers(scenario: CheckedScenario): Checker[] {
  return [honestNeverBlamed(scenario), transitionsOnTable()];
}

const byzantine: ReadonlySet<FaultKind> = new Set(byzantineKinds);
const ofCoordinator: ReadonlySet<FaultKind> = new Set(coordinatorKinds);

function honestNeverBlamed({ cluster, faults, clients }: CheckedScenario): Checker {
  const injected = Object.values(clients)
    .flat()
    .flatMap((step) => ('inject' in step ? [step.inject] : []));
  // Events name a node only by its number: with several clusters, it is the liar's number in any of them.
  const liars = new Set(
    [...faults, ...injected].flatMap((fault) =>
      mayBeBlamed(ofOneCluster(fault, cluster.clusters ?? 1).fault, cluster.nodes),
    ),
  );
  return {
    invariant: 'honest-never-blamed',
    observe: (observation) => {
      if (observation.kind !== 'logged') return undefined;
      const blamed = sessionOf(observation.event)?.culprits ?? [];
      const honest = blamed.find((id) => !liars.has(`node/${id}`));
      return honest === undefined
        ? undefined
        : `session ${observation.event.resource.id} blames node/${honest}, which is honest`;
    },
  };
}

function mayBeBlamed(fault: Fault, nodesTotal: number): readonly string[] {
  if (byzantine.has(fault.fault)) return targetsOf(fault, nodesTotal);
  if (!ofCoordinator.has(fault.fault)) return [];
  const { for: liedTo } = fault as { readonly for?: readonly number[] };
  return (liedTo ?? Array.from({ length: nodesTotal }, (_, index) => index + 1)).map((id) => `node/${id}`);
}

function transitionsOnTable(): Checker {
  const known = new Map<string, { readonly state: SessionState; readonly epoch: number }>();
  return {
    invariant: 'transitions-on-table',
    observe: (observation) => {
      if (observation.kind !== 'logged') return undefined;
      const { event } = observation;
      const session = sessionOf(event);
      const state = session && stateOf(session.state);
      if (session === undefined || state === undefined) return undefined;
      const { id, version: epoch } = event.resource;
      const before = known.get(id);
      known.set(id, { state, epoch });
      if (before === undefined) {
        return initialStates.includes(state) ? undefined : `session ${id} begins as ${ReceiptState[state]}`;
      }
      if (epoch <= before.epoch) return `the epoch of session ${id} does not rise: ${before.epoch}, then ${epoch}`;
      const isRight = mayFollow(before.state, state);
      return isRight ? undefined : `session ${id} goes from ${ReceiptState[before.state]} to ${ReceiptState[state]}`;
    },
  };
}

interface SessionObject {
  readonly state: string;
  readonly culprits: readonly number[];
}

function sessionOf({ resource, object }: LoggedEvent): SessionObject | undefined {
  return /^(dkg|signing)_session$/.test(resource.type) ? (object as SessionObject) : undefined;
}

function stateOf(name: string): SessionState | undefined {
  const state = ReceiptState[name.replace('RECEIPT_STATE_', '') as keyof typeof ReceiptState];
  return state === undefined ? undefined : (state as SessionState);
}
