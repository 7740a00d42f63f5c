/** A simulated cluster whose run is recorded, and the small steps that its tests share. */
import type { RunEvent } from '../../../../scenarios/faults/recording.ts';
import { SimCluster, type SimOptions } from '../../../../simulation/cluster/cluster.ts';
import type { Observation } from '../../../../simulation/cluster/observation.ts';
import { codeOf, digest } from '../../../coordinator/support/world.ts';

export interface Watched {
  readonly cluster: SimCluster;
  readonly events: RunEvent[];
  readonly observations: Observation[];
  /** What happened to a process and its link, in order: "paused", "linkDown", … */
  told(process: string): string[];
  /** The same, as "what text". */
  toldMore(process: string): string[];
}

/** Three nodes, with few nonces dealt ahead. */
export function watched(options: Partial<SimOptions> = {}): Watched {
  const events: RunEvent[] = [];
  const observations: Observation[] = [];
  const { config, ...rest } = options;
  const cluster = new SimCluster({
    seed: 'world',
    nodes: 3,
    config: { nonceBatchFirst: 2, nodesWaitMs: 2_000, partialTimeoutMs: 300, ...config },
    record: (event) => events.push(event),
    observe: (observation) => observations.push(observation),
    ...rest,
  });
  const of = (process: string) =>
    events.flatMap((one) => (one.kind === 'process' && one.process === process ? [one] : []));
  return {
    cluster,
    events,
    observations,
    told: (process) => of(process).map(({ what }) => what),
    toldMore: (process) => of(process).map(({ what, text }) => `${what} ${text}`),
  };
}

export function makeKey(cluster: SimCluster, sessionId = 'k'): string {
  cluster.initiateDkg({ sessionId, threshold: 2, totalNodes: 3 }).result();
  return codeOf(cluster.exchangeDkgShares({ sessionId }).result());
}

export function begin(cluster: SimCluster, transactionIntentId: string): string {
  return cluster.initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId }).result().signingSessionId;
}

export function sign(cluster: SimCluster, transactionIntentId: string): string {
  const signingSessionId = begin(cluster, transactionIntentId);
  return codeOf(cluster.submitSignatureShare({ signingSessionId }).result());
}
