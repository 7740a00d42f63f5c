/** Shared types of the client: its options, the options of one call, and an operation as data (generated-api.ts has all). */

/** The client's ports to the world. Times are milliseconds. */
export interface ClientPorts {
  readonly fetch: typeof globalThis.fetch;
  nowMs(): number;
  /** Calls back once; the result cancels it. */
  startTimer(ms: number, then: () => void): () => void;
  /** A number from 0 up to 1: jitter. */
  random(): number;
  /** Makes unique names: idempotency keys, session ids. */
  uuid(): string;
}

export interface ClientOptions {
  /** Of the gateway, e.g. `http://127.0.0.1:8080`. No user, password, query or fragment. */
  readonly baseUrl: string | URL;
  /** The bearer token, or a function that gives the current one for each attempt. No error and no `inspect` shows it. */
  readonly token?: string | (() => string | Promise<string>);
  /** Replaces the global `fetch`: another agent, a proxy, a test. */
  readonly fetch?: typeof globalThis.fetch;
  /** Of a call with all its attempts, in ms: 60,000 by default. */
  readonly deadlineMs?: number;
  /** Of one attempt, in ms, body included: 35,000 by default, more than the gateway takes for any call. */
  readonly attemptTimeoutMs?: number;
  /** The limit of attempts of a call: 10 by default; 1 turns retries off. */
  readonly attemptsMax?: number;
  /** Named in receipts and events of the signing API. */
  readonly clientName?: string;
  readonly clientVersion?: string;
  /** Clock, timers and randomness that replace this process's. */
  readonly ports?: Partial<ClientPorts>;
}

export interface CallOptions {
  /** 1 to 255 visible ASCII characters. The client makes one for each mutating call that has none; all attempts carry it. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  readonly deadlineMs?: number;
  readonly attemptsMax?: number;
  /** `X-Request-Id` of every attempt: `[A-Za-z0-9_-]{8,128}`. */
  readonly requestId?: string;
  /** W3C Trace Context. */
  readonly traceparent?: string;
}

/**
 * When a call may be sent again although its first attempt may have taken effect:
 *
 * - `always`: it changes nothing
 * - `keyed`: under the same Idempotency-Key
 * - `refused`: never; only after an answer that says that the service did nothing (429)
 */
export type Repeat = 'always' | 'keyed' | 'refused';

export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With ":name" parameters; may end with a query. */
  readonly path: string;
  readonly repeat: Repeat;
  /** The argument after the path's parameters in a call. */
  readonly input?: 'body' | 'query';
  /** Of a list: the field of the answer with the items. */
  readonly list?: string;
  /** Statuses with a regular answer of the operation, where not all are 2xx. */
  readonly answers?: readonly number[];
}
