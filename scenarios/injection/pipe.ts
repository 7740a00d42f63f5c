/**
 * One direction of one link: what goes out to a socket, at its time. Messages keep their order unless one may overtake;
 * a socket that takes no more makes its source wait.
 */
import type { WebSocket } from 'ws';

/** Bytes waiting in a socket: above the first its source is paused, below the second it resumes. */
const bufferedHighBytes = 4 * 1024 * 1024;
const bufferedLowBytes = 1024 * 1024;
/** A timer that waits longer does not wait at all. */
const timerMaxMs = 2 ** 31 - 1;
const sendOptions = Object.freeze({ binary: true, compress: false, fin: true });

interface Waiting {
  readonly dueMs: number;
  readonly leave: () => void;
}

export class Pipe {
  readonly #from: WebSocket;
  readonly #to: WebSocket;
  /** In order; the due times never fall. */
  readonly #queue: Waiting[] = [];
  readonly #overtaking = new Map<NodeJS.Timeout, () => void>();
  #timer: NodeJS.Timeout | undefined;
  #paused = false;
  #ended = false;

  constructor(from: WebSocket, to: WebSocket) {
    this.#from = from;
    this.#to = to;
  }

  /** Nothing waits: what comes now may leave at once. */
  get isClear(): boolean {
    return this.#queue.length === 0;
  }

  put(bytes: Uint8Array, afterMs = 0, unordered = false): void {
    if (unordered && afterMs > 0) {
      const leave = () => {
        this.#overtaking.delete(timer);
        this.#send(bytes);
      };
      const timer = setTimeout(leave, Math.min(timerMaxMs, afterMs));
      this.#overtaking.set(timer, leave);
    } else this.#wait(afterMs, () => this.#send(bytes));
  }

  /** Calls `action` when everything that waits in order has left, but not later than in `withinMs`. */
  whenDrained(withinMs: number, action: () => void): void {
    if (this.#ended || this.isClear) {
      this.end();
      action();
      return;
    }
    const limit = setTimeout(() => {
      this.end();
      action();
    }, withinMs);
    this.#wait(0, () => {
      clearTimeout(limit);
      this.end();
      action();
    });
  }

  /** What waits leaves at once, in order. */
  hurry(): void {
    for (const waiting of this.#queue.splice(0)) waiting.leave();
    for (const [timer, leave] of [...this.#overtaking]) {
      clearTimeout(timer);
      leave();
    }
  }

  /** What waits is lost. Repeatable. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const timer of this.#overtaking.keys()) clearTimeout(timer);
    this.#overtaking.clear();
    this.#queue.length = 0;
  }

  #wait(afterMs: number, leave: () => void): void {
    if (this.#ended) return;
    const last = this.#queue.at(-1);
    if (last === undefined && afterMs <= 0) {
      leave();
      return;
    }
    const dueMs = Math.max(performance.now() + afterMs, last?.dueMs ?? 0);
    this.#queue.push({ dueMs, leave });
    this.#arm();
  }

  #arm(): void {
    const next = this.#queue[0];
    if (next === undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        const nowMs = performance.now();
        for (let first = this.#queue[0]; first !== undefined && first.dueMs <= nowMs; first = this.#queue[0]) {
          this.#queue.shift();
          first.leave();
        }
        this.#arm();
      },
      Math.min(timerMaxMs, Math.max(0, next.dueMs - performance.now())),
    );
  }

  #send(bytes: Uint8Array): void {
    if (this.#ended || this.#to.readyState !== this.#to.OPEN) return;
    this.#to.send(bytes, sendOptions, this.#sent);
    if (!this.#paused && this.#to.bufferedAmount > bufferedHighBytes) {
      this.#paused = true;
      this.#from.pause();
    }
  }

  readonly #sent = (): void => {
    if (!this.#paused || this.#to.bufferedAmount > bufferedLowBytes) return;
    this.#paused = false;
    this.#from.resume();
  };
}
