/** The step of a transfer that is under way: its provider executes it, and says how far it is. */
import {
  type DecidedTransaction,
  NotDecided,
  type ProviderAdapter,
  ProviderRejected,
  ProviderUnavailable,
  type TransferProgress,
} from '../../providers/port/port.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { retryDelayMs } from './backoff.ts';
import { dueOf, handoverMs } from './effects.ts';
import { mayBeSubmitted, noFee, providerUnreachable, rejection } from './failures.ts';
import { advanceIntent, tamperedFailure } from './machine.ts';
import { creditReceiver, debitOwner } from './receiver-credit.ts';
import { replacedStatus, rivalsOf } from './rivals.ts';
import { type Loaded, type Next, type StepContext, versionGuard } from './step-context.ts';

/** Until then its rival has ended it, as a rule. */
const replacedAgainMs = 5_000;
/** The shortest pause after an answer without news. */
const idleAgainMs = 50;

export class ProviderStep {
  readonly #context: StepContext;

  constructor(context: StepContext) {
    this.#context = context;
  }

  /** `decided`: what may be ordered; undefined: nothing more, it has been ordered. */
  async run(task: Loaded, decided: DecidedTransaction | undefined): Promise<Next | undefined> {
    const { record, wallet, number } = task;
    const intent = { ...record, decided };
    const adapter = adapterOf(this.#context.deps, record.provider);
    let progress: TransferProgress;
    try {
      progress = await this.#context.asked((meta) => adapter.advance(meta, { intent, wallet, number }), task);
    } catch (error) {
      return this.#afterError(task, adapter, error);
    }
    const nowMs = this.#context.nowMs;
    if (progress.stage === 'failed' && progress.subStatus === replacedStatus) {
      const rivals = await rivalsOf(this.#context.deps.store, task.tenant, record);
      // One of them has its place, and ends it when it is mined.
      if (rivals.length > 0) progress = beingReplaced(progress, nowMs);
    }
    if (progress.stage === 'failed') {
      const { feePaid, numberUsed, ...failure } = progress;
      return this.#context.fail(task, failure, feePaid, numberUsed);
    }
    const move = advanceIntent(record, progress, nowMs);
    // A provider that has nothing new, and wants to be asked in the past, would be asked without a pause.
    const askAtMs = progress.againAtMs ?? nowMs;
    const againAtMs = move === undefined ? Math.max(askAtMs, nowMs + idleAgainMs) : askAtMs;
    const dueAtMs = Math.max(againAtMs, nowMs) + handoverMs;
    const isUndone = record.status === 'completed' && progress.stage !== 'completed';
    if (move !== undefined && progress.providerTxId !== null && (isUndone || progress.stage === 'completed')) {
      // Before the intent is written, since no later step would: it may be repeated.
      const standing = isUndone ? 'reverted' : progress.againAtMs === undefined ? 'final' : 'pending';
      if (standing === 'final') await debitOwner(this.#context.deps, task, progress.providerTxId);
      await creditReceiver(this.#context.deps, task, progress.providerTxId, standing);
    }
    if (progress.stage === 'completed' && move !== undefined) {
      const then = progress.againAtMs === undefined ? undefined : { atMs: againAtMs, dueAtMs };
      return this.#context.settle(task, move, then);
    }
    if (move !== undefined) return this.#context.move(task, move, { atMs: againAtMs, dueAtMs });
    // Nothing new, and others keep away for long enough: not worth a write.
    if (task.dueAtMs > againAtMs + handoverMs / 2) return { task, atMs: againAtMs };
    const change = { guards: [versionGuard(record)], due: [dueOf(record, dueAtMs)] };
    const { committed } = await this.#context.deps.store.commit(task.tenant, change);
    return committed ? { task: { ...task, dueAtMs }, atMs: againAtMs } : undefined;
  }

  async #afterError(task: Loaded, adapter: ProviderAdapter, error: unknown): Promise<Next | undefined> {
    const { record } = task;
    if (error instanceof NotDecided) {
      return this.#context.fail(task, tamperedFailure(error.message), noFee(record), false);
    }
    if (error instanceof ProviderRejected) return this.#context.fail(task, rejection(error), noFee(record), false);
    const unreachable = error instanceof ProviderUnavailable;
    if (!unreachable) {
      const reason = error instanceof Error ? error.stack : String(error);
      this.#context.deps.log.error(
        { intent: record.id, provider: record.provider, reason },
        'a provider adapter failed',
      );
    }
    const subStatus = adapter.info.hosting === 'self_hosted' ? 'AWAITING_QUORUM' : 'PROVIDER_UNAVAILABLE';
    if (!mayBeSubmitted(record) && this.#context.mayAbandon(record) && (await this.#isAbandoned(task, adapter))) {
      return this.#context.fail(task, providerUnreachable(subStatus), noFee(record), false);
    }
    const delayMs = retryDelayMs(record.attempts, this.#context.deps.random, unreachable ? error.retryAfterMs : 0);
    return this.#context.hold(task, unreachable ? subStatus : 'RETRYING', delayMs);
  }

  /** Whether the provider has released what it reserved for a transfer that will not be sent again. */
  async #isAbandoned(task: Loaded, adapter: ProviderAdapter): Promise<boolean> {
    if (adapter.abandon === undefined) return true;
    const { record, wallet, number } = task;
    const intent = { ...record, decided: undefined };
    try {
      await this.#context.asked((meta) => adapter.abandon!(meta, { intent, wallet, number }), task);
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#context.deps.log.warn(
        { intent: record.id, reason },
        'the reservations of a failed transfer could not be released; retrying',
      );
      return false;
    }
  }
}

function beingReplaced(
  { providerTxId, providerStatus, submission }: Extract<TransferProgress, { stage: 'failed' }>,
  nowMs: number,
): TransferProgress {
  return {
    stage: 'broadcasting',
    providerTxId,
    providerStatus,
    subStatus: 'BEING_REPLACED',
    submission,
    againAtMs: nowMs + replacedAgainMs,
  };
}
