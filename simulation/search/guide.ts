/**
 * Guides a search of many runs by the landmarks and the code that they reached. It stores runs that reached something new, and varies them:
 * after the same beginning each client makes other choices. While a required landmark is at zero, runs draw the steps that lead
 * there more often. The runs of a round depend only on the rounds before it, never on threads or time.
 */
import type { Profile } from './profiles.ts';

/** How a run differs from what its seed draws. */
export interface RunVariant {
  /** Names of steps that it draws more often. */
  readonly favoured: readonly string[];
  /** From this step of each client on, or in other parts of the plan than clients' steps: other choices after the same beginning. */
  readonly turns: readonly { readonly from: number; readonly salt: number }[];
}

/** The same one is the same run. */
export interface SeedRun {
  readonly seed: number;
  readonly profile: Profile;
  readonly variant: RunVariant;
}

export const plain: RunVariant = { favoured: [], turns: [] };
/** A client's choices change within its first steps, up to this one. */
const turnsWithin = 12;
/** The limit of steps that one run draws more often. */
const favouredMax = 4;

export class Guide {
  readonly #required: Readonly<Record<string, readonly string[]>>;
  readonly #reached = new Set<string>();
  readonly #kept: SeedRun[] = [];
  #varied = 0;

  /** `required`: landmarks, each with the steps that lead there. */
  constructor(required: Readonly<Record<string, readonly string[]>>) {
    this.#required = required;
  }

  /** In the order of the runs. */
  add(run: SeedRun, landmarks: readonly string[]): void {
    const before = this.#reached.size;
    for (const landmark of landmarks) this.#reached.add(landmark);
    if (this.#reached.size > before) this.keep(run);
  }

  /** It reached something new, and is worth varying. */
  keep({ seed, profile, variant }: SeedRun): void {
    if (!this.#kept.some((one) => one.seed === seed && one.profile === profile && one.variant === variant))
      this.#kept.push({ seed, profile, variant });
  }

  /** The next runs of fresh seeds: every second one is steered towards unreached landmarks. */
  steered(fresh: readonly SeedRun[]): SeedRun[] {
    const missing = Object.entries(this.#required).filter(([landmark]) => !this.#reached.has(landmark));
    const steps = [...new Set(missing.flatMap(([, leading]) => leading))];
    return fresh.map((run, at) => {
      const from = (at * favouredMax) % Math.max(1, steps.length);
      const favoured = at % 2 === 0 || this.#reached.size === 0 ? [] : steps.slice(from, from + favouredMax);
      return { ...run, variant: { ...plain, favoured } };
    });
  }

  /** Variants of the stored runs, the newest first. */
  variants(count: number): SeedRun[] {
    const newest = this.#kept.slice(-count).reverse();
    return newest.map(({ seed, profile, variant }) => {
      this.#varied += 1;
      const turn = { from: (this.#varied * 5) % turnsWithin, salt: this.#varied };
      return { seed, profile, variant: { ...variant, turns: [...variant.turns, turn] } };
    });
  }
}

/** e.g. "favour=mint,redeem turn=5.17"; empty for none. */
export function variantText({ favoured, turns }: RunVariant): string {
  const parts = [
    ...(favoured.length > 0 ? [`favour=${favoured.join()}`] : []),
    ...turns.map(({ from, salt }) => `turn=${from}.${salt}`),
  ];
  return parts.join(' ');
}

/** `steps`: those that it may favour. undefined: not a variant. */
export function readVariant(text: string, steps: readonly string[]): RunVariant | undefined {
  let variant = plain;
  for (const part of text.split(' ').filter((one) => one !== '')) {
    const favoured = /^favour=([a-z_,]+)$/.exec(part)?.[1]?.split(',');
    const turn = /^turn=(\d{1,6})\.(\d{1,6})$/.exec(part);
    if (favoured?.every((step) => steps.includes(step))) variant = { ...variant, favoured };
    else if (turn !== null) {
      variant = { ...variant, turns: [...variant.turns, { from: Number(turn[1]), salt: Number(turn[2]) }] };
    } else return undefined;
  }
  return variant;
}
