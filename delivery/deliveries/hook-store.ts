/**
 * What webhooks have in Redis beside their records: outboxes, and which tenants have something to do. Used by the worker
 * that delivers and by the gateway's routes. Every method is one script and one round trip, and a second one before it
 * where it makes something due (redis/due-work.ts); all throw StoreUnavailable.
 */
import type { Redis } from 'ioredis';
import type { DueLook, DueWork } from '../../redis/due-work.ts';
import { tenantPrefix, wakePrefix } from '../../redis/event-log.ts';
import { RedisDueWork } from '../../redis/redis-due-work.ts';
import { asking } from '../../store/asking-redis.ts';
import type { StoredEvent } from '../../store/contract.ts';
import { eventOf } from '../../store/replies.ts';
import type { WebhookStatus } from '../webhooks/record.ts';
import type { DeliveryRecord } from './record.ts';
import { type HookScripts, hookScripts, type JobReply } from './scripts.ts';

/** A try that is to be made: the `tries` + 1st of this delivery. */
export interface DeliveryJob {
  readonly deliveryId: string;
  readonly tries: number;
  /** Of its event. */
  readonly sequence: number;
}

export interface WebhookLook {
  readonly id: string;
  readonly version: number;
  readonly status: WebhookStatus;
  /** Sequence of the last event that was looked at for it; undefined: none yet. */
  readonly cursor: number | undefined;
  readonly outstanding: number;
  readonly retrying: number;
  readonly nextRetryAtMs: number | undefined;
  /** When the oldest of its outstanding deliveries was put on its way. */
  readonly outstandingSinceMs: number | undefined;
  /** When its log is to be trimmed. */
  readonly trimAtMs: number | undefined;
}

export interface TenantLook {
  readonly lastSequence: number;
  readonly webhooks: readonly WebhookLook[];
  /** Ids of removed webhooks that still have deliveries. */
  readonly removed: readonly string[];
}

export interface PumpLimits {
  /** Deliveries of one webhook that are outstanding at a time. */
  readonly windowMax: number;
  /** The same while the webhook fails: a receiver that hangs holds fewer places. */
  readonly failingWindowMax: number;
  /** With so many waiting for a retry, no new ones are taken on: events wait in the log. */
  readonly retryingMax: number;
  /** Deliveries that the log of one webhook keeps. */
  readonly keptMax: number;
  readonly keptMs: number;
}

export interface Pumped {
  readonly jobs: readonly DeliveryJob[];
  /** The events of the new deliveries among them. */
  readonly events: readonly StoredEvent[];
  /** There is room and more to look at. */
  readonly more: boolean;
  /** Events that were no longer kept when their turn came. */
  readonly skipped: number;
}

export interface Move {
  readonly before: DeliveryRecord;
  /** Version one higher. */
  readonly after: DeliveryRecord;
  /** Where it stands now; undefined: it is final. */
  readonly place: { readonly kind: 'out' | 'retry'; readonly atMs: number } | undefined;
  /** What its endpoint did. */
  readonly endpoint: 'failed' | 'answered' | undefined;
}

export interface Depth {
  /** Deliveries that are being made now. */
  readonly outstanding: number;
  /** Deliveries that wait for their next try. */
  readonly retrying: number;
  /** Events that this webhook has not processed yet. */
  readonly behind: number;
  /** First failed try since anything arrived; null: it does not fail. */
  readonly failingSinceMs: number | null;
}

const clearedAtOnce = 500;
const trimmedAtOnce = 200;
/** A delivery that is outstanding for so long may have lost its job. */
export const overdueAfterMs = 20_000;

/** The port: what relay, deliverer and routes are given. */
export type HookStore = Pick<RedisHookStore, keyof RedisHookStore>;

export class RedisHookStore {
  readonly #redis: Redis;
  readonly #scripts: HookScripts;
  readonly #due: DueWork;
  readonly #overdueMs: number;

