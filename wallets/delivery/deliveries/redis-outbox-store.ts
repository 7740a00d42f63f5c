/**
 * The outbox store in Redis. Every method is one script and one round trip, and a second one before it if it registers due work
 * (core/redis/due-work.ts).
 */
import type { Redis } from 'ioredis';
import type { Timers } from '../../../core/actors/contract.ts';
import type { DueHandler, DueWork } from '../../../core/redis/due-work.ts';
import { relayPrefix, tenantPrefix } from '../../../core/redis/event-log.ts';
import { RedisDueWork } from '../../../core/redis/redis-due-work.ts';
import { asking } from '../../store/asking-redis.ts';
import { eventOf } from '../../store/replies.ts';
import {
  type DeliveryJob,
  type DeliveryMove,
  type Dispatched,
  type DispatchLimits,
  type OutboxDepth,
  type OutboxStore,
  overdueAfterMs,
  type TenantOutboxes,
} from './outbox-store.ts';
import { type HookScripts, hookScripts, type JobReply } from './scripts.ts';

const clearedAtOnce = 500;
const trimmedAtOnce = 200;

export class RedisOutboxStore implements OutboxStore {
  readonly #redis: Redis;
  readonly #scripts: HookScripts;
  readonly #due: DueWork;
  readonly #overdueMs: number;

  /**
   * Defines its scripts as commands of `redis`, a connection that fails at once while Redis is unreachable. `overdueMs`: after
   * this time outstanding deliveries are taken as overdue. `timers`: how time passes, the system's unless told.
   */
  constructor(redis: Redis, overdueMs = overdueAfterMs, timers?: Timers) {
    this.#redis = redis;
    this.#scripts = hookScripts(redis);
    this.#due = new RedisDueWork(redis, 'webhooks', {
      asking,
      ...(timers && { elapsedMs: () => timers.elapsedMs() }),
    });
    this.#overdueMs = overdueMs;
  }

  sweepDue(nowMs: number, handle: DueHandler, tenantsMax: number): Promise<boolean> {
    return this.#due.sweep(nowMs, handle, tenantsMax);
  }

  async outboxes(tenant: string, { retainedMax, retentionMs }: DispatchLimits, nowMs: number): Promise<TenantOutboxes> {
    const [last, webhooks, removed] = await asking(
      this.#scripts.outboxes(of(tenant), { nowMs, retainedMax, retentionMs }),
    );
    return {
      lastSequence: Number(last),
      webhooks: webhooks.map(([id, version, status, cursor, outstanding, retrying, nextRetry, since, trimAt]) => ({
        id,
        version: Number(version),
        status,
        cursor: numberOrNone(cursor),
        outstanding,
        retrying,
        nextRetryAtMs: numberOrNone(nextRetry),
        outstandingSinceMs: numberOrNone(since),
        trimAtMs: numberOrNone(trimAt),
      })),
      removed,
    };
  }

  async wake(tenant: string): Promise<void> {
    await asking(this.#redis.publish(`${relayPrefix}${tenant}`, '0'));
  }

  async begin(tenant: string, webhookId: string, cursor: number): Promise<void> {
    await asking(this.#scripts.begin(of(tenant), { webhookId, cursor }));
  }

  async dispatch(
    tenant: string,
    webhook: { readonly id: string; readonly version: number; readonly types: readonly string[] },
    limits: DispatchLimits,
    nowMs: number,
  ): Promise<Dispatched | undefined> {
    const { windowMax: window, failingWindowMax: failingWindow, retryingMax, retainedMax, retentionMs } = limits;
    const { id: webhookId, version, types } = webhook;
    const args = { webhookId, version, nowMs, window, failingWindow, retryingMax, retainedMax, retentionMs, types };
    const reply = await this.#due.registered(tenant, nowMs + this.#overdueMs, () =>
      asking(this.#scripts.dispatch(of(tenant), args)),
    );
    if (reply[0] !== 'ok') return undefined;
    const [, more, skipped, jobs, entries] = reply;
    return { jobs: jobs.map(jobOf), events: entries.map(eventOf), more: more === 1, skipped };
  }

  async move(
    tenant: string,
    { before, after, place, endpoint }: DeliveryMove,
    nowMs: number,
  ): Promise<{ readonly failingSinceMs: number | null; readonly behind: boolean } | undefined> {
    const args = {
      webhookId: before.webhookId,
      id: before.id,
      version: before.version,
      statusBefore: before.status,
      statusAfter: after.status,
      record: JSON.stringify(after),
      tries: after.attemptCount,
      place: place?.kind ?? '',
      placeMs: place?.atMs ?? '',
      endpoint: endpoint ?? '',
      nowMs,
    } as const;
    const write = () => asking(this.#scripts.move(of(tenant), args));
    const dueAtMs = place?.kind === 'out' ? place.atMs + this.#overdueMs : place?.atMs;
    const reply = await (dueAtMs === undefined ? write() : this.#due.registered(tenant, dueAtMs, write));
    const [kind, failing, behind] = reply;
    if (kind !== 'ok') return undefined;
    return { failingSinceMs: numberOrNone(failing) ?? null, behind: behind === 1 };
  }

  async release(
    tenant: string,
    webhookId: string,
    deliveryId: string,
    how: 'drop' | 'hold',
    nowMs: number,
  ): Promise<void> {
    await asking(this.#scripts.release(of(tenant), { webhookId, id: deliveryId, how, nowMs }));
  }

  async takeOverdue(
    tenant: string,
    webhookId: string,
    beforeMs: number,
    nowMs: number,
    limit: number,
  ): Promise<readonly DeliveryJob[]> {
    const args = { webhookId, beforeMs, nowMs, limit };
    return (await asking(this.#scripts.takeOverdue(of(tenant), args))).map(jobOf);
  }

  async clear(tenant: string, webhookId: string): Promise<boolean> {
    return (await asking(this.#scripts.clear(of(tenant), { webhookId, limit: clearedAtOnce }))) === 1;
  }

  async trim(
    tenant: string,
    webhookId: string,
    { retainedMax, retentionMs }: DispatchLimits,
    nowMs: number,
  ): Promise<void> {
    const args = { webhookId, nowMs, retainedMax, retentionMs, limit: trimmedAtOnce };
    while ((await asking(this.#scripts.trim(of(tenant), args))) >= trimmedAtOnce);
  }

  async depth(tenant: string, webhookId: string): Promise<OutboxDepth> {
    const reply = await asking(this.#scripts.depth(of(tenant), { webhookId }));
    const [outstanding, retrying, cursor, last, failing] = reply;
    return {
      outstanding,
      retrying,
      // Without a cursor the worker has not seen it: it begins with what comes from now on.
      behind: cursor === '' ? 0 : Math.max(0, Number(last) - Number(cursor)),
      failingSinceMs: numberOrNone(failing) ?? null,
    };
  }
}

function of(tenant: string): { readonly prefixKey: string } {
  return { prefixKey: tenantPrefix(tenant) };
}

function jobOf([deliveryId, tries, sequence]: JobReply): DeliveryJob {
  return { deliveryId, tries, sequence: Number(sequence) };
}

function numberOrNone(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}
