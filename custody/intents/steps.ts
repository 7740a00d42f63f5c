/**
 * The background steps of one intent: sign it, follow it at its provider, settle it, or let it expire.
 *
 * Every step reads only data that an earlier one wrote, calls the provider (which is idempotent by intent id), and ends in one
 * commit under compare-and-set. So it may be interrupted at any point and repeated by any gateway; if two gateways try the same
 * step, one wins and the other drops the intent.
 */

import { withinLimit } from '../../actors/waiting.ts';
import { Turns } from '../../api/conflict-queue.ts';
import type { Reporter } from '../../api/event.ts';
import { newId } from '../../proto/ids.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import {
  type CallMeta,
  type NewBalance,
  type Progress,
  type ProviderAdapter,
  ProviderRejected,
  ProviderUnavailable,
} from '../../providers/port/port.ts';
import { merge } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import { tokenAssetId } from '../assets/public.ts';
import { adapterOf } from '../provider-calls/calling.ts';
import { creditDeposit, type WalletRecord, walletType } from '../wallets/public.ts';
import { retryDelayMs } from './backoff.ts';
import type { IntentDependencies } from './dependencies.ts';
import { changeOf, dueOf, handoverMs } from './effects.ts';
import { mayBeSubmitted, noFee, providerUnreachable, rejection } from './failures.ts';
import {
  advanceIntent,
  beginSigning,
  expireIntent,
  type Failure,
  failIntent,
  failureOf,
  fillGapOf,
  holdIntent,
  lastOf,
  type Move,
  openGap,
  triedAgain,
} from './machine.ts';
import type { IntentOwner, SigningLeave } from './owner.ts';
import { type IntentRecord, inFlightIndex, intentType } from './record.ts';
import { isFinal } from './states.ts';

/** An intent to continue, and what is known of it so far. */
export interface Task {
  readonly tenant: string;
  readonly id: string;
  /** As last committed; undefined: it must be read. */
  readonly record: IntentRecord | undefined;
  readonly wallet: WalletRecord | undefined;
  /** Its allocated number; null: not known. */
  readonly number: number | undefined | null;
  /** When it falls due in the store, as far as known: until then no other gateway takes it. */
  readonly dueAtMs: number;
}

type Refused = Extract<SigningLeave, { kind: 'refused' }>;

interface Loaded extends Task {
  readonly record: IntentRecord;
  readonly wallet: WalletRecord;
  readonly number: number | undefined;
}

/** Continue this at that time; undefined: nothing to do for now, or another gateway does it. */
export interface Next {
  readonly task: Task;
  readonly atMs: number;
}

export interface StepTimes {
  /** How long a step has an intent for itself. A provider call times out before the lease ends. */
  readonly leaseMs: number;
  /**
   * An intent that was never submitted fails this long after its expiry, when its provider stayed unreachable. Reconciliation
   * finds a provider that accepted it and never answered.
   */
  readonly abandonAfterMs: number;
}

export const stepTimes: StepTimes = { leaseMs: 30_000, abandonAfterMs: 6 * 3_600_000 };

const leaseSlackMs = 5_000;
const frozenRetryMs = 5_000;
/** Then a transfer tries without its turn: the store decides in any case. */
const turnWaitMs = 5_000;
const walletNotActive = 'WALLET_NOT_ACTIVE';
const tokenFrozen = 'TOKEN_FROZEN';

export class IntentSteps {
  readonly #deps: IntentDependencies;
  readonly #times: StepTimes;
  /** Of transfers whose owner decides about one record: all but one of those that try together would be refused. */
  readonly #turns: Turns;

  constructor(deps: IntentDependencies, times: StepTimes = stepTimes) {
    this.#deps = deps;
    this.#times = times;
    this.#turns = new Turns(deps.timers);
  }

  /** Takes step after step until the intent has to wait. Throws StoreUnavailable; then nothing is known of the last step. */
  async run(task: Task, isStopping: () => boolean): Promise<Next | undefined> {
    const loaded = await this.#load(task);
    let next: Next | undefined = loaded && { task: loaded, atMs: 0 };
    while (next !== undefined && next.atMs <= this.#now()) {
      if (isStopping()) return undefined;
      next = await this.#step(next.task as Loaded);
    }
    return next;
  }

