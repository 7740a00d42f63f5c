/**
 * A failure of a run of wallets is a scenario file: the search finds a planted flaw, the file of its run fails in the same way with the
 * flaw, is small, and passes without it. One in `npm test`, all of them in a thorough run.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import type { Verdict } from '../../../scenarios/runner/world.ts';
import { failsAlike } from '../../../simulation/search/campaign.ts';
import { searchChecks as checks } from '../../../simulation/search/wallets/scenario-checks.ts';
import { runInCustodyWorld } from '../../../simulation/service/scenario/run.ts';
import { isThorough } from '../../support/thorough.ts';
import { buildProgram, copiesFolder, plantedCopy, runScript } from '../cluster/support/program-copy.ts';
import { plantedFlaws } from './support/planted.ts';

const folder = copiesFolder('planted-files');
/** Of each kind of check: of the log, of the model, of money, of webhooks, of an answer. */
const names = isThorough
  ? [
      'reserve-kept',
      'initiator-votes',
      'one-vote-is-enough',
      'deny-beaten',
      'approval-not-asked',
      'fee-forgotten',
    ].concat(['deposit-forgotten', 'redirect-delivers'])
  : ['reserve-kept'];
const searched = plantedFlaws.filter(({ name }) => names.includes(name));
/** Of the file of a run with more than fifty. */
const stepsMax = 12;

beforeAll(() =>
  buildProgram(
    folder,
    plantedFlaws.flatMap(({ edits }) => edits),
  ),
);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Found {
  readonly seed: number;
  readonly verdict: Verdict;
  readonly scenario?: { readonly name: string; readonly text: string; readonly shrunk: string };
  readonly again?: Verdict;
}

describe('a failure is a scenario file', { timeout: 3_600_000 }, () => {
  test.each(searched)('$name', async ({ name, edits, profile, favoured = [], seeds }) => {
    const copy = plantedCopy(folder, name, edits);
    const url = (...path: string[]) => JSON.stringify(pathToFileURL(join(copy, ...path)).href);
    const { code, out, errors } = await runScript(
      folder,
      `const { walletScenario } = await import(${url('cli', 'sim', 'wallet-scenario.js')});
      const { wallets } = await import(${url('simulation', 'search', 'wallets', 'workload.js')});
      const { loadScenario } = await import(${url('scenarios', 'runner', 'load.js')});
      const { runInCustodyWorld } = await import(${url('simulation', 'service', 'scenario', 'run.js')});
      const { searchChecks: checks } = await import(${url('simulation', 'search', 'wallets', 'scenario-checks.js')});
      const options = { crypto: 'model', record: false };
      let seed = 0, verdict, plan;
      do {
        seed += 1;
        plan = wallets.plan({ seed, profile: '${profile}', variant: { favoured: ${JSON.stringify(favoured)}, turns: [] } });
        ({ verdict } = await wallets.run(plan, options));
      } while (verdict.kind === 'passed' && seed < ${seeds});
      const scenario = await walletScenario(plan, verdict, { crypto: 'model', runsMax: 150 });
      const again = scenario && loadScenario(scenario.text, { file: scenario.name });
      const verdictAgain = again && (await runInCustodyWorld(again, { ...options, checks })).verdict;
      process.stdout.write(JSON.stringify({ seed, verdict, scenario, again: verdictAgain }));`,
    );
    rmSync(copy, { recursive: true, force: true });
    expect(code, errors).toBe(0);
    const { seed, verdict, scenario, again } = JSON.parse(out) as Found;
    if (scenario === undefined || again === undefined)
      throw new Error(`seed ${seed} has no file: ${JSON.stringify(verdict)}`);
    expect(failsAlike(verdict, again)).toBe(true);
    const small = loadScenario(scenario.text, { file: scenario.name });
    expect(Object.values(small.clients).flat().length).toBeLessThanOrEqual(stepsMax);
    const clean = await runInCustodyWorld(small, { crypto: 'model', record: false, checks });
    expect(clean.verdict).toEqual({ kind: 'passed' });
  });
});
