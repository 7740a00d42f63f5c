/** The shape of a stage from its settings, in a file or by flags. */
import type { Shape } from './plan.ts';

export interface SaidShape {
  readonly rate?: number | undefined;
  readonly rampTo?: number | undefined;
  readonly spikeTo?: number | undefined;
  readonly soak?: boolean | undefined;
  readonly callers?: number | undefined;
  readonly times?: number | undefined;
}

/** The spelling of the settings at their source, e.g. "--ramp-to" or "ramp_to". */
export type ShapeWords = Readonly<Record<Exclude<keyof SaidShape, 'times'>, string>>;

/** A text: the fault. */
export function shapeOf({ rate, rampTo, spikeTo, soak, callers, times }: SaidShape, words: ShapeWords): Shape | string {
  const kinds = [rampTo !== undefined, spikeTo !== undefined, soak === true].filter((each) => each).length;
  if (times !== undefined) {
    const isAlone = rate === undefined && kinds === 0 && callers === undefined;
    return isAlone ? { shape: 'times', times } : 'times multiply an earlier rate: the stage has no other';
  }
  if (kinds > 1) return `say one of ${words.rampTo}, ${words.spikeTo} and ${words.soak}`;
  if (callers !== undefined) {
    if (rate !== undefined || kinds > 0) return `${words.callers} is a closed model: it has no rate`;
    return { shape: 'closed', callers };
  }
  if (rate === undefined) {
    return `say ${words.rate} (operations a second) or ${words.callers} (one operation at a time each)`;
  }
  if (rampTo !== undefined) return { shape: 'ramp', rate, rampTo };
  if (spikeTo !== undefined) return { shape: 'spike', rate, spikeTo };
  return { shape: soak === true ? 'soak' : 'constant', rate };
}
