/**
 * What the injector saw, in a ring: the newest events of the run, each at a position that never changes. Older ones make
 * room, and a reader that continues before them gets `lost`. Frames of sessions stay for longer, by session.
 */
import type { TranscriptFrame } from '../faults/control.ts';
import type { RunEvent } from '../faults/recording.ts';
import { type BookLimits, type Outcome, RecordedSessions } from './session-book.ts';

/** About 20 MB at most. */
const eventsMax = 50_000;

interface ReadEvents {
  readonly events: readonly RunEvent[];
  /** Of each event. */
  readonly positions: readonly number[];
  /** Where to read on. */
  readonly next: number;
  /** Some before them are gone. */
  readonly lost: boolean;
}

export class Recording {
  readonly #eventsMax: number;
  readonly #ring: RunEvent[] = [];
  /** Events that were ever added: the position of the next one. */
  #added = 0;
  readonly sessions: RecordedSessions;
  readonly #waiting = new Set<() => void>();

  constructor(max = eventsMax, limits: Partial<BookLimits> = {}) {
    this.#eventsMax = max;
    this.sessions = new RecordedSessions(limits);
  }

  /** `outcome`: that a call's answer names. */
  add(event: RunEvent, outcome?: Outcome): void {
    this.sessions.add(event, this.#added, outcome);
    this.#ring[this.#added % this.#eventsMax] = event;
    this.#added += 1;
    if (this.#waiting.size > 0) for (const wake of this.#waiting) wake();
  }

  get end(): number {
    return this.#added;
  }

  /** Calls `wake` at each new event, until the returned function is called. */
  watch(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /** Up to `limit` events from position `after` on. */
  read(after: number, limit: number): ReadEvents {
    const from = Math.min(Math.max(after, this.#oldest), this.#added);
    const to = Math.min(this.#added, from + limit);
    const events: RunEvent[] = [];
    const positions: number[] = [];
    for (let position = from; position < to; position += 1) {
      events.push(this.#ring[position % this.#eventsMax] as RunEvent);
      positions.push(position);
    }
    return { events, positions, next: to, lost: after < this.#oldest };
  }

  /** The frames of a session. `lost`: not all, or none although there may have been some. */
  ofSession(tenant: string, session: string): ReadEvents {
    const entry = this.sessions.find(tenant, session);
    const { kept: events = [], positions = [], frames = 0 } = entry ?? {};
    const lost = entry === undefined ? this.sessions.hasDropped : events.length < frames;
    return { events, positions, next: this.#added, lost };
  }

  /** The newest `limit` frames of a session, oldest first. `truncated`: there were more, or may have been. */
  transcript(
    tenant: string,
    session: string,
    limit: number,
  ): { frames: readonly TranscriptFrame[]; truncated: boolean } {
    const { events, lost } = this.ofSession(tenant, session);
    const frames = events as readonly TranscriptFrame[];
    return { frames: frames.slice(-limit), truncated: lost || frames.length > limit };
  }

  get #oldest(): number {
    return Math.max(0, this.#added - this.#eventsMax);
  }
}
