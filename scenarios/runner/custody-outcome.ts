/** The outcome of a call of the wallet API, and whether it matches the step's expectation. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { CallExpectation } from './custody-format.ts';
import { type Mismatch, tookMismatches } from './expectations.ts';
import { failureOfStatus, type StepOutcome } from './outcome.ts';
import { fieldOf } from './references.ts';

export interface CustodyAnswer {
  readonly http: number;
  /** undefined: it has none. */
  readonly body: unknown;
  /** The header Retry-After. */
  readonly retryAfterS?: number;
}

export interface CustodyOutcome {
  /** e.g. "wallets.create". */
  readonly call: string;
  readonly answer?: CustodyAnswer;
  readonly failure?: StepOutcome['failure'];
}

interface ErrorBody {
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: readonly { readonly issue?: string; readonly field?: string }[];
  };
}

export function isSuccess({ answer }: CustodyOutcome): boolean {
  return answer !== undefined && answer.http >= 200 && answer.http < 300;
}

/** In one line, for a recording or a cause. */
export function custodyOutcomeText({ call, answer, failure }: CustodyOutcome): string {
  if (failure !== undefined) {
    return `${call}: no answer (${failure.kind}${failure.message === '' ? '' : `: ${failure.message}`})`;
  }
  const { http, body } = answer!;
  const { error } = (body ?? {}) as ErrorBody;
  if (error?.code !== undefined) return `${call}: ${http} ${error.code} ${issuesOf(body).join(', ')}: ${error.message}`;
  const { id, status, sub_status: sub } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const said = [id, status, sub].filter((part) => typeof part === 'string');
  return `${call}: ${[http, ...said].join(' ')}`;
}

function issuesOf(body: unknown): string[] {
  return ((body as ErrorBody | undefined)?.error?.details ?? []).map(({ issue }) => issue ?? '');
}

/** The pause of a client before it repeats: at least `leastMs`, and as long as the service asks. */
export function repeatAfterMs({ answer, failure }: CustodyOutcome, leastMs: number): number {
  return Math.max(leastMs, 1_000 * (answer?.retryAfterS ?? failure?.retryAfterS ?? 0));
}

/** Whether a repeated call may succeed. */
export function mayRepeat({ answer, failure }: CustodyOutcome): boolean {
  if (failure !== undefined) return failure.kind !== 'MALFORMED';
  const { http, body } = answer!;
  if (http === 429 || http === 500 || http === 503 || http === 504) return true;
  return (
    http === 409 && issuesOf(body).some((issue) => issue === 'request_in_progress' || issue === 'version_conflict')
  );
}

/** Every mismatch. `answerOf`: gives another step's answer; `expect` has its references resolved. */
export function callMismatches(
  expect: CallExpectation,
  outcome: CustodyOutcome,
  tookMs: number,
  world: 'simulated' | 'live',
  answerOf: (step: string) => unknown,
): Mismatch[] {
  const wrong: Mismatch[] = [];
  const differs = (field: string, expected: unknown, found: unknown) =>
    wrong.push({ field: `expect.${field}`, expected: shownValue(expected), found: shownValue(found) });
  const { answer, failure } = outcome;
  const told = custodyOutcomeText(outcome);
  const { http, code, issue, error, same_as: same, retry_after_max_s: retryMaxS } = expect;
  if (http === 'any') return tookMismatches(expect, tookMs, world);
  if (error !== undefined) {
    const kind = failure?.kind ?? failureOfStatus(answer?.http ?? 0);
    const known = kind === 'LOST' ? 'DEADLINE_EXCEEDED' : kind;
    if (known === undefined || (error !== 'any' && known !== error)) differs('error', error, told);
  } else if (answer === undefined) differs('http', http ?? 'an answer', told);
  else if (http !== undefined && answer.http !== http) differs('http', http, told);
  else if (http === undefined && code === undefined && issue === undefined && !isSuccess(outcome)) {
    differs('http', 'a success', told);
  }
  if (answer !== undefined) {
    const { body } = answer;
    if (code !== undefined && (body as ErrorBody)?.error?.code !== code) differs('code', code, told);
    if (issue !== undefined && !issuesOf(body).includes(issue)) differs('issue', issue, told);
    for (const [field, expected] of Object.entries(fieldsOf(expect))) {
      const found = fieldOf(body, field.split('.'));
      if (!isDeepStrictEqual(found, expected)) differs(field === 'status' ? field : `fields.${field}`, expected, found);
    }
    const { retryAfterS } = answer;
    if (retryMaxS !== undefined && !(retryAfterS !== undefined && retryAfterS >= 1 && retryAfterS <= retryMaxS)) {
      differs('retry_after_max_s', retryMaxS, retryAfterS === undefined ? 'no Retry-After' : String(retryAfterS));
    }
    if (same !== undefined && !isDeepStrictEqual(body, answerOf(same))) differs('same_as', answerOf(same), body);
  }
  return [...wrong, ...tookMismatches(expect, tookMs, world)];
}

function fieldsOf({ status, fields = {} }: CallExpectation): Readonly<Record<string, unknown>> {
  return { ...(status !== undefined && { status }), ...fields };
}

/** A value in the text of a mismatch: bounded. */
function shownValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
