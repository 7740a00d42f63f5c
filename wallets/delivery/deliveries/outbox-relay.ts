/**
 * The relay: adds due deliveries from the outboxes of webhooks to the queue. Every worker runs one; an outbox gives out each
 * delivery once, to the first worker that asks (scripts.ts).
 *
 * It runs when a tenant's event wakes it, when a delivery of its own process has ended, and when a retry that it knows is due.
 * These triggers only improve latency: a sweep over the tenants with due work (core/redis/due-work.ts) finds missed events and lost
 * jobs.
 */
import type { Cancel, Ports } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import { StoreUnavailable, type TenantStore } from '../../store/contract.ts';
import { TimeHeap } from '../../store/time-heap.ts';
import { type WebhookRecord, webhookType } from '../webhooks/public.ts';
import type { EventBodies } from './event-bodies.ts';
import {
  type DeliveryJob,
  type DispatchLimits,
  type Outbox,
  type OutboxStore,
  overdueAfterMs,
  type TenantOutboxes,
} from './outbox-store.ts';
import type { WebhookQueue } from './queue.ts';
import { Keyed } from './run-by-key.ts';

export interface RelayDeps extends Pick<Ports, 'clock' | 'timers'> {
  readonly store: TenantStore;
  readonly hooks: OutboxStore;
  readonly bodies: EventBodies;
  readonly queue: Pick<WebhookQueue, 'add'>;
  readonly log: Log;
}

export interface RelayOptions extends DispatchLimits {
  readonly sweepEveryMs: number;
  /** A delivery that is outstanding for this long may have lost its job. */
  readonly overdueMs: number;
}

export const relayDefaults: RelayOptions = {
  windowMax: 64,
  failingWindowMax: 4,
  retryingMax: 10_000,
  retainedMax: 100_000,
  retentionMs: 30 * 24 * 3_600_000,
  sweepEveryMs: 1_000,
  overdueMs: overdueAfterMs,
};

const tenantsAtOnce = 16;
/** A retry that is due later is left to the sweep. */
const localWaitMaxMs = 10_000;
const localWaitsMax = 50_000;
const knownMax = 50_000;

interface Known {
  readonly id: string;
  readonly version: number;
  /** Empty: all. */
  readonly types: readonly string[];
}

export class Relay {
  readonly #deps: RelayDeps;
  readonly #options: RelayOptions;
  /** Webhooks as they were last read, by tenant and id. */
  readonly #known = new Map<string, Known>();
  /** A run resolves to when the tenant has something due next. */
  readonly #tenantRuns: Keyed<string, { readonly nextAtMs: number | undefined }>;
  readonly #dispatches: Keyed<{ readonly tenant: string; readonly webhookId: string }>;
  readonly #retries = new TimeHeap<{ readonly tenant: string; readonly webhookId: string }>();
  #retryCount = 0;
  #cancelRetry: Cancel | undefined;
  #retryTimerAtMs = 0;
  #cancelSweep: Cancel | undefined;
  #stopping = false;

  constructor(deps: RelayDeps, options: RelayOptions = relayDefaults) {
    this.#deps = deps;
    this.#options = options;
    const failed = (error: unknown) => this.#warn(error);
    this.#tenantRuns = new Keyed((tenant) => this.#runTenant(tenant), failed);
    this.#dispatches = new Keyed(({ tenant, webhookId }) => this.#dispatch(tenant, webhookId), failed);
  }

  start(): void {
    this.#sweepLater(0);
  }

