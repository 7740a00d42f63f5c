/** Runs one thing again and again on this thread, for a while, and says how often it went a second. */

export interface Rate {
  readonly perSecond: number;
  readonly times: number;
}

/** At least `timesMin` times, and at least `forMs`; the first few times do not count. */
export function repeat(work: () => void, forMs: number, timesMin = 3): Rate {
  const warmUntilMs = performance.now() + forMs / 4;
  do work();
  while (performance.now() < warmUntilMs);
  let times = 0;
  const beganMs = performance.now();
  do {
    work();
    times += 1;
  } while (times < timesMin || performance.now() - beganMs < forMs);
  return { perSecond: (times * 1000) / (performance.now() - beganMs), times };
}
