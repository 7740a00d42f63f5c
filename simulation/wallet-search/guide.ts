/**
 * Guides a search of many runs by the landmarks that they reached. It stores runs that reached something new, and varies them:
 * after the same beginning each client makes other choices. While a required landmark is at zero, runs draw the steps that lead
 * there more often. The runs of a round depend only on the rounds before it, never on threads or time.
 */
import { randomStream } from '../cluster/random.ts';
import { mustHappen } from './landmarks.ts';
import { drawPlan, type Profile, type RunPlan } from './profiles.ts';
import { type Family, families } from './steps.ts';

/** The differences of a run from the draws of its seed. */
export interface Variant {
  readonly favoured: readonly string[];
  readonly turns: RunPlan['turns'];
}

export interface GuidedRun {
  readonly seed: number;
  readonly profile: Profile;
  readonly variant: Variant;
}

export const plain: Variant = { favoured: [], turns: [] };
const stepNames = (Object.keys(families) as Family[]).flatMap((family): readonly string[] => families[family]);
/** A client's choices change within its first steps, up to this one. */
const turnsWithin = 12;
/** The limit of steps that one run draws more often. */
const favouredMax = 4;

/** The draws of a seed, and the differences of a variant from them. */
export function planOf(seed: number, profile: Profile, { favoured, turns }: Variant = plain): RunPlan {
  const plan = drawPlan((label) => randomStream(`${seed}/${profile}`, label), profile, favoured);
  return { ...plan, turns };
}

export class Guide {
  readonly #reached = new Set<string>();
  readonly #kept: GuidedRun[] = [];
  #varied = 0;

  /** In the order of the runs. */
  add(run: GuidedRun, landmarks: readonly string[]): void {
    const before = this.#reached.size;
    for (const landmark of landmarks) this.#reached.add(landmark);
    if (this.#reached.size > before) this.#kept.push(run);
  }

  /** The next runs of fresh seeds: every second one is steered towards unreached landmarks. */
  steered(fresh: readonly Omit<GuidedRun, 'variant'>[]): GuidedRun[] {
    const missing = Object.entries(mustHappen).filter(([landmark]) => !this.#reached.has(landmark));
    const steps = [...new Set(missing.flatMap(([, leading]) => leading))];
    return fresh.map((run, at) => {
      const from = (at * favouredMax) % Math.max(1, steps.length);
      const favoured = at % 2 === 0 || this.#reached.size === 0 ? [] : steps.slice(from, from + favouredMax);
      return { ...run, variant: { ...plain, favoured } };
    });
  }

  /** Variants of the stored runs, the newest first. */
  variants(count: number): GuidedRun[] {
    const newest = this.#kept.slice(-count).reverse();
    return newest.map(({ seed, profile, variant }) => {
      this.#varied += 1;
      const turn = { from: (this.#varied * 5) % turnsWithin, salt: this.#varied };
      return { seed, profile, variant: { ...variant, turns: [...variant.turns, turn] } };
    });
  }
}

/** e.g. "favour=mint,redeem turn=5.17"; empty for none. */
export function variantText({ favoured, turns }: Variant): string {
  const parts = [
    ...(favoured.length > 0 ? [`favour=${favoured.join()}`] : []),
    ...turns.map(({ from, salt }) => `turn=${from}.${salt}`),
  ];
  return parts.join(' ');
}

/** undefined: not a variant. */
export function readVariant(text: string): Variant | undefined {
  let variant = plain;
  for (const part of text.split(' ').filter((one) => one !== '')) {
    const favoured = /^favour=([a-z_,]+)$/.exec(part)?.[1]?.split(',');
    const turn = /^turn=(\d{1,6})\.(\d{1,6})$/.exec(part);
    if (favoured?.every((step) => stepNames.includes(step))) variant = { ...variant, favoured };
    else if (turn !== null) {
      variant = { ...variant, turns: [...variant.turns, { from: Number(turn[1]), salt: Number(turn[2]) }] };
    } else return undefined;
  }
  return variant;
}
