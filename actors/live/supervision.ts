/**
 * What is kept of a bug: the dead letters (metadata only, since a message may hold secrets), and the pace at which a
 * failing actor is restarted.
 */
import type { Address } from '../contract.ts';

export interface DeadLetter {
  readonly address: Address;
  /** Who sent the message; empty for other inputs. */
  readonly from: Address;
  readonly inputKind: string;
  /** What the `describe` port says about the message, e.g. its case; empty for other inputs. */
  readonly messageCase: string;
  /** `bug`: the actor threw. `unavailable`: its durable record could not be read. */
  readonly cause: 'bug' | 'unavailable';
  /** The error's text, shortened, with anything that looks like key material taken out. */
  readonly error: string;
  readonly atMs: number;
}

/** The newest dead letters, and how many there ever were. */
export class DeadLetters {
  readonly #letters: DeadLetter[] = [];
  readonly #lettersMax: number;
  #count = 0;

  constructor(lettersMax: number) {
    this.#lettersMax = lettersMax;
  }

  get count(): number {
    return this.#count;
  }

  add(letter: DeadLetter): void {
    this.#count += 1;
    this.#letters.push(letter);
    if (this.#letters.length > this.#lettersMax) this.#letters.shift();
  }

  list(): readonly DeadLetter[] {
    return [...this.#letters];
  }
}

const errorCharsMax = 200;
/** Long unbroken runs of hex, base64 or digits: never worth reading in a log, and possibly a secret. */
const opaqueRun = /[A-Za-z0-9+/=_-]{32,}/g;

export function safeErrorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
  return text.replace(opaqueRun, '…').slice(0, errorCharsMax);
}

/** Where it was thrown, without the error's text. */
export function safeStack(error: unknown): string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [];
  return error.stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim())
    .slice(0, 8);
}

export interface RestartPolicy {
  /** Restarts within the window count together. */
  readonly windowMs: number;
  /** So many restarts a window happen at once; those beyond wait. */
  readonly immediateMax: number;
  /** The first wait; doubled with every further restart of the window. */
  readonly backOffMinMs: number;
  readonly backOffMaxMs: number;
}

export const defaultRestartPolicy: RestartPolicy = Object.freeze({
  windowMs: 10_000,
  immediateMax: 3,
  backOffMinMs: 100,
  backOffMaxMs: 5_000,
});

/** The restarts of one actor. */
export class RestartPacer {
  readonly #policy: RestartPolicy;
  #timesMs: number[] = [];

  constructor(policy: RestartPolicy) {
    this.#policy = policy;
  }

  /** Counts a restart and returns how long it has to wait, in milliseconds; 0: not at all. */
  next(nowMs: number): number {
    const { windowMs, immediateMax, backOffMinMs, backOffMaxMs } = this.#policy;
    // A clock that jumped back would keep old restarts for ever: those count as outside the window too.
    this.#timesMs = this.#timesMs.filter((timeMs) => timeMs <= nowMs && timeMs > nowMs - windowMs);
    this.#timesMs.push(nowMs);
    const excess = this.#timesMs.length - immediateMax;
    return excess <= 0 ? 0 : Math.min(backOffMaxMs, backOffMinMs * 2 ** Math.min(excess - 1, 20));
  }
}
