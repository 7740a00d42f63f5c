/**
 * The step that begins a transfer's signature: it gets its number, and from then on it is executed unless it fails. What it was
 * made for, its wallet and its token decide once more.
 */
import { Turns } from '../../api/conflict-queue.ts';
import { merge } from '../../store/changes.ts';
import { tokenAssetId } from '../assets/public.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { changeOf } from './effects.ts';
import { noFee } from './failures.ts';
import { beginSigning, failIntent, lastOf } from './machine.ts';
import type { IntentOwner, SigningLeave } from './owner.ts';
import type { Loaded, Next, StepContext } from './step-context.ts';

type Refused = Extract<SigningLeave, { kind: 'refused' }>;

const frozenRetryMs = 5_000;
/** Then a transfer tries without its turn: the store decides in any case. */
const turnWaitMs = 5_000;
const walletNotActive = 'WALLET_NOT_ACTIVE';
const tokenFrozen = 'TOKEN_FROZEN';

export class ClaimStep {
  readonly #context: StepContext;
  /** Of transfers whose owner decides about one record: all but one of those that try together would be refused. */
  readonly #turns: Turns;
  readonly #readAgain: (task: Loaded) => Promise<Loaded | undefined>;

  /** `readAgain`: the task with its record as it is stored now. */
  constructor(context: StepContext, readAgain: (task: Loaded) => Promise<Loaded | undefined>) {
    this.#context = context;
    this.#turns = new Turns(context.deps.timers);
    this.#readAgain = readAgain;
  }

  /**
   * From now on this transfer has its number. A wallet that was frozen meanwhile signs nothing, nor are units of a frozen
   * token transferred; what an intent was made for may refuse it.
   */
  async run(task: Loaded): Promise<Next | undefined> {
    const { tenant, record } = task;
    const owner = record.origin && this.#context.deps.owners?.get(record.origin.kind);
    const about = owner?.decidesAbout(record);
    if (about === undefined) return this.#claimNow(task, owner);
    const turn = await this.#turns.take(`${tenant}/${about}`, turnWaitMs);
    try {
      return await this.#claimNow(task, owner);
    } finally {
      turn?.end();
    }
  }

  async #claimNow(task: Loaded, owner: IntentOwner | undefined): Promise<Next | undefined> {
    const { tenant, record, wallet } = task;
    const nowMs = this.#context.nowMs;
    const leave = await owner?.beforeSigning(tenant, record, this.#context.reporter(record, nowMs));
    if (leave?.kind === 'refused') return this.#refused(task, leave);
    const counter = adapterOf(this.#context.deps, record.provider).sequenceCounter(wallet);
    const dueAtMs = nowMs + this.#context.times.leaseMs;
    const move = beginSigning(record, nowMs);
    const change = merge(changeOf(this.#context.reporter(record, nowMs), move, dueAtMs), {
      guards: [
        { kind: 'status', id: wallet.id, status: 'active' },
        ...(record.kind === 'transfer' && record.token !== undefined
          ? [{ kind: 'status', id: tokenAssetId(record.token.symbol), status: 'active' } as const]
          : []),
      ],
      ...(counter === undefined ? {} : { allocate: { counter, recordId: record.id } }),
    });
    const outcome = await this.#context.deps.store.commit(tenant, merge(change, leave?.change ?? {}));
    if (outcome.committed) {
      return { task: { ...task, record: lastOf(move), number: outcome.allocated, dueAtMs }, atMs: 0 };
    }
    const { refusal } = outcome;
    if (refusal.kind === 'status') {
      const subStatus = refusal.id === wallet.id ? walletNotActive : tokenFrozen;
      // Said once: a wallet may be frozen for days.
      if (record.subStatus === subStatus) return this.#context.reschedule(task, nowMs + frozenRetryMs);
      return this.#context.hold(task, subStatus, frozenRetryMs);
    }
    if (leave === undefined || (refusal.kind === 'conflict' && refusal.id === record.id)) return undefined;
    // The inputs of its owner changed concurrently: ask it again.
    return this.#anew(task, nowMs);
  }

  async #refused(task: Loaded, { subStatus, message, change }: Refused): Promise<Next | undefined> {
    const { tenant, record } = task;
    const nowMs = this.#context.nowMs;
    const failure = { providerTxId: null, providerStatus: null, subStatus, error: { code: subStatus, message } };
    const move = failIntent(record, failure, noFee(record), nowMs);
    const outcome = await this.#context.deps.store.commit(
      tenant,
      merge(changeOf(this.#context.reporter(record, nowMs), move), change),
    );
    return outcome.committed ? undefined : this.#anew(task, nowMs);
  }

  /** Reads it again, and takes its step once more. */
  async #anew(task: Loaded, nowMs: number): Promise<Next | undefined> {
    const loaded = await this.#readAgain(task);
    return loaded && { task: loaded, atMs: nowMs };
  }
}
