/**
 * A first-in, first-out queue without per-item allocation: an actor's mailbox, and the live host's queue of actors with work.
 * It sets no bound of its own; the kernel compares `length` with the behaviour's `mailboxMax`.
 *
 * Invariant: items leave in order of arrival; the queue clears their slots, so that it retains no handled message.
 */
export class Mailbox<T> {
  #slots: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#slots.length - this.#head;
  }

  push(item: T): void {
    this.#slots.push(item);
  }

  /** The oldest item, or undefined when nothing waits. */
  shift(): T | undefined {
    const head = this.#head;
    const { length } = this.#slots;
    // Most mailboxes hold one item; `pop` leaves the array its memory.
    if (length - head <= 1) {
      const last = this.#slots.pop();
      if (head > 0) {
        this.#slots.length = 0;
        this.#head = 0;
      }
      return last;
    }
    const item = this.#slots[head];
    this.#slots[head] = undefined;
    this.#head = head + 1;
    // A queue that never runs empty would grow at its front for ever.
    if (this.#head >= 1024 && this.#head * 2 >= this.#slots.length) {
      this.#slots = this.#slots.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Removes and returns everything, oldest first. */
  drain(): T[] {
    const items = this.#slots.slice(this.#head) as T[];
    this.#slots = [];
    this.#head = 0;
    return items;
  }
}
