/**
 * Shrinks a failing plan while it fails by the same invariant: without port fates, faults, tenants and clusters, then without steps, in
 * halves, quarters and so on. Each step has its own stream, so an omitted step changes no other one's choices. Limited by runs:
 * the same plan gives the same result on any machine.
 */
import { splitName } from '../../scenarios/faults/cluster-names.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import { targetsOf } from '../../scenarios/faults/vocabulary/targets.ts';
import type { RunPlan } from './profiles.ts';

export interface ShrunkPlan {
  readonly plan: RunPlan;
  readonly runs: number;
}

/** `fails`: whether a run of the plan fails as the first one did. */
export async function shrinkPlan(
  failing: RunPlan,
  fails: (plan: RunPlan) => Promise<boolean>,
  runsMax: number,
): Promise<ShrunkPlan> {
  let plan = failing;
  let runs = 0;
  const attempt = async (smaller: RunPlan): Promise<boolean> => {
    if (runs >= runsMax) return false;
    runs += 1;
    if (!(await fails(smaller))) return false;
    plan = smaller;
    return true;
  };
  /** Removes ranges of a list, long ones first. */
  const thin = async <T>(list: () => readonly T[], without: (left: readonly T[]) => RunPlan): Promise<void> => {
    for (let size = list().length; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < list().length; ) {
        const left = list().filter((_, at) => at < from || at >= from + size);
        if (!(await attempt(without(left)))) from += size;
      }
    }
  };
  if (plan.portRate > 0) await attempt({ ...plan, portRate: 0 });
  await thin(
    () => plan.faults,
    (faults) => ({ ...plan, faults }),
  );
  if (plan.tenants > 1) await attempt({ ...plan, tenants: 1 });
  if (plan.clusters > 1) {
    const ofFirst = (fault: Fault) => targetsOf(fault).every((name) => splitName(name).cluster === 1);
    await attempt({ ...plan, clusters: 1, faults: plan.faults.filter(ofFirst) });
  }
  await thin(
    () => stepsOf(plan),
    (left) => ({ ...plan, without: namesOf(plan).filter((name) => !left.includes(name)) }),
  );
  return { plan, runs };
}

/** Names of the steps that a run of the plan takes. */
export function stepsOf(plan: RunPlan): readonly string[] {
  return namesOf(plan).filter((name) => !plan.without.includes(name));
}

function namesOf({ tenants, clients, stepsEach }: RunPlan): readonly string[] {
  const names: string[] = [];
  for (let tenant = 1; tenant <= tenants; tenant += 1) {
    for (let client = 0; client < clients; client += 1) {
      for (let step = 0; step < stepsEach; step += 1) names.push(`tn_${tenant}/${client}/${step}`);
    }
  }
  return names;
}
