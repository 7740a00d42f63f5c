/** The reductions of a scenario: fewer clients, faults, steps and expectations, then simpler ones, then fewer nodes. */
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import type { CheckedScenario, ScenarioStep } from '../../scenarios/runner/format.ts';
import { meaningFaults } from '../../scenarios/runner/meaning.ts';
import type { Reduction } from './shrink.ts';
import { simpler } from './simpler.ts';

export function* smallerScenarios(best: () => CheckedScenario): Iterable<Reduction<CheckedScenario>> {
  const stepsOf = (client: string) => best().clients[client] ?? [];
  for (const client of Object.keys(best().clients)) {
    yield { simpler: () => (client in best().clients ? [withoutLooseEnds(withSteps(best(), client, []))] : []) };
  }
  yield listOf(
    () => best().faults,
    (faults) => ({ ...best(), faults }),
  );
  for (const client of Object.keys(best().clients)) {
    yield listOf(
      () => stepsOf(client),
      (steps) => withSteps(best(), client, steps),
    );
  }
  yield listOf(
    () => best().expect,
    (expect) => ({ ...best(), expect }),
  );
  for (let index = 0; index < best().faults.length; index += 1) {
    yield simplerAt(
      () => best().faults,
      index,
      (faults) => ({ ...best(), faults: faults as readonly Fault[] }),
    );
  }
  for (const client of Object.keys(best().clients)) {
    for (let index = 0; index < stepsOf(client).length; index += 1) {
      yield simplerAt(
        () => stepsOf(client),
        index,
        (steps) => withSteps(best(), client, steps as readonly ScenarioStep[]),
      );
    }
  }
  yield {
    simpler: () =>
      Array.from({ length: Math.max(0, best().cluster.nodes - 2) }, (_, more) =>
        withoutLooseEnds({ ...best(), cluster: { ...best().cluster, nodes: 2 + more } }),
      ),
  };
}

function listOf<T>(
  list: () => readonly T[],
  rebuilt: (left: readonly T[]) => CheckedScenario,
): Reduction<CheckedScenario> {
  return {
    length: () => list().length,
    without: (from, to) => withoutLooseEnds(rebuilt(list().filter((_, index) => index < from || index >= to))),
  };
}

/** Removes optional fields of one part, and makes its numbers small, one change after the other. */
function simplerAt(
  list: () => readonly object[],
  index: number,
  rebuilt: (changed: readonly object[]) => CheckedScenario,
): Reduction<CheckedScenario> {
  return {
    simpler: () =>
      // It may have left with what another change removed.
      index >= list().length
        ? []
        : simpler(list()[index]!).map((one) => withoutLooseEnds(rebuilt(list().with(index, one)))),
  };
}

function withSteps(scenario: CheckedScenario, client: string, steps: readonly ScenarioStep[]): CheckedScenario {
  const clients = { ...scenario.clients, [client]: steps };
  if (steps.length === 0) delete clients[client];
  return { ...scenario, clients };
}

/** Also removes steps, faults and expectations with dangling references; undefined: no valid scenario is left. */
function withoutLooseEnds(scenario: CheckedScenario): CheckedScenario | undefined {
  let current = scenario;
  for (;;) {
    const { faults, clients, expect } = current;
    if (Object.keys(clients).length === 0) return undefined;
    const file = { ...current, faults: [...faults], clients, expect: [...expect] } as unknown as Parameters<
      typeof meaningFaults
    >[0];
    const [wrong] = meaningFaults(file, current);
    if (wrong === undefined) return current;
    const [where, name, index] = wrong.path;
    if (where === 'faults' && typeof name === 'number') {
      current = { ...current, faults: faults.filter((_, at) => at !== name) };
    } else if (where === 'expect' && typeof name === 'number') {
      current = { ...current, expect: expect.filter((_, at) => at !== name) };
    } else if (where === 'clients' && typeof name === 'string' && typeof index === 'number') {
      const steps = clients[name] ?? [];
      current = withSteps(
        current,
        name,
        steps.filter((_, at) => at !== index),
      );
    } else return undefined;
  }
}

/** e.g. "1 fault and 3 steps" */
export function sizeOf({ faults, clients }: CheckedScenario): string {
  const steps = Object.values(clients).flat().length;
  return `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} and ${steps} ${steps === 1 ? 'step' : 'steps'}`;
}
