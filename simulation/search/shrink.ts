/**
 * Shrinks a failing plan to the fewest parts that still fail in the same way, and then its parts to simple ones: delta debugging
 * (Zeller and Hildebrandt 2002), list by list, until no reduction is possible. Deterministic: the same plan and the same answers
 * give the same result, since runs limit it and not time.
 */

/** A list of the best plan, whose ranges may go; or a part of it, with simpler forms, the simplest first. */
export type Reduction<Plan> =
  | { readonly length: () => number; readonly without: (from: number, to: number) => Plan | undefined }
  | { readonly simpler: () => readonly (Plan | undefined)[] };

/** In the order in which they are tried; `best` is the smallest plan so far. An undefined plan is not valid, and is not run. */
export type Reductions<Plan> = (best: () => Plan) => Iterable<Reduction<Plan>>;

export interface ShrinkOptions<Plan> {
  readonly reductions: Reductions<Plan>;
  /** Whether a smaller plan fails in the same way. */
  readonly fails: (plan: Plan) => boolean | Promise<boolean>;
  /** The limit of runs. */
  readonly runsMax: number;
}

export interface Shrunk<Plan> {
  readonly plan: Plan;
  readonly runs: number;
}

/** `failing` fails; so does the result. */
export async function shrink<Plan>(
  failing: Plan,
  { reductions, fails, runsMax }: ShrinkOptions<Plan>,
): Promise<Shrunk<Plan>> {
  let best = failing;
  let runs = 0;

  async function isTaken(candidate: Plan | undefined): Promise<boolean> {
    if (candidate === undefined || runs >= runsMax) return false;
    runs += 1;
    if (!(await fails(candidate))) return false;
    best = candidate;
    return true;
  }

  /** Removes ranges, long ones first. */
  async function thin({ length, without }: Extract<Reduction<Plan>, { length: unknown }>): Promise<void> {
    for (let size = length(); size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < length(); ) if (!(await isTaken(without(from, from + size)))) from += size;
    }
  }

  async function isSimplified(candidates: readonly (Plan | undefined)[]): Promise<boolean> {
    for (const candidate of candidates) if (await isTaken(candidate)) return true;
    return false;
  }

  let before: Plan;
  do {
    before = best;
    for (const reduction of reductions(() => best)) {
      if ('simpler' in reduction) while (await isSimplified(reduction.simpler()));
      else await thin(reduction);
    }
  } while (best !== before && runs < runsMax);
  return { plan: best, runs };
}
