/**
 * The aims: ratios of CPU time, whose both sides are measured in each go of the same run. The denominator of signatures is the
 * last rung of the ladder: the bare floor with every promise of the service added, and nothing else. A budget is what a good
 * commit reached, and a tenth: `--strict` fails beyond it. An aim that is met becomes the budget.
 */

import type { AimResult, Costs } from '../report/results.ts';
import { median } from '../start/starts.ts';

export interface Aim {
  readonly name: string;
  readonly of: string;
  readonly ratio: (costs: Costs) => number;
  /** Whether a smaller ratio is better. */
  readonly isMost: boolean;
  readonly aim: number;
  /** The median of five goes of a commit, without the tenth. */
  readonly reached: number;
}

const lastRung = 'the last rung of the ladder';

export const aims: readonly Aim[] = [
  {
    ...{ name: 'mock ECDSA at the coordinator', of: lastRung, isMost: true, aim: 1.2, reached: 1.77 },
    ratio: ({ coordinator, lastRung }) => coordinator / lastRung,
  },
  {
    ...{ name: 'mock ECDSA through REST', of: lastRung, isMost: true, aim: 1.8, reached: 2.28 },
    ratio: ({ rest, lastRung }) => rest / lastRung,
  },
  {
    ...{
      name: 'the promises: the last rung of the ladder',
      of: 'the bare floor',
      isMost: true,
      aim: 2.2,
      reached: 4.7,
    },
    ratio: ({ lastRung, floor }) => lastRung / floor,
  },
  {
    ...{ name: 'our cryptography alone', of: 'FROST-ed25519 through REST', isMost: false, aim: 0.75, reached: 0.38 },
    ratio: ({ frostAlone, frost }) => frostAlone / frost,
  },
  ...(['secp256k1', 'ed25519'] as const).map(
    (curve): Aim => ({
      ...{ name: `keys on ${curve} a CPU second`, of: '@noble/curves', isMost: false },
      ...(curve === 'secp256k1' ? { aim: 6, reached: 2.36 } : { aim: 30, reached: 11.3 }),
      ratio: ({ key, nobleKey }) => nobleKey[curve] / key[curve],
    }),
  ),
  {
    ...{ name: 'self_hosted transfers', of: 'signatures through REST', isMost: false, aim: 0.4, reached: 0.2 },
    ratio: ({ rest, transfer }) => rest / transfer,
  },
  {
    ...{ name: 'reads of a wallet', of: 'a bare Fastify route', isMost: false, aim: 0.45, reached: 0.5 },
    ratio: ({ bareRoute, read }) => bareRoute / read,
  },
  {
    ...{ name: 'deliveries to one webhook', of: 'a bare BullMQ queue', isMost: false, aim: 0.45, reached: 0.24 },
    ratio: ({ bareJob, delivery }) => bareJob / delivery,
  },
  {
    ...{ name: 'p50 of mock ECDSA through REST, one caller', of: `${lastRung}, one caller`, isMost: true },
    ...{ aim: 1.5, reached: 3.55 },
    ratio: ({ p50, lastRungP50 }) => p50 / lastRungP50,
  },
];

const tolerance = 1.1;

/** Empty when nothing was measured. */
export function aimResults(goes: readonly Costs[], rows: readonly Aim[] = aims): AimResult[] {
  if (goes.length === 0) return [];
  return rows.map(({ name, of, ratio, isMost, aim, reached }) => {
    const ratios = goes.map(ratio);
    const got = median(ratios);
    const budget = isMost ? reached * tolerance : reached / tolerance;
    const holds = (limit: number) => (isMost ? got <= limit : got >= limit);
    const [least, largest] = [Math.min(...ratios), Math.max(...ratios)];
    return { name, of, isMost, aim, budget, got, least, largest, isMet: holds(aim), isInBudget: holds(budget) };
  });
}
