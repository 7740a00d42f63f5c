/**
 * What webhooks have in Redis beside their records: outboxes, and which tenants have any. Used by the worker that
 * delivers and by the gateway's routes. Every method is one script and one round trip; all throw StoreUnavailable.
 */
import type { Redis } from 'ioredis';
import { tenantPrefix } from '../../proto/event-log.ts';
import { asking } from '../../store/asking-redis.ts';
import type { StoredEvent } from '../../store/contract.ts';
import { eventOf, type StreamEntry } from '../../store/replies.ts';
import type { WebhookStatus } from '../webhooks/record.ts';
import { hookTenantsKey } from './keys.ts';
import type { DeliveryRecord } from './record.ts';
import {
  beginScript,
  clearScript,
  depthScript,
  forgetTenantScript,
  lookScript,
  moveScript,
  overdueScript,
  pumpScript,
  releaseScript,
  trimScript,
} from './scripts.ts';

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

type JobReply = readonly [id: string, tries: number, sequence: string];
type LookReply = readonly [
  last: string,
  webhooks: readonly (readonly [string, string, WebhookStatus, string, number, number, string, string])[],
  removed: readonly string[],
];
type PumpReply =
  | readonly ['ok', more: number, skipped: number, jobs: readonly JobReply[], entries: readonly StreamEntry[]]
  | readonly ['changed'];

interface Scripts {
  hookLook(prefix: string): Promise<LookReply>;
  hookBegin(prefix: string, webhookId: string, cursor: string): Promise<number>;
  hookPump(prefix: string, ...tokens: readonly string[]): Promise<PumpReply>;
  hookMove(
    prefix: string,
    ...tokens: readonly string[]
  ): Promise<readonly ['ok', failing: string, behind: number] | readonly ['conflict']>;
  hookRelease(prefix: string, ...tokens: readonly string[]): Promise<number>;
  hookOverdue(prefix: string, ...tokens: readonly string[]): Promise<readonly JobReply[]>;
  hookClear(prefix: string, webhookId: string, limit: string): Promise<number>;
  hookDepth(
    prefix: string,
    webhookId: string,
  ): Promise<readonly [outstanding: number, retrying: number, cursor: string, last: string, failing: string]>;
  hookTrim(prefix: string, ...tokens: readonly string[]): Promise<number>;
  hookForgetTenant(key: string, tenant: string, beforeMs: string): Promise<number>;
}

const scripts: Readonly<Record<keyof Scripts, string>> = {
  hookLook: lookScript,
  hookBegin: beginScript,
  hookPump: pumpScript,
  hookMove: moveScript,
  hookRelease: releaseScript,
  hookOverdue: overdueScript,
  hookClear: clearScript,
  hookDepth: depthScript,
  hookTrim: trimScript,
  hookForgetTenant: forgetTenantScript,
};

const clearedAtOnce = 500;
const trimmedAtOnce = 200;
/** As in store/due-tenants.ts: far longer than a registration can be under way. */
const forgottenAfterMs = 60 * 60_000;

export class HookStore {
  readonly #redis: Redis;
  readonly #scripts: Scripts;

  /** Defines its scripts as commands of `redis`, a connection that fails at once while Redis is unreachable. */
  constructor(redis: Redis) {
    for (const [name, lua] of Object.entries(scripts)) redis.defineCommand(name, { numberOfKeys: 1, lua });
    this.#redis = redis;
    this.#scripts = redis as unknown as Scripts;
  }

  /** Before a webhook of this tenant is committed: from then on workers look after it. */
  async nameTenant(tenant: string, nowMs: number): Promise<void> {
    await asking(this.#redis.zadd(hookTenantsKey, 'GT', String(nowMs), tenant));
  }

  async tenants(): Promise<readonly string[]> {
    return asking(this.#redis.zrange(hookTenantsKey, '0', '-1'));
  }

  /** After this tenant was seen without webhooks. */
  async forgetTenant(tenant: string, nowMs: number): Promise<void> {
    await asking(this.#scripts.hookForgetTenant(hookTenantsKey, tenant, String(nowMs - forgottenAfterMs)));
  }

  async look(tenant: string): Promise<TenantLook> {
    const [last, webhooks, removed] = await asking(this.#scripts.hookLook(tenantPrefix(tenant)));
    return {
      lastSequence: Number(last),
      webhooks: webhooks.map(([id, version, status, cursor, outstanding, retrying, nextRetry, since]) => ({
        id,
        version: Number(version),
        status,
        cursor: numberOrNone(cursor),
        outstanding,
        retrying,
        nextRetryAtMs: numberOrNone(nextRetry),
        outstandingSinceMs: numberOrNone(since),
      })),
      removed,
    };
  }

  /** Where a webhook begins, unless it has begun already. */
  async begin(tenant: string, webhookId: string, cursor: number): Promise<void> {
    await asking(this.#scripts.hookBegin(tenantPrefix(tenant), webhookId, String(cursor)));
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
    const { windowMax, failingWindowMax, retryingMax, keptMax, keptMs } = limits;
    const numbers = [webhook.version, nowMs, windowMax, failingWindowMax, retryingMax, keptMax, keptMs];
    const tokens = [webhook.id, ...numbers.map(String), String(webhook.types.length), ...webhook.types];
    const reply = await asking(this.#scripts.hookPump(tenantPrefix(tenant), ...tokens));
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
    const tokens = [
      before.webhookId,
      before.id,
      String(before.version),
      before.status,
      after.status,
      JSON.stringify(after),
      String(after.attemptCount),
      place?.kind ?? '',
      String(place?.atMs ?? ''),
      endpoint ?? '',
      String(nowMs),
    ];
    const [kind, failing, behind] = await asking(this.#scripts.hookMove(tenantPrefix(tenant), ...tokens));
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
    await asking(this.#scripts.hookRelease(tenantPrefix(tenant), webhookId, deliveryId, how, String(nowMs)));
  }

  /** Outstanding since before a time, so that their jobs may be lost. They count as put on their way now. */
  async takeOverdue(
    tenant: string,
    webhookId: string,
    beforeMs: number,
    nowMs: number,
    limit: number,
  ): Promise<readonly DeliveryJob[]> {
    const tokens = [webhookId, String(beforeMs), String(nowMs), String(limit)];
    return (await asking(this.#scripts.hookOverdue(tenantPrefix(tenant), ...tokens))).map(jobOf);
  }

  /** Takes a portion of what a removed webhook left. True when nothing is left. */
  async clear(tenant: string, webhookId: string): Promise<boolean> {
    return (await asking(this.#scripts.hookClear(tenantPrefix(tenant), webhookId, String(clearedAtOnce)))) === 1;
  }

  /** Takes old deliveries out of the log of a webhook to which nothing happens. */
  async trim(tenant: string, webhookId: string, { keptMax, keptMs }: PumpLimits, nowMs: number): Promise<void> {
    const tokens = [webhookId, ...[nowMs, keptMax, keptMs, trimmedAtOnce].map(String)];
    while ((await asking(this.#scripts.hookTrim(tenantPrefix(tenant), ...tokens))) >= trimmedAtOnce);
  }

  async depth(tenant: string, webhookId: string): Promise<Depth> {
    const reply = await asking(this.#scripts.hookDepth(tenantPrefix(tenant), webhookId));
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

function jobOf([deliveryId, tries, sequence]: JobReply): DeliveryJob {
  return { deliveryId, tries, sequence: Number(sequence) };
}

function numberOrNone(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}
