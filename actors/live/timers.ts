/**
 * The timers of one actor, by name. A timer that has fired but whose input still waits in the mailbox counts as running
 * until the actor gets it: cancelling or moving it meanwhile takes the input back.
 */

/** setTimeout's reach; beyond it Node fires after 1 ms instead. Longer waits are made of several. */
const timeoutMsMax = 2 ** 31 - 1;

export interface TimerInput {
  readonly kind: 'timer';
  readonly name: string;
}

interface Running {
  readonly input: TimerInput;
  handle: ReturnType<typeof setTimeout> | undefined;
}

export class Timers {
  readonly #running = new Map<string, Running>();
  readonly #fire: (input: TimerInput) => void;

  constructor(fire: (input: TimerInput) => void) {
    this.#fire = fire;
  }

  /** Starts or moves a timer. A negative duration, or one that is no number, fires as soon as possible. */
  start(name: string, afterMs: number): void {
    this.cancel(name);
    const running: Running = { input: { kind: 'timer', name }, handle: undefined };
    this.#running.set(name, running);
    this.#arm(running, Math.max(afterMs, 0) || 0);
  }

  cancel(name: string): void {
    const running = this.#running.get(name);
    if (running === undefined) return;
    clearTimeout(running.handle);
    this.#running.delete(name);
  }

  /** Whether the fired timer's input is still wanted; it stops counting as running. */
  claim(input: TimerInput): boolean {
    if (this.#running.get(input.name)?.input !== input) return false;
    this.#running.delete(input.name);
    return true;
  }

  clear(): void {
    for (const running of this.#running.values()) clearTimeout(running.handle);
    this.#running.clear();
  }

  #arm(running: Running, afterMs: number): void {
    const waitMs = Math.min(afterMs, timeoutMsMax);
    running.handle = setTimeout(() => {
      running.handle = undefined;
      if (afterMs > waitMs) this.#arm(running, afterMs - waitMs);
      else this.#fire(running.input);
    }, waitMs);
  }
}
