/**
 * The background driver of intents, in every gateway process. It continues at once the intents that this process commits
 * (`enqueue`). Abandoned intents, whose gateway died or stopped, become due in the store, and any gateway resumes them. A
 * gateway that starts takes over at once what is leased: mostly it was its own. If another gateway still works on such an
 * intent, one of both wins the next commit, and the other drops the intent (steps.ts).
 *
 * Work is bounded per provider kind, so that a slow provider delays only its own transfers, and tenants take turns. Memory
 * holds no unique state: dropped work becomes due again.
 */
import { ClockJumps } from '../../../core/actors/clock-jumps.ts';
import type { Cancel } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import { withinLimit } from '../../../core/actors/waiting.ts';
import type { ProviderKind } from '../../providers/port/kinds.ts';
import { type EarlyDue, StoreTampered, StoreUnavailable } from '../../store/contract.ts';
import { TimeHeap } from '../../store/time-heap.ts';
import type { WalletRecord } from '../wallets/public.ts';
import { retryDelayMs } from './backoff.ts';
import type { IntentDependencies, IntentQueue } from './dependencies.ts';
import { duePrefix } from './effects.ts';
import { FairQueue } from './fair-queue.ts';
import { type IntentRecord, intentType } from './record.ts';
import { type IntentTask, type StepTimes, stepTimes } from './step-context.ts';
import { IntentSteps } from './steps.ts';
import { StartRate } from './throughput.ts';

export interface DriverOptions {
  /** Transfers of one provider kind that are worked on at once. */
  readonly perProviderMax?: number;
  /** Transfers that are held in memory, working or waiting. */
  readonly heldMax?: number;
  readonly sweepEveryMs?: number;
  readonly times?: StepTimes;
  /**
   * Other due work of the store, by the prefix of its members. Failed work is due again within seconds, and at the latest when
   * its lease ends.
   */
  readonly jobs?: ReadonlyMap<string, (tenant: string, member: string) => Promise<void>>;
}

/** A wait that is longer is left to the store. */
const localWaitMaxMs = 10_000;
const sweptPerTenantMax = 64;
const takenOverPerTenantMax = 1_000;
/** So many transfers of a tenant may always be queued; more only while the last would wait no longer than this. */
const backlogMin = 256;
const backlogWaitMs = 3_000;
/** The longest pause before a failing job is tried again. */
const jobAgainMaxMs = 2_000;
/** Jobs whose failures are counted; others are tried again with the first pause. */
const jobsNotedMax = 1_000;

interface Held {
  readonly key: string;
  readonly provider: ProviderKind;
  state: 'queued' | 'running' | 'waiting';
  task: IntentTask;
  /** While it waits: until when. */
  atMs: number;
  /** News that came while it was being worked on. */
  again: IntentTask | undefined;
  /** Times in a row that the store was unreachable. */
  storeFailures: number;
  /** The store was restored to an earlier state: the result of this work is ignored. */
  dropped?: true;
}

interface Lane {
  readonly queue: FairQueue<Held>;
  running: number;
  readonly pace: StartRate;
}

export class IntentDriver implements IntentQueue {
  readonly #deps: IntentDependencies;
  readonly #steps: IntentSteps;
  readonly #log: Log;
  readonly #leaseMs: number;
  readonly #perProviderMax: number;
  readonly #heldMax: number;
  readonly #sweepEveryMs: number;
  readonly #jobs: NonNullable<DriverOptions['jobs']>;
  readonly #jobFailures = new Map<string, number>();
  readonly #held = new Map<string, Held>();
  readonly #lanes = new Map<ProviderKind, Lane>();
  #waits = new TimeHeap<Held>();
  #cancelWait: Cancel | undefined;
  #waitTimerAtMs = 0;
  #cancelSweep: Cancel | undefined;
  #sweeping: Promise<void> | undefined;
  /** Intents that are due by then were leased before the start, or by a clock that was ahead. Undefined: they have been taken over. */
  #takeOverByMs: number | undefined;
  readonly #clockJumps: ClockJumps;
  /** Why the last sweep failed: it is said once, not twice a second. */
  #sweepFailure = '';
  #running = 0;
  #stopping = false;
  #onIdle: (() => void) | undefined;

