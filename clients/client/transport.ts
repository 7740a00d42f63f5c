/**
 * Sends one call: attempt after attempt, until one succeeds, a repeat would be unsafe, or the deadline is reached. Every attempt
 * of a call is the same request, byte for byte, under one idempotency key.
 */
import { ambientPorts } from './ambient.ts';
import type { CallOptions, ClientOptions, ClientPorts, Operation } from './contract.ts';
import type { ErrorAnswer, FieldIssue, NoAnswerCode, ServiceCode } from './errors.ts';
import {
  apiError,
  type CallError,
  type CallFacts,
  InvalidOptionError,
  isServiceCode,
  NoAnswerError,
} from './errors.ts';
import { bearer, type Exchanged, exchange } from './exchange.ts';
import { callOptionNames, type Names, needKnown } from './known-options.ts';
import { type Failure, mayRepeat, pauseMs, readRetryAfter } from './retry.ts';

export interface Request {
  readonly operation: Operation;
  /** Of the path, in order. */
  readonly params: readonly string[];
  readonly body?: object | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
}

const defaults = { deadlineMs: 60_000, attemptTimeoutMs: 35_000, attemptsMax: 10 };
const keyPattern = /^[\x21-\x7e]{1,255}$/;
const tokenPattern = /^[\x21-\x7e]+$/;

const clientOptionNames: Names<ClientOptions> = {
  baseUrl: true,
  token: true,
  fetch: true,
  deadlineMs: true,
  attemptTimeoutMs: true,
  attemptsMax: true,
  clientName: true,
  clientVersion: true,
  ports: true,
};

const portNames: Names<ClientPorts> = { fetch: true, nowMs: true, startTimer: true, random: true, uuid: true };

interface Attempt {
  readonly failure: Failure;
  readonly error: CallError;
  readonly retryAfterMs?: number | undefined;
}

export class Transport {
  readonly ports: ClientPorts;
  /** Without a slash at its end. */
  readonly #base: string;
  readonly #token: ClientOptions['token'];
  readonly #limits: typeof defaults;

