/** The time of this machine, for the driver. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { LoadClock } from './drive.ts';

/** Timers are up to a millisecond late; a wait that is shorter ends at the next one. */
export const liveClock: LoadClock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) => setTimeout(Math.max(1, Math.floor(ms)), undefined, { signal }).catch(() => undefined),
  turn: () => setImmediate(),
};
