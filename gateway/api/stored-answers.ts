/**
 * Answers as stored under an idempotency key. The store retains answers that tell an effect or a state: 2xx, 404, 409 and 422.
 * Other answers (a malformed request, no permission, load, an internal error) free the key again.
 */

import type { Balances } from '../../wallets/store/contract.ts';
import { packObject, unpackObject } from '../../wallets/store/event-text.ts';
import { type AssetView, withBalances } from '../../wallets/store/shown-balances.ts';
import { type ErrorKind, errorKinds } from './errors/kinds.ts';
import { ServiceError } from './errors/service-error.ts';
import type { Answer } from './route.ts';

/** Seals text so that only this service can read it; `about` is bound to it. `answerSeal` of wallets/store/secrets fits. */
export interface SealPort {
  seal(plain: string, about: string): string;
  open(sealed: string, about: string): string;
}

/** The final result of a route: an answer, or an error. */
export type RouteOutcome =
  | { readonly kind: 'answer'; readonly answer: PlainAnswer }
  | { readonly kind: 'error'; readonly error: ServiceError };

export type PlainAnswer = Pick<Answer, 'status' | 'body' | 'stream' | 'headers'>;

/**
 * An answer that shows a wallet, with the balances that its change has left it (`balancesOf` in the store's contract).
 * They are unknown before the commit, so they are stored beside the sealed answer. Undefined: the answer shows none.
 */
export function showing(outcome: RouteOutcome, balances: Balances | undefined): RouteOutcome {
  if (balances === undefined || outcome.kind === 'error') return outcome;
  const { answer } = outcome;
  // The events may show a wallet, and the answer what changed it.
  if (!isWallet(answer.body)) return outcome;
  return { kind: 'answer', answer: { ...answer, body: withBalances(answer.body, balances) } };
}

interface WalletShown {
  readonly assets: readonly AssetView[];
}

function isWallet(body: unknown): body is WalletShown {
  return Array.isArray((body as Partial<WalletShown> | undefined)?.assets);
}

export function isStored(outcome: RouteOutcome): boolean {
  if (outcome.kind === 'answer') return isStoredStatus(outcome.answer.status);
  const { error } = outcome;
  return isStoredStatus(error.entry.http) && !error.details?.some(({ issue }) => passing.has(issue));
}

function isStoredStatus(status: number): boolean {
  return (status >= 200 && status < 300) || status === 404 || status === 409 || status === 422;
}

/** Issues of a 409 that may have ended at a repeat. */
const passing: ReadonlySet<string> = new Set(['request_in_progress', 'version_conflict', 'store_tampered']);

/** Before the hash of the request that an answer is to. Earlier versions stored none. */
const hashMark = '~';

/** The text to seal: an answer, and to which request. An error is stored without its request id: each answer has its own. */
export function writeOutcome(outcome: RouteOutcome, bodyHash: string): string {
  return `${hashMark}${bodyHash}${outcomeText(outcome)}`;
}

/** Throws an Error when the text is not one of `writeOutcome`, or an answer to another request. */
export function readOutcome(text: string, bodyHash: string): RouteOutcome {
  if (!text.startsWith(hashMark)) return outcomeIn(text);
  const head = `${hashMark}${bodyHash}`;
  if (!text.startsWith(head)) throw new Error('a stored answer is to another request');
  return outcomeIn(text.slice(head.length));
}

function outcomeText(outcome: RouteOutcome): string {
  if (outcome.kind === 'answer') {
    const { status, headers, body } = outcome.answer;
    return packObject(JSON.stringify({ status, headers, body }));
  }
  const { kind, message, details, headers } = outcome.error;
  return JSON.stringify({ error: { kind, message, details, headers } });
}

function outcomeIn(text: string): RouteOutcome {
  const stored = JSON.parse(unpackObject(text)) as {
    status?: number;
    headers?: Record<string, string>;
    body?: unknown;
    error?: { kind: ErrorKind; message: string } & Pick<ServiceError, 'details' | 'headers'>;
  };
  if (stored.error !== undefined) {
    const { kind, message, details, headers } = stored.error;
    if (errorKinds[kind] === undefined) throw new Error('a stored answer has an unknown kind of error');
    const options = { ...(details === undefined ? {} : { details }), ...(headers === undefined ? {} : { headers }) };
    return { kind: 'error', error: new ServiceError(kind, message, options) };
  }
  const { status, headers, body } = stored;
  if (status === undefined) throw new Error('a stored answer has no status');
  return { kind: 'answer', answer: { status, body, ...(headers === undefined ? {} : { headers }) } };
}
