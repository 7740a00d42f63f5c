/**
 * Limits how many beginning calls a process has in flight at one other process. The limit falls when that process refuses calls
 * for load, and rises while it accepts them: so the caller refuses most of an overload itself, without asking. Each target
 * process has its own limit, so an overloaded one does not limit the rest. (Additive increase, multiplicative decrease.)
 *
 * The limit ignores the time of answers: it includes the delay of this process, which fewer calls to the other would not
 * shorten.
 */
const limitMin = 64;
const limitMax = 4_096;
const fall = 0.8;
/** A burst of refusals counts once. */
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

  /** Answered, abandoned or lost: once for each started call. */
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
