/** The retry time of a failed step. */
import type { RandomBytes } from '../../../core/actors/contract.ts';

const firstMs = 200;
const longestMs = 10_000;

/**
 * 0.2 s, doubling to 10 s, each a random part of it, so that many who wait do not come back together; never before the
 * provider wants to be asked. `attempts`: how often the step was repeated so far.
 */
export function retryDelayMs(attempts: number, random: RandomBytes, notBeforeMs: number): number {
  const most = Math.min(longestMs, firstMs * 2 ** Math.min(attempts, 16));
  const [high, low] = random(2);
  const jittered = Math.ceil((most * (high! * 256 + low! + 1)) / 65_536);
  return Math.max(jittered, notBeforeMs);
}
