/** Makes a scenario of a failing run of wallets: what it did, as steps, judged by the same checks. */
import type { CheckedScenario } from '../../scenarios/runner/format.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { toYaml } from '../../scenarios/runner/to-yaml.ts';
import type { Verdict } from '../../scenarios/runner/world.ts';
import { recordedScenario } from '../../simulation/embedded/recorded-scenario.ts';
import { failsAlike } from '../../simulation/search/campaign.ts';
import { shrink } from '../../simulation/search/shrink.ts';
import { sizeOf, smallerScenarios } from '../../simulation/search/smaller-scenarios.ts';
import { RunRecording } from '../../simulation/search/wallets/recorded-run.ts';
import { runWorldPlan } from '../../simulation/search/wallets/run.ts';
import { searchChecks } from '../../simulation/search/wallets/scenario-checks.ts';
import type { SeededPlan } from '../../simulation/search/wallets/workload.ts';
import { runInCustodyWorld } from '../../simulation/service/scenario/run.ts';

export interface WalletScenario {
  readonly name: string;
  readonly text: string;
  /** e.g. "0 faults and 92 steps to 0 faults and 5 steps, in 80 runs" */
  readonly shrunk: string;
}

/** undefined: no scenario of its steps fails as the run did. */
export async function walletScenario(
  { seed, plan }: SeededPlan,
  verdict: Verdict,
  { crypto, runsMax }: { readonly crypto: 'model' | 'real'; readonly runsMax: number },
): Promise<WalletScenario | undefined> {
  const name = `wallets-${plan.profile}-${seed}`;
  const run = new RunRecording();
  await runWorldPlan(seed, plan, { crypto, record: false, into: run });
  const fails = async (scenario: CheckedScenario) => {
    const { verdict: other } = await runInCustodyWorld(scenario, { crypto, record: false, checks: searchChecks });
    return failsAlike(verdict, other);
  };
  // The fewest steps first: those of the clients, without reads.
  const parts = [run.recorded.slice(0, run.ofClients || undefined), run.recorded];
  const changesOf = (part: typeof run.recorded) => part.filter((one) => one.kind === 'order' || one.method !== 'GET');
  for (const recorded of parts.flatMap((part) => [changesOf(part), part])) {
    const text = recordedScenario({
      ...{ recorded, left: 0, unsaid: run.unsaid, receivers: new Map(), finals: [], tokens: [], name },
      ...{ clusters: plan.clusters, nodes: 5, partialTimeoutMs: 300, nodesWaitMs: 2_000, readyMade: {} },
      searched: {
        about: `Found by signmesh sim --world wallets --seed ${seed} --profile ${plan.profile}. No step expects an answer: invariants judge the run.`,
        cluster: { gateways: plan.gateways, workers: plan.workers },
      },
    });
    if (text === undefined) continue;
    const whole = loadScenario(text, { file: `${name}.yaml` });
    if (!(await fails(whole))) continue;
    const { plan: small, runs } = await shrink(whole, { reductions: smallerScenarios, fails, runsMax });
    return {
      name: `${name}.yaml`,
      text: small === whole ? text : toYaml(small),
      shrunk: `${sizeOf(whole)} to ${sizeOf(small)}, in ${runs} runs`,
    };
  }
  return undefined;
}
