/** Searches for one disabled guard after the other. */
import type { Profile } from '../../runner/search/profiles.ts';
import type { Guard, PlantedSearch, Shape } from './plant.ts';

export interface Task {
  readonly seed: number;
  readonly profile: Profile;
}

export interface Result {
  readonly guard: Guard;
  /**
   * `never run`: no seed evaluates it. `never held`: in no seed does its test say what the mutant changes. `survived`: runs
   * were changed, and all passed.
   */
  readonly kind: 'found' | 'survived' | 'never held' | 'never run';
  readonly text: string;
}

export interface SearchAllOptions {
  readonly shape: Shape;
  /** CPU time for one guard. */
  readonly cpuMsMax: number;
  readonly told: (result: Result) => void;
}

/** Throws if a seed fails without any mutant. */
export function searchAll(
  { board, runSeed }: PlantedSearch,
  guards: readonly Guard[],
  tasks: readonly Task[],
  { shape, cpuMsMax, told }: SearchAllOptions,
): Result[] {
  const runOne = ({ seed, profile }: Task, on: number) => {
    board.on = on;
    board.shape = shape;
    board.calls = 0;
    board.seen.fill(0);
    try {
      return runSeed(seed, profile, { crypto: 'model', record: false }).verdict;
    } catch (error) {
      if (on === -1) throw error;
      return { kind: 'failed', what: 'the simulation threw', cause: '' } as const;
    } finally {
      board.on = -1;
    }
  };
  // What the mutant changes: tests that held, or that did not.
  const changing = shape === 'never' ? 2 : 1;
  const seenBy = tasks.map((task) => {
    const verdict = runOne(task, -1);
    if (verdict.kind !== 'passed') {
      throw new Error(`seed ${task.seed}, profile ${task.profile} fails without a mutant: ${JSON.stringify(verdict)}`);
    }
    return board.seen.slice();
  });
  return guards.map((guard) => {
    const result = searchOne(guard);
    told(result);
    return result;
  });

  function searchOne(guard: Guard): Result {
    const reached = tasks.filter((_, index) => seenBy[index]![guard.id]! !== 0).length;
    const changed = tasks.filter((_, index) => (seenBy[index]![guard.id]! & changing) !== 0);
    if (reached === 0) return { guard, kind: 'never run', text: '' };
    if (changed.length === 0) return { guard, kind: 'never held', text: `evaluated in ${reached} seeds` };
    const began = process.cpuUsage();
    let runs = 0;
    for (const task of changed) {
      runs += 1;
      const verdict = runOne(task, guard.id);
      if (verdict.kind !== 'passed') {
        const how = verdict.kind === 'violated' ? verdict.invariant : verdict.kind;
        return { guard, kind: 'found', text: `seed ${task.seed} ${task.profile}, run ${runs}: ${how}` };
      }
      const { user, system } = process.cpuUsage(began);
      if ((user + system) / 1000 > cpuMsMax) break;
    }
    return { guard, kind: 'survived', text: `${runs} runs of ${changed.length} that it changes` };
  }
}
