/**
 * A tenant's events as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): each once, in
 * order, from a sequence on, for as long as the reader listens.
 *
 * The place in the log is all that a stream remembers: it reads on when there is something new and its reader has taken
 * what came before. So a slow reader costs a page of memory and never a queue. Blocks with an id and without data (at the
 * beginning, and as heartbeat) dispatch nothing, but tell the reader how far it has come, also when nothing matches its
 * filters: a reader that reconnects with that id misses nothing and asks for nothing that is gone.
 */
import { Readable } from 'node:stream';
import type { Cancel, Timers } from '../../actors/contract.ts';
import type { Log } from '../../actors/live/ports.ts';
import { repeat } from '../../actors/waiting.ts';
import type { StreamCaller } from '../../api/route.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import { type EventQuery, StoreUnavailable, type TenantStore } from '../../store/contract.ts';
import type { Follower, Place } from './live-feed.ts';
import { eventView } from './view.ts';

export interface StreamTimes {
  readonly heartbeatMs: number;
  /** How often the token is looked at again. */
  readonly recheckMs: number;
  /** A reader that takes nothing for so long, although something waits for it, is cut off. */
  readonly stallMs: number;
}

export const streamTimes: StreamTimes = { heartbeatMs: 15_000, recheckMs: 30_000, stallMs: 30_000 };

export interface EventStreamOptions {
  readonly store: Pick<TenantStore, 'events'>;
  readonly place: Place;
  readonly caller: StreamCaller;
  /** Which events. */
  readonly filter: Pick<EventQuery, 'types' | 'resourceId' | 'connectionIds'>;
  readonly afterSequence: number;
  readonly environment: ClusterEnvironment;
  readonly timers: Timers;
  readonly log: Log;
  readonly times?: Partial<StreamTimes>;
}

const pageEvents = 100;
/** What waits for the reader in this process, beyond a page, at most. */
const bufferedBytes = 64 * 1024;
/** What browsers wait before they connect again. */
const reconnectMs = 1_000;

export class EventStream extends Readable implements Follower {
  readonly #options: EventStreamOptions;
  readonly #times: StreamTimes;
  readonly #cancelRepeats: readonly Cancel[];
  #cancelStall: Cancel | undefined;
  /** Everything up to here was given to the reader, or does not match. */
  #position: number;
  #lastSequence = 0;
  #isReading = false;
  #isWanted = false;
  #isOver = false;

  constructor(options: EventStreamOptions) {
    super({ highWaterMark: bufferedBytes });
    this.#options = options;
    this.#position = options.afterSequence;
    this.#times = { ...streamTimes, ...options.times };
    this.#cancelRepeats = [
      repeat(options.timers, this.#times.heartbeatMs, () => this.#beat()),
      repeat(options.timers, this.#times.recheckMs, () => this.#recheck()),
    ];
    // Also what makes the headers leave at once.
    this.#give(`retry: ${reconnectMs}\n${this.#place()}`);
    options.place.join(this);
  }

  news(lastSequence: number): void {
    this.#lastSequence = lastSequence;
    this.#readOn();
  }

  /** The reader connects again, and continues where it was. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const cancel of this.#cancelRepeats) cancel();
    this.push(null);
    this.#startStall();
  }

  override _read(): void {
    this.#isWanted = true;
    if (this.#isOver) return;
    this.#cancelStall?.();
    this.#cancelStall = undefined;
    this.#readOn();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#isOver = true;
    for (const cancel of this.#cancelRepeats) cancel();
    this.#cancelStall?.();
    this.#options.place.leave();
    done(error);
  }

  async #readOn(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { store, place, filter, log } = this.#options;
    try {
      while (this.#isWanted && !this.#isOver && this.#position < this.#lastSequence) {
        const asked = { ...filter, afterSequence: this.#position, limit: pageEvents };
        const page = await store.events(place.tenant, asked);
        if (this.#isOver) return;
        if (page.floorSequence > this.#position + 1) {
          // Some are gone unseen: who reconnects is told so.
          this.end();
          return;
        }
        this.#position = page.nextAfterSequence;
        const { environment } = this.#options;
        if (page.events.length > 0) this.#give(page.events.map((event) => block(event, environment)).join(''));
      }
    } catch (error) {
      // The feed comes back to it as soon as the log can be read.
      if (error instanceof StoreUnavailable) return;
      log.error({ reason: error instanceof Error ? error.stack : String(error) }, 'an event stream broke');
      this.destroy();
    } finally {
      this.#isReading = false;
    }
  }

  #give(text: string): void {
    this.#isWanted = this.push(text);
    if (!this.#isWanted) this.#startStall();
  }

  #startStall(): void {
    this.#cancelStall ??= this.#options.timers.start(this.#times.stallMs, () => this.destroy());
  }

  #beat(): void {
    if (this.#isWanted) this.#give(this.#place());
  }

  #place(): string {
    return `: heartbeat\nid: ${this.#position}\n\n`;
  }

  async #recheck(): Promise<void> {
    if (!(await this.#options.caller.stillAdmitted())) this.end();
  }
}

/** JSON has no line breaks of its own. */
function block(event: Parameters<typeof eventView>[0], environment: ClusterEnvironment): string {
  const data = JSON.stringify(eventView(event, environment));
  return `id: ${event.sequence}\nevent: ${event.type}\ndata: ${data}\n\n`;
}
