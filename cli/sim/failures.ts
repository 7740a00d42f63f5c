/** The output for a failing run: the contradiction, the replay command, and the file of the smallest plan that fails alike. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Verdict } from '../../scenarios/runner/world.ts';
import { type Finished, shrinkFailure } from '../../simulation/search/campaign.ts';
import { variantText } from '../../simulation/search/guide.ts';
import type { SeededPlan } from '../../simulation/search/wallets/workload.ts';
import type { Workload } from '../../simulation/search/workload.ts';
import { commandName } from '../common/invocation.ts';
import type { WorldName } from './runs.ts';

export interface ExplainOptions {
  readonly world: WorldName;
  readonly crypto: 'model' | 'real';
  /** The limit of runs for shrinking; 0: writes the plan unchanged. */
  readonly shrinkRuns: number;
  /** The folder of the file. */
  readonly out: string;
  /** Called with progress messages. */
  readonly note: (text: string) => void;
}

/** "seed 19, profile stormy: stuck: …" */
export function failureLine({ seed, profile, variant, verdict }: Finished): string {
  const varied = variantText(variant);
  return `seed ${seed}${varied === '' ? '' : `, variant ${varied}`}, profile ${profile}: ${verdictLine(verdict)}`;
}

/** Prints how to run a failure again, shrinks it, and writes its file. */
export async function explainFailure<Plan>(
  workload: Workload<Plan>,
  run: Finished,
  { world, crypto, shrinkRuns, out, note }: ExplainOptions,
): Promise<void> {
  const line = (label: string, text: string) => process.stdout.write(`  ${label.padEnd(8)} ${text}\n`);
  const varied = variantText(run.variant);
  const how = `${world === 'signing' ? '' : `--world ${world} `}--seed ${run.seed}${varied === '' ? '' : ` --variant '${varied}'`}`;
  line('replay', `${commandName()} sim ${how} --profile ${run.profile} --crypto ${crypto} --trace`);
  const whole = workload.plan(run);
  mkdirSync(out, { recursive: true });
  const written = (name: string, text: string, again: (path: string) => string) => {
    const path = join(out, name);
    writeFileSync(path, text);
    line('file', path);
    line('again', `${commandName()} ${again(path)} --crypto ${crypto}`);
  };
  if (shrinkRuns > 0) note('making it smaller …');
  if (world === 'wallets') {
    const { walletScenario } = await import('./wallet-scenario.ts');
    const limits = { crypto, runsMax: shrinkRuns };
    const scenario = await walletScenario(whole as unknown as SeededPlan, run.verdict, limits);
    if (scenario !== undefined) {
      line('shrunk', scenario.shrunk);
      written(scenario.name, scenario.text, (path) => `scenario run ${path}`);
      return;
    }
    line('no steps', 'its requests and faults alone do not fail alike: the file is a plan');
  }
  let smallest = whole;
  if (shrinkRuns > 0) {
    const { plan, runs } = await shrinkFailure(workload, whole, run.verdict, { crypto, runsMax: shrinkRuns });
    smallest = plan;
    line('shrunk', `${workload.size(whole)} to ${workload.size(plan)}, in ${runs} runs`);
  }
  const { name, text, again } = workload.file(smallest);
  written(name, text, again);
}

/** "violated transitions-on-table: …" */
export function verdictLine(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'passed':
      return 'passed';
    case 'violated':
      return `violated ${verdict.invariant}: ${verdict.cause}`;
    case 'failed':
    case 'stuck':
      return `${verdict.kind}: ${verdict.what} (${verdict.cause})`;
    case 'unsupported':
      return `unsupported: ${verdict.cause}`;
  }
}
