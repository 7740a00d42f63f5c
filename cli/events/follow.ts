/** Follows a tenant's events with the client, for commands: its errors become Failures, and it reports breaks and new connections. */
import { CallError, ClientError, NoAnswerError } from '../../clients/client/errors.ts';
import { received } from '../../clients/client/follow.ts';
import type { Event } from '../../clients/client/generated-api.ts';
import { Transport } from '../../clients/client/transport.ts';
import { Failure } from '../common/failure.ts';
import type { ServiceTarget } from './target.ts';

export interface FollowOptions {
  readonly target: Pick<ServiceTarget, 'url' | 'token'>;
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
  readonly onEvent: (event: Event, text: string) => Promise<void> | void;
}

/** Resolves when the caller stopped it. Throws a Failure when the service refuses, or was never reachable. */
export async function follow({ target, types, afterSequence, signal, ...on }: FollowOptions): Promise<void> {
  const transport = new Transport({ baseUrl: target.url, token: target.token });
  const from = {
    ...(types !== undefined && { types: [types] }),
    ...(afterSequence !== undefined && { afterSequence: Number(afterSequence) }),
  };
  let everOpen = false;
  const hooks = {
    onOpen: () => {
      everOpen = true;
      on.onOpen();
    },
    onBreak: (error: ClientError | undefined) => {
      if (!everOpen && error instanceof NoAnswerError) throw error;
      on.onBreak(error?.message ?? 'the stream ended');
    },
  };
  try {
    for await (const { event, text } of received(transport, { signal, ...from }, hooks)) {
      await on.onEvent(event, text);
      if (signal.aborted) return;
    }
  } catch (error) {
    if (!signal.aborted) throw asFailure(error, target);
  }
}

/** An error of the client as a person reads it; any other error as it is. */
export function asFailure(error: unknown, { url }: Pick<ServiceTarget, 'url'>): unknown {
  if (error instanceof NoAnswerError) return new Failure(`${url} does not answer: ${error.message}`);
  if (error instanceof CallError) return new Failure(`The service refuses ${error.message}`);
  return error instanceof ClientError ? new Failure(`Cannot go on: ${error.message}`) : error;
}
