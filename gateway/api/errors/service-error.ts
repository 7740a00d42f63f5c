/** An error that a caller sees, over HTTP or gRPC. */
import { type ErrorKind, type ErrorKindEntry, errorKinds, retryAfterDefaultS } from './kinds.ts';

/** One fault of one field. `field` is a path in snake_case, e.g. `context.client.client_name`. */
export interface FieldIssue {
  readonly field: string;
  readonly issue: string;
  /** The values that the field takes, or a provider's own message. */
  readonly message?: string;
}

export interface ServiceErrorOptions {
  readonly details?: readonly FieldIssue[];
  /** Whole seconds. Defaults to 1 for kinds that answer 429 or 503. */
  readonly retryAfterS?: number;
  /** Further HTTP headers, lowercase names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The underlying cause: only for the log, never for the caller. */
  readonly cause?: unknown;
}

/** What callers get by the thousand when a service is overloaded or attacked: to write down its stack costs as much as the rest of it. */
const withoutStack: ReadonlySet<ErrorKind> = new Set(['overloaded', 'rateLimited', 'authenticationFailed']);

/** Thrown, or passed on as a value. The message is for the caller: no secrets, no internals. */
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

/** The answer for a bug: without details. */
export function internalError(cause: unknown): ServiceError {
  return new ServiceError('internalError', 'unexpected server error', { cause });
}
