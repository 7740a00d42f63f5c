/**
 * Runs a handler and commits its change, again on fresh reads while the store refuses it as a conflict. Under an
 * idempotency key the answer is committed in the same step as its effect.
 */
import { ServiceError } from '../errors/service-error.ts';
import { toServiceError } from '../http/errors.ts';
import type { CommitRefusal, IdempotencyMark } from '../store/contract.ts';
import { isKept, type Outcome } from './answers.ts';
import { type Attempt, type ContextBase, contextOf } from './context.ts';
import type { Answer, RequestContext } from './route.ts';

/** How often a handler runs again because its reads were out of date. */
export const conflictRetriesMax = 10;

export type Executed =
  /** `settled`: the answer was committed under the idempotency key together with the change. */
  | { readonly kind: 'done'; readonly outcome: Outcome; readonly settled: boolean }
  /** Another request took the idempotency key over; nothing happened here. */
  | { readonly kind: 'overtaken' };

export interface Execution {
  readonly base: ContextBase;
  readonly attempt: Attempt;
  /** The clock of the runs. */
  readonly nowMs: () => number;
  readonly handle: (context: RequestContext) => Promise<Answer>;
  /** The mark under which an answer that is kept is committed; undefined without an idempotency key. */
  readonly markOf: ((outcome: Outcome) => IdempotencyMark) | undefined;
}

/** Never rejects: every failure is an outcome. */
export async function execute(execution: Execution): Promise<Executed> {
  try {
    for (let run = 0; run <= conflictRetriesMax; run += 1) {
      const answer = await execution.handle(contextOf(execution.base, execution.attempt, execution.nowMs()));
      const result = await commitAnswer(execution, answer);
      if (result !== 'conflict') return result;
    }
    throw new ServiceError('conflict', 'the resource keeps changing: repeat the request', {
      details: [{ field: '', issue: 'version_conflict' }],
      retryAfterS: 1,
    });
  } catch (error) {
    return { kind: 'done', outcome: { kind: 'error', error: toServiceError(error) }, settled: false };
  }
}

/** An answer to a refusal may carry a change of its own; it gets no third try. */
async function commitAnswer(execution: Execution, first: Answer): Promise<Executed | 'conflict'> {
  let answer = first;
  for (let step = 0; step < 3; step += 1) {
    const { status, body, headers, stream } = answer;
    const plain = {
      status,
      body,
      ...(headers === undefined ? {} : { headers }),
      ...(stream === undefined ? {} : { stream }),
    };
    const outcome: Outcome = { kind: 'answer', answer: plain };
    if (answer.change === undefined) return { kind: 'done', outcome, settled: false };
    if (stream !== undefined) throw new Error('a stream is no answer to a change');
    const mark = isKept(outcome) ? execution.markOf?.(outcome) : undefined;
    const { store, tenant } = execution.base;
    const result = await store.commit(tenant, answer.change, mark);
    if (result.committed) {
      afterCommit(answer, execution);
      return { kind: 'done', outcome, settled: mark !== undefined };
    }
    const { refusal } = result;
    if (refusal.kind === 'conflict') return 'conflict';
    if (refusal.kind === 'overtaken') return { kind: 'overtaken' };
    if (answer.onRefusal === undefined) throw refused(refusal);
    answer = answer.onRefusal(refusal);
  }
  throw new Error('an answer to a refusal was refused twice');
}

function afterCommit(answer: Answer, { base }: Execution): void {
  try {
    answer.afterCommit?.();
  } catch (error) {
    base.log.error({ request_id: base.requestId, reason: String(error) }, 'after a commit');
  }
}

/** What a caller is told of a refusal for which the handler has no words of its own. */
function refused(refusal: CommitRefusal): ServiceError {
  const issue = refusal.kind === 'insufficient' ? 'insufficient_funds' : 'state_conflict';
  return new ServiceError('conflict', 'the resource is not in a state that allows this', {
    details: [{ field: '', issue }],
  });
}
