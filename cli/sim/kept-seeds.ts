/**
 * Runs that reached a landmark which few runs reach: their seeds are kept, and run again with other faults and times. So a longer
 * search goes further down the rare paths than a shorter one.
 */
import type { Finished, SeedTask } from './runs.ts';

/** A landmark is rare below this share of the runs; so many of the runs that reached it are kept, and each is varied so often. */
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

  /** The runs to make next; each seed once, whatever it reached. Depends on the runs before, not on the threads. */
  variations(): SeedTask[] {
    const rare = [...this.#kept].filter(([landmark]) => this.#counts.get(landmark)! < this.#runs * rareShare);
    const seeds = new Map(rare.flatMap(([, kept]) => kept).map((task) => [`${task.seed} ${task.profile}`, task]));
    return [...seeds.values()].flatMap((task) =>
      Array.from({ length: variationsEach }, (_, index) => ({ ...task, variation: index + 1 })),
    );
  }
}
