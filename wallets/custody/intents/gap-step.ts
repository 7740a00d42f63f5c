/** The step of a transfer that has failed with a number that its chain has not seen used: the number goes back, or is filled. */
import { ProviderRejected } from '../../providers/port/port.ts';
import { merge } from '../../store/changes.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { retryDelayMs } from './backoff.ts';
import { changeOf } from './effects.ts';
import { noFee } from './failures.ts';
import { failIntent, failureOf, fillGapOf } from './machine.ts';
import { inFlightIndex } from './record.ts';
import { type Loaded, type Next, type StepContext, soon } from './step-context.ts';

export class GapStep {
  readonly #context: StepContext;

  constructor(context: StepContext) {
    this.#context = context;
  }

  /**
   * The number goes back if no other transfer is under way, which the guard decides against those that start just now: they get
   * this number then. Otherwise it is filled, and that is written before it is done, so that it never goes back as well.
   */
  async run(task: Loaded): Promise<Next | undefined> {
    const { record, wallet, tenant } = task;
    const nowMs = this.#context.nowMs;
    const counter = adapterOf(this.#context.deps, record.provider).sequenceCounter(wallet);
    if (task.number === undefined || counter === undefined) throw new Error(`${record.id} has no number to give back`);
    const { number } = task;
    if (record.gap === 'filled') return this.#fillGap(task, number);
    const move = failIntent(record, failureOf(record), noFee(record), nowMs);
    const change = merge(changeOf(this.#context.reporter(record, nowMs), move), {
      guards: [{ kind: 'emptyIndex', index: inFlightIndex(wallet.id) }],
      release: { counter, number },
    });
    const outcome = await this.#context.deps.store.commit(tenant, change);
    if (outcome.committed || outcome.refusal.kind !== 'notEmpty') return undefined;
    return this.#context.move(task, fillGapOf(record, nowMs), soon(nowMs, this.#context.times.leaseMs));
  }

  async #fillGap(task: Loaded, number: number): Promise<Next | undefined> {
    const { record, wallet } = task;
    try {
      const { fee, transaction } = await this.#context.asked(
        (meta) => this.#context.deps.fillGap(meta, wallet, number, record.fees),
        task,
      );
      return this.#context.move(task, failIntent(record, failureOf(record), fee, this.#context.nowMs, transaction));
    } catch (error) {
      // Refused until long after it expired: the number goes back all the same, and the next transfer takes it. Those that
      // wait for it on the chain are dropped there after a while, if none comes.
      if (error instanceof ProviderRejected && this.#context.mayAbandon(record))
        return this.#releaseUnfilled(task, number);
      const reason = error instanceof Error ? error.message : String(error);
      this.#context.deps.log.warn(
        { intent: record.id, wallet: wallet.id, number, reason },
        'a nonce gap could not be filled; retrying',
      );
      const delayMs = retryDelayMs(record.attempts, this.#context.deps.random, 0);
      return this.#context.hold(task, record.subStatus ?? 'FAILED', delayMs);
    }
  }

  async #releaseUnfilled({ record, wallet, tenant }: Loaded, number: number): Promise<undefined> {
    const nowMs = this.#context.nowMs;
    const counter = adapterOf(this.#context.deps, record.provider).sequenceCounter(wallet);
    if (counter === undefined) throw new Error(`${record.id} has no number to give back`);
    const move = failIntent(record, failureOf(record), noFee(record), nowMs);
    await this.#context.deps.store.commit(
      tenant,
      merge(changeOf(this.#context.reporter(record, nowMs), move), { release: { counter, number } }),
    );
    return undefined;
  }
}
