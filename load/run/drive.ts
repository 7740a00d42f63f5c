/**
 * Starts the operations of a stage: at their times (open), or so many at once (closed). An operation that is due while as
 * many are under way as allowed is not sent; it is counted, and never put off. An operation belongs to the stage in which
 * it arrived, also when it ends later.
 */
import { setMaxListeners } from 'node:events';
import type { ArrivalKind, Stage } from '../plan/plan.ts';
import { arrivalTimes } from '../plan/schedule.ts';

export interface Clock {
  /** Monotonic. */
  nowMs(): number;
  /** Resolves then, or soon after the signal was aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Lets what has arrived be handled. */
  turn(): Promise<void>;
}

/** Of an operation that was sent; both by the clock. */
export interface Attempt {
  /** When it was due. Latency counts from here. */
  readonly intendedMs: number;
  readonly sentMs: number;
}

export interface DriveOptions {
  readonly stage: Stage;
  readonly arrivals: ArrivalKind;
  readonly random: () => number;
  readonly clock: Clock;
  readonly inFlight: InFlight;
  /** Aborted: nothing more is sent. */
  readonly signal: AbortSignal;
  /** Runs one operation. Resolves with whether it succeeded, and never rejects. */
  readonly operate: (attempt: Attempt) => Promise<boolean>;
  readonly onUnsent: () => void;
}

/** Operations under way, over all stages. */
export class InFlight {
  readonly max: number;
  count = 0;
  #onIdle: (() => void) | undefined;

  constructor(max: number) {
    this.max = max;
  }

  get isFull(): boolean {
    return this.count >= this.max;
  }

  async track<T>(work: Promise<T>): Promise<T> {
    this.count += 1;
    try {
      return await work;
    } finally {
      this.count -= 1;
      if (this.count === 0) this.#onIdle?.();
    }
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.count === 0) resolve();
      else this.#onIdle = resolve;
    });
  }
}

/** After so many sends without a wait, answers get a turn: a generator that is late must not become deaf, too. */
const sendsATurn = 32;
/** A service that refuses at once must not be hammered by callers of a closed stage. */
const afterErrorMs = 20;

/** Resolves when the stage's time is over. What it has sent may still be under way. */
export async function drive(options: DriveOptions): Promise<void> {
  const { stage, clock, signal } = options;
  // Every caller that waits listens to it.
  setMaxListeners(0, signal);
  const endMs = clock.nowMs() + stage.forMs;
  if (stage.shape === 'closed') {
    await Promise.all(Array.from({ length: stage.callers }, () => caller(options, endMs)));
    return;
  }
  await openStage(options, stage);
  if (!signal.aborted && clock.nowMs() < endMs) await clock.sleep(endMs - clock.nowMs(), signal);
}

async function openStage(options: DriveOptions, stage: Exclude<Stage, { readonly shape: 'closed' }>): Promise<void> {
  const { arrivals, random, clock, inFlight, signal, operate, onUnsent } = options;
  const beganMs = clock.nowMs();
  let sends = 0;
  for (const atMs of arrivalTimes(stage, arrivals, random)) {
    const intendedMs = beganMs + atMs;
    let sentMs = clock.nowMs();
    while (sentMs < intendedMs && !signal.aborted) {
      await clock.sleep(intendedMs - sentMs, signal);
      sends = 0;
      sentMs = clock.nowMs();
    }
    if (sends >= sendsATurn) {
      await clock.turn();
      sends = 0;
      sentMs = clock.nowMs();
    }
    if (signal.aborted) return;
    sends += 1;
    if (inFlight.isFull) onUnsent();
    else void inFlight.track(operate({ intendedMs, sentMs }));
  }
}

/** Waits with its last operation beyond the end of the stage, but begins none after it. */
async function caller({ clock, inFlight, signal, operate }: DriveOptions, endMs: number): Promise<void> {
  for (;;) {
    const sentMs = clock.nowMs();
    if (sentMs >= endMs || signal.aborted) return;
    const succeeded = await inFlight.track(operate({ intendedMs: sentMs, sentMs }));
    if (!succeeded) await clock.sleep(afterErrorMs, signal);
  }
}
