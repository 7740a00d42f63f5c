/** The output for a failing seed: the contradiction, the replay command, and the smallest scenario that fails alike. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckedScenario } from '../../runner/scenario/format.ts';
import { toYaml } from '../../runner/scenario/to-yaml.ts';
import type { Verdict } from '../../runner/scenario/world.ts';
import { shrinkFailure } from '../../runner/search/campaign.ts';
import { randomScenario } from '../../runner/search/generate.ts';
import { commandName } from '../common/invocation.ts';
import type { Finished } from './runs.ts';

export interface ExplainOptions {
  readonly crypto: 'model' | 'real';
  /** The limit of runs for shrinking; 0: writes the scenario unchanged. */
  readonly shrinkRuns: number;
  /** The path of the scenario. */
  readonly out: string;
  /** Called with progress messages. */
  readonly note: (text: string) => void;
}

/** Prints a failure to standard output, and writes its scenario. */
export function explainFailure(
  { world, seed, profile, variation = 0, verdict }: Finished,
  options: ExplainOptions,
): void {
  const { crypto, shrinkRuns, out, note } = options;
  const line = (label: string, text: string) => process.stdout.write(`  ${label.padEnd(8)} ${text}\n`);
  process.stdout.write(
    `seed ${seed}${variation > 0 ? `, variation ${variation}` : ''}, profile ${profile}: ${verdictLine(verdict)}\n`,
  );
  // Its runs consist of clients' calls, which no scenario file has (wallets.ts).
  if (world !== 'signing') return;
  const varied = variation > 0 ? ` --variation ${variation}` : '';
  line('replay', `${commandName()} sim --seed ${seed}${varied} --profile ${profile} --crypto ${crypto} --trace`);
  const whole = randomScenario(seed, profile, variation);
  let smallest = whole;
  if (shrinkRuns > 0) {
    note('making it smaller …');
    const shrunk = shrinkFailure(whole, verdict, { crypto, runsMax: shrinkRuns });
    smallest = shrunk.scenario;
    line('shrunk', `${sizeOf(whole)} to ${sizeOf(smallest)}, in ${shrunk.runs} runs`);
  }
  mkdirSync(out, { recursive: true });
  const path = join(out, `${whole.scenario}.yaml`);
  writeFileSync(path, toYaml(smallest));
  line('file', path);
  line('again', `${commandName()} scenario run ${path} --crypto ${crypto}`);
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

function sizeOf({ faults, clients }: CheckedScenario): string {
  const steps = Object.values(clients).flat().length;
  return `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} and ${steps} ${steps === 1 ? 'step' : 'steps'}`;
}
