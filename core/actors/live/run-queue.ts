/**
 * The actors with work, in the order in which they got it. Running the queue handles them until none is left, so that actors
 * which wake each other need no recursion; after `itemsMax` in a row the rest waits for the event loop's next turn, so that
 * actors which keep each other busy do not starve the sockets.
 */
import { Mailbox } from '../kernel/mailbox.ts';

export class RunQueue<T> {
  readonly #items = new Mailbox<T>();
  readonly #handle: (item: T) => void;
  readonly #itemsMax: number;
  #running = false;
  #planned = false;

  constructor(handle: (item: T) => void, itemsMax: number) {
    this.#handle = handle;
    this.#itemsMax = itemsMax;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Handles the waiting items, unless it is already running. `handle` must not throw. */
  run(): void {
    if (this.#running) return;
    this.#running = true;
    let left = this.#itemsMax;
    for (let item = this.#items.shift(); item !== undefined; item = this.#items.shift()) {
      this.#handle(item);
      left -= 1;
      if (left <= 0) break;
    }
    this.#running = false;
    if (this.#items.length > 0) this.#plan();
  }

  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    setImmediate(() => {
      this.#planned = false;
      this.run();
    });
  }
}
