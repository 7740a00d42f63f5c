/**
 * Random fates for the calls of ports: processes that die before or after a call, and Redis, queue and receivers that lose,
 * refuse or delay single commands and answers. Drawn from one stream, so that a seed gives the same fates again.
 */
import type { RandomBytes } from '../../core/actors/contract.ts';
import type { PortFate, PortPlan } from './process-life.ts';

export interface PlanRates {
  /** The number of each among 65,536 calls. */
  readonly dies: number;
  readonly fails: number;
  readonly delays: number;
  readonly delayMaxMs: number;
}

export const mildRates: PlanRates = { dies: 300, fails: 500, delays: 4_000, delayMaxMs: 200 };

export interface RandomPlan {
  readonly plan: PortPlan;
  /** From now on no faults. */
  end(): void;
  /** The faults so far, by kind. */
  readonly done: ReadonlyMap<string, number>;
}

const deaths = ['before', 'after'] as const;
const failures = ['lost', 'refused', 'unanswered'] as const;

export function randomPlan(random: RandomBytes, rates: PlanRates = mildRates): RandomPlan {
  let isOver = false;
  const done = new Map<string, number>();
  const noted = (kind: string, fate: PortFate): PortFate => {
    done.set(kind, (done.get(kind) ?? 0) + 1);
    return fate;
  };
  return {
    done,
    end: () => {
      isOver = true;
    },
    plan: () => {
      if (isOver) return undefined;
      const [high = 0, low = 0, which = 0] = random(3);
      let draw = high * 256 + low;
      if (draw < rates.dies) {
        const dies = deaths[which % deaths.length]!;
        return noted(dies, { dies });
      }
      draw -= rates.dies;
      if (draw < rates.fails) {
        const fate = failures[which % failures.length]!;
        return noted(fate, { fate });
      }
      draw -= rates.fails;
      if (draw >= rates.delays) return undefined;
      return noted('delayed', { delayMs: Math.ceil((which / 256) * rates.delayMaxMs) });
    },
  };
}
