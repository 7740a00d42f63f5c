/** Checks the faults of a scenario: their names and triggers, and whether its worlds can inject them. */
import { ofOneCluster } from '../faults/cluster-names.ts';
import { checkFault } from '../faults/engine/checks.ts';
import type { Fault as ClusterFault } from '../faults/vocabulary/fault.ts';
import { liveOnly, simulatedOnly } from '../faults/vocabulary/kinds.ts';
import { type FaultEngineOptions, FaultError } from '../faults/vocabulary/options.ts';
import { targetsOf } from '../faults/vocabulary/targets.ts';
import { oneOf, type Path, type ReportFault } from './explain.ts';
import type { CheckedScenario } from './format.ts';
import type { Made, PlacedStep } from './step-meaning.ts';
import { usesWalletApi } from './wallet-api-use.ts';

interface PlacedFault {
  readonly fault: ClusterFault;
  readonly path: Path;
}

export function placedFaults(scenario: CheckedScenario, steps: readonly PlacedStep[]): PlacedFault[] {
  return [
    ...scenario.faults.map((fault, index) => ({ fault, path: ['faults', index] })),
    ...steps.flatMap(({ step, path }) => ('inject' in step ? [{ fault: step.inject, path: [...path, 'inject'] }] : [])),
  ];
}

export function checkFaults(
  faults: readonly PlacedFault[],
  steps: readonly PlacedStep[],
  made: ReadonlyMap<string, Made>,
  scenario: CheckedScenario,
  report: ReportFault,
): void {
  const ids = new Set<string>();
  const names = steps.map(({ step }) => step.step);
  for (const { fault, path } of faults) {
    if (fault.id !== undefined && ids.has(fault.id)) report([...path, 'id'], `another fault has the id ${fault.id}`);
    if (fault.id !== undefined) ids.add(fault.id);
    const only = simulatedOnly[fault.fault];
    if (only !== undefined && scenario.worlds.includes('live')) {
      report([...path, 'fault'], `${fault.fault} is of the simulated world alone: ${only}`, 'say worlds: [simulated]');
    }
    const numbered = [...targetsOf(fault), fault.at?.of ?? ''].find((name) => /^(gateway|worker)[/][2-9]$/.test(name));
    if (numbered !== undefined && scenario.worlds.includes('live')) {
      report(path, `${numbered} is a name of the simulated world alone: live, all have one`, 'say worlds: [simulated]');
    }
    const lacking = liveOnly[fault.fault];
    if (lacking !== undefined && scenario.worlds.includes('simulated') && !usesWalletApi(scenario)) {
      report([...path, 'fault'], `${fault.fault} is of the live world alone: ${lacking}`, 'say worlds: [live]');
    }
    for (const wrong of faultErrors(fault, scenario)) {
      // The check above reports kinds that a world does not support.
      if (wrong.field === 'fault' && (only ?? lacking) !== undefined) continue;
      report([...path, ...wrong.field.split('.')], wrong.message.slice(wrong.field.length + 2));
    }
    const { step, session } = fault.at ?? {};
    if (step !== undefined && !names.includes(step)) {
      report([...path, 'at', 'step'], `there is no step ${step}`, oneOf(names, step));
    }
    if (session !== undefined && !made.has(session)) {
      report([...path, 'at', 'session'], `no step makes the session ${session}`, oneOf([...made.keys()], session));
    }
  }
  for (const { step, path } of steps) {
    const fired = 'wait' in step ? step.wait.fired : undefined;
    if (fired !== undefined && !ids.has(fired)) {
      report([...path, 'wait', 'fired'], `no fault has the id ${fired}`, oneOf([...ids], fired));
    }
  }
}

/** The errors of the engines of the scenario's worlds about a fault, each once. */
function faultErrors(fault: ClusterFault, { cluster, worlds, ...rest }: CheckedScenario): FaultError[] {
  const hasPorts = usesWalletApi({ cluster, worlds, ...rest });
  const found = worlds.flatMap((world) => faultError(fault, cluster, world, hasPorts && world === 'simulated') ?? []);
  return found.filter(({ message }, index) => found.findIndex((other) => other.message === message) === index);
}

/** undefined: the engine accepts it. */
function faultError(
  fault: ClusterFault,
  { nodes, clusters = 1, gateways = 1, workers = 1 }: CheckedScenario['cluster'],
  world: 'simulated' | 'live',
  hasPorts: boolean,
): FaultError | undefined {
  const bytes = (length: number) => new Uint8Array(length);
  const roster = { clusterId: '', coordinator: bytes(32), gateway: bytes(32), nodes: [] };
  const options: FaultEngineOptions = {
    nodesTotal: nodes,
    random: bytes,
    roster,
    identitySeed: () => bytes(32),
    ...{ gateways, workers, hasPorts },
    world,
  };
  try {
    checkFault(ofOneCluster(fault, clusters).fault, options);
    return undefined;
  } catch (error) {
    if (error instanceof FaultError) return error;
    throw error;
  }
}
