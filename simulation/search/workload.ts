/** What a random search runs: a seed and a profile become a plan, and a plan becomes a run. */
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { Verdict } from '../../scenarios/runner/world.ts';
import type { SeedRun } from './guide.ts';
import type { Profile } from './profiles.ts';
import type { Reduction } from './shrink.ts';

export interface SearchRunOptions {
  /** 'model' is fast and protects nothing. */
  readonly crypto: 'model' | 'real';
  /** Whether to record the trace. */
  readonly record: boolean;
}

/** A run that is over. */
export interface EndedRun {
  readonly verdict: Verdict;
  /** Virtual time. */
  readonly tookMs: number;
  /** The landmarks that it reached. */
  readonly landmarks: readonly string[];
  /** Its events: recorded ones, or lines of text. */
  readonly trace: readonly (RunEvent | string)[];
}

export interface Workload<Plan> {
  /** Those that it can draw. */
  readonly profiles: readonly Profile[];
  /** Landmarks that a long search must reach, each with the steps that lead there. */
  readonly landmarks: Readonly<Record<string, readonly string[]>>;
  /** Landmarks, one for each documented outcome of each operation; none for a workload without operations. */
  outcomes(): readonly string[];
  /** Steps that a variant may favour. */
  readonly steps: readonly string[];
  /**
   * A search takes turns: so many runs of fresh seeds, then so many variants of runs that reached something new. `block`: runs of
   * about a second together, after which it looks for new code.
   */
  readonly round: { readonly fresh: number; readonly variants: number; readonly block: number };
  /** A limit of the runs of one shrinking, besides the caller's. */
  readonly shrinkRunsMax: number;
  /** Plain data: the same run gives the same plan. */
  plan(run: SeedRun): Plan;
  /** The same plan gives the same run, byte for byte, whatever ran before it. A bug of the run is its verdict. */
  run(plan: Plan, options: SearchRunOptions): Promise<EndedRun>;
  reductions(best: () => Plan): Iterable<Reduction<Plan>>;
  /** e.g. "1 fault and 3 steps" */
  size(plan: Plan): string;
  /** The file that holds a plan, and the arguments of the command that runs such a file. */
  file(plan: Plan): { readonly name: string; readonly text: string; readonly again: (path: string) => string };
}
