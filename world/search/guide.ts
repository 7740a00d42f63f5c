/**
 * Guides a search of many runs by what they reached. Runs that reached something new are kept, and varied: after the same
 * beginning each client makes other choices. While a landmark that must happen stands at zero, runs draw the steps that lead
 * there more often. What a round runs depends on the rounds before it alone, never on threads or time.
 */
import { randomStream } from '../../sim/random.ts';
import { mustHappen } from './landmarks.ts';
import { drawPlan, type Profile, type RunPlan } from './profiles.ts';
import { type Family, families } from './steps.ts';

/** How a run differs from what its seed draws. */
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
/** A client's choices change within its first so many steps. */
const turnsWithin = 12;
/** Steps that one run draws more often, at most. */
const favouredMax = 4;

/** What a seed draws, and how a variant differs from that. */
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

  /** The next runs of fresh seeds: every second one is steered towards what was never reached. */
  steered(fresh: readonly Omit<GuidedRun, 'variant'>[]): GuidedRun[] {
    const missing = Object.entries(mustHappen).filter(([landmark]) => !this.#reached.has(landmark));
    const steps = [...new Set(missing.flatMap(([, leading]) => leading))];
    return fresh.map((run, at) => {
      const from = (at * favouredMax) % Math.max(1, steps.length);
      const favoured = at % 2 === 0 || this.#reached.size === 0 ? [] : steps.slice(from, from + favouredMax);
      return { ...run, variant: { ...plain, favoured } };
    });
  }

  /** Variants of the runs that were kept, the newest first. */
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

/** undefined: it is no variant. */
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
