/**
 * `signmesh/client`: a typed client of the wallet API, its modules, the signing API and the sandbox API, using only `fetch`. It
 * runs on Node.js 20 and in browsers and imports nothing. docs/client.md explains it.
 */
import type { CallOptions, ClientOptions, Operation } from './contract.ts';
import { type FollowOptions, follow } from './follow.ts';
import {
  type Api,
  type Event,
  type EventsApi,
  type Intent,
  operations,
  type SandboxApi,
  type SandboxStreamMessage,
} from './generated-api.ts';
import { Keys } from './keys.ts';
import { Pages } from './pages.ts';
import { type SandboxStreamOptions, sandboxStream } from './sandbox-stream.ts';
import { Transport } from './transport.ts';
import { type WaitForOptions, type WaitOptions, waitForIntent, waitUntil } from './waiting.ts';

export interface Client extends Api {
  readonly events: EventsApi & {
    /** The event log as an endless iterator, over broken connections: `GET /v1/events/stream`, scope `events:read`. */
    follow(options?: FollowOptions): AsyncIterable<Event>;
  };
  readonly sandbox: SandboxApi & {
    /** What a running sandbox does, over broken connections: `GET /v1/sandbox/stream`, scope `sandbox:admin`. */
    stream(options?: SandboxStreamOptions): AsyncIterable<SandboxStreamMessage>;
  };
  /** Keys and signatures in one call each. */
  readonly keys: Keys;
  /** Waits until the intent is completed, or in another status that `until` names. */
  waitFor(intent: Pick<Intent, 'id' | 'wallet_id'>, options?: WaitForOptions): Promise<Intent>;
  /** Reads again, at growing intervals, until `isOver`: for jobs, plans and orders. */
  waitUntil<T>(read: () => Promise<T>, isOver: (value: T) => boolean, options?: WaitOptions): Promise<T>;
}

/** Throws InvalidOptionError. It sends nothing before the first call. */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const api = Object.fromEntries(
    Object.entries(operations).map(([group, methods]) => [
      group,
      Object.fromEntries(Object.entries(methods).map(([name, each]) => [name, methodOf(transport, each)])),
    ]),
  ) as unknown as Api;
  const { clientName = 'signmesh-client', clientVersion = '' } = options;
  const client = { client_name: clientName, client_version: clientVersion };
  const { ports } = transport;
  const followEvents = (given: FollowOptions = {}) => follow(transport, given);
  return {
    ...api,
    events: { ...api.events, follow: followEvents },
    sandbox: { ...api.sandbox, stream: (given = {}) => sandboxStream(transport, given) },
    keys: new Keys({ transport, signing: api.signing, events: api.events, client }),
    waitFor: (intent, given = {}) =>
      waitForIntent(
        intent.id,
        {
          ports,
          read: (signal) => api.intents.get(intent.wallet_id, intent.id, signal === undefined ? {} : { signal }),
          follow: followEvents,
        },
        given,
      ),
    waitUntil: (read, isOver, given = {}) => waitUntil(ports, read, isOver, given),
  };
}

type Input = Readonly<Record<string, unknown>> | undefined;

/** The path's parameters, then the body or the query where the operation takes one, then the options. */
function methodOf(transport: Transport, operation: Operation): (...args: unknown[]) => unknown {
  const count = operation.path.match(/:\w+/g)?.length ?? 0;
  const { input, list } = operation;
  return (...args) => {
    const params = args.slice(0, count) as string[];
    const given = input === undefined ? undefined : (args[count] as Input);
    const options = args[input === undefined ? count : count + 1] as CallOptions | undefined;
    const send = (query?: Input) =>
      transport.call({ operation, params, body: input === 'body' ? given : undefined, query }, options);
    if (list === undefined) return send(input === 'query' ? given : undefined);
    return new Pages(list, (cursor) => send(cursor === undefined ? given : { ...given, cursor }));
  };
}

export type { CallOptions, ClientOptions, ClientPorts } from './contract.ts';
export {
  ApiError,
  AuthenticationError,
  CallError,
  ClientError,
  type ClientErrorCode,
  ConflictError,
  type FieldIssue,
  InsufficientScopeError,
  InternalServerError,
  InvalidOptionError,
  InvalidRequestError,
  NoAnswerError,
  NotFoundError,
  ProviderRejectedError,
  RateLimitedError,
  type ServiceCode,
  UnavailableError,
} from './errors.ts';
export type { FollowOptions } from './follow.ts';
export type * from './generated-api.ts';
export type { CreatedKey, CreateKeyOptions, Signature, SignOptions } from './keys.ts';
export { Pages } from './pages.ts';
export type { SandboxStreamOptions } from './sandbox-stream.ts';
export { SigningError } from './signing-error.ts';
export {
  finalStatuses,
  IntentEndedError,
  type IntentStatus,
  type WaitForOptions,
  type WaitOptions,
  WaitTimedOutError,
} from './waiting.ts';
export { type VerifyOptions, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './webhooks.ts';
