/** The search of the control plane: clients of the wallet API over it, with gateways, workers, custodians and webhooks. */
import { splitName } from '../../../scenarios/faults/cluster-names.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { targetsOf } from '../../../scenarios/faults/vocabulary/targets.ts';
import { CustodyWorld } from '../../service/custody-world.ts';
import type { Reduction } from '../shrink.ts';
import type { Workload } from '../workload.ts';
import { mustHappen } from './landmarks.ts';
import { isSearched, outcomesOf } from './outcomes.ts';
import { planOf, type RunPlan, walletProfiles } from './profiles.ts';
import { runWorldPlan } from './run.ts';
import { type Family, families } from './steps.ts';

export interface SeededPlan {
  readonly seed: number;
  readonly plan: RunPlan;
}

export const wallets: Workload<SeededPlan> = {
  profiles: walletProfiles,
  landmarks: mustHappen,
  outcomes: () => new CustodyWorld({ seed: 'outcomes' }).routes.filter(isSearched).flatMap(outcomesOf),
  steps: (Object.keys(families) as Family[]).flatMap((family): readonly string[] => families[family]),
  round: { fresh: 24, variants: 12, block: 1 },
  // A run takes about half a second.
  shrinkRunsMax: 150,
  plan: ({ seed, profile, variant }) => ({ seed, plan: planOf(seed, profile, variant) }),
  run: ({ seed, plan }, options) => runWorldPlan(seed, plan, options),
  reductions: smallerPlans,
  size: ({ plan }) => `${plan.faults.length} faults and ${stepsOf(plan).length} steps`,
  file: (seeded) => ({
    name: `wallets-${seeded.plan.profile}-${seeded.seed}.json`,
    text: `${JSON.stringify(seeded, undefined, 2)}\n`,
    again: (path) => `sim --world wallets --plan ${path} --trace`,
  }),
};

/** Each step has its own stream, so an omitted step changes no other one's choices. */
function* smallerPlans(best: () => SeededPlan): Iterable<Reduction<SeededPlan>> {
  const plan = () => best().plan;
  const changed = (changes: Partial<RunPlan>): SeededPlan => ({ ...best(), plan: { ...plan(), ...changes } });
  yield { simpler: () => (plan().portRate > 0 ? [changed({ portRate: 0 })] : []) };
  yield {
    length: () => plan().faults.length,
    without: (from, to) => changed({ faults: plan().faults.filter((_, at) => at < from || at >= to) }),
  };
  yield { simpler: () => (plan().tenants > 1 ? [changed({ tenants: 1 })] : []) };
  yield {
    simpler: () => {
      const ofFirst = (fault: Fault) => targetsOf(fault).every((name) => splitName(name).cluster === 1);
      return plan().clusters > 1 ? [changed({ clusters: 1, faults: plan().faults.filter(ofFirst) })] : [];
    },
  };
  yield {
    length: () => stepsOf(plan()).length,
    without: (from, to) => {
      const left = stepsOf(plan()).filter((_, at) => at < from || at >= to);
      return changed({ without: namesOf(plan()).filter((name) => !left.includes(name)) });
    },
  };
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
