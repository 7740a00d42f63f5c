/**
 * The event log of a cluster as a test awaits it: events in their order, each given once. It follows the log over one
 * connection from its first use on, and begins with the oldest event of the cluster, so that none is missed.
 */
import type { ClientPorts } from '../client/contract.ts';
import { follow } from '../client/follow.ts';
import type { Event } from '../client/generated-api.ts';
import { Transport } from '../client/transport.ts';
import { Feed } from './feed.ts';

/** e.g. "transaction_intent.completed", "transaction_intent.*", "*". */
export type EventPattern = Event['type'] | `${string}.*` | '*';
/** Of those types, or for which the function gives true. */
export type EventMatch = EventPattern | ((event: Event) => boolean);

/** The event of a type: with a pattern or a function, any. */
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
  /** In a sandbox that ran before: earlier events are of others. RFC 3339; undefined: all are this cluster's. */
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

  /** What was read so far, oldest first. */
  get log(): readonly Event[] {
    return this.#feed.all;
  }

  /** As `Feed.first`. Rejects when the log cannot be read, too. */
  first(matches: (event: Event) => boolean, once: boolean, signal: AbortSignal): Promise<Event> {
    const found = this.#feed.first(matches, once, signal);
    this.#follow();
    return found;
  }

  /** What was read so far counts as given. */
  giveAll(): void {
    this.#feed.giveAll();
  }

  /** The log is another from now on. */
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
