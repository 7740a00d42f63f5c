/**
 * The errors of the client. Programs act on `code`, and for signing calls on `reasonCode`; the classes are for `instanceof`.
 * Messages are for people: they name the operation, the field and the remedy, and contain no token, header, body or URL.
 */

/** `error.code` of the service's errors. */
export type ServiceCode =
  | 'invalid_request'
  | 'authentication_failed'
  | 'insufficient_scope'
  | 'not_found'
  | 'conflict'
  | 'provider_rejected'
  | 'rate_limited'
  | 'internal_error'
  | 'provider_unavailable';

/** Without a reliable answer. `malformed_answer`: it arrived, but does not have the service's format. */
export type NoAnswerCode = 'connection_failed' | 'attempt_timed_out' | 'deadline_exceeded' | 'malformed_answer';

export type ClientErrorCode =
  | ServiceCode
  | NoAnswerCode
  | 'invalid_option'
  | 'signing_refused'
  | 'intent_ended'
  | 'wait_timed_out'
  | 'events_lost'
  | WebhookRefusal;

export type WebhookRefusal =
  | 'webhook_header_missing'
  | 'webhook_header_malformed'
  | 'webhook_signature_mismatch'
  | 'webhook_too_old'
  | 'webhook_too_new';

/** One fault of one field, in the service's words. */
export interface FieldIssue {
  readonly field: string;
  readonly issue: string;
  readonly message?: string;
}

export class ClientError extends Error {
  override readonly name: string = 'ClientError';
  readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An invalid call of this library. */
export class InvalidOptionError extends ClientError {
  override readonly name = 'InvalidOptionError';
  readonly field: string;

  constructor(field: string, remedy: string) {
    super('invalid_option', `${field} ${remedy}`);
    this.field = field;
  }
}

export interface CallFacts {
  /** The operation's id in the OpenAPI document. */
  readonly operation: string;
  readonly attempts: number;
  /** The key of every attempt: repeat the call with it to be sure of one effect. */
  readonly idempotencyKey: string | undefined;
  /** The call changes nothing, whatever its outcome. */
  readonly isRead: boolean;
}

/** A call that failed, with or without an answer. */
export abstract class CallError extends ClientError implements CallFacts {
  readonly operation: string;
  readonly attempts: number;
  readonly idempotencyKey: string | undefined;
  readonly isRead: boolean;

  constructor(code: ClientErrorCode, message: string, facts: CallFacts, options?: ErrorOptions) {
    super(code, message, options);
    this.isRead = facts.isRead;
    this.operation = facts.operation;
    this.attempts = facts.attempts;
    this.idempotencyKey = facts.idempotencyKey;
  }

  /** Whether the call may have changed something: `none`, it has not; `unknown`, read the resource to find out. */
  abstract readonly effect: 'none' | 'unknown';
}

export interface ErrorAnswer {
  readonly status: number;
  readonly code: ServiceCode;
  readonly message: string;
  readonly details: readonly FieldIssue[];
  /** Quote it to the operator of the service: its log has the request under this id. */
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
}

/** The service answered with an error. */
export class ApiError extends CallError {
  override readonly name: string = 'ApiError';
  declare readonly code: ServiceCode;
  readonly status: number;
  readonly details: readonly FieldIssue[];
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(answer: ErrorAnswer, facts: CallFacts) {
    super(answer.code, sentence(answer, facts), facts);
    this.status = answer.status;
    this.details = answer.details;
    this.requestId = answer.requestId;
    this.retryAfterMs = answer.retryAfterMs;
  }

  get effect(): 'none' | 'unknown' {
    return this.status >= 500 && !this.isRead ? 'unknown' : 'none';
  }

  /** Whether the service reports this issue for this field, or for any. */
  has(issue: string, field?: string): boolean {
    return this.details.some((each) => each.issue === issue && (field === undefined || each.field === field));
  }
}

export class InvalidRequestError extends ApiError {
  override readonly name = 'InvalidRequestError';
}
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}
export class InsufficientScopeError extends ApiError {
  override readonly name = 'InsufficientScopeError';
}
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}
export class ProviderRejectedError extends ApiError {
  override readonly name = 'ProviderRejectedError';
}
export class RateLimitedError extends ApiError {
  override readonly name = 'RateLimitedError';
}
export class InternalServerError extends ApiError {
  override readonly name = 'InternalServerError';
}
export class UnavailableError extends ApiError {
  override readonly name = 'UnavailableError';
}

const classes: Readonly<Record<ServiceCode, new (answer: ErrorAnswer, facts: CallFacts) => ApiError>> = {
  invalid_request: InvalidRequestError,
  authentication_failed: AuthenticationError,
  insufficient_scope: InsufficientScopeError,
  not_found: NotFoundError,
  conflict: ConflictError,
  provider_rejected: ProviderRejectedError,
  rate_limited: RateLimitedError,
  internal_error: InternalServerError,
  provider_unavailable: UnavailableError,
};

export function isServiceCode(code: unknown): code is ServiceCode {
  return typeof code === 'string' && Object.hasOwn(classes, code);
}

export function apiError(answer: ErrorAnswer, facts: CallFacts): ApiError {
  return new classes[answer.code](answer, facts);
}

/** No answer came, or no reliable one. */
export class NoAnswerError extends CallError {
  override readonly name = 'NoAnswerError';
  declare readonly code: NoAnswerCode;
  readonly effect: 'none' | 'unknown';

  constructor(code: NoAnswerCode, reason: string, effect: 'none' | 'unknown', facts: CallFacts, cause?: unknown) {
    super(code, `${facts.operation}: ${reason}${tries(facts)}${afterwards(effect, facts)}`, facts, { cause });
    this.effect = effect;
  }
}

function sentence({ status, code, message, details }: ErrorAnswer, facts: CallFacts): string {
  const named = details.map(({ field, issue, message: takes }) => {
    const where = field === '' ? '' : `${field}: `;
    return `${where}${issue}${takes === undefined || message.includes(takes) ? '' : ` (${takes})`}`;
  });
  const listed = named.length === 0 ? '' : `: ${named.join('; ')}`;
  const head = withoutFirst(message, details);
  // A module that needs a request for access names its own remedy.
  const remedy = details.some(({ issue }) => issue === 'module_access_needed') ? '' : (remedies[code] ?? '');
  return `${facts.operation}: ${status} ${code}: ${head}${listed}${tries(facts)}${remedy}`;
}

/** The service's message ends with its first detail ("…: asset: unknown_asset, and 1 more"), and the list follows anyway. */
function withoutFirst(message: string, [first]: readonly FieldIssue[]): string {
  if (first === undefined) return message;
  const named = first.field === '' ? `: ${first.issue}` : `: ${first.field}: ${first.issue}`;
  const at = message.lastIndexOf(named);
  if (at === -1 || !/^(, and \d+ more)?$/.test(message.slice(at + named.length))) return message;
  return message.slice(0, at);
}

const remedies: Partial<Record<ServiceCode, string>> = {
  authentication_failed: '. Check the token: a revoked, expired or foreign one answers so',
  insufficient_scope: '. Use a token with the scope that the operation needs',
  internal_error: '. It is a bug of the service: report it with the request id',
};

function tries({ attempts }: CallFacts): string {
  return attempts > 1 ? ` (after ${attempts} attempts)` : '';
}

function afterwards(effect: 'none' | 'unknown', { idempotencyKey }: CallFacts): string {
  if (effect === 'none') return '. Nothing was done';
  return idempotencyKey === undefined
    ? '. Whether it took effect is unknown: read the resource before you send it again'
    : '. Whether it took effect is unknown: send it again with the same idempotencyKey';
}
