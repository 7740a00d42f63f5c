/**
 * Runs that reached a rare landmark: the search stores their seeds, and runs them again with other faults and times. So a longer
 * search follows the rare paths further than a shorter one.
 */
import type { Finished, SeedTask } from './runs.ts';

/** A landmark is rare below this share of the runs; it stores so many of the runs that reached it, and varies each so often. */
const rareShare = 0.05;
const keptMax = 3;
const variationsEach = 4;

export class KeptSeeds {
  readonly #counts = new Map<string, number>();
  readonly #kept = new Map<string, SeedTask[]>();
  #runs = 0;

  add({ landmarks, world, seed, profile, variation = 0 }: Finished): void {
    this.#runs += 1;
    if (variation > 0) return;
    for (const landmark of landmarks) {
      this.#counts.set(landmark, (this.#counts.get(landmark) ?? 0) + 1);
      const kept = this.#kept.get(landmark) ?? [];
      this.#kept.set(landmark, kept);
      if (kept.length < keptMax) kept.push({ world, seed, profile });
    }
  }

  /** The next runs; each seed once, whatever it reached. Depends on the runs before, not on the threads. */
  variations(): SeedTask[] {
    const rare = [...this.#kept].filter(([landmark]) => this.#counts.get(landmark)! < this.#runs * rareShare);
    const seeds = new Map(rare.flatMap(([, kept]) => kept).map((task) => [`${task.seed} ${task.profile}`, task]));
    return [...seeds.values()].flatMap((task) =>
      Array.from({ length: variationsEach }, (_, index) => ({ ...task, variation: index + 1 })),
    );
  }
}
