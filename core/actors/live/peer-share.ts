/**
 * What one peer may cost the link server unasked, over all its links: frames that no actor asked for, control frames, and new
 * links. Over its share the server reads the peer slower, at most `readPerSecond` unasked frames a second; it cuts a link only
 * after `cutAfterMs` above `cutPerSecond` of them. A peer that sends what it was asked for is never read slower.
 *
 * The time above the bound counts down as slowly as it counted up, and stays with the peer: a new link begins with it.
 */

/** Unasked frames a second that are read; the pause that reads no more is `pauseMaxMs` at most, shorter than three heartbeats. */
const readPerSecond = 2_000;
const burst = 200;
const pauseMaxMs = 1_000;
const cutPerSecond = 1_000;
const cutAfterMs = 5_000;
/** An unasked message counts as one frame for each of these, at least. */
const bytesPerFrame = 1_024;
const windowMs = 1_000;
/** Links that a peer may open at once, and the time of each further one. */
const linksBurst = 10;
const linkMs = 500;
const linkWaitMaxMs = 4_000;

export class PeerShare {
  readonly #elapsedMs: () => number;
  /** When the unasked frames so far, and the links so far, are paid for. */
  #framesPaidMs = Number.NEGATIVE_INFINITY;
  #linksPaidMs = Number.NEGATIVE_INFINITY;
  #windowFrom: number;
  #inWindow = 0;
  #overMs = 0;

  /** `elapsedMs`: never goes back. */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
    this.#windowFrom = elapsedMs();
  }

  /** The milliseconds for which to read nothing of this peer, or that its link must end. */
  unasked(frames: number, bytes: number): number | 'cut' {
    const nowMs = this.#elapsedMs();
    const count = Math.max(frames, Math.ceil(bytes / bytesPerFrame));
    this.#inWindow += count;
    const passedMs = nowMs - this.#windowFrom;
    if (passedMs >= windowMs) {
      const isOver = (this.#inWindow * 1000) / passedMs > cutPerSecond;
      this.#overMs = Math.max(0, Math.min(cutAfterMs, this.#overMs + (isOver ? passedMs : -passedMs)));
      this.#inWindow = 0;
      this.#windowFrom = nowMs;
      if (isOver && this.#overMs >= cutAfterMs) return 'cut';
    }
    const burstMs = (burst * 1000) / readPerSecond;
    this.#framesPaidMs = Math.max(this.#framesPaidMs, nowMs - burstMs) + (count * 1000) / readPerSecond;
    // A pause that is cut short here is not made up for later.
    this.#framesPaidMs = Math.min(this.#framesPaidMs, nowMs + pauseMaxMs);
    return Math.max(0, this.#framesPaidMs - nowMs);
  }

  /** The milliseconds after which another link may open; undefined: not in time. */
  link(): number | undefined {
    const nowMs = this.#elapsedMs();
    const paidMs = Math.max(this.#linksPaidMs, nowMs - linksBurst * linkMs) + linkMs;
    if (paidMs - nowMs > linkWaitMaxMs) return undefined;
    this.#linksPaidMs = paidMs;
    return Math.max(0, paidMs - nowMs);
  }

  /** Whether it owes nothing: an entry without meaning. */
  get isIdle(): boolean {
    const nowMs = this.#elapsedMs();
    return this.#overMs <= 0 && this.#framesPaidMs <= nowMs && this.#linksPaidMs <= nowMs - linksBurst * linkMs;
  }
}
