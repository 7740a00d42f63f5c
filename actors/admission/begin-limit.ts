/**
 * How many calls that begin something a process has under way at one other process. It falls when that one refuses some for load
 * or answers late, and rises while it takes them in time: so most of an overload is refused by the caller, before the other is asked. Each of several others
 * has a limit of its own: one that is overloaded does not limit the rest. (Additive increase, multiplicative decrease.)
 */
const limitMin = 32;
const limitMax = 4_096;
const fall = 0.8;
/** A burst of refusals, or of late answers, is one sign. */
const fallEveryMs = 100;
/** An answer that took longer has waited in a queue; one that took half of it has not. */
const lateMs = 250;
/** For each call that was taken: a limit in use rises by a quarter of what is completed. */
const rise = 0.25;

export class BeginLimit {
  #limit = limitMax;
  #underWay = 0;
  #fellMs = Number.NEGATIVE_INFINITY;

  get limit(): number {
    return this.#limit;
  }

  hasRoom(): boolean {
    return this.#underWay < this.#limit;
  }

  start(): void {
    this.#underWay += 1;
  }

  /** Answered, given up or lost: once for each that started. */
  end(): void {
    this.#underWay -= 1;
  }

  /** After `end`. `refused`: for load, without any effect. `sinceMs`: when the call was sent; Infinity: its time says nothing of load. */
  answered(refused: boolean, sinceMs: number, nowMs: number): void {
    const tookMs = nowMs - sinceMs;
    if (!refused && tookMs <= lateMs) {
      const rises = tookMs <= lateMs / 2 && this.#underWay * 2 >= this.#limit;
      if (rises) this.#limit = Math.min(limitMax, this.#limit + rise);
      return;
    }
    if (nowMs - this.#fellMs < fallEveryMs) return;
    this.#fellMs = nowMs;
    this.#limit = Math.max(limitMin, Math.floor(Math.min(this.#limit, this.#underWay + 1) * fall));
  }
}
