/** Searches for one disabled guard after the other. */
import type { Profile } from '../../simulation/search/profiles.ts';
import type { Guard, PlantedSearch, Shape } from './plant.ts';

export interface Task {
  readonly seed: number;
  readonly profile: Profile;
}

export interface Result {
  readonly guard: Guard;
  /**
   * `never run`: no seed evaluates it. `never held`: in no seed does its test give the result that the mutant changes.
   * `survived`: the mutant changed runs, and all passed.
   */
  readonly kind: 'found' | 'survived' | 'never held' | 'never run';
  readonly text: string;
}

export interface GuardSearchOptions {
  readonly shape: Shape;
  /** The limits for one guard: CPU time, and runs. */
  readonly cpuMsMax: number;
  readonly runsMax: number;
}

export class GuardSearch {
  readonly #planted: PlantedSearch;
  readonly #tasks: readonly Task[];
  readonly #options: GuardSearchOptions;
  /** By task: the results of each guard's test (Switchboard.seen). */
  readonly #seenBy: readonly Uint8Array[];

  /** Runs every task once. Throws if one fails without any mutant. */
  constructor(planted: PlantedSearch, tasks: readonly Task[], options: GuardSearchOptions) {
    this.#planted = planted;
    this.#tasks = tasks;
    this.#options = options;
    this.#seenBy = tasks.map((task) => {
      const verdict = this.#run(task, -1);
      if (verdict.kind !== 'passed') {
        throw new Error(
          `seed ${task.seed}, profile ${task.profile} fails without a mutant: ${JSON.stringify(verdict)}`,
        );
      }
      return planted.board.seen.slice();
    });
  }

  /** The number of these guards that any task evaluates, and of those whose mutant changes a run. */
  coverage(guards: readonly Guard[]): { readonly run: number; readonly held: number } {
    const reached = guards.map((guard) => this.reaches(guard));
    const of = (kind: string) => reached.filter((each) => each === kind).length;
    return { run: guards.length - of('never run'), held: of('held') };
  }

  reaches({ id }: Guard): 'never run' | 'never held' | 'held' {
    const some = (bits: number) => this.#seenBy.some((seen) => (seen[id]! & bits) !== 0);
    return some(this.#changing) ? 'held' : some(3) ? 'never held' : 'never run';
  }

  search(guard: Guard): Result {
    const { cpuMsMax, runsMax } = this.#options;
    const kind = this.reaches(guard);
    if (kind !== 'held') return { guard, kind, text: '' };
    const changed = this.#tasks.filter((_, index) => (this.#seenBy[index]![guard.id]! & this.#changing) !== 0);
    const began = process.cpuUsage();
    let runs = 0;
    for (const task of changed.slice(0, runsMax)) {
      runs += 1;
      const verdict = this.#run(task, guard.id);
      if (verdict.kind !== 'passed') {
        const how = verdict.kind === 'violated' ? verdict.invariant : verdict.kind;
        return { guard, kind: 'found', text: `seed ${task.seed} ${task.profile}, run ${runs}: ${how}` };
      }
      const { user, system } = process.cpuUsage(began);
      if ((user + system) / 1000 > cpuMsMax) break;
    }
    return { guard, kind: 'survived', text: `${runs} runs of ${changed.length} that it changes` };
  }

  /** The results that the mutant changes: tests that held, or that did not. */
  get #changing(): number {
    return this.#options.shape === 'never' ? 2 : 1;
  }

  #run({ seed, profile }: Task, on: number) {
    const { board, runSeed, allTrials: trials } = this.#planted;
    board.on = on;
    board.shape = this.#options.shape;
    board.calls = 0;
    board.seen.fill(0);
    try {
      return runSeed(seed, profile, { crypto: 'model', trials, record: false }).verdict;
    } catch (error) {
      if (on === -1) throw error;
      return { kind: 'failed', what: 'the simulation threw', cause: '' } as const;
    } finally {
      board.on = -1;
    }
  }
}