  constructor(deps: IntentDependencies, options: DriverOptions = {}) {
    const times = options.times ?? stepTimes;
    this.#deps = deps;
    this.#log = deps.log;
    this.#clockJumps = new ClockJumps(deps);
    this.#steps = new IntentSteps(deps, times);
    this.#leaseMs = times.leaseMs;
    this.#perProviderMax = options.perProviderMax ?? 64;
    this.#heldMax = options.heldMax ?? 20_000;
    this.#sweepEveryMs = options.sweepEveryMs ?? 500;
    this.#jobs = options.jobs ?? new Map();
  }

  enqueue(tenant: string, intent: IntentRecord, wallet: WalletRecord): void {
    this.#offer({ tenant, id: intent.id, record: intent, wallet, number: null, dueAtMs: 0 });
  }

  /** The reason why a tenant’s new transfers should wait: its present ones would already be late. */
  pressureOf(tenant: string): string | undefined {
    for (const { queue, pace } of this.#lanes.values()) {
      const { own, ahead } = queue.waiting(tenant);
      if (own > backlogMin && pace.waitMs(ahead) > backlogWaitMs) {
        return `${own} transfers of this tenant are already waiting`;
      }
    }
    return undefined;
  }

  /** Something of this tenant is due now. Returns at once. */
  wake(tenant: string): void {
    if (this.#stopping) return;
    this.#sweepTenant(tenant).catch((error: unknown) => {
      this.#log.warn({ reason: reasonOf(error) }, 'a tenant’s due work could not be claimed; retrying');
    });
  }

  start(): void {
    this.#takeOverByMs = this.#leasedBeforeMs();
    this.#sweepLater(0);
  }

  /** Accepts no more work and waits for running steps, `limitMs` at most. Remaining work becomes due for other gateways. */
  async stop(limitMs = 5_000): Promise<void> {
    this.#stopping = true;
    this.#cancelSweep?.();
    this.#cancelWait?.();
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      if (this.#running === 0) resolve();
    });
    await withinLimit(this.#deps.timers, limitMs, Promise.all([idle, this.#sweeping]), () => undefined);
  }

  /**
   * The store was replaced: memory does not belong to it. Work that a gateway held there is now free, and
   * is taken up without waiting for the end of its lease. Never rejects; what it misses falls due.
   */
  async restored(): Promise<void> {
    for (const held of this.#held.values()) held.dropped = true;
    this.#held.clear();
    this.#jobFailures.clear();
    try {
      await this.#takeOver({ prefix: '', byMs: this.#leasedBeforeMs() });
    } catch (error) {
      this.#log.warn(
        { reason: reasonOf(error) },
        'due work could not be resumed at once; it is resumed when it is due again',
      );
    }
  }

  /** Queues all work that is due by now, of every tenant. Also runs periodically; resolves when the work is queued. */
  async sweep(): Promise<void> {
    if (this.#sweeping === undefined) {
      this.#sweeping = this.#sweepAll().finally(() => {
        this.#sweeping = undefined;
      });
    }
    await this.#sweeping;
  }

  /** What was leased before now is due by then, and nothing that is leased from now on. */
  #leasedBeforeMs(): number {
    return this.#deps.clock.nowMs() + this.#leaseMs - 1;
  }

  async #takeOver(leased: EarlyDue): Promise<void> {
    const { store, clock } = this.#deps;
    await store.sweepDue(
      clock.nowMs(),
      (tenant) => this.#sweepTenant(tenant, takenOverPerTenantMax, leased),
      leased.byMs,
    );
  }

  #sweepLater(delayMs: number): void {
    if (this.#stopping) return;
    this.#cancelSweep = this.#deps.timers.start(delayMs, async () => {
      try {
        await this.sweep();
        if (this.#sweepFailure !== '') this.#log.info({}, 'the sweep for due work succeeds again');
        this.#sweepFailure = '';
      } catch (error) {
        const reason = reasonOf(error);
        if (reason !== this.#sweepFailure) this.#log.warn({ reason }, 'the sweep for due work failed; retrying');
        this.#sweepFailure = reason;
      }
      this.#sweepLater(this.#sweepEveryMs);
    });
  }

  /** What waits in memory waits no longer. */
  #resumeWaits(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#waits = new TimeHeap();
    for (const held of this.#held.values()) if (held.state === 'waiting') this.#queue(held);
  }

  async #sweepAll(): Promise<void> {
    const { store, clock } = this.#deps;
    const setBackMs = this.#clockJumps.setBackMs();
    if (setBackMs > 0) {
      this.#log.warn({ setBackMs }, 'the clock was set back: waiting transfers are resumed');
      // What this process leased or rescheduled meanwhile is due by then.
      this.#takeOverByMs = Math.max(this.#takeOverByMs ?? 0, this.#leasedBeforeMs() + setBackMs);
    }
    try {
      // Jobs have schedules of their own, and stay until they are due.
      if (this.#takeOverByMs !== undefined) await this.#takeOver({ prefix: duePrefix, byMs: this.#takeOverByMs });
      this.#takeOverByMs = undefined;
    } finally {
      if (setBackMs > 0) this.#resumeWaits();
    }
    for (let more = true; more && !this.#stopping && this.#held.size < this.#heldMax; ) {
      more = await store.sweepDue(clock.nowMs(), (tenant) => this.#sweepTenant(tenant));
    }
  }

  /** Resolves to when more of this tenant is due; undefined: nothing is. `early`: what is taken before it is due. */
  async #sweepTenant(tenant: string, takenMax = sweptPerTenantMax, early?: EarlyDue): Promise<number | undefined> {
    const { store, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const room = Math.min(takenMax, this.#heldMax - this.#held.size);
    if (room <= 0) return nowMs;
    const dueAtMs = nowMs + this.#leaseMs;
    const { members, nextAtMs } = await store.takeDue(tenant, nowMs, this.#leaseMs, room, early);
    for (const member of members) this.#startJob(tenant, member);
    const ids = members
      .filter((member) => member.startsWith(duePrefix))
      .map((member) => member.slice(duePrefix.length));
    if (ids.length === 0) return nextAtMs;
    await Promise.all(
      ids.map(async (id) => {
        const task = { tenant, id, wallet: undefined, number: null, dueAtMs };
        try {
          const record = await store.read(tenant, intentType, id);
          if (record !== undefined) this.#offer({ ...task, record });
        } catch (error) {
          if (!(error instanceof StoreTampered)) throw error;
          // It takes no place of a transfer. If this is interrupted, it falls due again.
          await this.#steps.run({ ...task, record: undefined }, () => this.#stopping);
        }
      }),
    );
    return nextAtMs;
  }

  /** Jobs are rare and independent: they take no place of a transfer. */
  #startJob(tenant: string, member: string): void {
    const job = this.#jobs.get(member.slice(0, member.indexOf('/') + 1));
    if (job === undefined) return;
    const key = `${tenant}/${member}`;
    job(tenant, member).then(
      () => this.#jobFailures.delete(key),
      (error: unknown) => {
        this.#log.warn({ member, reason: reasonOf(error) }, 'a job failed; retrying soon');
        return this.#jobAgain(tenant, member, key);
      },
    );
  }

  /** Never rejects: while the store is unreachable, the lease brings the job back. */
  async #jobAgain(tenant: string, member: string, key: string): Promise<void> {
    const { store, clock, random } = this.#deps;
    const failures = this.#jobFailures.get(key) ?? 0;
    if (this.#jobFailures.size < jobsNotedMax) this.#jobFailures.set(key, failures + 1);
    const atMs = clock.nowMs() + Math.min(jobAgainMaxMs, retryDelayMs(failures, random, 0));
    await store.commit(tenant, { due: [{ member, atMs }] }).catch(() => undefined);
  }

  #offer(task: IntentTask & { readonly record: IntentRecord }): void {
    if (this.#stopping) return;
    const key = `${task.tenant}/${task.id}`;
    const held = this.#held.get(key);
    if (held === undefined) {
      if (this.#held.size >= this.#heldMax) return;
      const { provider } = task.record;
      this.#queue({ key, provider, state: 'queued', task, atMs: 0, again: undefined, storeFailures: 0 });
      return;
    }
    if (held.state === 'running') {
      held.again = task;
      return;
    }
    if ((held.task.record?.version ?? 0) >= task.record.version) return;
    held.task = task;
    if (held.state === 'waiting') this.#queue(held);
  }

  #queue(held: Held): void {
    held.state = 'queued';
    this.#held.set(held.key, held);
    let lane = this.#lanes.get(held.provider);
    if (lane === undefined) {
      lane = { queue: new FairQueue(), running: 0, pace: new StartRate(this.#deps.timers) };
      this.#lanes.set(held.provider, lane);
    }
    lane.queue.push(held.task.tenant, held);
    this.#serve(lane);
  }

  #serve(lane: Lane): void {
    while (!this.#stopping && lane.running < this.#perProviderMax) {
      const held = lane.queue.shift();
      if (held === undefined) return;
      if (held.dropped === true) continue;
      held.state = 'running';
      lane.pace.started();
      lane.running += 1;
      this.#running += 1;
      this.#run(held).finally(() => {
        lane.running -= 1;
        this.#running -= 1;
        if (this.#running === 0) this.#onIdle?.();
        this.#serve(lane);
      });
    }
  }

  /** Never rejects. */
  async #run(held: Held): Promise<void> {
    try {
      const next = await this.#steps.run(held.task, () => this.#stopping);
      if (held.dropped === true) return;
      held.storeFailures = 0;
      if (held.again !== undefined) this.#goOn(held, held.again, 0);
      else if (next === undefined) this.#held.delete(held.key);
      else this.#goOn(held, next.task, next.atMs);
    } catch (error) {
      if (held.dropped === true) return;
      if (error instanceof StoreUnavailable) {
        const delayMs = retryDelayMs(held.storeFailures, this.#deps.random, 0);
        held.storeFailures += 1;
        // The outcome of the last commit is unknown: read the record again.
        const task = { ...held.task, record: undefined, number: null };
        this.#goOn(held, task, this.#deps.clock.nowMs() + delayMs);
        return;
      }
      const reason = error instanceof Error ? error.stack : String(error);
      this.#log.error({ intent: held.task.id, reason }, 'an intent could not be advanced; it is retried when due');
      this.#held.delete(held.key);
    }
  }

  #goOn(held: Held, task: IntentTask, atMs: number): void {
    const nowMs = this.#deps.clock.nowMs();
    held.again = undefined;
    held.task = task;
    if (this.#stopping || atMs > nowMs + localWaitMaxMs) {
      this.#held.delete(held.key);
    } else if (atMs <= nowMs) {
      this.#queue(held);
    } else {
      held.state = 'waiting';
      held.atMs = atMs;
      this.#waits.push(atMs, held);
      this.#wakeAt(atMs);
    }
  }

  #wakeAt(atMs: number): void {
    if (this.#cancelWait !== undefined && this.#waitTimerAtMs <= atMs) return;
    this.#cancelWait?.();
    this.#waitTimerAtMs = atMs;
    const { clock, timers } = this.#deps;
    this.#cancelWait = timers.start(Math.max(1, atMs - clock.nowMs()), () => this.#wake());
  }

  #wake(): void {
    this.#cancelWait = undefined;
    const nowMs = this.#deps.clock.nowMs();
    for (let held = this.#waits.popDue(nowMs); held !== undefined; held = this.#waits.popDue(nowMs)) {
      // `enqueue` may have queued it earlier, and it may wait for another time by now.
      if (held.state === 'waiting' && held.atMs <= nowMs && held.dropped !== true) this.#queue(held);
    }
    const { nextAtMs } = this.#waits;
    if (nextAtMs !== undefined && !this.#stopping) this.#wakeAt(nextAtMs);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
