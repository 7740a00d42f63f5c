/**
 * What the injector saw, in a ring: the newest events of the run, each at a position that never changes. Older ones make
 * room, and a reader that continues before them gets `lost`. Frames of sessions stay for longer, by session: they are sorted when
 * a reader asks for sessions. Before the ring overwrites what none asked for, those that failed, blamed a node or met a fault are kept.
 */
import type { TranscriptFrame } from '../faults/control.ts';
import type { RunEvent } from '../faults/recording.ts';
import { type BookLimits, keyOf, notableKey, type Outcome, RecordedSessions } from './session-book.ts';

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
  /** Of the same places: that a call's answer names. */
  readonly #outcomes: (Outcome | undefined)[] = [];
  readonly #sessions: RecordedSessions;
  /** Events before it are in the sessions, or were passed over. */
  #sorted = 0;
  readonly #waiting = new Set<() => void>();

  constructor(max = eventsMax, limits: Partial<BookLimits> = {}) {
    this.#eventsMax = max;
    this.#sessions = new RecordedSessions(limits);
  }

  /** `outcome`: that a call's answer names. */
  add(event: RunEvent, outcome?: Outcome): void {
    if (this.#added - this.#sorted === this.#eventsMax) this.#skim();
    const place = this.#added % this.#eventsMax;
    this.#ring[place] = event;
    this.#outcomes[place] = outcome;
    this.#added += 1;
    if (this.#waiting.size > 0) for (const wake of this.#waiting) wake();
  }

  /** With all events up to now. */
  get sessions(): RecordedSessions {
    for (let position = this.#sorted; position < this.#added; position += 1) this.#sort(position);
    this.#sorted = this.#added;
    return this.#sessions;
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
    const { sessions } = this;
    const entry = sessions.find(tenant, session);
    const { kept: events = [], positions = [], frames = 0 } = entry ?? {};
    const lost = entry === undefined ? sessions.hasDropped : events.length < frames;
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

  #sort(position: number): void {
    const place = position % this.#eventsMax;
    this.#sessions.add(this.#ring[place]!, position, this.#outcomes[place]);
  }

  /** The older half of the ring, before it is overwritten: the newest sessions are not in it, so only the notable ones are kept. */
  #skim(): void {
    const wanted = new Set<string>();
    for (const { isNotable, state, tenant, session } of this.#sessions.all()) {
      if (state === 'open' || isNotable) wanted.add(keyOf(tenant, session));
    }
    for (let position = this.#sorted; position < this.#added; position += 1) {
      const place = position % this.#eventsMax;
      const event = this.#ring[place]!;
      const key = notableKey(event, this.#outcomes[place]);
      if (key !== undefined) wanted.add(key);
    }
    const to = this.#sorted + Math.ceil(this.#eventsMax / 2);
    for (let position = this.#sorted; position < to; position += 1) {
      const event = this.#ring[position % this.#eventsMax]!;
      const outcome = this.#outcomes[position % this.#eventsMax];
      const isWanted =
        event.kind === 'state' ||
        (event.kind === 'frame' &&
          wanted.size > 0 &&
          (wanted.has(keyOf(event.tenant, event.session)) ||
            (outcome !== undefined && wanted.has(keyOf(event.tenant, outcome.session)))));
      if (isWanted) this.#sort(position);
      else this.#sessions.passOver(event);
    }
    this.#sorted = to;
  }

  get #oldest(): number {
    return Math.max(0, this.#added - this.#eventsMax);
  }
}