  /** Throws InvalidOptionError. */
  constructor(options: ClientOptions) {
    needKnown('createClient', options, clientOptionNames);
    if (options.ports !== undefined) needKnown('ports', options.ports, portNames);
    this.#base = readBase(options.baseUrl);
    this.#token = readToken(options.token);
    this.ports = { ...ambientPorts, ...options.ports, ...(options.fetch && { fetch: options.fetch }) };
    this.#limits = {
      deadlineMs: positive('deadlineMs', options.deadlineMs) ?? defaults.deadlineMs,
      attemptTimeoutMs: positive('attemptTimeoutMs', options.attemptTimeoutMs) ?? defaults.attemptTimeoutMs,
      attemptsMax: positive('attemptsMax', options.attemptsMax) ?? defaults.attemptsMax,
    };
  }

  /** The parsed answer; undefined with 204. Rejects with CallError, or with the reason of `options.signal`. */
  async call(request: Request, options: CallOptions = {}): Promise<unknown> {
    const { operation } = request;
    const { ports } = this;
    needKnown(operation.id, options, callOptionNames);
    const url = this.url(operation.path, request.params, request.query);
    const { body } = request;
    const idempotencyKey = this.#keyOf(operation, body, options);
    const text = operation.method === 'GET' || operation.method === 'DELETE' ? undefined : JSON.stringify(body ?? {});
    const deadlineMs = ports.nowMs() + (positive('deadlineMs', options.deadlineMs) ?? this.#limits.deadlineMs);
    const attemptsMax = positive('attemptsMax', options.attemptsMax) ?? this.#limits.attemptsMax;
    for (let attempts = 1; ; attempts += 1) {
      const facts = factsOf(operation, attempts, idempotencyKey);
      const result = await this.#attempt(operation, url, text, facts, options, deadlineMs);
      if ('value' in result) return result.value;
      const { failure, error, retryAfterMs } = result;
      if (attempts >= attemptsMax || !mayRepeat(failure, operation.repeat)) throw error;
      const wait = pauseMs(attempts, retryAfterMs, ports.random());
      // The next attempt would be too late: the caller gets the last answer now.
      if (ports.nowMs() + wait >= deadlineMs) throw error;
      await pause(ports, wait, options.signal);
    }
  }

  /** Opens a stream of bytes: one attempt, no deadline of its own. Rejects with CallError, also when `signal` aborts. */
  async open(
    operation: Operation,
    query: Request['query'],
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> {
    const facts = factsOf(operation, 1, undefined);
    let response: Response;
    try {
      response = await this.ports.fetch(this.url(operation.path, [], query), {
        headers: { ...bearer(await this.#currentToken()), ...headers },
        redirect: 'error',
        signal,
      });
    } catch (error) {
      throw unanswered('connection_failed', error, facts).error;
    }
    if (response.ok && response.body !== null) return response.body;
    const { status } = response;
    const text = await response.text().catch(() => '');
    throw answered({ status, headers: response.headers, text }, facts, this.ports.nowMs()).error;
  }

  /** For a stream that broke. */
  lost(operation: Operation, cause: unknown): CallError {
    return unanswered('connection_failed', cause, factsOf(operation, 1, undefined)).error;
  }

  url(path: string, params: readonly string[], query: Request['query'] = {}): string {
    let next = 0;
    const filled = path.replace(/:(\w+)/g, (_, name: string) => segment(name, params[next++]));
    const url = new URL(this.#base + filled);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url.href;
  }

  async #attempt(
    operation: Operation,
    url: string,
    body: string | undefined,
    facts: CallFacts,
    { signal, requestId, traceparent }: CallOptions,
    deadlineMs: number,
  ): Promise<Attempt | { readonly value: unknown }> {
    signal?.throwIfAborted();
    const { ports } = this;
    const { idempotencyKey } = facts;
    const leftMs = Math.max(0, deadlineMs - ports.nowMs());
    const isLast = leftMs <= this.#limits.attemptTimeoutMs;
    const scope = new AbortController();
    const stop = (): void => scope.abort(signal?.reason);
    signal?.addEventListener('abort', stop, { once: true });
    let isLate = false;
    let isSent = false;
    const cancel = ports.startTimer(Math.min(leftMs, this.#limits.attemptTimeoutMs), () => {
      isLate = true;
      scope.abort();
    });
    try {
      const token = await orAborted(this.#currentToken(), scope.signal);
      isSent = true;
      const answer = await exchange(ports.fetch, url, {
        ...{ method: operation.method, token, body, idempotencyKey, signal: scope.signal },
        headers: {
          ...(requestId !== undefined && { 'x-request-id': requestId }),
          ...(traceparent !== undefined && { traceparent }),
        },
      });
      return readAnswer(operation, answer, facts, ports.nowMs());
    } catch (error) {
      signal?.throwIfAborted();
      const code = isLast ? 'deadline_exceeded' : 'attempt_timed_out';
      if (isLate) return unanswered(code, undefined, facts, isSent ? undefined : 'none');
      // The caller's own function for the token failed.
      if (!isSent) throw error;
      return unanswered('connection_failed', error, facts);
    } finally {
      cancel();
      signal?.removeEventListener('abort', stop);
    }
  }

  async #currentToken(): Promise<string | undefined> {
    return typeof this.#token === 'function' ? readToken(await this.#token()) : this.#token;
  }

  #keyOf({ repeat }: Operation, body: object | undefined, { idempotencyKey }: CallOptions): string | undefined {
    if (repeat !== 'keyed') return undefined;
    const inBody = (body as { idempotency_key?: unknown } | undefined)?.idempotency_key;
    const key = idempotencyKey ?? (typeof inBody === 'string' ? inBody : undefined) ?? this.ports.uuid();
    if (!keyPattern.test(key))
      throw new InvalidOptionError('idempotencyKey', 'takes 1 to 255 visible ASCII characters');
    return key;
  }
}

function factsOf({ id, repeat }: Operation, attempts: number, idempotencyKey: string | undefined): CallFacts {
  return { operation: id, attempts, idempotencyKey, isRead: repeat === 'always' };
}

/** The result of `work`; rejects with the reason of the signal as soon as it aborts. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    work.then(resolve, reject);
  });
}

/** Waits; rejects with the reason of the signal. */
export function pause(ports: ClientPorts, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const stop = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = ports.startTimer(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

function readAnswer(
  { answers }: Operation,
  answer: Exchanged,
  facts: CallFacts,
  nowMs: number,
): Attempt | { readonly value: unknown } {
  const { status, text } = answer;
  const isAnswer = answers === undefined ? status >= 200 && status < 300 : answers.includes(status);
  if (!isAnswer) return answered(answer, facts, nowMs);
  if (status === 204) return { value: undefined };
  const value = parse(text);
  return value === undefined ? unanswered('malformed_answer', undefined, facts) : { value };
}

function answered({ status, headers, text }: Exchanged, facts: CallFacts, nowMs: number): Attempt {
  const { error = {} } = (parse(text) ?? {}) as { error?: { [name: string]: unknown } };
  const details = Array.isArray(error.details) ? (error.details as FieldIssue[]) : [];
  const retryAfterMs = readRetryAfter(headers.get('retry-after'), nowMs);
  const answer: ErrorAnswer = {
    status,
    code: isServiceCode(error.code) ? error.code : codeOf(status),
    message: typeof error.message === 'string' ? error.message : 'no error of the service: something between answers',
    details,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs,
  };
  return { failure: { kind: 'answered', status, details }, error: apiError(answer, facts), retryAfterMs };
}

/** The code for an error from a proxy between the client and the service. */
function codeOf(status: number): ServiceCode {
  const codes: Readonly<Record<number, ServiceCode>> = {
    401: 'authentication_failed',
    403: 'insufficient_scope',
    404: 'not_found',
    409: 'conflict',
    422: 'provider_rejected',
    429: 'rate_limited',
    502: 'provider_unavailable',
    503: 'provider_unavailable',
    504: 'provider_unavailable',
  };
  return codes[status] ?? (status >= 500 ? 'internal_error' : 'invalid_request');
}

const reasons: Readonly<Record<NoAnswerCode, string>> = {
  connection_failed: 'the connection failed',
  attempt_timed_out: 'no answer came in time',
  deadline_exceeded: 'no answer came before the deadline',
  malformed_answer: 'the answer is not the JSON that the service writes',
};

/** Codes of Node.js for a connection that was never made. Other runtimes name none: then the effect is unknown. */
const neverSent: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

/** `known`: the effect, where it does not follow from the cause. */
function unanswered(code: NoAnswerCode, cause: unknown, facts: CallFacts, known?: 'none'): Attempt {
  const below = (cause as { cause?: { code?: unknown; message?: unknown } } | undefined)?.cause;
  const isUnsent = typeof below?.code === 'string' && neverSent.has(below.code);
  const effect = known ?? (isUnsent || facts.isRead ? 'none' : 'unknown');
  const said = typeof below?.message === 'string' ? ` (${below.message})` : '';
  const hint = code === 'connection_failed' ? crossOriginHint() : '';
  const error = new NoAnswerError(code, `${reasons[code]}${said}${hint}`, effect, facts, cause);
  return { failure: { kind: 'unanswered', effect }, error };
}

/** A browser does not tell a page why a request failed, and it may have been its own refusal of another origin's answer. */
function crossOriginHint(): string {
  const { location } = globalThis as { readonly location?: { readonly origin?: unknown } };
  if (typeof location?.origin !== 'string') return '';
  return `; if the server runs, its SIGNMESH_CORS_ORIGINS may lack this page's origin, ${location.origin}`;
}

/** Undefined: not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A whole segment of a path: not "." or "..", which a URL would resolve, and not empty. */
function segment(name: string, value: string | undefined): string {
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new InvalidOptionError(name, 'takes an id');
  return encodeURIComponent(value);
}

/** Never quotes the URL: it may hold a password. */
function readBase(given: string | URL): string {
  const remedy = 'takes an http or https URL without user, password, query and fragment, e.g. http://127.0.0.1:8080';
  if (!URL.canParse(String(given))) throw new InvalidOptionError('baseUrl', remedy);
  const url = new URL(given);
  const isPlain = url.username + url.password + url.search + url.hash === '' && /^https?:$/.test(url.protocol);
  if (!isPlain) throw new InvalidOptionError('baseUrl', remedy);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function readToken<T>(token: T): T {
  if (typeof token !== 'string' || tokenPattern.test(token)) return token;
  throw new InvalidOptionError('token', 'takes the text of a token: visible ASCII characters, no spaces');
}

function positive(name: string, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isFinite(value) && value >= 1)) return value;
  throw new InvalidOptionError(name, 'takes a number of 1 or more');
}
