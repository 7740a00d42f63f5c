/** Which calls of a provider the test triggers make fail. Each provider passes its own errors. */
import type { TestCredentialOutcome, TestOutcome } from './test-triggers.ts';

/** A provider's own errors. */
export interface TestErrors {
  readonly unavailable: () => Error;
  readonly credentials: () => Error;
  /** Of a quote: it would refuse the transfer. */
  readonly quote: () => Error;
  /** Of a quote: the wallet has too little money. */
  readonly funds: () => Error;
  readonly submission: () => Error;
}

type Errors<Used extends keyof TestErrors> = Pick<TestErrors, Used | 'unavailable'>;

const unavailableAttempts = 3;

/** Throws what a test credential causes while connecting. */
export function refuseConnecting(errors: Errors<'credentials'>, outcome: TestCredentialOutcome | undefined): void {
  if (outcome === 'unavailable') throw errors.unavailable();
  if (outcome === 'rejected') throw errors.credentials();
}

/** Throws what a test amount causes when a quote is asked for. */
export function refuseQuote(errors: Errors<'quote' | 'funds'>, outcome: TestOutcome | undefined): void {
  if (outcome === 'quote_rejected') throw errors.quote();
  if (outcome === 'quote_insufficient') throw errors.funds();
  if (outcome === 'quote_unavailable') throw errors.unavailable();
}

/** Throws while a test amount makes the provider unreachable for a submission. `attempt` counts from 0. */
export function refuseAttempt(errors: Errors<never>, outcome: TestOutcome | undefined, attempt: number): void {
  if (outcome === 'submit_unavailable_thrice' && attempt < unavailableAttempts) throw errors.unavailable();
}

/** Throws what a test amount causes before the provider accepts a transfer. `attempt` counts from 0. */
export function refuseSubmission(
  errors: Errors<'submission'>,
  outcome: TestOutcome | undefined,
  attempt: number,
): void {
  refuseAttempt(errors, outcome, attempt);
  if (outcome === 'submit_rejected') throw errors.submission();
}

/** Throws what a test amount causes when the provider has accepted a transfer: it does not answer. */
export function withholdAnswer(errors: Errors<never>, outcome: TestOutcome | undefined): void {
  if (outcome === 'submit_unanswered') throw errors.unavailable();
}
