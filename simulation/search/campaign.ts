/** A random search: rounds of seeds and of their variants, the kinds of failures, and the smallest plan that fails alike. */
import type { Verdict } from '../../scenarios/runner/world.ts';
import { Guide, type SeedRun } from './guide.ts';
import { type Shrunk, shrink } from './shrink.ts';
import type { EndedRun, SearchRunOptions, Workload } from './workload.ts';

export interface Finished extends SeedRun, Omit<EndedRun, 'trace'> {}

export interface CampaignOptions {
  /** Runs all; `finished` gets each in their order, and stops them with false. Resolves with whether all are over. */
  readonly runAll: (runs: readonly SeedRun[], finished: (one: Finished) => boolean) => Promise<boolean>;
  readonly finished: (one: Finished) => void;
  /** Whether landmarks and code guide the search, in rounds. */
  readonly isGuided: boolean;
  /** Of runs that have just ended: those that executed new code of the product. */
  readonly firstToRun?: ((runs: readonly SeedRun[]) => Promise<readonly SeedRun[]>) | undefined;
  /** Whether it continues after a failure. */
  readonly keepGoing: boolean;
}

/** Resolves with the first run of each kind of failure. */
export async function campaign<Plan>(
  { round, landmarks }: Workload<Plan>,
  fresh: readonly SeedRun[],
  { runAll, finished, isGuided, firstToRun, keepGoing }: CampaignOptions,
): Promise<readonly Finished[]> {
  const guide = new Guide(landmarks);
  const failures = new Map<string, Finished>();
  const heard = (one: Finished): boolean => {
    finished(one);
    guide.add(one, one.landmarks);
    if (one.verdict.kind === 'passed') return true;
    const kind = failureOf(one.verdict);
    if (!failures.has(kind)) failures.set(kind, one);
    return keepGoing;
  };
  /** In blocks, after each of which the code that ran is known. */
  const isOver = async (runs: readonly SeedRun[]): Promise<boolean> => {
    if (firstToRun === undefined) return runAll(runs, heard);
    for (let from = 0; from < runs.length; from += round.block) {
      const block = runs.slice(from, from + round.block);
      if (!(await runAll(block, heard))) return false;
      for (const one of await firstToRun(block)) guide.keep(one);
    }
    return true;
  };
  for (let from = 0; from < fresh.length; from += round.fresh) {
    const next = fresh.slice(from, from + round.fresh);
    if (!(await isOver(isGuided ? guide.steered(next) : next))) break;
    if (!isGuided || next.length < round.fresh) continue;
    if (!(await isOver(guide.variants(round.variants)))) break;
  }
  return [...failures.values()];
}

/** Runs of a guided search besides those of fresh seeds. */
export function variantsOf<Plan>({ round }: Workload<Plan>, fresh: number): number {
  return Math.floor(fresh / round.fresh) * round.variants;
}

/** The smallest plan found that fails as `verdict` says. */
export function shrinkFailure<Plan>(
  workload: Workload<Plan>,
  plan: Plan,
  verdict: Verdict,
  { crypto, runsMax }: Pick<SearchRunOptions, 'crypto'> & { readonly runsMax: number },
): Promise<Shrunk<Plan>> {
  return shrink(plan, {
    reductions: workload.reductions,
    fails: async (candidate) => failsAlike(verdict, (await workload.run(candidate, { crypto, record: false })).verdict),
    runsMax: Math.min(runsMax, workload.shrinkRunsMax),
  });
}

/** Whether two runs failed in the same way: by the same invariant, or by the same missing outcome. */
export function failsAlike(one: Verdict, other: Verdict): boolean {
  return one.kind !== 'passed' && failureOf(one) === failureOf(other);
}

/** The kind of the failure: equal for runs that fail alike. */
export function failureOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'passed':
      return 'passed';
    case 'violated':
      return `violated ${verdict.invariant}`;
    case 'failed':
      return `failed ${withoutClient(verdict.what)}`;
    case 'stuck':
      return `stuck ${stepIn(withoutClient(verdict.what))}`;
    case 'unsupported':
      return `unsupported ${verdict.cause}`;
  }
}

/** The text does not name the client of a scenario with only one. */
function withoutClient(what: string): string {
  return what.replace(/^(step \S+) of [^\s:]+/, '$1');
}

/** For a stuck step, its last answer may differ. */
function stepIn(what: string): string {
  return /^step \S+/.exec(what)?.[0].replace(/:$/, '') ?? what;
}
