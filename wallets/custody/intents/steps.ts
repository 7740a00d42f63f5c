/**
 * The background steps of one intent: sign it, follow it at its provider, settle it, or let it expire.
 *
 * Every step reads only data that an earlier one wrote, calls the provider (which is idempotent by intent id), and ends in one
 * commit under compare-and-set. So it may be interrupted at any point and repeated by any gateway; if two gateways try the same
 * step, one wins and the other drops the intent.
 */

import type { DecidedTransaction } from '../../providers/port/port.ts';
import { StoreTampered } from '../../store/contract.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { frozenRetryMs, readTenant } from '../tenant/public.ts';
import { walletType } from '../wallets/public.ts';
import { ClaimStep } from './claim-step.ts';
import type { IntentDependencies } from './dependencies.ts';
import { noFee } from './failures.ts';
import { GapStep } from './gap-step.ts';
import { expireIntent, tamperedFailure } from './machine.ts';
import { decidedOf, orderOf } from './order-check.ts';
import { ProviderStep } from './provider-step.ts';
import { intentType, isSettled, numberedId } from './record.ts';
import { isFinal } from './states.ts';
import {
  type IntentTask,
  type Loaded,
  type Next,
  StepContext,
  type StepTimes,
  stepTimes,
  tenantFrozen,
} from './step-context.ts';
import { TamperedStep } from './tampered-step.ts';

export class IntentSteps {
  readonly #context: StepContext;
  readonly #claim: ClaimStep;
  readonly #advance: ProviderStep;
  readonly #settleGap: GapStep;
  readonly #tampered: TamperedStep;

  constructor(deps: IntentDependencies, times: StepTimes = stepTimes) {
    this.#context = new StepContext(deps, times);
    this.#claim = new ClaimStep(this.#context, (task) =>
      this.#load({ ...task, record: undefined, wallet: undefined, number: null }),
    );
    this.#advance = new ProviderStep(this.#context);
    this.#settleGap = new GapStep(this.#context);
    this.#tampered = new TamperedStep(this.#context);
  }

  /** Takes step after step until the intent has to wait. Throws StoreUnavailable; then nothing is known of the last step. */
  async run(task: IntentTask, isStopping: () => boolean): Promise<Next | undefined> {
    let current: IntentTask = task;
    try {
      const loaded = await this.#load(task);
      let next: Next | undefined = loaded && { task: loaded, atMs: 0 };
      while (next !== undefined && next.atMs <= this.#context.nowMs) {
        if (isStopping()) return undefined;
        current = next.task;
        next = await this.#step(next.task as Loaded);
      }
      return next;
    } catch (error) {
      if (error instanceof StoreTampered) return this.#tampered.run(current, error);
      throw error;
    }
  }

  async #load(task: IntentTask): Promise<Loaded | undefined> {
    const { tenant, id } = task;
    const { store } = this.#context.deps;
    const record = task.record ?? (await store.read(tenant, intentType, id));
    if (record === undefined) {
      await store.commit(tenant, { due: [{ member: `intent/${id}`, atMs: undefined }] });
      return undefined;
    }
    const wallet = task.wallet ?? (await store.read(tenant, walletType, record.walletId));
    if (wallet === undefined) throw new Error(`the wallet of ${id} is missing`);
    const numbered = adapterOf(this.#context.deps, record.provider).sequenceCounter(wallet) !== undefined;
    const asks = numbered && task.number === null && record.status !== 'approved';
    const number = asks ? await store.numberOf(tenant, numberedId(record)) : (task.number ?? undefined);
    return { tenant, id, record, wallet, number, dueAtMs: task.dueAtMs };
  }

  async #step(task: Loaded): Promise<Next | undefined> {
    const { record } = task;
    const expired = this.#context.nowMs >= record.expiresAtMs;
    switch (record.status) {
      case 'pending_approval':
      case 'approved': {
        if (expired) return this.#expire(task);
        const order = this.#order(task);
        if (typeof order === 'string') return this.#refuse(task, order);
        return record.status === 'approved'
          ? this.#claim.run(task)
          : this.#context.reschedule(task, record.expiresAtMs);
      }
      case 'signing': {
        // Nothing is ordered yet, or the answer was lost.
        const order = record.gap === undefined && record.providerTxId === null ? this.#order(task) : undefined;
        if (typeof order === 'string') return this.#refuse(task, order);
        if (order !== undefined && (await this.#isFrozen(task))) {
          return this.#context.hold(task, tenantFrozen, frozenRetryMs);
        }
        return record.gap === undefined ? this.#advance.run(task, order) : this.#settleGap.run(task);
      }
      case 'broadcasting':
      case 'confirming':
        return record.gap === undefined ? this.#advance.run(task, undefined) : this.#settleGap.run(task);
      default:
        if (!isFinal(record.status)) throw new Error(`${record.id} was stored as ${record.status}`);
        return isSettled(record) ? this.#context.reschedule(task, undefined) : this.#advance.run(task, undefined);
    }
  }

  /** The transaction that may be ordered, or why it may not; of one that waits for votes, why it never may. */
  #order({ tenant, record, wallet }: Loaded): DecidedTransaction | string {
    const { deps } = this.#context;
    if (record.status !== 'pending_approval') return orderOf(deps, tenant, record, wallet);
    const decided = decidedOf(deps, tenant, record);
    return typeof decided === 'string' ? decided : decided.transaction;
  }

  async #isFrozen({ tenant }: Loaded): Promise<boolean> {
    return (await readTenant(this.#context.deps.store, tenant)).status === 'frozen';
  }

  #refuse(task: Loaded, message: string): Promise<Next | undefined> {
    return this.#context.fail(task, tamperedFailure(message), noFee(task.record), false);
  }

  #expire(task: Loaded): Promise<Next | undefined> {
    return this.#context.move(task, expireIntent(task.record, this.#context.nowMs));
  }
}
