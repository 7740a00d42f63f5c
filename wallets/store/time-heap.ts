/** Items by time, the earliest first: thousands of waits need one timer. */
import TinyQueue from 'tinyqueue';

interface Wait<T> {
  readonly atMs: number;
  readonly item: T;
}

export class TimeHeap<T> {
  readonly #waits = new TinyQueue<Wait<T>>([], (a, b) => a.atMs - b.atMs);

  get nextAtMs(): number | undefined {
    return this.#waits.peek()?.atMs;
  }

  push(atMs: number, item: T): void {
    this.#waits.push({ atMs, item });
  }

  /** The earliest item, if its time has come. */
  popDue(nowMs: number): T | undefined {
    const first = this.#waits.peek();
    return first === undefined || first.atMs > nowMs ? undefined : this.#waits.pop()?.item;
  }
}
