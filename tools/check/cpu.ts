/** CPU time of a run of the checks and tests: it shows the cost of a change even on a noisy machine, where the clock does not. */
import { readIfThere } from '../../cli/common/files.ts';

/** CPU milliseconds of `fixedWork` where the limits were set. */
const fixedWorkMs = 220;

/**
 * CPU seconds that `npm test` and the tiers may take, of every process together: whole runs took 905 to 1,012 where little ran
 * beside them, and 1,239 beside two busy loops: the same work takes more CPU then.
 */
export const cpuLimitsS = { fast: 165, worlds: 190, redis: 210, system: 540, all: 1250 } as const;
export type CpuLimited = keyof typeof cpuLimitsS;

export function isCpuLimited(name: string): name is CpuLimited {
  return Object.hasOwn(cpuLimitsS, name);
}

/** The kernel counts CPU time for programs in hundredths of a second (USER_HZ), whatever its own clock uses. */
const ticksPerSecond = 100;

/** CPU seconds of ended child processes, and of theirs. undefined where the system does not report it (no /proc). */
export function cpuOfChildrenS(): number | undefined {
  const stat = readIfThere('/proc/self/stat');
  if (stat === undefined) return undefined;
  // proc(5): the name may hold spaces; behind it cutime and cstime are fields 16 and 17, and the state is field 3.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
}

/** At least 1: so many times slower is this machine now than the one where the limits were set. */
export function slowness(): number {
  return slownessOf(Math.min(...Array.from({ length: 5 }, sampleMs)));
}

const sampleEveryMs = 30_000;

/** The slowness of the machine over a whole run: some machines change their speed within minutes, by several times. */
export class SlownessMeter {
  readonly #samplesMs = [sampleMs()];
  readonly #timer = setInterval(() => this.#samplesMs.push(sampleMs()), sampleEveryMs);

  /** The mean, since a run takes the more of a slow time; nothing is sampled after it. */
  end(): number {
    clearInterval(this.#timer);
    return slownessOf(this.#samplesMs.reduce((sum, ms) => sum + ms, 0) / this.#samplesMs.length);
  }
}

function slownessOf(tookMs: number): number {
  return Math.max(1, tookMs / fixedWorkMs);
}

/** CPU milliseconds of `fixedWork` now. */
function sampleMs(): number {
  const began = process.cpuUsage();
  fixedWork();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

/** Arithmetic, objects, strings and a map. */
function fixedWork(): number {
  const prime = (1n << 255n) - 19n;
  let square = 1n;
  for (let k = 0; k < 60_000; k += 1) square = (square * square + 7n) % prime;
  const byName = new Map(Array.from({ length: 200_000 }, (_, k) => [String(k), { k }]));
  let sum = Number(square % 2n);
  for (const name of byName.keys()) sum += byName.get(name)!.k;
  return sum;
}
