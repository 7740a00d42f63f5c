/**
 * Runs asynchronous code in virtual time: one event at a time, in the order of the seeded schedule, and after each event that may
 * have resolved a promise a turn of the event loop, so that all code that waited for it runs before the next one. Events of the
 * signing cluster resolve no promises and need no turn.
 */
// Node's own, even where a test has replaced the global one.
import { setImmediate } from 'node:timers';
import type { Cryptography } from '../../core/crypto/backend.ts';
import { holdCryptography } from '../../core/crypto/model/switch.ts';
import { holdObjects, type ObjectTable } from '../../wallets/store/event-text.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';

/** Whether a loop of this process has its turn, and the waiting loops, first come first. */
let isTaken = false;
const waiting: (() => void)[] = [];

/** More turns at one moment mean an endless loop. */
const turnsAtOnceMax = 20_000;

export class RunLoop {
  readonly #time: VirtualTime;
  readonly #cryptography: Cryptography;
  readonly #objects: ObjectTable | undefined;
  readonly #onFailure: ((error: unknown) => void) | undefined;
  #turns = 0;
  #turnsHere = 0;
  #hereMs = 0;
  #failure: unknown;

  /** `onFailure`: gets failures; without it, they end the run. `objects`: where the store keeps larger objects instead of packing them. */
  constructor(
    time: VirtualTime,
    cryptography: Cryptography = 'real',
    onFailure?: (error: unknown) => void,
    objects?: ObjectTable,
  ) {
    this.#objects = objects;
    this.#onFailure = onFailure;
    this.#time = time;
    this.#cryptography = cryptography;
  }

  /** Turns of the event loop so far. */
  get turns(): number {
    return this.#turns;
  }

  /** A process threw outside of any promise: the run ends with its error. */
  failed(error: unknown): void {
    if (this.#onFailure !== undefined) this.#onFailure(error);
    else this.#failure ??= error;
  }

  /**
   * Runs the world until the condition holds; false: it did not within that much virtual time. Throws an error that a process
   * threw, and when events follow each other without end at one moment.
   */
  async until(condition: () => boolean, withinMs: number): Promise<boolean> {
    let over = false;
    const endTask = this.#time.after(withinMs, () => {
      over = true;
    });
    const isDone = () => over || condition();
    try {
      await this.#inTurn(() => undefined);
      while (!isDone()) await this.#inTurn(() => this.#time.runUntil(() => this.#time.isAwake || isDone()));
      return condition();
    } finally {
      endTask();
    }
  }

  /**
   * Runs events, and then all code that they made ready, with the cryptography of this world. The choice of cryptography belongs
   * to the process, so its loops take turns at it, in the order of their requests.
   */
  async #inTurn(events: () => void): Promise<void> {
    if (isTaken) await new Promise<void>((resolve) => waiting.push(resolve));
    isTaken = true;
    const restore = holdCryptography(this.#cryptography);
    const release = holdObjects(this.#objects);
    try {
      events();
      await this.#settle();
    } finally {
      release();
      restore();
      const next = waiting.shift();
      if (next === undefined) isTaken = false;
      else next();
    }
  }

  /** The result of `work`; throws when it has none within that much virtual time. */
  async result<T>(work: Promise<T>, withinMs: number): Promise<T> {
    let done = false;
    work.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    this.#time.woken();
    if (await this.until(() => done, withinMs)) return work;
    throw new Error(`no result within ${withinMs} ms of virtual time`);
  }

  async #settle(): Promise<void> {
    while (this.#time.isAwake) {
      this.#time.settling();
      this.#count();
      await turnOfEventLoop();
      if (this.#failure !== undefined) throw this.#failure;
    }
  }

  #count(): void {
    this.#turns += 1;
    const nowMs = this.#time.nowMs();
    if (nowMs > this.#hereMs) this.#turnsHere = 0;
    this.#hereMs = nowMs;
    this.#turnsHere += 1;
    if (this.#turnsHere > turnsAtOnceMax) throw new Error(`no end at ${nowMs}: a loop waits for nothing`);
  }
}

/**
 * When it resolves, every earlier microtask and `process.nextTick` has run, with all their consequences: Node guarantees that
 * before its next phase begins. So it is the exact border between two events of a simulated world, for chains of promises of any
 * length. No simulated process can notice its duration, or the other work of the process meanwhile.
 */
export function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
