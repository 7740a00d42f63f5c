/**
 * A delivery: one event for one webhook, with every try. Its id is derived from the two, so that a webhook gets at most one
 * delivery of an event. The relay's script makes these records (dispatch-script.ts); the store lists them.
 *
 * | From | To |
 * |---|---|
 * | start | queued |
 * | queued | delivered, retrying, failed |
 * | retrying | delivered, retrying, failed |
 * | delivered, failed | retrying (a client requested it again) |
 */
import { createHash } from 'node:crypto';
import type { RecordType, Versioned } from '../../store/contract.ts';

export const deliveryStatuses = ['queued', 'retrying', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface DeliveryAttempt {
  readonly atMs: number;
  /** HTTP status; null: there was no answer. */
  readonly status: number | null;
  readonly latencyMs: number;
  /** lower_snake, e.g. "timeout"; null: there was an answer. */
  readonly error: string | null;
}

export interface DeliveryRecord extends Versioned {
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** Of the event. */
  readonly sequence: number;
  readonly status: DeliveryStatus;
  /** The latest `attemptsKept` of them, oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
  /** Of the latest try, sealed (last-answer.ts); null or absent: none is kept. */
  readonly lastAnswer?: string | null;
  /** All that there were. */
  readonly attemptCount: number;
  /** Of them, failed ones since it was last put on its way: where it stands in the schedule of retries. */
  readonly failedTries: number;
  /** null: it is not waiting for a time. */
  readonly nextAttemptAtMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const attemptsKept = 20;

export const deliveryType: RecordType<DeliveryRecord> = {
  name: 'delivery',
  isUnsealed: true,
  status: ({ status }) => status,
  indices: ({ webhookId, status }) => [deliveryIndex(webhookId), deliveryIndex(webhookId, status)],
};

/** The index that lists a webhook's deliveries, newest event first; of one status, if given. */
export function deliveryIndex(webhookId: string, status?: DeliveryStatus): string {
  return status === undefined ? `deliveries:${webhookId}` : `deliveries:${webhookId}:${status}`;
}

/** The delivery of an event to a webhook: `dlv_` and a UUIDv7 with the event's time. The relay's script makes the same. */
export function deliveryIdOf(eventId: string, webhookId: string): string {
  const hash = createHash('sha1').update(`${eventId}${webhookId}`).digest('hex');
  return `dlv_${eventId.slice(4, 17)}-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`;
}
