/** Reads the file of a failing run of wallets. */
import { readFileSync } from 'node:fs';
import { planOf, type RunPlan } from '../../simulation/search/wallets/profiles.ts';
import type { SeededPlan } from '../../simulation/search/wallets/workload.ts';
import { exitCodes, Failure } from '../common/failure.ts';

/** A plan that a search has written. Throws a Failure. */
export function readPlan(path: string): SeededPlan {
  try {
    const { seed, plan: written } = JSON.parse(readFileSync(path, 'utf8')) as SeededPlan;
    // Plans of earlier versions have one cluster, and do not say so.
    const plan: RunPlan = { ...written, clusters: written.clusters ?? 1 };
    if (!Number.isInteger(seed)) throw new TypeError('it names no seed');
    const drawn = planOf(seed, plan.profile);
    const wrong = (Object.keys(drawn) as (keyof RunPlan)[]).find((name) => kindOf(plan[name]) !== kindOf(drawn[name]));
    if (wrong !== undefined) throw new TypeError(`${wrong} is no ${kindOf(drawn[wrong])}`);
    return { seed, plan };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Failure(
      `--plan ${path} is no plan of a search: ${why}. Give a file that a search has written.`,
      exitCodes.usage,
    );
  }
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'list' : typeof value;
}
