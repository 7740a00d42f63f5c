/** Reads a scenario from YAML (yaml-file.ts), and fills in its defaults. */
import { withProcessNames } from '../faults/cluster-names.ts';
import type { CheckedScenario, Expectation, ScenarioStep } from './format.ts';
import { meaningFaults } from './meaning.ts';
import { type ScenarioFile, shapeFaults } from './shape.ts';
import { givenOnly, oneClient } from './to-yaml.ts';
import { readYaml } from './yaml-file.ts';

/** Fields of steps, faults and expectations with numbers of nodes. */
const nodeFields = ['node', 'sender', 'recipient', 'about', 'for', 'culprits'];

/** Reads and checks a scenario; `file` is its name in errors. Throws YamlError with every problem of the file. */
export function loadScenario(text: string, { file }: { readonly file: string }): CheckedScenario {
  const place = { file, kind: 'scenario', page: 'docs/scenarios.md', names: ['target', 'of'], nodes: nodeFields };
  const meaning = (value: unknown) => meaningFaults(value as ScenarioFile, withDefaults(value as ScenarioFile));
  return withDefaults(readYaml(text, place, [shapeFaults, meaning]) as ScenarioFile);
}

function withDefaults(file: ScenarioFile): CheckedScenario {
  const { scenario, about, worlds, cluster = {}, faults = [], steps, clients, expect = [] } = file;
  return {
    scenario,
    about: about.trim(),
    worlds: worlds ?? ['simulated', 'live'],
    cluster: {
      nodes: cluster.nodes ?? 5,
      ...((cluster.clusters ?? 1) > 1 && { clusters: cluster.clusters }),
      seed: cluster.seed ?? scenario,
      partial_timeout_ms: cluster.partial_timeout_ms ?? 300,
      nodes_wait_ms: cluster.nodes_wait_ms ?? 2000,
      client_dealers: cluster.client_dealers ?? true,
      ...givenOnly(cluster),
    },
    faults: faults.map(withProcessNames),
    clients: Object.fromEntries(
      Object.entries(clients ?? { [oneClient]: steps ?? [] }).map(([name, list]) => [
        name,
        (list as readonly ScenarioStep[]).map(withPresentName),
      ]),
    ),
    expect: expect.map(withPresentNames),
  };
}

/** A step with the present name of an old field (`play`), and of the processes of its fault. */
function withPresentName(step: ScenarioStep): ScenarioStep {
  if ('inject' in step) return { ...step, inject: withProcessNames(step.inject) };
  if (!('play' in step)) return step;
  const { play, ...rest } = step;
  return play === undefined ? rest : { client_supplied: play, ...rest };
}

/** An expectation whose old field name (`strikes`) is replaced by the present one. */
function withPresentNames({ strikes, ...expectation }: Expectation): Expectation {
  return strikes === undefined ? expectation : { trigger_count: strikes, ...expectation };
}
