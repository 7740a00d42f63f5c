/**
 * Shrinks a failing scenario to the fewest faults, clients and steps that still fail in the same way, and then its numbers to
 * small ones: delta debugging (Zeller and Hildebrandt 2002), list by list, until no removal is possible.
 *
 * Deterministic: the same scenario and the same answers give the same result. It skips invalid scenarios (e.g. a session that is
 * used but never made).
 */
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import type { CheckedScenario, Step } from '../../scenarios/runner/format.ts';
import { meaningFaults } from '../../scenarios/runner/meaning.ts';
import { simpler } from './simpler.ts';

export interface ShrinkOptions {
  /** Whether a smaller scenario fails in the same way. */
  readonly fails: (scenario: CheckedScenario) => boolean;
  /** The limit of runs. */
  readonly runsMax: number;
}

export interface Shrunk {
  readonly scenario: CheckedScenario;
  readonly runs: number;
}

/** `scenario` fails; so does the result. */
export function shrink(scenario: CheckedScenario, options: ShrinkOptions): Shrunk {
  const shrinking = new Shrinking(scenario, options);
  shrinking.run();
  return { scenario: shrinking.best, runs: shrinking.runs };
}

class Shrinking {
  best: CheckedScenario;
  runs = 0;
  readonly #options: ShrinkOptions;

  constructor(scenario: CheckedScenario, options: ShrinkOptions) {
    this.best = scenario;
    this.#options = options;
  }

  run(): void {
    let before: CheckedScenario;
    do {
      before = this.best;
      this.#clients();
      this.#list(
        () => this.best.faults,
        (faults) => ({ ...this.best, faults }),
      );
      for (const client of Object.keys(this.best.clients)) {
        this.#list(
          () => this.best.clients[client] ?? [],
          (steps) => withSteps(this.best, client, steps),
        );
      }
      this.#simplify();
    } while (this.best !== before && !this.#isOver());
  }

  #clients(): void {
    for (const client of Object.keys(this.best.clients)) this.#try(withSteps(this.best, client, []));
  }

  /** Removes whole ranges of a list, long ones first. */
  #list<T>(list: () => readonly T[], rebuilt: (list: T[]) => CheckedScenario): void {
    for (let size = list().length; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < list().length; ) {
        const left = list().filter((_, index) => index < from || index >= from + size);
        if (!this.#try(rebuilt(left))) from += size;
      }
    }
  }

  /** Removes optional fields, and makes numbers small, one change after the other. */
  #simplify(): void {
    for (let index = 0; index < this.best.faults.length; index += 1) {
      this.#settle(
        () => simpler(this.best.faults[index]!),
        (fault) => ({
          ...this.best,
          faults: this.best.faults.map((one, at) => (at === index ? (fault as Fault) : one)),
        }),
      );
    }
    for (const client of Object.keys(this.best.clients)) {
      const steps = () => this.best.clients[client] ?? [];
      for (let index = 0; index < steps().length; index += 1) {
        this.#settle(
          () => simpler(steps()[index]!),
          (step) =>
            withSteps(
              this.best,
              client,
              steps().map((one, at) => (at === index ? (step as Step) : one)),
            ),
        );
      }
    }
    const { nodes } = this.best.cluster;
    for (let fewer = 2; fewer < nodes; fewer += 1) {
      if (this.#try({ ...this.best, cluster: { ...this.best.cluster, nodes: fewer } })) break;
    }
  }

  #settle(candidates: () => object[], rebuilt: (value: object) => CheckedScenario): void {
    while (candidates().some((candidate) => this.#try(rebuilt(candidate))));
  }

  #isOver(): boolean {
    return this.runs >= this.#options.runsMax;
  }

  #try(candidate: CheckedScenario): boolean {
    const closed = withoutLooseEnds(candidate);
    if (closed === undefined || this.#isOver()) return false;
    this.runs += 1;
    if (!this.#options.fails(closed)) return false;
    this.best = closed;
    return true;
  }
}

function withSteps(scenario: CheckedScenario, client: string, steps: readonly Step[]): CheckedScenario {
  const clients = { ...scenario.clients, [client]: steps };
  if (steps.length === 0) delete clients[client];
  return { ...scenario, clients };
}

/** Also removes steps and faults with dangling references; undefined: no valid scenario is left. */
function withoutLooseEnds(scenario: CheckedScenario): CheckedScenario | undefined {
  let current = scenario;
  for (;;) {
    const { faults, clients } = current;
    if (Object.keys(clients).length === 0) return undefined;
    const file = { ...current, faults: [...faults], clients } as unknown as Parameters<typeof meaningFaults>[0];
    const [wrong] = meaningFaults(file, current);
    if (wrong === undefined) return current;
    const [where, name, index] = wrong.path;
    if (where === 'faults' && typeof name === 'number') {
      current = { ...current, faults: faults.filter((_, at) => at !== name) };
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
