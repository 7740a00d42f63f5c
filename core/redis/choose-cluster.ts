/**
 * Chooses the cluster for a new key: the least loaded one that fits. A cluster fits when it has enough nodes for the key. Of
 * those, clusters that can make the key now come first; among them the one with the least load, then with the fewest keys, then
 * with the lowest number.
 */

export interface Candidate {
  readonly number: number;
  /** Its coordinator is linked and its store takes writes. */
  readonly isUp: boolean;
  readonly nodesTotal: number;
  readonly nodesReady: number;
  /** The nodes of a key that requests no number. */
  readonly keyNodes: number;
  /** Calls a second. */
  readonly load: number;
  /** Keys placed there so far. */
  readonly placed: number;
}

/** Loads that differ by less than this factor count as equal: they change by the second, and the number of keys does not. */
const loadStep = 2;

/** `nodes`: of the new key; 0: the cluster's default. undefined: no cluster has enough. */
export function chooseCluster(candidates: readonly Candidate[], nodes: number): number | undefined {
  const fitting = candidates.filter(({ nodesTotal }) => nodesTotal >= nodes);
  const rank = (one: Candidate) => [readiness(one, nodes), loadLevel(one.load), one.placed, one.number];
  let best: { readonly number: number; readonly rank: readonly number[] } | undefined;
  for (const one of fitting) {
    const ranked = rank(one);
    if (best === undefined || isBefore(ranked, best.rank)) best = { number: one.number, rank: ranked };
  }
  return best?.number;
}

/** 0: it can make the key now; 1: nodes are missing; 2: it is unreachable. */
function readiness({ isUp, nodesReady, keyNodes }: Candidate, nodes: number): number {
  if (!isUp) return 2;
  return nodesReady >= (nodes || keyNodes) ? 0 : 1;
}

/** 0 up to 16 calls a second. */
function loadLevel(load: number): number {
  return Math.max(0, Math.floor(Math.log(Math.max(1, load)) / Math.log(loadStep)) - 3);
}

function isBefore(one: readonly number[], other: readonly number[]): boolean {
  for (const [index, value] of one.entries()) if (value !== other[index]) return value < other[index]!;
  return false;
}
