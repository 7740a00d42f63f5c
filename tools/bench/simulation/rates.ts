/**
 * The speed of the simulated world on this one thread: with the real cryptography, with the model, and with mostly idle virtual
 * time. Several runs each; it reports the median, the slowest and the fastest.
 */
import type { Cryptography } from '../../../core/crypto/backend.ts';
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import { type Played, play, signingKinds, verifiedOf } from './play.ts';

/** Virtual time between the steps of a mostly idle scenario. */
export const pauseMs = 60_000;

/** Over the runs: the median, and the two ends. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface SimulationRate {
  readonly cryptography: Cryptography;
  /** Of virtual time, between the steps. */
  readonly pauseMs: number;
  readonly runs: number;
  /** Of all runs. */
  readonly scenarios: number;
  readonly eventsPerScenario: number;
  readonly scenariosPerSecond: Spread;
  readonly eventsPerSecond: Spread;
  /** Virtual seconds in one real second. */
  readonly virtualToWall: Spread;
  /** Of this process, including its collector and its compilers. */
  readonly cpuMsPerScenario: Spread;
  /** Signatures of the warm-up, and how many of them verify. */
  readonly signatures: number;
  readonly verified: number;
}

/** @param forMs of each run; there are `runs` for each of the three rates, and a warm-up as long as two */
export function simulationRates(forMs: number, runs: number, say: (line: string) => void): SimulationRate[] {
  const rates: SimulationRate[] = [];
  for (const [cryptography, pause] of [
    ['real', 0],
    ['model', 0],
    ['model', pauseMs],
  ] as const) {
    say(`bench: simulation, ${cryptography} cryptography${pause > 0 ? ', mostly waiting' : ''} …`);
    rates.push(withCryptography(cryptography, () => rateOf(cryptography, pause, forMs, runs)));
  }
  return rates;
}

function rateOf(cryptography: Cryptography, pause: number, forMs: number, runs: number): SimulationRate {
  const warm = oneRun(`warm ${pause}`, pause, 2 * forMs);
  const checked = warm.first;
  const measured = Array.from({ length: runs }, (_, index) => oneRun(`run ${pause} ${index}`, pause, forMs));
  const spread = (of: (run: Run) => number) => spreadOf(measured.map(of));
  const scenarios = measured.reduce((sum, run) => sum + run.scenarios, 0);
  return {
    cryptography,
    pauseMs: pause,
    runs,
    scenarios,
    eventsPerScenario: measured.reduce((sum, run) => sum + run.events, 0) / scenarios,
    scenariosPerSecond: spread((run) => run.scenarios / run.seconds),
    eventsPerSecond: spread((run) => run.events / run.seconds),
    virtualToWall: spread((run) => run.virtualSeconds / run.seconds),
    cpuMsPerScenario: spread((run) => run.cpuMs / run.scenarios),
    signatures: checked.reduce((sum, { signatures }) => sum + signatures.length, 0),
    verified: checked.reduce((sum, played) => sum + verifiedOf(played), 0),
  };
}

interface Run {
  readonly scenarios: number;
  readonly events: number;
  readonly virtualSeconds: number;
  readonly seconds: number;
  readonly cpuMs: number;
  /** One scenario of each kind. */
  readonly first: readonly Played[];
}

/** Whole rounds, of one scenario a kind, at least one. */
function oneRun(label: string, pause: number, forMs: number): Run {
  const first: Played[] = [];
  let scenarios = 0;
  let events = 0;
  let virtualMs = 0;
  const cpu = process.cpuUsage();
  const beganMs = performance.now();
  do {
    for (const kind of signingKinds) {
      const played = play(`${label} ${scenarios}`, kind, pause);
      if (first.length < signingKinds.length) first.push(played);
      scenarios += 1;
      events += played.events;
      virtualMs += played.virtualMs;
    }
  } while (performance.now() - beganMs < forMs);
  const seconds = (performance.now() - beganMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { scenarios, events, virtualSeconds: virtualMs / 1000, seconds, cpuMs: (user + system) / 1000, first };
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1]!, min: sorted[0]!, max: sorted.at(-1)! };
}
