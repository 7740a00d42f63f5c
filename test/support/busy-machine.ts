/** Times that fit a machine which other programs keep busy. */
import { availableParallelism, loadavg } from 'node:os';

/** So many programs for each core are the tests' own. */
const ownPerCore = 4;
/** A call of a client ends after 30 s at the latest. */
const nodesWaitMaxMs = 20_000;

/** How many programs want each core: 1 at least. */
export function wantersPerCore(): number {
  return Math.max(1, loadavg()[0]! / availableParallelism());
}

/**
 * How long a cluster under test waits for nodes, as variables of `up`: limits that a test waits out, and that a node which is
 * alive must not reach. So many milliseconds on a machine that runs these tests alone, on a busier one longer, `timesMax` times
 * at most.
 */
export function nodeWaits(
  nodesWaitMs: number,
  partialTimeoutMs: number,
  timesMax = 12,
): Readonly<Record<string, string>> {
  const times = Math.min(timesMax, Math.max(1, wantersPerCore() / ownPerCore));
  return {
    SIGNMESH_NODES_WAIT_MS: String(Math.round(Math.min(nodesWaitMaxMs, times * nodesWaitMs))),
    SIGNMESH_PARTIAL_TIMEOUT_MS: String(Math.round(times * partialTimeoutMs)),
  };
}
