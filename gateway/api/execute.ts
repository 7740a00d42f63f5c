/**
 * Runs a handler and commits its change. If the store refuses because data that the handler read has changed, the handler runs
 * again on fresh reads. Conflicting requests of this process take turns (conflict-queue.ts). Under an idempotency key the
 * answer is committed in the same step as its effect.
 */
import type { Ports } from '../../core/actors/contract.ts';
import { pause } from '../../core/actors/waiting.ts';
import {
  type Change,
  type CommitRefusal,
  type IdempotencyMark,
  StoreUnavailable,
} from '../../wallets/store/contract.ts';
import type { ConflictLock, ConflictLocks } from './conflict-queue.ts';
import { type ContextBase, contextOf, type RequestAttempt } from './context.ts';
import { ServiceError } from './errors/service-error.ts';
import { keepsChanging, outcomeUnknown, quotaExceeded, toServiceError } from './failures.ts';
import type { Answer, RequestContext } from './route.ts';
import { isStored, type RouteOutcome, showing } from './stored-answers.ts';

/** How often a handler runs again because its reads were out of date. */
export const conflictRetriesMax = 10;
/** How long a request waits for its turns, in all: well within the lease of an idempotency key. */
export const turnWaitMs = 10_000;
/** In its turn a request conflicts only with other gateways; it backs off for about this long, more each time. */
const giveWayMs = 5;

export type Executed =
  /**
   * `settled`: the answer was committed under the idempotency key together with the change. `isStored`: whether the key keeps it;
   * undefined: by its status.
   */
  | { readonly kind: 'done'; readonly outcome: RouteOutcome; readonly settled: boolean; readonly isStored?: boolean }
  /** Another request took over the idempotency key; this run had no effect. */
  | { readonly kind: 'overtaken' };

interface Conflict {
  readonly kind: 'conflict';
  /** The records that caused the store's refusal. */
  readonly id: string;
}

export interface Execution {
  readonly base: ContextBase;
  readonly attempt: RequestAttempt;
  readonly ports: Ports;
  readonly handle: (context: RequestContext) => Promise<Answer>;
  /** The claim under which a stored answer is committed; undefined without an idempotency key. */
  readonly markOf: ((outcome: RouteOutcome) => IdempotencyMark) | undefined;
  /** Of the process. */
  readonly turns: ConflictLocks;
}

/** Never rejects: every failure is an outcome. */
export async function execute(execution: Execution): Promise<Executed> {
  const { base, attempt, turns } = execution;
  const { clock, timers, random } = execution.ports;
  const deadlineMs = timers.elapsedMs() + turnWaitMs;
  let turn: ConflictLock | undefined;
  const takeTurn = async (key: string): Promise<void> => {
    turn?.end();
    turn = undefined;
    turn = await turns.take(key, Math.max(0, deadlineMs - timers.elapsedMs()));
    if (turn === undefined) throw keepsChanging();
  };
  try {
    for (let run = 0; run <= conflictRetriesMax; run += 1) {
      const answer = await execution.handle(contextOf(base, attempt, clock.nowMs()));
      const taken = turn === undefined ? takenBy(turns, base.tenant, answer.change) : undefined;
      if (taken !== undefined) {
        // Other requests already wait for a record that this one changes: it queues behind them, and reads again.
        await takeTurn(taken);
        continue;
      }
      const result = await commitAnswer(execution, answer);
      if (result.kind !== 'conflict') return result;
      const key = turnKey(base.tenant, result.id);
      if (turn?.key !== key) await takeTurn(key);
      else await pause(timers, Math.ceil(((random(1)[0]! + 0.5) / 256) * giveWayMs * (run + 1)));
    }
    throw keepsChanging();
  } catch (error) {
    return { kind: 'done', outcome: { kind: 'error', error: toServiceError(error) }, settled: false };
  } finally {
    turn?.end();
  }
}

function turnKey(tenant: string, id: string): string {
  return `${tenant} ${id}`;
}

/** The first turn that another request has of what this change compares; undefined: none. */
function takenBy(turns: ConflictLocks, tenant: string, change: Change | undefined): string | undefined {
  if (turns.isIdle || change === undefined) return undefined;
  const { puts = [], removals = [], guards = [] } = change;
  const ids = [
    ...puts.flatMap(({ before }) => before?.id ?? []),
    ...removals.map(({ before }) => before.id),
    ...guards.flatMap((guard) => {
      if (guard.kind === 'version') return [guard.id];
      if (guard.kind === 'count') return [guard.index];
      return guard.kind === 'available' ? [guard.walletId] : [];
    }),
  ];
  return ids.map((id) => turnKey(tenant, id)).find((key) => turns.isTaken(key));
}

/** An answer to a refusal may carry a change of its own; it gets no third try. */
async function commitAnswer(execution: Execution, first: Answer): Promise<Executed | Conflict> {
  let answer = first;
  for (let step = 0; step < 3; step += 1) {
    const { status, body, headers, stream } = answer;
    const plain = {
      status,
      body,
      ...(headers === undefined ? {} : { headers }),
      ...(stream === undefined ? {} : { stream }),
    };
    const outcome: RouteOutcome = { kind: 'answer', answer: plain };
    if (answer.change === undefined) return { kind: 'done', outcome, settled: false };
    if (stream !== undefined) throw new Error('a stream is no answer to a change');
    const mark = isStored(outcome) ? execution.markOf?.(outcome) : undefined;
    const { store, tenant } = execution.base;
    // A tenant over its quota can still make changes that create no record.
    const change = status === 201 ? { ...answer.change, counted: true } : answer.change;
    const result = await store.commit(tenant, change, mark).catch(unanswered);
    if (result.committed) {
      afterCommit(answer, execution);
      return { kind: 'done', outcome: showing(outcome, result.balances), settled: mark !== undefined };
    }
    const { refusal } = result;
    if (refusal.kind === 'conflict') return { kind: 'conflict', id: refusal.id };
    if (refusal.kind === 'overtaken') return { kind: 'overtaken' };
    if (refusal.kind === 'full') throw quotaExceeded(refusal.bytes);
    if (answer.onRefusal === undefined) throw refused(refusal);
    answer = answer.onRefusal(refusal);
  }
  throw new Error('an answer to a refusal was refused twice');
}

function unanswered(error: unknown): never {
  throw error instanceof StoreUnavailable && !error.changedNothing ? outcomeUnknown(error) : error;
}

function afterCommit(answer: Answer, { base }: Execution): void {
  try {
    answer.afterCommit?.();
  } catch (error) {
    base.log.error({ request_id: base.requestId, reason: String(error) }, 'after a commit');
  }
}

/** The error for a refusal that the handler does not describe itself. */
function refused(refusal: CommitRefusal): ServiceError {
  const issue = refusal.kind === 'insufficient' ? 'insufficient_funds' : 'state_conflict';
  return new ServiceError('conflict', 'the resource is not in a state that allows this', {
    details: [{ field: '', issue }],
  });
}
