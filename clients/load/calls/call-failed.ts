/** A call without a response message, and its possible effect. */

/** The service's own limit, as its answer names it (draft-ietf-httpapi-ratelimit-headers). */
export interface RateLimit {
  /** "reads", "writes" or "signing". */
  readonly policy: string;
  readonly quota: number;
  readonly windowS: number;
}

export interface LoadCallFailure {
  /** Its name in reports, e.g. "429 RATE_LIMITED", "UNAVAILABLE", "ECONNRESET". */
  readonly code: string;
  /** `none`: the service did nothing. `unknown`: it may have done all of it. */
  readonly effect: 'none' | 'unknown';
  /** Set when the service's rate limit refused the call. */
  readonly limit?: RateLimit | undefined;
  /** After which the service asks for the next try. */
  readonly retryAfterS?: number | undefined;
}

export class LoadCallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly failure: LoadCallFailure;

  constructor(failure: LoadCallFailure, message: string = failure.code) {
    super(message);
    this.failure = failure;
  }
}

/** The code of any thrown value: a system code, a CallFailed's code, or a bug's message. */
export function failureOf(error: unknown): LoadCallFailure {
  if (error instanceof LoadCallFailed) return error.failure;
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code === 'string') return { code, effect: code === 'ECONNREFUSED' ? 'none' : 'unknown' };
  return { code: error instanceof Error ? error.message : String(error), effect: 'unknown' };
}

/** `"signing";q=2000;w=10`; undefined: the answer names no policy. */
export function rateLimitOf(policy: string | undefined): RateLimit | undefined {
  const found = /^"([^"]+)";q=(\d+);w=(\d+)$/.exec(policy ?? '');
  return found === null ? undefined : { policy: found[1]!, quota: Number(found[2]), windowS: Number(found[3]) };
}

/** `"signing";r=0;t=9`: the window's allowance is used up. */
export function isUsedUp(rateLimit: string | undefined): boolean {
  return /;r=0(;|$)/.test(rateLimit ?? '');
}
