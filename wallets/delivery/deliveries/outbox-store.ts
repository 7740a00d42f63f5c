/**
 * The port to the stored outboxes of webhooks, and to the list of tenants with pending work. Workers and the gateway's routes
 * use it. Every method is one atomic step; all throw StoreUnavailable.
 */
import type { DueHandler } from '../../../core/redis/due-work.ts';
import type { StoredEvent } from '../../store/contract.ts';
import type { WebhookStatus } from '../webhooks/public.ts';
import type { DeliveryRecord } from './record.ts';

/** A try that is to be made: the `tries` + 1st of this delivery. */
export interface DeliveryJob {
  readonly deliveryId: string;
  readonly tries: number;
  /** Of its event. */
  readonly sequence: number;
}

export interface Outbox {
  readonly id: string;
  readonly version: number;
  readonly status: WebhookStatus;
  /** Sequence of the last event that was read for it; undefined: none yet. */
  readonly cursor: number | undefined;
  readonly outstanding: number;
  readonly retrying: number;
  readonly nextRetryAtMs: number | undefined;
  /** When the oldest of its outstanding deliveries was put on its way. */
  readonly outstandingSinceMs: number | undefined;
  /** When its log is to be trimmed. */
  readonly trimAtMs: number | undefined;
}

export interface TenantOutboxes {
  readonly lastSequence: number;
  readonly webhooks: readonly Outbox[];
  /** Ids of removed webhooks that still have deliveries. */
  readonly removed: readonly string[];
}

export interface DispatchLimits {
  /** Deliveries of one webhook that are outstanding at a time. */
  readonly windowMax: number;
  /** The same while the webhook fails: a receiver that hangs holds fewer places. */
  readonly failingWindowMax: number;
  /** With so many waiting for a retry, no new ones are taken on: events wait in the log. */
  readonly retryingMax: number;
  /** Deliveries that the log of one webhook keeps. */
  readonly retainedMax: number;
  readonly retentionMs: number;
}

export interface Dispatched {
  readonly jobs: readonly DeliveryJob[];
  /** The events of the new deliveries among them. */
  readonly events: readonly StoredEvent[];
  /** There is room, and there are more events to read. */
  readonly more: boolean;
  /** Events that were no longer kept when their turn came. */
  readonly skipped: number;
}

export interface DeliveryMove {
  readonly before: DeliveryRecord;
  /** Version one higher. */
  readonly after: DeliveryRecord;
  /** Where it stands now; undefined: it is final. */
  readonly place: { readonly kind: 'out' | 'retry'; readonly atMs: number } | undefined;
  /** What its endpoint did. */
  readonly endpoint: 'failed' | 'answered' | undefined;
}

export interface OutboxDepth {
  /** Deliveries that are being made now. */
  readonly outstanding: number;
  /** Deliveries that wait for their next try. */
  readonly retrying: number;
  /** Events that this webhook has not processed yet. */
  readonly behind: number;
  /** First failed try since the last success; null: it does not fail. */
  readonly failingSinceMs: number | null;
}

/** A delivery that is outstanding for so long may have lost its job. */
export const overdueAfterMs = 20_000;

export interface OutboxStore {
  /** Handles tenants whose webhooks have something due; the number of other tenants does not matter. See DueWork.sweep. */
  sweepDue(nowMs: number, handle: DueHandler, tenantsMax: number): Promise<boolean>;
  outboxes(tenant: string, limits: DispatchLimits, nowMs: number): Promise<TenantOutboxes>;
  /** Tells the workers that something waits for this tenant. For speed alone: the sweep finds it too. */
  wake(tenant: string): Promise<void>;
  /** Sets the first position of a webhook, unless it already has one. */
  begin(tenant: string, webhookId: string, cursor: number): Promise<void>;
  /**
   * Takes on as much as there is room for. `types`: exact, or beginnings that end in ".*"; empty: all. undefined: the
   * webhook is not enabled, not at this version, or has not begun.
   */
  dispatch(
    tenant: string,
    webhook: { readonly id: string; readonly version: number; readonly types: readonly string[] },
    limits: DispatchLimits,
    nowMs: number,
  ): Promise<Dispatched | undefined>;
  /** undefined: the delivery is not as it was read any more. */
  move(
    tenant: string,
    move: DeliveryMove,
    nowMs: number,
  ): Promise<{ readonly failingSinceMs: number | null; readonly behind: boolean } | undefined>;
  /** It is outstanding no more. `hold`: it waits until its webhook is enabled; `drop`: only if it is final or gone. */
  release(tenant: string, webhookId: string, deliveryId: string, how: 'drop' | 'hold', nowMs: number): Promise<void>;
  /** Outstanding since before a time, so that their jobs may be lost. They count as put on their way now. */
  takeOverdue(
    tenant: string,
    webhookId: string,
    beforeMs: number,
    nowMs: number,
    limit: number,
  ): Promise<readonly DeliveryJob[]>;
  /** Deletes a portion of a removed webhook's deliveries. True when all are deleted. */
  clear(tenant: string, webhookId: string): Promise<boolean>;
  /** Trims the delivery log of an inactive webhook. */
  trim(tenant: string, webhookId: string, limits: DispatchLimits, nowMs: number): Promise<void>;
  depth(tenant: string, webhookId: string): Promise<OutboxDepth>;
}