  async #load(task: Task): Promise<Loaded | undefined> {
    const { tenant, id } = task;
    const { store } = this.#deps;
    const record = task.record ?? (await store.read(tenant, intentType, id));
    if (record === undefined) {
      await store.commit(tenant, { due: [{ member: `intent/${id}`, atMs: undefined }] });
      return undefined;
    }
    const wallet = task.wallet ?? (await store.read(tenant, walletType, record.walletId));
    if (wallet === undefined) throw new Error(`the wallet of ${id} is missing`);
    const numbered = adapterOf(this.#deps, record.provider).sequenceCounter(wallet) !== undefined;
    const asks = numbered && task.number === null && record.status !== 'approved';
    const number = asks ? await store.numberOf(tenant, id) : (task.number ?? undefined);
    return { tenant, id, record, wallet, number, dueAtMs: task.dueAtMs };
  }

  #step(task: Loaded): Promise<Next | undefined> {
    const { record } = task;
    const expired = this.#now() >= record.expiresAtMs;
    switch (record.status) {
      case 'pending_approval':
        return expired ? this.#expire(task) : this.#reschedule(task, record.expiresAtMs);
      case 'approved':
        return expired ? this.#expire(task) : this.#claim(task);
      case 'signing':
      case 'broadcasting':
      case 'confirming':
        return record.gap === undefined ? this.#advance(task) : this.#settleGap(task);
      default:
        if (!isFinal(record.status)) throw new Error(`${record.id} was stored as ${record.status}`);
        return this.#reschedule(task, undefined);
    }
  }

  #expire(task: Loaded): Promise<Next | undefined> {
    return this.#move(task, expireIntent(task.record, this.#now()));
  }

  /** Changes only the time of the next scan. */
  async #reschedule({ tenant, record }: Loaded, atMs: number | undefined): Promise<undefined> {
    await this.#deps.store.commit(tenant, { guards: [versionGuard(record)], due: [dueOf(record, atMs)] });
    return undefined;
  }

  /**
   * From now on this transfer has its number. A wallet that was frozen meanwhile signs nothing, nor are units of a frozen
   * token transferred; what an intent was made for may refuse it.
   */
  async #claim(task: Loaded): Promise<Next | undefined> {
    const { tenant, record } = task;
    const owner = record.origin && this.#deps.owners?.get(record.origin.kind);
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
    const nowMs = this.#now();
    const leave = await owner?.beforeSigning(tenant, record, this.#reporter(record, nowMs));
    if (leave?.kind === 'refused') return this.#refused(task, leave);
    const counter = adapterOf(this.#deps, record.provider).sequenceCounter(wallet);
    const dueAtMs = nowMs + this.#times.leaseMs;
    const move = beginSigning(record, nowMs);
    const change = merge(changeOf(this.#reporter(record, nowMs), move, dueAtMs), {
      guards: [
        { kind: 'status', id: wallet.id, status: 'active' },
        ...(record.kind === 'transfer' && record.token !== undefined
          ? [{ kind: 'status', id: tokenAssetId(record.token.symbol), status: 'active' } as const]
          : []),
      ],
      ...(counter === undefined ? {} : { allocate: { counter, recordId: record.id } }),
    });
    const outcome = await this.#deps.store.commit(tenant, merge(change, leave?.change ?? {}));
    if (outcome.committed) {
      return { task: { ...task, record: lastOf(move), number: outcome.allocated, dueAtMs }, atMs: 0 };
    }
    const { refusal } = outcome;
    if (refusal.kind === 'status') {
      const subStatus = refusal.id === wallet.id ? walletNotActive : tokenFrozen;
      // Said once: a wallet may be frozen for days.
      if (record.subStatus === subStatus) return this.#reschedule(task, nowMs + frozenRetryMs);
      return this.#hold(task, subStatus, frozenRetryMs);
    }
    if (leave === undefined || (refusal.kind === 'conflict' && refusal.id === record.id)) return undefined;
    // The inputs of its owner changed concurrently: ask it again.
    return this.#anew(task, nowMs);
  }

  async #refused(task: Loaded, { subStatus, message, change }: Refused): Promise<Next | undefined> {
    const { tenant, record } = task;
    const nowMs = this.#now();
    const failure = { providerTxId: null, providerStatus: null, subStatus, error: { code: subStatus, message } };
    const move = failIntent(record, failure, noFee(record), nowMs);
    const outcome = await this.#deps.store.commit(tenant, merge(changeOf(this.#reporter(record, nowMs), move), change));
    return outcome.committed ? undefined : this.#anew(task, nowMs);
  }

  /** Reads it again, and takes its step once more. */
  async #anew(task: Loaded, nowMs: number): Promise<Next | undefined> {
    const loaded = await this.#load({ ...task, record: undefined, number: null });
    return loaded && { task: loaded, atMs: nowMs };
  }

  async #advance(task: Loaded): Promise<Next | undefined> {
    const { record, wallet, number } = task;
    const adapter = adapterOf(this.#deps, record.provider);
    let progress: Progress;
    try {
      progress = await this.#asked((meta) => adapter.advance(meta, { intent: record, wallet, number }), task);
    } catch (error) {
      return this.#afterError(task, adapter, error);
    }
    const nowMs = this.#now();
    if (progress.stage === 'failed') {
      const { feePaid, numberUsed, ...failure } = progress;
      return this.#fail(task, failure, feePaid, numberUsed);
    }
    const move = advanceIntent(record, progress, nowMs);
    if (progress.stage === 'completed') {
      // Before the intent ends, since no later step would: a credit may be repeated.
      await this.#creditReceiver(task, progress.providerTxId);
      return this.#move(task, move!);
    }
    const { againAtMs } = progress;
    const dueAtMs = Math.max(againAtMs, nowMs) + handoverMs;
    if (move !== undefined) return this.#move(task, move, { atMs: againAtMs, dueAtMs });
    // Nothing new, and others keep away for long enough: not worth a write.
    if (task.dueAtMs > againAtMs + handoverMs / 2) return { task, atMs: againAtMs };
    const change = { guards: [versionGuard(record)], due: [dueOf(record, dueAtMs)] };
    const { committed } = await this.#deps.store.commit(task.tenant, change);
    return committed ? { task: { ...task, dueAtMs }, atMs: againAtMs } : undefined;
  }

  /**
   * The receiver may be a wallet of ours, of any tenant. What its ledger says it has, its holder must have: a sender on
   * the receiver's chain has brought it there, any other has not. The holder comes first, so that nothing is credited that
   * cannot be spent; both may be repeated. A tenant's own token is an asset of that tenant's wallets on the chain alone:
   * any other receiver has it on the chain, and in no ledger.
   */
  async #creditReceiver({ tenant, record }: Loaded, txId: string): Promise<void> {
    const { addressBook, store, random, arrive } = this.#deps;
    const { kind, network, destination, asset, token } = record;
    if (kind === 'deploy' || kind === 'burn') return;
    const owner = await addressBook.ownerOf(network, destination.address);
    if (owner === undefined) return;
    const receiver = await store.read(owner.tenant, walletType, owner.walletId);
    if (token !== undefined) {
      if (owner.tenant !== tenant) return;
      if (receiver === undefined || !this.#isOnChain(receiver.provider)) return;
    }
    const nowMs = this.#now();
    if (receiver !== undefined && !(this.#isOnChain(record.provider) && this.#isOnChain(receiver.provider))) {
      // As the wallet writes its address: the sender may have written it another way.
      const { address } = receiver.addresses.find((held) => held.network === network)!;
      const units = BigInt(record.units);
      const { tenant } = owner;
      const { fromAddress } = record;
      await arrive({
        transferId: record.id,
        txId,
        fromAddress,
        network,
        address,
        asset,
        units,
        tenant,
        receiver,
        nowMs,
      });
    }
    await creditDeposit(store, {
      ...owner,
      asset,
      ...(token !== undefined && { token }),
      units: BigInt(record.units),
      txId,
      fromAddress: record.fromAddress,
      nowMs,
      newId: (prefix) => newId(prefix, nowMs, random),
    });
  }

  /** Whether the wallets of this provider lie on the simulated chains. */
  #isOnChain(provider: ProviderKind): boolean {
    return adapterOf(this.#deps, provider).info.hosting === 'self_hosted';
  }

  async #afterError(task: Loaded, adapter: ProviderAdapter, error: unknown): Promise<Next | undefined> {
    const { record } = task;
    if (error instanceof ProviderRejected) return this.#fail(task, rejection(error), noFee(record), false);
    const unreachable = error instanceof ProviderUnavailable;
    if (!unreachable) {
      const reason = error instanceof Error ? error.stack : String(error);
      this.#deps.log.error({ intent: record.id, provider: record.provider, reason }, 'a provider adapter failed');
    }
    const subStatus = adapter.info.hosting === 'self_hosted' ? 'AWAITING_QUORUM' : 'PROVIDER_UNAVAILABLE';
    if (!mayBeSubmitted(record) && this.#mayAbandon(record) && (await this.#isAbandoned(task, adapter))) {
      return this.#fail(task, providerUnreachable(subStatus), noFee(record), false);
    }
    const delayMs = retryDelayMs(record.attempts, this.#deps.random, unreachable ? error.retryAfterMs : 0);
    return this.#hold(task, unreachable ? subStatus : 'RETRYING', delayMs);
  }

  /** Whether the provider has released what it reserved for a transfer that will not be sent again. */
  async #isAbandoned(task: Loaded, adapter: ProviderAdapter): Promise<boolean> {
    if (adapter.abandon === undefined) return true;
    const { record, wallet, number } = task;
    try {
      await this.#asked((meta) => adapter.abandon!(meta, { intent: record, wallet, number }), task);
      return true;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#deps.log.warn(
        { intent: record.id, reason },
        'the reservations of a failed transfer could not be released; retrying',
      );
      return false;
    }
  }

  #mayAbandon({ expiresAtMs }: IntentRecord): boolean {
    return this.#now() >= expiresAtMs + this.#times.abandonAfterMs;
  }

  async #hold(task: Loaded, subStatus: string, delayMs: number): Promise<Next | undefined> {
    const atMs = this.#now() + delayMs;
    const dueAtMs = atMs + handoverMs;
    const { tenant, record } = task;
    const move = holdIntent(record, subStatus, this.#now());
    if (move !== undefined) return this.#move(task, move, { atMs, dueAtMs });
    const change = { guards: [versionGuard(record)], due: [dueOf(record, dueAtMs)] };
    const { committed } = await this.#deps.store.commit(tenant, change);
    return committed ? { task: { ...task, record: triedAgain(record), dueAtMs }, atMs } : undefined;
  }

  /** A number that the chain will never see used would hold up every later transfer of the wallet: it comes first. */
  async #fail(task: Loaded, failure: Failure, fee: NewBalance, numberUsed: boolean): Promise<Next | undefined> {
    const nowMs = this.#now();
    if (task.number === undefined || numberUsed) return this.#move(task, failIntent(task.record, failure, fee, nowMs));
    return this.#move(task, openGap(task.record, failure, nowMs), soon(nowMs, this.#times.leaseMs));
  }

  /**
   * The number goes back if no other transfer is under way, which the guard decides against those that start just now: they get
   * this number then. Otherwise it is filled, and that is written before it is done, so that it never goes back as well.
   */
  async #settleGap(task: Loaded): Promise<Next | undefined> {
    const { record, wallet, tenant } = task;
    const nowMs = this.#now();
    const counter = adapterOf(this.#deps, record.provider).sequenceCounter(wallet);
    if (task.number === undefined || counter === undefined) throw new Error(`${record.id} has no number to give back`);
    const { number } = task;
    if (record.gap === 'filled') return this.#fillGap(task, number);
    const move = failIntent(record, failureOf(record), noFee(record), nowMs);
    const change = merge(changeOf(this.#reporter(record, nowMs), move), {
      guards: [{ kind: 'emptyIndex', index: inFlightIndex(wallet.id) }],
      release: { counter, number },
    });
    const outcome = await this.#deps.store.commit(tenant, change);
    if (outcome.committed || outcome.refusal.kind !== 'notEmpty') return undefined;
    return this.#move(task, fillGapOf(record, nowMs), soon(nowMs, this.#times.leaseMs));
  }

  async #fillGap(task: Loaded, number: number): Promise<Next | undefined> {
    const { record, wallet } = task;
    try {
      const { fee, transaction } = await this.#asked((meta) => this.#deps.fillGap(meta, wallet, number), task);
      return this.#move(task, failIntent(record, failureOf(record), fee, this.#now(), transaction));
    } catch (error) {
      // Refused until long after it expired: the number goes back all the same, and the next transfer takes it. Those that
      // wait for it on the chain are dropped there after a while, if none comes.
      if (error instanceof ProviderRejected && this.#mayAbandon(record)) return this.#releaseUnfilled(task, number);
      const reason = error instanceof Error ? error.message : String(error);
      this.#deps.log.warn(
        { intent: record.id, wallet: wallet.id, number, reason },
        'a nonce gap could not be filled; retrying',
      );
      const delayMs = retryDelayMs(record.attempts, this.#deps.random, 0);
      return this.#hold(task, record.subStatus ?? 'FAILED', delayMs);
    }
  }

  async #releaseUnfilled({ record, wallet, tenant }: Loaded, number: number): Promise<undefined> {
    const nowMs = this.#now();
    const counter = adapterOf(this.#deps, record.provider).sequenceCounter(wallet);
    if (counter === undefined) throw new Error(`${record.id} has no number to give back`);
    const move = failIntent(record, failureOf(record), noFee(record), nowMs);
    await this.#deps.store.commit(
      tenant,
      merge(changeOf(this.#reporter(record, nowMs), move), { release: { counter, number } }),
    );
    return undefined;
  }

  /** Commits a move. Refused: another gateway moved it, and continues it. */
  async #move(task: Loaded, move: Move, then?: { atMs: number; dueAtMs: number }): Promise<Next | undefined> {
    const change: Change = changeOf(this.#reporter(task.record, this.#now()), move, then?.dueAtMs);
    const outcome = await this.#deps.store.commit(task.tenant, change);
    if (!outcome.committed) {
      if (outcome.refusal.kind === 'conflict') return undefined;
      throw new Error(`${task.id} could not be written: ${outcome.refusal.kind}`);
    }
    if (then === undefined) return undefined;
    return { task: { ...task, record: lastOf(move), dueAtMs: then.dueAtMs }, atMs: then.atMs };
  }

  /** A hanging provider call times out before the lease ends. */
  async #asked<T>(ask: (meta: CallMeta) => Promise<T>, task: Loaded): Promise<T> {
    const limitMs = Math.max(this.#times.leaseMs - leaseSlackMs, this.#times.leaseMs / 2);
    return withinLimit(this.#deps.timers, limitMs, ask(this.#meta(task)), () => {
      throw new ProviderUnavailable('the provider did not answer in time');
    });
  }

  #meta({ tenant, record }: Loaded): CallMeta {
    return { tenant, nowMs: this.#now(), correlationId: record.correlationId, traceparent: '' };
  }

  #reporter(record: IntentRecord, nowMs: number): Reporter {
    return { nowMs, requestId: record.correlationId, newId: (prefix) => newId(prefix, nowMs, this.#deps.random) };
  }

  #now(): number {
    return this.#deps.clock.nowMs();
  }
}

function soon(nowMs: number, leaseMs: number): { atMs: number; dueAtMs: number } {
  return { atMs: nowMs, dueAtMs: nowMs + leaseMs };
}

function versionGuard({ id, version }: IntentRecord): { kind: 'version'; id: string; version: number } {
  return { kind: 'version', id, version };
}
