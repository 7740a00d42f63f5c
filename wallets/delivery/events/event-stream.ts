/**
 * A tenant's events as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): each once, in
 * order, from a sequence on, for as long as the reader listens.
 *
 * A stream stores only its position in the log: it reads on when there are new events and its reader asks for more. So a slow
 * reader costs a page of memory and never a queue. Blocks with an id and without data (at the beginning, and as heartbeat)
 * dispatch nothing, but tell the reader how far it has come, also when nothing matches its filters: a reader that reconnects
 * with that id misses nothing and asks for nothing that is gone.
 */
import type { Cancel, Timers } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import { repeat } from '../../../core/actors/waiting.ts';
import type { StreamCaller } from '../../../gateway/api/route.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { type EventQuery, StoreUnavailable, type TenantStore } from '../../store/contract.ts';
import type { Follower, FollowerPlace } from './live-feed.ts';
import { eventView } from './view.ts';

export interface StreamTimes {
  readonly heartbeatMs: number;
  /** How often the token is checked again. */
  readonly recheckMs: number;
  /** A reader that takes nothing for this long, although data waits, is disconnected. */
  readonly stallMs: number;
}

export const streamTimes: StreamTimes = { heartbeatMs: 15_000, recheckMs: 30_000, stallMs: 30_000 };

export interface EventStreamOptions {
  readonly store: Pick<TenantStore, 'events'>;
  readonly place: FollowerPlace;
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
/** What browsers wait before they connect again. */
const reconnectMs = 1_000;

type Taken = IteratorResult<string, undefined>;

export class EventStream implements Follower, AsyncIterableIterator<string, undefined> {
  readonly #options: EventStreamOptions;
  readonly #times: StreamTimes;
  readonly #cancelRepeats: readonly Cancel[];
  #cancelStall: Cancel | undefined;
  /** What the reader has not asked for yet. */
  #waiting: string;
  /** Answers the reader, who waits for more. */
  #take: ((taken: Taken) => void) | undefined;
  /** The reader has got every matching event up to here. */
  #position: number;
  #lastSequence = 0;
  #isReading = false;
  #isOver = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#position = options.afterSequence;
    this.#times = { ...streamTimes, ...options.times };
    this.#cancelRepeats = [
      repeat(options.timers, this.#times.heartbeatMs, () => {
        if (this.#take !== undefined) this.#give(this.#place());
      }),
      repeat(options.timers, this.#times.recheckMs, () => this.#recheck()),
    ];
    this.#waiting = `retry: ${reconnectMs}\n${this.#place()}`;
    options.place.join(this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** More text. Ask again when it was taken: a reader that does not is cut off. */
  next(): Promise<Taken> {
    this.#cancelStall?.();
    this.#cancelStall = undefined;
    return new Promise((resolve) => {
      this.#take = resolve;
      if (this.#waiting !== '') this.#give(this.#waiting);
      else if (this.#isOver) this.#finish();
      else void this.#readOn();
    });
  }

  /** The reader has gone. Repeatable. */
  async return(): Promise<Taken> {
    this.end();
    this.#cancelStall?.();
    this.#options.place.leave();
    return over;
  }

  news(lastSequence: number): void {
    this.#lastSequence = lastSequence;
    void this.#readOn();
  }

  /** The reader connects again, and continues where it was. */
  end(): void {
    this.#isOver = true;
    for (const cancel of this.#cancelRepeats) cancel();
    this.#finish();
  }

  async #readOn(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { store, place, filter, log } = this.#options;
    try {
      while (this.#take !== undefined && !this.#isOver && this.#position < this.#lastSequence) {
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
      this.#cut();
    } finally {
      this.#isReading = false;
    }
  }

  /** To the reader, if it waits; else as soon as it asks. */
  #give(text: string): void {
    const take = this.#take;
    this.#waiting = take === undefined ? this.#waiting + text : '';
    if (take === undefined) return;
    this.#take = undefined;
    this.#cancelStall = this.#options.timers.start(this.#times.stallMs, () => this.#cut());
    take({ done: false, value: text });
  }

  #finish(): void {
    this.#take?.(over);
    this.#take = undefined;
  }

  #cut(): void {
    void this.return();
    this.#options.caller.cut();
  }

  #place(): string {
    return `: heartbeat\nid: ${this.#position}\n\n`;
  }

  async #recheck(): Promise<void> {
    if (!(await this.#options.caller.stillAdmitted())) this.end();
  }
}

const over: Taken = { done: true, value: undefined };

/** JSON has no line breaks of its own. */
function block(event: Parameters<typeof eventView>[0], environment: ClusterEnvironment): string {
  const data = JSON.stringify(eventView(event, environment));
  return `id: ${event.sequence}\nevent: ${event.type}\ndata: ${data}\n\n`;
}
