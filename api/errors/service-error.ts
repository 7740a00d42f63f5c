/** An error that a caller gets to see, whichever door it came through. */
import { type ErrorKind, type ErrorKindEntry, errorKinds, retryAfterDefaultS } from './kinds.ts';

/** One thing wrong with one field. `field` is a path in snake_case, e.g. `context.client.client_name`. */
export interface FieldIssue {
  readonly field: string;
  readonly issue: string;
  /** What the field takes, or a provider's own words. */
  readonly message?: string;
}

export interface ServiceErrorOptions {
  readonly details?: readonly FieldIssue[];
  /** Whole seconds. Defaults to 1 for kinds that answer 429 or 503. */
  readonly retryAfterS?: number;
  /** Further HTTP headers, lowercase names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What went wrong underneath: for the log alone, never for the caller. */
  readonly cause?: unknown;
}

/** What callers get by the thousand when a service is overloaded or attacked: to write down its stack costs as much as the rest of it. */
const withoutStack: ReadonlySet<ErrorKind> = new Set(['overloaded', 'rateLimited', 'authenticationFailed']);

/** Thrown, or handed on as a value. The message is for the caller: no secrets, no internals. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ErrorKind;
  readonly details: readonly FieldIssue[] | undefined;
  readonly retryAfterS: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(kind: ErrorKind, message: string, options: ServiceErrorOptions = {}) {
    const { stackTraceLimit } = Error;
    if (withoutStack.has(kind)) Error.stackTraceLimit = 0;
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.kind = kind;
    this.details = options.details;
    this.headers = options.headers;
    const { http } = errorKinds[kind];
    this.retryAfterS = options.retryAfterS ?? (http === 429 || http === 503 ? retryAfterDefaultS : undefined);
  }

  get entry(): ErrorKindEntry {
    return errorKinds[this.kind];
  }
}

/** What a caller is told about a bug: nothing but that there is one. */
export function internalError(cause: unknown): ServiceError {
  return new ServiceError('internalError', 'unexpected server error', { cause });
}
