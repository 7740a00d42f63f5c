/** Repeats a function on this thread for a while, and returns its rate a second. */

export interface Rate {
  readonly perSecond: number;
  readonly times: number;
  /** Of this process, each time; other programs on the machine do not count. */
  readonly cpuMs: number;
}

/** At least `timesMin` times, and at least `forMs`; the first few times do not count. */
export function repeat(work: () => void, forMs: number, timesMin = 3): Rate {
  const warmUntilMs = performance.now() + forMs / 4;
  do work();
  while (performance.now() < warmUntilMs);
  let times = 0;
  const beganMs = performance.now();
  const cpuBefore = process.cpuUsage();
  do {
    work();
    times += 1;
  } while (times < timesMin || performance.now() - beganMs < forMs);
  const perSecond = (times * 1000) / (performance.now() - beganMs);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { perSecond, times, cpuMs: (user + system) / 1000 / times };
}