  /**
   * Defines its scripts as commands of `redis`, a connection that fails at once while Redis is unreachable. `overdueMs`: after
   * this time outstanding deliveries are taken as overdue.
   */
  constructor(redis: Redis, overdueMs = overdueAfterMs) {
    this.#redis = redis;
    this.#scripts = hookScripts(redis);
    this.#due = new RedisDueWork(redis, 'webhooks', { asking });
    this.#overdueMs = overdueMs;
  }

  /** Looks at tenants whose webhooks have something due; others have no part in it. See DueWork.sweep. */
  sweepDue(nowMs: number, look: DueLook, tenantsMax: number): Promise<boolean> {
    return this.#due.sweep(nowMs, look, tenantsMax);
  }

  async look(tenant: string, { keptMax, keptMs }: PumpLimits, nowMs: number): Promise<TenantLook> {
    const [last, webhooks, removed] = await asking(this.#scripts.look(of(tenant), { nowMs, keptMax, keptMs }));
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

  /** Tells the workers that something waits for this tenant. For speed alone: the sweep finds it too. */
  async wake(tenant: string): Promise<void> {
    await asking(this.#redis.publish(`${wakePrefix}${tenant}`, '0'));
  }

  /** Where a webhook begins, unless it has begun already. */
  async begin(tenant: string, webhookId: string, cursor: number): Promise<void> {
    await asking(this.#scripts.begin(of(tenant), { webhookId, cursor }));
  }

  /**
   * Takes on as much as there is room for. `types`: exact, or beginnings that end in ".*"; empty: all. undefined: the
   * webhook is not enabled, not at this version, or has not begun.
   */
  async pump(
    tenant: string,
    webhook: { readonly id: string; readonly version: number; readonly types: readonly string[] },
    limits: PumpLimits,
    nowMs: number,
  ): Promise<Pumped | undefined> {
    const { windowMax: window, failingWindowMax: failingWindow, retryingMax, keptMax, keptMs } = limits;
    const { id: webhookId, version, types } = webhook;
    const args = { webhookId, version, nowMs, window, failingWindow, retryingMax, keptMax, keptMs, types };
    const reply = await this.#due.registered(tenant, nowMs + this.#overdueMs, () =>
      asking(this.#scripts.pump(of(tenant), args)),
    );
    if (reply[0] !== 'ok') return undefined;
    const [, more, skipped, jobs, entries] = reply;
    return { jobs: jobs.map(jobOf), events: entries.map(eventOf), more: more === 1, skipped };
  }

  /** undefined: the delivery is not as it was read any more. */
  async move(
    tenant: string,
    { before, after, place, endpoint }: Move,
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

  /** It is outstanding no more. `hold`: it waits until its webhook is enabled; `drop`: only if it is final or gone. */
  async release(
    tenant: string,
    webhookId: string,
    deliveryId: string,
    how: 'drop' | 'hold',
    nowMs: number,
  ): Promise<void> {
    await asking(this.#scripts.release(of(tenant), { webhookId, id: deliveryId, how, nowMs }));
  }

  /** Outstanding since before a time, so that their jobs may be lost. They count as put on their way now. */
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

  /** Takes a portion of what a removed webhook left. True when nothing is left. */
  async clear(tenant: string, webhookId: string): Promise<boolean> {
    return (await asking(this.#scripts.clear(of(tenant), { webhookId, limit: clearedAtOnce }))) === 1;
  }

  /** Takes old deliveries out of the log of a webhook to which nothing happens. */
  async trim(tenant: string, webhookId: string, { keptMax, keptMs }: PumpLimits, nowMs: number): Promise<void> {
    const args = { webhookId, nowMs, keptMax, keptMs, limit: trimmedAtOnce };
    while ((await asking(this.#scripts.trim(of(tenant), args))) >= trimmedAtOnce);
  }

  async depth(tenant: string, webhookId: string): Promise<Depth> {
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
