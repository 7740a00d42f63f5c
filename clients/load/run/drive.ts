/**
 * Starts the operations of a stage: at their times (open), or a fixed number at once (closed). An operation that is due at the
 * limit of operations in progress is not sent; it is counted, and never postponed. An operation belongs to the stage of its
 * arrival, also when it ends later.
 */
import { setMaxListeners } from 'node:events';
import type { ArrivalKind, RunStage } from '../plan/plan.ts';
import { arrivalTimes, type OpenStage } from '../plan/schedule.ts';

export interface LoadClock {
  /** Monotonic. */
  nowMs(): number;
  /** Resolves at that time, or soon after the signal was aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Lets the process handle arrived data. */
  turn(): Promise<void>;
}

/** Of a sent operation; both by the clock. */
export interface SendTimes {
  /** The due time. Latency counts from here. */
  readonly intendedMs: number;
  readonly sentMs: number;
}

export interface DriveOptions {
  readonly stage: RunStage;
  readonly arrivals: ArrivalKind;
  readonly random: () => number;
  readonly clock: LoadClock;
  readonly inFlight: InFlight;
  /** Aborted: it sends nothing more. */
  readonly signal: AbortSignal;
  /** Runs one operation. Resolves with whether it succeeded, and never rejects. */
  readonly operate: (attempt: SendTimes) => Promise<boolean>;
  readonly onUnsent: () => void;
}

/** Operations in progress, over all stages. */
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

  /** Resolves when no operation is in progress. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.count === 0) resolve();
      else this.#onIdle = resolve;
    });
  }
}

/** After this many sends without a wait, answers are handled: a late generator must still receive. */
const sendsATurn = 32;
/** Callers of a closed stage must not overrun a service that refuses at once. */
const afterErrorMs = 20;

/** Resolves when the stage's time is over. Its operations may still be in progress. */
export async function drive(options: DriveOptions): Promise<void> {
  const { stage, clock, signal } = options;
  // Every waiting caller listens to it.
  setMaxListeners(0, signal);
  const endMs = clock.nowMs() + stage.forMs;
  if (stage.shape === 'closed') {
    await Promise.all(Array.from({ length: stage.callers }, () => caller(options, endMs)));
    return;
  }
  await openStage(options, stage);
  if (!signal.aborted && clock.nowMs() < endMs) await clock.sleep(endMs - clock.nowMs(), signal);
}

async function openStage(options: DriveOptions, stage: OpenStage): Promise<void> {
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

/** A caller waits for its last operation beyond the end of the stage, but begins none after it. */
async function caller({ clock, inFlight, signal, operate }: DriveOptions, endMs: number): Promise<void> {
  for (;;) {
    const sentMs = clock.nowMs();
    if (sentMs >= endMs || signal.aborted) return;
    const succeeded = await inFlight.track(operate({ intendedMs: sentMs, sentMs }));
    if (!succeeded) await clock.sleep(afterErrorMs, signal);
  }
}