  /** Accepts no more work; resolves when running work is done. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelSweep?.();
    this.#cancelRetry?.();
    await Promise.all([this.#tenantRuns.idle(), this.#dispatches.idle()]);
  }

  /** An event of this tenant was written, and it has webhooks, or records of removed ones. */
  wake(tenant: string): void {
    if (!this.#stopping) this.#tenantRuns.run(tenant, tenant);
  }

  /** A delivery of this webhook has ended, and more waits. */
  freed(tenant: string, webhookId: string): void {
    if (!this.#stopping) this.#dispatches.run(`${tenant} ${webhookId}`, { tenant, webhookId });
  }

  /** A delivery of this webhook is to be tried again at that time. */
  retryAt(tenant: string, webhookId: string, atMs: number): void {
    const farOff = atMs - this.#deps.clock.nowMs() > localWaitMaxMs;
    if (this.#stopping || farOff || this.#retryCount >= localWaitsMax) return;
    this.#retries.push(atMs, { tenant, webhookId });
    this.#retryCount += 1;
    this.#wakeForRetry();
  }

  /** Handles every tenant with something due. Resolves when all are handled. */
  async sweep(): Promise<void> {
    const { hooks, clock } = this.#deps;
    for (let more = true; more && !this.#stopping; ) {
      const nowMs = clock.nowMs();
      const handle = async (tenant: string): Promise<number | undefined> => {
        const run = await this.#tenantRuns.run(tenant, tenant);
        return run === undefined ? nowMs + this.#options.sweepEveryMs : run.nextAtMs;
      };
      more = await hooks.sweepDue(nowMs, handle, tenantsAtOnce);
    }
  }

  #sweepLater(delayMs: number): void {
    if (this.#stopping) return;
    this.#cancelSweep = this.#deps.timers.start(delayMs, async () => {
      await this.sweep().catch((error: unknown) => this.#warn(error));
      this.#sweepLater(this.#options.sweepEveryMs);
    });
  }

  async #runTenant(tenant: string): Promise<{ readonly nextAtMs: number | undefined }> {
    const { hooks, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const outboxes = await hooks.outboxes(tenant, this.#options, nowMs);
    await Promise.all([
      ...outboxes.removed.map((webhookId) => this.#clear(tenant, webhookId)),
      ...outboxes.webhooks
        .filter(({ trimAtMs }) => trimAtMs !== undefined && trimAtMs <= nowMs)
        .map(({ id }) => hooks.trim(tenant, id, this.#options, nowMs)),
      ...outboxes.webhooks
        .filter(({ status }) => status === 'enabled')
        .map((webhook) => this.#runWebhook(tenant, webhook, outboxes, nowMs)),
    ]);
    return { nextAtMs: this.#nextAtMs(outboxes, nowMs) };
  }

  /** By what was read: a later change causes another run. */
  #nextAtMs({ webhooks, removed, lastSequence }: TenantOutboxes, nowMs: number): number | undefined {
    const { overdueMs, sweepEveryMs } = this.#options;
    const times = webhooks.flatMap(({ status, cursor, nextRetryAtMs, outstandingSinceMs, trimAtMs }) => {
      if (status !== 'enabled') return [trimAtMs ?? []];
      const behind = cursor === undefined || cursor < lastSequence;
      return [
        behind ? nowMs + sweepEveryMs : [],
        nextRetryAtMs ?? [],
        outstandingSinceMs === undefined ? [] : outstandingSinceMs + overdueMs,
        trimAtMs ?? [],
      ];
    });
    const next = Math.min(...times.flat(), removed.length > 0 ? nowMs : Number.POSITIVE_INFINITY);
    return Number.isFinite(next) ? next : undefined;
  }

  async #runWebhook(tenant: string, webhook: Outbox, outboxes: TenantOutboxes, nowMs: number): Promise<void> {
    const { id, cursor, outstanding, outstandingSinceMs, nextRetryAtMs } = webhook;
    const { overdueMs, windowMax } = this.#options;
    const key = `${tenant} ${id}`;
    if (this.#known.get(key)?.version !== webhook.version) await this.#learn(tenant, id);
    if (cursor === undefined) await this.#begin(tenant, id);
    if (outstandingSinceMs !== undefined && outstandingSinceMs <= nowMs - overdueMs) {
      const jobs = await this.#deps.hooks.takeOverdue(tenant, id, nowMs - overdueMs, nowMs, windowMax);
      await this.#enqueue(tenant, id, jobs);
    }
    const behind = cursor === undefined || cursor < outboxes.lastSequence;
    const retryIsDue = nextRetryAtMs !== undefined && nextRetryAtMs <= nowMs;
    if (nextRetryAtMs !== undefined && !retryIsDue) this.retryAt(tenant, id, nextRetryAtMs);
    if ((behind || retryIsDue) && outstanding < windowMax) await this.#dispatches.run(key, { tenant, webhookId: id });
  }

  async #dispatch(tenant: string, webhookId: string): Promise<void> {
    const { hooks, bodies, clock, log } = this.#deps;
    for (let more = true; more && !this.#stopping; ) {
      const known = this.#known.get(`${tenant} ${webhookId}`) ?? (await this.#learn(tenant, webhookId));
      if (known === undefined) return;
      const dispatched = await hooks.dispatch(tenant, known, this.#options, clock.nowMs());
      if (dispatched === undefined) {
        // It has changed since: the next run handles the new version.
        this.#known.delete(`${tenant} ${webhookId}`);
        return;
      }
      if (dispatched.skipped > 0) {
        log.warn(
          { tenant, webhook: webhookId, events: dispatched.skipped },
          'events left the log before they were delivered',
        );
      }
      for (const event of dispatched.events) bodies.cache(tenant, event);
      await this.#enqueue(tenant, webhookId, dispatched.jobs);
      more = dispatched.more;
    }
  }

  async #enqueue(tenant: string, webhookId: string, jobs: readonly DeliveryJob[]): Promise<void> {
    await this.#deps.queue.add(jobs.map((job) => ({ tenant, webhookId, ...job })));
  }

  async #learn(tenant: string, webhookId: string): Promise<Known | undefined> {
    const record = await this.#deps.store.read(tenant, webhookType, webhookId);
    if (record === undefined) return undefined;
    const known = { id: webhookId, version: record.version, types: typesOf(record) };
    if (this.#known.size >= knownMax) this.#known.clear();
    this.#known.set(`${tenant} ${webhookId}`, known);
    return known;
  }

  /** A webhook begins after the event of its own creation. If that event is no longer stored, earlier ones are not either. */
  async #begin(tenant: string, webhookId: string): Promise<void> {
    const { store, hooks } = this.#deps;
    const record = await store.read(tenant, webhookType, webhookId);
    if (record === undefined) return;
    const query = {
      limit: 1,
      types: ['webhook.created'],
      resourceId: webhookId,
      createdAfterMs: record.createdAtMs,
    };
    let page = await store.events(tenant, { ...query, afterSequence: 0 });
    while (page.events.length === 0 && page.hasMore) {
      page = await store.events(tenant, { ...query, afterSequence: page.nextAfterSequence });
    }
    await hooks.begin(tenant, webhookId, page.events[0]?.sequence ?? page.floorSequence - 1);
  }

  async #clear(tenant: string, webhookId: string): Promise<void> {
    this.#known.delete(`${tenant} ${webhookId}`);
    await this.#deps.hooks.clear(tenant, webhookId);
  }

  #wakeForRetry(): void {
    const atMs = this.#retries.nextAtMs;
    if (atMs === undefined || this.#stopping) return;
    if (this.#cancelRetry !== undefined && this.#retryTimerAtMs <= atMs) return;
    this.#cancelRetry?.();
    this.#retryTimerAtMs = atMs;
    const { clock, timers } = this.#deps;
    this.#cancelRetry = timers.start(Math.max(1, atMs - clock.nowMs()), () => this.#onRetry());
  }

  #onRetry(): void {
    this.#cancelRetry = undefined;
    const nowMs = this.#deps.clock.nowMs();
    for (let due = this.#retries.popDue(nowMs); due !== undefined; due = this.#retries.popDue(nowMs)) {
      this.#retryCount -= 1;
      this.freed(due.tenant, due.webhookId);
    }
    this.#wakeForRetry();
  }

  #warn(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof StoreUnavailable) this.#deps.log.debug({ reason }, 'the relay waits for Redis');
    else this.#deps.log.error({ reason }, 'webhooks could not be relayed; retrying');
  }
}

function typesOf({ events }: WebhookRecord): readonly string[] {
  return events.includes('*') ? [] : events;
}
