/**
 * Counts the operations on curve points in ceremonies, over all nodes and the coordinator: their CPU time grows with them. Times
 * depend on the machine (docs/performance.md); counts are the same on every one.
 */
import type { ReleasedKind } from '../../../core/crypto/frost/released.ts';
import { groups } from '../../../core/crypto/group.ts';
import type { Curve, Group } from '../../../core/crypto/prime-order-group.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { countCeremonies, worldOf } from './count.ts';
import type { PointOperations, Sharing } from './model.ts';

let counted = 0;

/** Of one key, without the nonces that nodes make when they connect. */
export function countKeyPoints(sharing: Sharing): PointOperations {
  const label = nextLabel();
  const all = countPointOperations(() => void countCeremonies(sharing, 'ecdsa', 0, label));
  const dealt = countPointOperations(() => new SimCluster(worldOf(label, sharing.n)).time.advance(1_000));
  return minus(all, dealt);
}

/** Of one signature, whose nonces were made before. */
export function countSignaturePoints(sharing: Sharing, kind: ReleasedKind): PointOperations {
  const label = nextLabel();
  const [before, after] = [2, 3].map((signatures) => {
    // The second world finds the proofs of the first one verified already: the first exists only for that.
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

/** The point operations of `run`, which must be synchronous. */
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
    evaluateAtEach: (points, xs) => {
      count.evaluated += points.length * xs.length;
      return group.evaluateAtEach(points, xs);
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
