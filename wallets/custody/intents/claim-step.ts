/**
 * The step that begins a transfer's signature: it gets its number, and from then on it is executed unless it fails. What it was
 * made for, its wallet and its token decide once more.
 */
import { ConflictLocks } from '../../../gateway/api/conflict-queue.ts';
import { isMessage } from '../../providers/port/kinds.ts';
import { merge } from '../../store/changes.ts';
import { tokenAssetId, tokenAssetType, unchangedToken } from '../assets/token-assets.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { frozenRetryMs, readTenant, unchangedTenant } from '../tenant/public.ts';
import { changeOf } from './effects.ts';
import { noFee } from './failures.ts';
import { beginSigning, failIntent, lastOf } from './machine.ts';
import type { IntentOwner, SigningLeave } from './owner.ts';
import { numberedId } from './record.ts';
import { type Loaded, type Next, type StepContext, tenantFrozen } from './step-context.ts';

type Refused = Extract<SigningLeave, { kind: 'refused' }>;

/** Then a transfer tries without its turn: the store decides in any case. */
const turnWaitMs = 5_000;
const walletNotActive = 'WALLET_NOT_ACTIVE';
const tokenFrozen = 'TOKEN_FROZEN';

export class ClaimStep {
  readonly #context: StepContext;
  /** Of transfers whose owner decides about one record: all but one of those that try together would be refused. */
  readonly #turns: ConflictLocks;
  readonly #readAgain: (task: Loaded) => Promise<Loaded | undefined>;

  /** `readAgain`: the task with its record as it is stored now. */
  constructor(context: StepContext, readAgain: (task: Loaded) => Promise<Loaded | undefined>) {
    this.#context = context;
    this.#turns = new ConflictLocks(context.deps.timers);
    this.#readAgain = readAgain;
  }

  /**
   * From now on this transfer has its number. A wallet or a tenant that was frozen meanwhile signs nothing, nor are units of a
   * frozen token transferred; what an intent was made for may refuse it.
   */
  async run(given: Loaded): Promise<Next | undefined> {
    // It may have been unfrozen since.
    const task = given.wallet.status === 'active' ? given : await this.#readAgain(given);
    if (task === undefined) return undefined;
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
    const { store } = this.#context.deps;
    const token =
      ['transfer', 'speed_up', 'typed_data', 'contract_call'].includes(record.kind) && record.token !== undefined
        ? await store.read(tenant, tokenAssetType, tokenAssetId(record.token.symbol))
        : undefined;
    const holder = await readTenant(store, tenant);
    if (holder.status === 'frozen') return this.#holdFor(task, tenantFrozen);
    if (wallet.status !== 'active') return this.#holdFor(task, walletNotActive);
    if (token !== undefined && token.status !== 'active') return this.#holdFor(task, tokenFrozen);
    const leave = await owner?.beforeSigning(tenant, record, this.#context.reporter(record, nowMs));
    if (leave?.kind === 'refused') return this.#refused(task, leave);
    const counter = adapterOf(this.#context.deps, record.provider).sequenceCounter(wallet);
    // A replacement has the number of the transfer that it is to replace.
    const isNumbered = counter !== undefined && record.replaces === undefined && !isMessage(record.kind);
    const known = record.replaces && (await store.numberOf(tenant, numberedId(record)));
    const dueAtMs = nowMs + this.#context.times.leaseMs;
    const move = beginSigning(record, nowMs);
    const change = merge(changeOf(this.#context.reporter(record, nowMs), move, dueAtMs), {
      guards: [
        // As they were read, and their MACs checked: the status word that a guard of it compares has no MAC.
        { kind: 'version', id: wallet.id, version: wallet.version },
        unchangedTenant(holder),
        ...(token === undefined ? [] : [unchangedToken(token)]),
      ],
      ...(isNumbered && { allocate: { counter, recordId: record.id } }),
    });
    const outcome = await this.#context.deps.store.commit(tenant, merge(change, leave?.change ?? {}));
    if (outcome.committed) {
      return { task: { ...task, record: lastOf(move), number: known ?? outcome.allocated, dueAtMs }, atMs: 0 };
    }
    const { refusal } = outcome;
    // Another gateway has it.
    if (refusal.kind === 'conflict' && refusal.id === record.id) return undefined;
    // Its wallet, its token, or the inputs of its owner changed concurrently.
    return this.#anew(task, nowMs);
  }

  /** Said once: a wallet may be frozen for days. */
  async #holdFor(task: Loaded, subStatus: string): Promise<Next | undefined> {
    if (task.record.subStatus === subStatus) return this.#context.reschedule(task, this.#context.nowMs + frozenRetryMs);
    const next = await this.#context.hold(task, subStatus, frozenRetryMs);
    // It is read again then.
    return next && { ...next, task: { ...next.task, wallet: undefined } };
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
