/** The parts that all steps of an intent share: its task, the commits of its moves, its waits, and the calls of its provider. */
import { withinLimit } from '../../../core/actors/waiting.ts';
import type { Reporter } from '../../../gateway/api/event.ts';
import { newId } from '../../../proto/ids.ts';
import { type CallMeta, type NewBalance, ProviderUnavailable } from '../../providers/port/port.ts';
import { merge } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import type { WalletRecord } from '../wallets/public.ts';
import type { IntentDependencies } from './dependencies.ts';
import { changeOf, dueOf, handoverMs } from './effects.ts';
import { noFee } from './failures.ts';
import { failIntent, holdIntent, type IntentFailure, lastOf, type Move, openGap, triedAgain } from './machine.ts';
import type { IntentRecord } from './record.ts';
import { lostTo, rivalsOf } from './rivals.ts';
import { isFinal } from './states.ts';

/** An intent to continue, and what is known of it so far. */
export interface IntentTask {
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

/** A task whose record and wallet have been read. */
export interface Loaded extends IntentTask {
  readonly record: IntentRecord;
  readonly wallet: WalletRecord;
  readonly number: number | undefined;
}

/** Continue this at that time; undefined: nothing to do for now, or another gateway does it. */
export interface Next {
  readonly task: IntentTask;
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

/** The sub-status of what a freeze of the tenant stops. */
export const tenantFrozen = 'TENANT_FROZEN';

const leaseSlackMs = 5_000;
const settleAttempts = 5;
const settleAgainMs = 1_000;

/** Every step works over one of these. */
export class StepContext {
  readonly deps: IntentDependencies;
  readonly times: StepTimes;

  constructor(deps: IntentDependencies, times: StepTimes) {
    this.deps = deps;
    this.times = times;
  }

  get nowMs(): number {
    return this.deps.clock.nowMs();
  }

  /** Commits a move. Refused: another gateway moved it, and continues it. */
  async move(task: Loaded, move: Move, then?: { atMs: number; dueAtMs: number }): Promise<Next | undefined> {
    const change: Change = changeOf(this.reporter(task.record, this.nowMs), move, then?.dueAtMs);
    const outcome = await this.deps.store.commit(task.tenant, change);
    if (!outcome.committed) {
      if (outcome.refusal.kind === 'conflict') return undefined;
      throw new Error(`${task.id} could not be written: ${outcome.refusal.kind}`);
    }
    if (then === undefined) return undefined;
    return { task: { ...task, record: lastOf(move), dueAtMs: then.dueAtMs }, atMs: then.atMs };
  }

  /** Commits the end of an intent whose transaction was mined, and with it the end of its rivals. `then`: it is not final. */
  async settle(task: Loaded, move: Move, then?: { atMs: number; dueAtMs: number }): Promise<Next | undefined> {
    const { store } = this.deps;
    for (let attempt = 0; attempt < settleAttempts; attempt += 1) {
      const rivals = await rivalsOf(store, task.tenant, task.record);
      if (rivals.length === 0) return this.move(task, move, then);
      const nowMs = this.nowMs;
      const failures = rivals.map((rival) =>
        changeOf(this.reporter(rival, nowMs), failIntent(rival, lostTo(lastOf(move)), noFee(rival), nowMs)),
      );
      const change = merge(...failures, changeOf(this.reporter(task.record, nowMs), move, then?.dueAtMs));
      const outcome = await store.commit(task.tenant, change);
      if (outcome.committed)
        return then && { task: { ...task, record: lastOf(move), dueAtMs: then.dueAtMs }, atMs: then.atMs };
      if (outcome.refusal.kind !== 'conflict')
        throw new Error(`${task.id} could not be ended: ${outcome.refusal.kind}`);
      if (outcome.refusal.id === task.id) return undefined;
    }
    // Its rivals keep changing.
    return { task, atMs: this.nowMs + settleAgainMs };
  }

  async hold(task: Loaded, subStatus: string, delayMs: number): Promise<Next | undefined> {
    const atMs = this.nowMs + delayMs;
    const dueAtMs = atMs + handoverMs;
    const { tenant, record } = task;
    const move = isFinal(record.status) ? undefined : holdIntent(record, subStatus, this.nowMs);
    if (move !== undefined) return this.move(task, move, { atMs, dueAtMs });
    const change = { guards: [versionGuard(record)], due: [dueOf(record, dueAtMs)] };
    const { committed } = await this.deps.store.commit(tenant, change);
    return committed ? { task: { ...task, record: triedAgain(record), dueAtMs }, atMs } : undefined;
  }

  /** A number that the chain will never see used would hold up every later transfer of the wallet: it comes first. */
  async fail(task: Loaded, failure: IntentFailure, fee: NewBalance, numberUsed: boolean): Promise<Next | undefined> {
    const nowMs = this.nowMs;
    const failed = () => failIntent(task.record, failure, fee, nowMs);
    if (numberUsed && failure.providerTxId !== null) return this.settle(task, failed());
    // The number of a replacement belongs to the transfer that it is to replace.
    const isFree = task.number !== undefined && task.record.replaces === undefined && !numberUsed;
    if (!isFree) return this.move(task, failed());
    return this.move(task, openGap(task.record, failure, nowMs), soon(nowMs, this.times.leaseMs));
  }

  /** Changes only the time of the next scan. */
  async reschedule({ tenant, record }: Loaded, atMs: number | undefined): Promise<undefined> {
    await this.deps.store.commit(tenant, { guards: [versionGuard(record)], due: [dueOf(record, atMs)] });
    return undefined;
  }

  mayAbandon({ expiresAtMs }: IntentRecord): boolean {
    return this.nowMs >= expiresAtMs + this.times.abandonAfterMs;
  }

  /** A hanging provider call times out before the lease ends. */
  async asked<T>(ask: (meta: CallMeta) => Promise<T>, task: Loaded): Promise<T> {
    const limitMs = Math.max(this.times.leaseMs - leaseSlackMs, this.times.leaseMs / 2);
    return withinLimit(this.deps.timers, limitMs, ask(this.#meta(task)), () => {
      throw new ProviderUnavailable('the provider did not answer in time');
    });
  }

  #meta({ tenant, record }: Loaded): CallMeta {
    return { tenant, nowMs: this.nowMs, correlationId: record.correlationId, traceparent: '' };
  }

  reporter(record: IntentRecord, nowMs: number): Reporter {
    return { nowMs, requestId: record.correlationId, newId: (prefix) => newId(prefix, nowMs, this.deps.random) };
  }
}

export function soon(nowMs: number, leaseMs: number): { atMs: number; dueAtMs: number } {
  return { atMs: nowMs, dueAtMs: nowMs + leaseMs };
}

export function versionGuard({ id, version }: IntentRecord): { kind: 'version'; id: string; version: number } {
  return { kind: 'version', id, version };
}
