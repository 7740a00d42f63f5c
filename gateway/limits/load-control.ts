/**
 * Load control of a gateway: it refuses calls that it cannot finish in time with 429 / RESOURCE_EXHAUSTED before any effect:
 * before it counts the rate limit, reads the body or claims an idempotency key. Each class of calls has its own gate
 * (core/actors/admission/work-gate.ts); health and the public pages have none, so that they never wait.
 *
 * A call holds a place while it is processed, not while its body arrives or its answer leaves: a slow client holds none.
 */
import { GateHost, type GatePlace } from '../../core/actors/admission/gate-host.ts';
import { ReturnTimes, returnLeastMs } from '../../core/actors/admission/return-times.ts';
import type { Timers } from '../../core/actors/contract.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { LoadClass } from '../api/route.ts';

export interface LoadLimits {
  /** Calls of a class that are worked on at once, at most. */
  readonly inHandMax: number;
  /** How long a call may wait for its place in a burst; in a lasting overload a quarter of it. `continuing`: ten times as long, always. */
  readonly waitMs: number;
}

export const loadLimitDefaults: LoadLimits = { inHandMax: 4_096, waitMs: 500 };

/**
 * A late process still accepts continuing calls and refuses beginning ones. The places are many, because a tenant begins no
 * session while such a call of it waits.
 */
const continuingLeast = 1_024;
/** Its work is done elsewhere: a gateway that is late for its refusals alone would be no faster with fewer places. */
const signingLeast = 128;
const lateMs = 100;
/**
 * Refusing a call that continues a session would waste what the session has cost so far. So it waits, and its tenant begins no
 * session meanwhile.
 */
const continuingWaits = 10;
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
  readonly #returns = new Map<LoadClass, ReturnTimes>();
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
    const continuingMs = continuingWaits * waitMs;
    const continuing = {
      ...{ ...gate, limitStart: least, limitMin: least },
      ...{ burstWaitMs: continuingMs, standingAfterMs: continuingMs, standingWaitMs: continuingMs },
    };
    const signing = {
      ...gate,
      mayStart: (tenant: string) => !this.#host.gate('continuing').hasWaiting(tenant),
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
      const retryAfterS = this.#returnS(loadClass, returnLeastMs);
      return new ServiceError('overloaded', `${pressure}: nothing was started, repeat later`, { retryAfterS });
    }
    const retryAfterMs = this.#host.refusal(loadClass, tenant);
    return retryAfterMs === undefined ? undefined : this.#tooMuch(loadClass, retryAfterMs);
  }

  /** Calls one of the two, once, possibly before it returns; neither after `leave`. */
  enter(
    loadClass: LoadClass,
    tenant: string,
    onStart: (place: GatePlace) => void,
    onRefused: (error: ServiceError) => void,
  ): GatePlace {
    return this.#host.enter(loadClass, tenant, onStart, (retryAfterMs) =>
      onRefused(this.#tooMuch(loadClass, retryAfterMs)),
    );
  }

  #tooMuch(loadClass: LoadClass, retryAfterMs: number): ServiceError {
    const retryAfterS = this.#returnS(loadClass, Math.max(returnLeastMs, Math.ceil(retryAfterMs / 1000) * 1000));
    const key = `${loadClass} ${retryAfterS}`;
    let refusal = refusals.get(key);
    if (refusal === undefined) {
      refusal = refusalOf(loadClass, retryAfterS);
      refusals.set(key, refusal);
    }
    return refusal;
  }

  #returnS(loadClass: LoadClass, earliestMs: number): number {
    let returns = this.#returns.get(loadClass);
    if (returns === undefined) {
      returns = new ReturnTimes();
      this.#returns.set(loadClass, returns);
    }
    return Math.round(returns.next(this.#timers.elapsedMs(), earliestMs, this.#host.gate(loadClass).rate) / 1000);
  }
}

/** By class and seconds: thousands of callers get the same one. */
const refusals = new Map<string, ServiceError>();

function refusalOf(loadClass: LoadClass, retryAfterS: number): ServiceError {
  const text = `the gateway has more calls (${loadClass}) than it can finish in time: nothing was started, repeat in ${retryAfterS} s`;
  return new ServiceError('overloaded', text, { retryAfterS });
}
