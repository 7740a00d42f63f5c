/**
 * Follows a tenant's events over GET /v1/events/stream: each once, in order, reconnecting with the last id whenever the stream
 * ends or breaks, until the caller stops it.
 */
import { setTimeout as pauseFor } from 'node:timers/promises';
import { errorText, Failure } from '../common/failure.ts';
import type { Target } from './target.ts';

export interface FollowedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly sequence: number;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

export interface FollowOptions {
  readonly target: Pick<Target, 'url' | 'token'>;
  /** Separated by commas; undefined: all. */
  readonly types: string | undefined;
  /** The place to begin; undefined: now. */
  readonly afterSequence: string | undefined;
  readonly signal: AbortSignal;
  /** The stream is connected. */
  readonly onOpen: () => void;
  /** The stream broke, and is reconnecting. */
  readonly onBreak: (reason: string) => void;
  /** `text`: the event exactly as received. It reads no more until this resolves. */
  readonly onEvent: (event: FollowedEvent, text: string) => Promise<void> | void;
}

const pauseMinMs = 250;
const pauseMaxMs = 5_000;
/** A stream without data for this time is dead: a heartbeat comes every 15 s. */
const silenceMaxMs = 45_000;

/** Resolves when the caller stopped it. Throws a Failure when the service refuses, or was never reachable. */
export async function follow(options: FollowOptions): Promise<void> {
  const { signal, onBreak } = options;
  const place = { lastId: options.afterSequence };
  let everOpen = false;
  for (let pauseMs = pauseMinMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
    let reason = 'the stream ended';
    try {
      const response = await open(options, place.lastId);
      if (response.body !== null && response.ok) {
        everOpen = true;
        pauseMs = pauseMinMs;
        options.onOpen();
        await read(response.body, place, options);
      } else reason = await refusal(response);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Failure) throw error;
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      reason = errorText(cause);
      if (!everOpen) throw new Failure(`${options.target.url} does not answer: ${reason}`);
    }
    if (signal.aborted) return;
    onBreak(reason);
    await pauseFor(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

function open({ target, types, signal }: FollowOptions, lastId: string | undefined): Promise<Response> {
  const query = types === undefined ? '' : `?type=${encodeURIComponent(types)}`;
  return fetch(`${target.url}/v1/events/stream${query}`, {
    headers: {
      authorization: `Bearer ${target.token}`,
      accept: 'text/event-stream',
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    },
    signal,
  });
}

/** The text of a temporary refusal. Throws a Failure for a permanent one. */
async function refusal(response: Response): Promise<string> {
  const text = await response.text();
  const message = messageOf(text) ?? text.slice(0, 200);
  if (response.status === 429 || response.status >= 500) return `${response.status}: ${message}`;
  throw new Failure(`The service answers ${response.status}: ${message}`);
}

export function messageOf(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as {
      error?: { message?: string; details?: { field: string; issue: string; message?: string }[] };
    };
    const [first] = error?.details ?? [];
    const detail =
      first === undefined ? '' : ` (${first.field} ${first.issue}${first.message ? `: ${first.message}` : ''})`;
    return error?.message === undefined ? undefined : `${error.message}${detail}`;
  } catch {
    return undefined;
  }
}

async function read(
  body: ReadableStream<Uint8Array>,
  place: { lastId: string | undefined },
  { onEvent, signal }: FollowOptions,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read());
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const { id, data } = fieldsOf(block);
        if (data !== undefined) await onEvent(JSON.parse(data) as FollowedEvent, data);
        if (id !== undefined) place.lastId = id;
        if (signal.aborted) return;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function fieldsOf(block: string): { readonly id: string | undefined; readonly data: string | undefined } {
  const of = (name: string): string | undefined =>
    block
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  return { id: of('id'), data: of('data') };
}

async function withinSilence<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the stream was silent for too long')), silenceMaxMs);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}
