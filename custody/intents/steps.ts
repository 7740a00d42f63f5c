/**
 * The background steps of one intent: sign it, follow it at its provider, settle it, or let it expire.
 *
 * Every step reads only data that an earlier one wrote, calls the provider (which is idempotent by intent id), and ends in one
 * commit under compare-and-set. So it may be interrupted at any point and repeated by any gateway; if two gateways try the same
 * step, one wins and the other drops the intent.
 */
import { adapterOf } from '../provider-calls/calling.ts';
import { walletType } from '../wallets/public.ts';
import { ClaimStep } from './claim-step.ts';
import type { IntentDependencies } from './dependencies.ts';
import { GapStep } from './gap-step.ts';
import { expireIntent } from './machine.ts';
import { ProviderStep } from './provider-step.ts';
import { intentType } from './record.ts';
import { isFinal } from './states.ts';
import { type Loaded, type Next, StepContext, type StepTimes, stepTimes, type Task } from './step-context.ts';

export class IntentSteps {
  readonly #context: StepContext;
  readonly #claim: ClaimStep;
  readonly #advance: ProviderStep;
  readonly #settleGap: GapStep;

  constructor(deps: IntentDependencies, times: StepTimes = stepTimes) {
    this.#context = new StepContext(deps, times);
    this.#claim = new ClaimStep(this.#context, (task) => this.#load({ ...task, record: undefined, number: null }));
    this.#advance = new ProviderStep(this.#context);
    this.#settleGap = new GapStep(this.#context);
  }

  /** Takes step after step until the intent has to wait. Throws StoreUnavailable; then nothing is known of the last step. */
  async run(task: Task, isStopping: () => boolean): Promise<Next | undefined> {
    const loaded = await this.#load(task);
    let next: Next | undefined = loaded && { task: loaded, atMs: 0 };
    while (next !== undefined && next.atMs <= this.#context.nowMs) {
      if (isStopping()) return undefined;
      next = await this.#step(next.task as Loaded);
    }
    return next;
  }

  async #load(task: Task): Promise<Loaded | undefined> {
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
    const number = asks ? await store.numberOf(tenant, id) : (task.number ?? undefined);
    return { tenant, id, record, wallet, number, dueAtMs: task.dueAtMs };
  }

  #step(task: Loaded): Promise<Next | undefined> {
    const { record } = task;
    const expired = this.#context.nowMs >= record.expiresAtMs;
    switch (record.status) {
      case 'pending_approval':
        return expired ? this.#expire(task) : this.#context.reschedule(task, record.expiresAtMs);
      case 'approved':
        return expired ? this.#expire(task) : this.#claim.run(task);
      case 'signing':
      case 'broadcasting':
      case 'confirming':
        return record.gap === undefined ? this.#advance.run(task) : this.#settleGap.run(task);
      default:
        if (!isFinal(record.status)) throw new Error(`${record.id} was stored as ${record.status}`);
        return this.#context.reschedule(task, undefined);
    }
  }

  #expire(task: Loaded): Promise<Next | undefined> {
    return this.#context.move(task, expireIntent(task.record, this.#context.nowMs));
  }
}
