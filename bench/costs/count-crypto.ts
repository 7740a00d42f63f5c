/**
 * Counts the operations on curve points that ceremonies take, over all nodes and the coordinator: what their CPU time grows with.
 * Times are those of the machine (docs/performance.md); counts are the same on every one.
 */
import type { ReleasedKind } from '../../crypto/frost/released.ts';
import { groups } from '../../crypto/group.ts';
import type { Curve, Group } from '../../crypto/prime-order-group.ts';
import { SimCluster } from '../../sim/cluster.ts';
import { countCeremonies, worldOf } from './count.ts';
import type { PointOperations, Sharing } from './model.ts';

let counted = 0;

/** Of one key, without the nonces that nodes deal when they connect. */
export function countKeyPoints(sharing: Sharing): PointOperations {
  const label = nextLabel();
  const all = countPointOperations(() => void countCeremonies(sharing, 'ecdsa', 0, label));
  const dealt = countPointOperations(() => new SimCluster(worldOf(label, sharing.n)).time.advance(1_000));
  return minus(all, dealt);
}

/** Of one signature, whose nonces were dealt before. */
export function countSignaturePoints(sharing: Sharing, kind: ReleasedKind): PointOperations {
  const label = nextLabel();
  const [before, after] = [2, 3].map((signatures) => {
    // The second world finds the proofs of the first one good already: the first is made for that.
    countCeremonies(sharing, kind, 0, label);
    return countPointOperations(() => void countCeremonies(sharing, kind, signatures, label));
  });
  return minus(after!, before!);
}

function nextLabel(): string {
  counted += 1;
  return ` ${counted}`;
}

function minus(one: PointOperations, other: PointOperations): PointOperations {
  const left = (name: keyof PointOperations) => one[name] - other[name];
  return { base: left('base'), point: left('point'), evaluated: left('evaluated'), checked: left('checked') };
}

/** What `run`, which must be synchronous, does with points. */
function countPointOperations(run: () => void): PointOperations {
  const count = { base: 0, point: 0, evaluated: 0, checked: 0 };
  const real = groups.current;
  const counting = (group: Group): Group => ({
    ...group,
    baseMultiply: (scalar) => {
      count.base += 1;
      return group.baseMultiply(scalar);
    },
    multiply: (point, scalar) => {
      count.point += 1;
      return group.multiply(point, scalar);
    },
    linearCombination: (base, terms) => {
      if (base !== 0n) count.base += 1;
      count.point += terms.length;
      return group.linearCombination(base, terms);
    },
    evaluateAt: (points, x) => {
      count.evaluated += points.length;
      return group.evaluateAt(points, x);
    },
    isValidPoint: (bytes) => {
      count.checked += 1;
      return group.isValidPoint(bytes);
    },
  });
  const curves = Object.entries(real) as [Curve, Group][];
  groups.current = Object.fromEntries(curves.map(([curve, group]) => [curve, counting(group)])) as typeof real;
  try {
    run();
  } finally {
    groups.current = real;
  }
  return count;
}
