/**
 * Reads the event log of a cluster for a test: events in order, each given once. It follows the log over one connection from its
 * first use on, and begins with the oldest event of the cluster, so that it misses none.
 */
import type { ClientPorts } from '../client/contract.ts';
import { follow } from '../client/follow.ts';
import type { Event } from '../client/generated-api.ts';
import { Transport } from '../client/transport.ts';
import { Feed } from './feed.ts';

/** e.g. "transaction_intent.completed", "transaction_intent.*", "*". */
export type EventPattern = Event['type'] | `${string}.*` | '*';
/** Events of those types, or for which the function returns true. */
export type EventMatch = EventPattern | ((event: Event) => boolean);

/** The event of a type: for a pattern or a function, any event. */
export type EventOf<M> = M extends Event['type']
  ? Event extends infer E
    ? E extends Event
      ? M extends E['type']
        ? E
        : never
      : never
    : never
  : Event;

export interface EventSource {
  readonly url: string;
  readonly token: string;
  readonly ports: ClientPorts;
  /** For a sandbox that ran before: earlier events are not this cluster's. RFC 3339; undefined: all are this cluster's. */
  readonly since: string | undefined;
}

export function matcher(match: EventMatch): (event: Event) => boolean {
  if (typeof match === 'function') return match;
  if (match === '*') return () => true;
  if (match.endsWith('.*')) return ({ type }) => type.startsWith(match.slice(0, -1));
  return ({ type }) => type === match;
}

export class EventReader {
  readonly #source: EventSource;
  readonly #feed = new Feed<Event>();
  #following: AbortController | undefined;

  constructor(source: EventSource) {
    this.#source = source;
  }

  /** The events read so far, oldest first. */
  get log(): readonly Event[] {
    return this.#feed.all;
  }

  /** As `Feed.first`. Also rejects when the log cannot be read. */
  first(matches: (event: Event) => boolean, once: boolean, signal: AbortSignal): Promise<Event> {
    const found = this.#feed.first(matches, once, signal);
    this.#follow();
    return found;
  }

  /** Marks every event read so far as given. */
  giveAll(): void {
    this.#feed.giveAll();
  }

  /** From now on reads another log. */
  restart(): void {
    this.stop();
    this.#feed.clear();
    if (this.#feed.isAwaited) this.#follow();
  }

  stop(): void {
    this.#following?.abort(new Error('the cluster was stopped'));
    this.#following = undefined;
  }

  #follow(): void {
    if (this.#following !== undefined) return;
    const scope = new AbortController();
    this.#following = scope;
    const { url, token, ports, since } = this.#source;
    const beganMs = since === undefined ? 0 : Date.parse(since);
    const read = async (): Promise<void> => {
      const transport = new Transport({ baseUrl: url, token, ports });
      for await (const event of follow(transport, { afterSequence: 0, signal: scope.signal })) {
        if (Date.parse(event.timestamp) >= beganMs) this.#feed.push(event);
      }
    };
    read().catch((error: unknown) => {
      if (scope.signal.aborted) return;
      this.#following = undefined;
      this.#feed.fail(error);
    });
  }
}
