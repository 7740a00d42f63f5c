/**
 * The invariants that a live run shows in its tenant's events: sessions move along the table with rising epochs, and blame falls
 * only on nodes that the scenario makes lie, or makes the coordinator lie to. The runner itself verifies signatures.
 */

import { initialStates, mayFollow, type SessionState } from '../../coordinator/contract/transitions.ts';
import type { LoggedEvent } from '../../core/redis/event-log.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { ofOneCluster, processIn } from '../../scenarios/faults/cluster-names.ts';
import { targetsOf } from '../../scenarios/faults/describe.ts';
import type { Fault, FaultKind } from '../../scenarios/faults/vocabulary/fault.ts';
import { byzantineKinds, coordinatorKinds } from '../../scenarios/faults/vocabulary/kinds.ts';
import type { CheckedScenario } from '../../scenarios/runner/format.ts';
import type { Checker } from '../../simulation/cluster/observation.ts';
import type { Violation } from '../../simulation/cluster/violation.ts';

const byzantine: ReadonlySet<FaultKind> = new Set(byzantineKinds);
const ofCoordinator: ReadonlySet<FaultKind> = new Set(coordinatorKinds);

/**
 * The first session that blames an honest node; undefined: none does. Events number nodes within the cluster of their session:
 * with several clusters `clusterOf` gives it, by the session's id.
 */
export async function wrongBlame(
  { cluster, faults, clients }: Pick<CheckedScenario, 'cluster' | 'faults' | 'clients'>,
  events: readonly LoggedEvent[],
  clusterOf: (sessionId: string) => Promise<number | undefined>,
): Promise<Omit<Violation, 'atMs'> | undefined> {
  const { clusters = 1, nodes } = cluster;
  const injected = Object.values(clients)
    .flat()
    .flatMap((step) => ('inject' in step ? [step.inject] : []));
  const liars = new Set(
    [...faults, ...injected].flatMap((fault) => {
      const { cluster: its, fault: own } = ofOneCluster(fault, clusters);
      return mayBeBlamed(own, nodes).map((name) => processIn(its, name));
    }),
  );
  for (const event of events) {
    const { culprits = [] } = sessionOf(event) ?? {};
    if (culprits.length === 0) continue;
    const { id } = event.resource;
    const its = clusters === 1 ? 1 : await clusterOf(id);
    if (its === undefined) continue;
    const honest = culprits.map((node) => processIn(its, `node/${node}`)).find((name) => !liars.has(name));
    if (honest === undefined) continue;
    return { invariant: 'honest-never-blamed', text: `session ${id} blames ${honest}, which is honest` };
  }
  return undefined;
}

function mayBeBlamed(fault: Fault, nodesTotal: number): readonly string[] {
  if (byzantine.has(fault.fault)) return targetsOf(fault, nodesTotal);
  if (!ofCoordinator.has(fault.fault)) return [];
  const { for: liedTo } = fault as { readonly for?: readonly number[] };
  return (liedTo ?? Array.from({ length: nodesTotal }, (_, index) => index + 1)).map((id) => `node/${id}`);
}

export function transitionsOnTable(): Checker {
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
