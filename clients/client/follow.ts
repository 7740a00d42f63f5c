/**
 * The event log as an endless iterator: every event once and in order, over broken connections, gateways that stop, and tokens
 * that are replaced. It only remembers its place in the log.
 */
import type { CallOptions, Operation } from './contract.ts';
import { ApiError, CallError, ClientError, InvalidOptionError } from './errors.ts';
import type { Event } from './generated-api.ts';
import { type Names, needKnown } from './known-options.ts';
import { mayRepeat, pauseMs } from './retry.ts';
import { EventParser, type ServerSentEvent } from './server-sent-events.ts';
import { pause, type Transport } from './transport.ts';

export interface FollowOptions extends Pick<CallOptions, 'signal'> {
  /** Event types, e.g. `['transaction_intent.*']`; all by default. */
  readonly types?: readonly string[];
  readonly resourceId?: string;
  /** Begin after this sequence; by default with events from now on. */
  readonly afterSequence?: number;
  /** Called with each finished place in the log, also when no event matches: store it to resume there. */
  readonly onPlace?: (sequence: number) => void;
  /** The limit of connections in a row without any data; unlimited by default. */
  readonly attemptsMax?: number;
}

const stream: Operation = { id: 'streamEvents', method: 'GET', path: '/v1/events/stream', repeat: 'always' };
const optionNames: Names<FollowOptions> = {
  signal: true,
  types: true,
  resourceId: true,
  afterSequence: true,
  onPlace: true,
  attemptsMax: true,
};
/** The gateway writes every 15 s: a connection that is silent for three times as long is dead. */
const silenceMsMax = 45_000;

/** For followers that show their connection. */
export interface ConnectionHooks {
  /** The longest pause before a reconnection; 5,000 by default. */
  readonly pauseMsMax?: number;
  readonly onOpen?: () => void;
  /** `error`: undefined when the stream ended. A reconnection follows, unless it throws. */
  readonly onBreak?: (error: CallError | undefined) => void;
}

export interface Received {
  readonly event: Event;
  /** Exactly as the service wrote it. */
  readonly text: string;
}

/**
 * Ends when the caller stops iterating or `signal` aborts (it then rejects with the signal's reason). Rejects with ClientError
 * `events_lost` when events after the place are no longer retained, and with ApiError for a refusal that a repeat meets again.
 */
export async function* follow(transport: Transport, options: FollowOptions): AsyncGenerator<Event, void, undefined> {
  for await (const { event } of received(transport, options, {})) yield event;
}

/** As `follow`. */
export async function* received(
  transport: Transport,
  options: FollowOptions,
  hooks: ConnectionHooks,
): AsyncGenerator<Received, void, undefined> {
  needKnown('events.follow', options, optionNames);
  const { types, resourceId, afterSequence, onPlace, signal, attemptsMax } = options;
  if (afterSequence !== undefined && !(Number.isSafeInteger(afterSequence) && afterSequence >= 0)) {
    throw new InvalidOptionError('afterSequence', 'takes the sequence of an event, or 0');
  }
  const query = { type: types?.join(','), resource_id: resourceId };
  let place = afterSequence;
  const source = { operation: stream, query, lastId: () => place?.toString(), refuse };
  for await (const { id, data } of messages(transport, source, { signal, attemptsMax }, hooks)) {
    const event = data === undefined ? undefined : (JSON.parse(data) as Event);
    const sequence = event?.sequence ?? (/^\d{1,15}$/.test(id ?? '') ? Number(id) : undefined);
    // A place behind the present one belongs to an event that was given already.
    if (sequence === undefined || sequence < (place ?? 0) || (event !== undefined && sequence === place)) continue;
    place = sequence;
    if (event !== undefined) yield { event, text: data! };
    // The caller asks for more: it has finished the event, and may store the place.
    onPlace?.(sequence);
  }
}

/** A stream of server-sent events, and where a new connection continues it. */
interface Source {
  readonly operation: Operation;
  readonly query: Readonly<Record<string, unknown>>;
  /** Of what was received. */
  readonly lastId: () => string | undefined;
  /** Throws for a refusal that a new connection meets again. */
  readonly refuse: (error: ApiError) => void;
}

interface Limits {
  readonly signal?: AbortSignal | undefined;
  readonly attemptsMax?: number | undefined;
}

/** Over broken connections. As `follow`. */
export async function* messages(
  transport: Transport,
  { operation, query, lastId, refuse }: Source,
  { signal, attemptsMax = Number.POSITIVE_INFINITY }: Limits,
  { onOpen, onBreak, pauseMsMax = Number.POSITIVE_INFINITY }: ConnectionHooks = {},
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const { ports } = transport;
  let attempts = 0;
  for (;;) {
    signal?.throwIfAborted();
    const connection = new Connection(transport, operation, signal);
    let failure: CallError | undefined;
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      const id = lastId();
      if (id !== undefined) headers['last-event-id'] = id;
      for await (const message of connection.read(query, headers, onOpen)) {
        attempts = 0;
        yield message;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof CallError) || attempts + 1 >= attemptsMax) throw error;
      if (error instanceof ApiError) refuse(error);
      failure = error;
    } finally {
      connection.close();
    }
    onBreak?.(failure);
    attempts += 1;
    await pause(ports, Math.min(pauseMsMax, pauseMs(attempts, undefined, ports.random())), signal);
  }
}

function refuse(error: ApiError): void {
  if (error.has('too_small', 'last-event-id') || error.has('too_large', 'last-event-id')) {
    const reason = error.details.map(({ message }) => message).join('; ');
    const remedy = 'read GET /v1/events from the beginning, then follow from the last sequence that it shows';
    throw new ClientError('events_lost', `the log no longer has, or never had, that place (${reason}): ${remedy}`, {
      cause: error,
    });
  }
  refuseForGood(error);
}

/** Throws what a repeat meets again. */
export function refuseForGood(error: ApiError): void {
  const { status, details } = error;
  if (status !== 500 && !mayRepeat({ kind: 'answered', status, details }, 'always')) throw error;
}

class Connection {
  readonly #transport: Transport;
  readonly #operation: Operation;
  readonly #scope = new AbortController();
  readonly #unlink: () => void;
  #cancelSilence: () => void = () => {};

  constructor(transport: Transport, operation: Operation, signal: AbortSignal | undefined) {
    this.#transport = transport;
    this.#operation = operation;
    const stop = (): void => this.#scope.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    this.#unlink = () => signal?.removeEventListener('abort', stop);
  }

  async *read(query: Readonly<Record<string, unknown>>, headers: Record<string, string>, onOpen?: () => void) {
    this.#expectWords();
    const body = await this.#transport.open(this.#operation, query, headers, this.#scope.signal);
    onOpen?.();
    const reader = body.getReader();
    // Node.js forgets to pass an abort on to a body whose request was garbage-collected: the reader ends by itself.
    const { signal } = this.#scope;
    signal.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true });
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      const piece = await reader.read().catch((error: unknown) => {
        throw this.#transport.lost(this.#operation, error);
      });
      if (signal.aborted) throw this.#transport.lost(this.#operation, signal.reason);
      if (piece.done) return;
      this.#expectWords();
      yield* parser.push(decoder.decode(piece.value, { stream: true }));
    }
  }

  close(): void {
    this.#cancelSilence();
    this.#unlink();
    this.#scope.abort();
  }

  #expectWords(): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#transport.ports.startTimer(silenceMsMax, () => this.#scope.abort());
  }
}
