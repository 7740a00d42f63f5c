/** The effect of one try on a delivery and on its endpoint. Pure. */
import type { SendOutcome } from '../egress/public.ts';
import type { WebhookRecord } from '../webhooks/public.ts';
import { attemptsKept, type DeliveryAttempt, type DeliveryRecord } from './record.ts';
import { afterTry, mustSuspend } from './retry-schedule.ts';

export interface TryVerdict {
  readonly after: DeliveryRecord;
  /** undefined: the delivery is final. */
  readonly retryAtMs: number | undefined;
  readonly endpoint: 'failed' | 'answered';
  /** The receiver answered 410: no more calls. */
  readonly gone: boolean;
}

/**
 * @param chance uniform in [0, 1). `nowMs`: after the try. `askedPauseMs`: of the answer's Retry-After. `lastAnswer`: what is
 * kept of the answer, sealed.
 */
export function evaluateTry(
  before: DeliveryRecord,
  outcome: SendOutcome,
  nowMs: number,
  chance: number,
  scheduleMs: readonly number[],
  askedPauseMs = 0,
  lastAnswer: string | null = null,
): TryVerdict {
  const answered = outcome.kind === 'answered';
  const result = { status: answered ? outcome.status : 0, askedPauseMs };
  const next = afterTry(result, before.failedTries, nowMs, chance, scheduleMs);
  const attempt: DeliveryAttempt = {
    atMs: nowMs - Math.round(outcome.tookMs),
    status: answered ? outcome.status : null,
    latencyMs: Math.round(outcome.tookMs),
    error: answered ? null : outcome.code,
  };
  const retryAtMs = next.kind === 'retry' ? next.atMs : undefined;
  const delivered = next.kind === 'delivered';
  return {
    after: {
      ...before,
      version: before.version + 1,
      status: delivered ? 'delivered' : retryAtMs === undefined ? 'failed' : 'retrying',
      attempts: [...before.attempts, attempt].slice(-attemptsKept),
      lastAnswer,
      attemptCount: before.attemptCount + 1,
      failedTries: before.failedTries + (delivered ? 0 : 1),
      nextAttemptAtMs: retryAtMs ?? null,
      updatedAtMs: Math.max(nowMs, before.updatedAtMs),
    },
    retryAtMs,
    endpoint: delivered ? 'answered' : 'failed',
    gone: next.kind === 'gone',
  };
}

/** A delivery that is to be tried again at once, from the beginning of the schedule. */
export function requeued(before: DeliveryRecord, nowMs: number): DeliveryRecord {
  return {
    ...before,
    version: before.version + 1,
    status: 'retrying',
    failedTries: 0,
    nextAttemptAtMs: nowMs,
    updatedAtMs: Math.max(nowMs, before.updatedAtMs),
  };
}

/**
 * Whether a webhook must be suspended. A change of it, of its address or its status, for example, gives it the whole time
 * anew.
 */
export function suspends(webhook: WebhookRecord, failingSinceMs: number | null, nowMs: number): boolean {
  if (webhook.status !== 'enabled' || failingSinceMs === null) return false;
  return mustSuspend(Math.max(failingSinceMs, webhook.updatedAtMs), nowMs);
}

/** The secrets that sign now, sealed, the newest first. */
export function signingSecrets({ secrets }: WebhookRecord, nowMs: number): readonly string[] {
  return secrets.filter(({ endsAtMs }) => endsAtMs === null || endsAtMs > nowMs).map(({ sealed }) => sealed);
}
