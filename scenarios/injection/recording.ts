/**
 * What the injector saw, in a ring: the newest events of the run, each at a position that never changes. Older ones make
 * room, and a reader that continues before them gets `lost`. A session's transcript is what the ring still has of it.
 */
import type { TranscriptFrame } from '../faults/control.ts';
import type { RunEvent } from '../faults/recording.ts';

/** About 20 MB at most. */
const eventsMax = 50_000;

export class Recording {
  readonly #eventsMax: number;
  readonly #ring: RunEvent[] = [];
  /** Events that were ever added: the position of the next one. */
  #added = 0;

  constructor(max = eventsMax) {
    this.#eventsMax = max;
  }

  add(event: RunEvent): void {
    this.#ring[this.#added % this.#eventsMax] = event;
    this.#added += 1;
  }

  /** Up to `limit` events from position `after` on. `next`: where to read on. `lost`: some before them are gone. */
  read(after: number, limit: number): { events: readonly RunEvent[]; next: number; lost: boolean } {
    const from = Math.min(Math.max(after, this.#oldest), this.#added);
    const to = Math.min(this.#added, from + limit);
    const events: RunEvent[] = [];
    for (let position = from; position < to; position += 1) events.push(this.#at(position));
    return { events, next: to, lost: after < this.#oldest };
  }

  /** The newest `limit` frames of a session, oldest first. `truncated`: there were more, or may have been. */
  transcript(
    tenant: string,
    session: string,
    limit: number,
  ): { frames: readonly TranscriptFrame[]; truncated: boolean } {
    const frames: TranscriptFrame[] = [];
    for (let position = this.#added - 1; position >= this.#oldest; position -= 1) {
      const event = this.#at(position);
      if (event.kind !== 'frame' || event.session !== session || event.tenant !== tenant) continue;
      if (frames.length === limit) return { frames: frames.reverse(), truncated: true };
      frames.push(event);
    }
    return { frames: frames.reverse(), truncated: this.#oldest > 0 };
  }

  /** Removes all events; positions continue. */
  clear(): void {
    this.#ring.length = 0;
    this.#cleared = this.#added;
  }

  #cleared = 0;

  get #oldest(): number {
    return Math.max(this.#cleared, this.#added - this.#eventsMax);
  }

  #at(position: number): RunEvent {
    return this.#ring[position % this.#eventsMax] as RunEvent;
  }
}
