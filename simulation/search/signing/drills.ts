/**
 * Drills: in some runs a client takes one part of the product through its rare cases, many of them in a row, with a key of its own.
 * A run has one drill at most. Other clients and the drawn faults act at the same time.
 *
 * The steps of a drill insist on nothing. Its faults are its own steps, so that each meets the call after it.
 */

import type { ClusterConstant, ScenarioStep } from '../../../scenarios/runner/format.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Swarm } from '../profiles.ts';
import { absences, lies, store } from './drill-failures.ts';
import { keyForms, signingForms } from './drill-forms.ts';
import { closings, dealers, token, vendor } from './drill-keys.ts';
import type { Plan, Scene } from './drill-plan.ts';
import { previews, reads, schemes, takeovers } from './drill-sessions.ts';

/** The drills by name, and how often each is drawn. */
const frequencies = {
  signingForms: 2,
  keyForms: 2,
  dealers: 2,
  reads: 1,
  store: 2,
  takeovers: 1,
  schemes: 1,
  previews: 2,
  vendor: 1,
  token: 1,
  absences: 2,
  closings: 2,
  lies: 4,
} as const;
type Drill = keyof typeof frequencies;
const drills = (Object.keys(frequencies) as Drill[]).flatMap((drill) =>
  Array.from({ length: frequencies[drill] }, () => drill),
);

/** A drill's clients, and the step that ends last. */
export interface Drilled {
  readonly clients: Readonly<Record<string, readonly ScenarioStep[]>>;
  readonly constants: Partial<Record<ClusterConstant, number>>;
  /** Nodes should take client-supplied dealers. */
  readonly suppliesDealers: boolean;
  /** Its faults must end before everything heals: the last step of each client with faults. */
  readonly last: readonly string[];
}

/** undefined: this run has no drill. */
export function drilled(swarm: Swarm, draw: Draw): Drilled | undefined {
  if (!draw.chance(0.33)) return undefined;
  const scene = { swarm, draw, nodes: Array.from({ length: swarm.nodes }, (_, index) => index + 1) };
  const hasLiars = swarm.liars.length > 0;
  // A key of one node needs an honest one.
  const possible = drills.filter((drill) =>
    drill === 'lies' ? swarm.lies.length > 0 : !hasLiars || !isOfOneNode(drill),
  );
  const drill = swarm.lies.length > 0 && draw.chance(0.4) ? 'lies' : draw.pick(possible);
  const plans = plansOf(drill, scene);
  return {
    constants: drill === 'store' && draw.chance(0.5) ? { idle_ms: 5 } : {},
    suppliesDealers: (drill === 'dealers' || drill === 'keyForms') && draw.chance(0.85),
    clients: Object.fromEntries(plans.map(({ name, steps }) => [name, steps])),
    last: plans.flatMap(({ steps }) => (steps.some((step) => 'inject' in step) ? [steps.at(-1)!.step] : [])),
  };
}

function isOfOneNode(drill: Drill): boolean {
  return drill === 'vendor' || drill === 'token';
}

function plansOf(drill: Drill, scene: Scene): Plan[] {
  switch (drill) {
    case 'signingForms':
      return [signingForms(scene)];
    case 'keyForms':
      return [keyForms(scene)];
    case 'lies':
      return [lies(scene)];
    case 'dealers':
      return dealers(scene);
    case 'reads':
      return reads(scene);
    case 'store':
      return store(scene);
    case 'takeovers':
      return takeovers(scene);
    case 'schemes':
      return schemes(scene);
    case 'previews':
      return previews(scene);
    case 'vendor':
      return vendor(scene);
    case 'token':
      return token(scene);
    case 'absences':
      return absences(scene);
    case 'closings':
      return closings(scene);
  }
}
