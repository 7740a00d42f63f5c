/**
 * Load control of a gateway: it refuses calls that it cannot finish in time with 429 / RESOURCE_EXHAUSTED before any effect:
 * before it counts the rate limit, reads the body or claims an idempotency key. Each class of calls has its own gate
 * (actors/admission/work-gate.ts); health and the public pages have none, so that they never wait.
 *
 * A call holds a place while it is processed, not while its body arrives or its answer leaves: a slow client holds none.
 */
import { GateHost, type Place } from '../../actors/admission/gate-host.ts';
import type { Timers } from '../../actors/contract.ts';
import { ServiceError } from '../../api/errors/service-error.ts';
import type { LoadClass } from '../../api/route.ts';

export interface LoadLimits {
  /** Calls of a class that are worked on at once, at most. */
  readonly inHandMax: number;
  /** How long a call may wait for its place in a burst; in a lasting overload a quarter of it. */
  readonly waitMs: number;
}

export const loadLimitDefaults: LoadLimits = { inHandMax: 4_096, waitMs: 500 };

/** A late process still accepts continuing calls and refuses beginning ones. */
const continuingLeast = 256;
/** Its work is done elsewhere: a gateway that is late for its refusals alone would be no faster with fewer places. */
const signingLeast = 128;
const lateMs = 100;
/** How long a pressure on a class is taken to last after it has refused a call. */
const pressedMs = 1_000;

export interface LoadControlOptions {
  readonly timers: Timers;
  readonly limits?: Partial<LoadLimits>;
  /** One round trip to the store. Never rejects. */
  readonly probe?: () => Promise<unknown>;
}

/** Why a call of a class and a tenant is refused beside the gate; undefined: it is not. */
export type Pressure = (tenant: string) => string | undefined;

export class LoadControl {
  readonly #host: GateHost<LoadClass>;
  readonly #pressures = new Map<LoadClass, Pressure>();
  readonly #timers: Timers;
  #pressedUntilMs = 0;

  constructor({ timers, limits, probe }: LoadControlOptions) {
    this.#timers = timers;
    const { inHandMax, waitMs } = { ...loadLimitDefaults, ...limits };
    const gate = {
      limitStart: Math.min(64, inHandMax),
      limitMin: Math.min(16, inHandMax),
      limitMax: inHandMax,
      burstWaitMs: waitMs,
      standingAfterMs: waitMs / 2,
      standingWaitMs: waitMs / 4,
    };
    const least = Math.min(continuingLeast, inHandMax);
    const continuing = { ...gate, limitStart: least, limitMin: least };
    const signing = {
      ...gate,
      limitStart: Math.min(signingLeast, inHandMax),
      limitMin: Math.min(signingLeast, inHandMax),
    };
    const gates = { reads: gate, writes: gate, transfers: gate, signing, continuing };
    this.#host = new GateHost({ timers, gates, ...(probe !== undefined && { probe }) });
  }

  /** Whether the process was more than a tenth of a second late when that was last measured. */
  get isLate(): boolean {
    return this.#host.delayMs > lateMs;
  }

  /** Asks `pressure` before each call of the class. */
  heed(loadClass: LoadClass, pressure: Pressure): void {
    this.#pressures.set(loadClass, pressure);
  }

  /** Whether calls are being refused: quick to ask for every call. */
  get mayRefuse(): boolean {
    return this.#host.isWaiting || (this.#pressedUntilMs > 0 && this.#timers.elapsedMs() < this.#pressedUntilMs);
  }

  /** Whether a call would be refused now. It takes no place. */
  refusal(loadClass: LoadClass, tenant: string): ServiceError | undefined {
    const pressure = this.#pressures.get(loadClass)?.(tenant);
    if (pressure !== undefined) {
      this.#pressedUntilMs = this.#timers.elapsedMs() + pressedMs;
      return new ServiceError('overloaded', `${pressure}: nothing was started, repeat later`);
    }
    const retryAfterMs = this.#host.refusal(loadClass, tenant);
    return retryAfterMs === undefined ? undefined : tooMuch(loadClass, retryAfterMs);
  }

  /** Calls one of the two, once, possibly before it returns; neither after `leave`. */
  enter(
    loadClass: LoadClass,
    tenant: string,
    onStart: (place: Place) => void,
    onRefused: (error: ServiceError) => void,
  ): Place {
    return this.#host.enter(loadClass, tenant, onStart, (retryAfterMs) => onRefused(tooMuch(loadClass, retryAfterMs)));
  }
}

/** By class and seconds: thousands of callers get the same one. */
const refusals = new Map<string, ServiceError>();

function tooMuch(loadClass: LoadClass, retryAfterMs: number): ServiceError {
  const retryAfterS = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const key = `${loadClass} ${retryAfterS}`;
  let refusal = refusals.get(key);
  if (refusal === undefined) {
    refusal = refusalOf(loadClass, retryAfterS);
    refusals.set(key, refusal);
  }
  return refusal;
}

function refusalOf(loadClass: LoadClass, retryAfterS: number): ServiceError {
  const text = `the gateway has more calls (${loadClass}) than it can finish in time: nothing was started, repeat in ${retryAfterS} s`;
  return new ServiceError('overloaded', text, { retryAfterS });
}
