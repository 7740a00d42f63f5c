/** The search of wallets: rounds of fresh seeds and of variants, and the output for a failing run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Guide, planOf, variantText } from '../../wallet-search/guide.ts';
import { profiles, type RunPlan } from '../../wallet-search/profiles.ts';
import { shrinkPlan, stepsOf } from '../../wallet-search/shrink.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { commandName } from '../common/invocation.ts';
import type { ExplainOptions } from './failures.ts';
import { type Finished, type RunAllOptions, runAll, type SeedTask, walletProfile } from './runs.ts';

/** The numbers of fresh runs, and of variants of runs that reached something new. */
export const roundRuns = 48;
export const roundVariants = 16;
/** A run takes about half a second. */
const shrinkRunsMax = 150;

/** The results do not depend on the number of threads. */
export async function searchWallets(fresh: readonly SeedTask[], options: RunAllOptions): Promise<void> {
  const guide = new Guide();
  const finished = (one: Finished): boolean => {
    const { seed, profile, variant = { favoured: [], turns: [] }, landmarks } = one;
    guide.add({ seed, profile: walletProfile(profile), variant }, landmarks);
    return options.finished(one);
  };
  const tasks = (runs: ReturnType<Guide['variants']>): SeedTask[] => runs.map((run) => ({ world: 'wallets', ...run }));
  for (let from = 0; from < fresh.length; from += roundRuns) {
    const round = fresh
      .slice(from, from + roundRuns)
      .map((task) => ({ ...task, profile: walletProfile(task.profile) }));
    if (!(await runAll(tasks(guide.steered(round)), { ...options, finished }))) return;
    if (round.length < roundRuns) return;
    if (!(await runAll(tasks(guide.variants(roundVariants)), { ...options, finished }))) return;
  }
}

/** Prints the replay command of a failing run, shrinks its plan, and writes that. */
export async function explainWallets(
  { seed, profile, variant, verdict }: Finished,
  { crypto, shrinkRuns, out, note }: ExplainOptions,
): Promise<void> {
  const line = (label: string, text: string) => process.stdout.write(`  ${label.padEnd(8)} ${text}\n`);
  const text = variant === undefined ? '' : variantText(variant);
  const how = text === '' ? '' : ` --variant '${text}'`;
  const command = `${commandName()} sim --world wallets`;
  line('replay', `${command} --seed ${seed} --profile ${profile}${how} --crypto ${crypto} --trace`);
  if (verdict.kind !== 'violated') return;
  const whole = planOf(seed, walletProfile(profile), variant);
  note('making it smaller …');
  // Loads the control plane only when needed.
  const { runWorldPlan } = await import('../../wallet-search/campaign.ts');
  const fails = async (plan: RunPlan): Promise<boolean> => {
    const { verdict: other } = await runWorldPlan(seed, plan, { crypto, record: false });
    return other.kind === 'violated' && other.invariant === verdict.invariant;
  };
  const { plan, runs } = await shrinkPlan(whole, fails, Math.min(shrinkRuns, shrinkRunsMax));
  line('shrunk', `${sizeOf(whole)} to ${sizeOf(plan)}, in ${runs} runs`);
  mkdirSync(out, { recursive: true });
  const path = join(out, `wallets-${profile}-${seed}.json`);
  writeFileSync(path, `${JSON.stringify({ seed, plan }, undefined, 2)}\n`);
  line('file', path);
  line('again', `${command} --plan ${path} --crypto ${crypto} --trace`);
}

function sizeOf(plan: RunPlan): string {
  return `${plan.faults.length} faults and ${stepsOf(plan).length} steps`;
}

/** A plan that a search has written. Throws a Failure. */
export function readPlan(path: string): { readonly seed: number; readonly plan: RunPlan } {
  try {
    const { seed, plan: written } = JSON.parse(readFileSync(path, 'utf8')) as { seed: number; plan: RunPlan };
    // Plans of earlier versions have one cluster, and do not say so.
    const plan: RunPlan = { ...written, clusters: written.clusters ?? 1 };
    if (!Number.isInteger(seed) || !profiles.includes(plan.profile))
      throw new TypeError('it names no seed and profile');
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
