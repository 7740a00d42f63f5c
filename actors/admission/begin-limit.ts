/**
 * How many calls that begin something a process has under way at one other process. It falls when that one refuses some for load,
 * and rises while it takes them: so most of an overload is refused by the caller, before the other is asked. Each of several others
 * has a limit of its own: one that is overloaded does not limit the rest. (Additive increase, multiplicative decrease.)
 *
 * The time of an answer does not count: it holds the delay of this process too, which fewer calls there do not shorten.
 */
const limitMin = 64;
const limitMax = 4_096;
const fall = 0.8;
/** A burst of refusals is one sign. */
const fallEveryMs = 100;

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

  /** After `end`. `refused`: for load, without any effect. */
  answered(refused: boolean, nowMs: number): void {
    if (!refused) {
      if (this.#underWay * 2 >= this.#limit) this.#limit = Math.min(limitMax, this.#limit + 1);
      return;
    }
    if (nowMs - this.#fellMs < fallEveryMs) return;
    this.#fellMs = nowMs;
    this.#limit = Math.max(limitMin, Math.floor(Math.min(this.#limit, this.#underWay + 1) * fall));
  }
}
