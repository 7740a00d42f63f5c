/** A delivery as the API shows it, with its tries. */
import Type from 'typebox';
import { Closed, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import { attemptsKept, type DeliveryAttempt, type DeliveryRecord, deliveryStatuses } from './record.ts';

const Attempt = Closed({
  at: Timestamp,
  status: Nullable(Type.Integer({ description: 'HTTP status of the answer; null: no answer' })),
  latency_ms: Type.Integer({ minimum: 0 }),
  error: Nullable(Type.String({ description: 'the reason for no answer, e.g. `timeout`' })),
});

const delivery = {
  id: Type.String({ examples: ['dlv_01938f2a-7c1e-7d40-8b5e-2f6d8c1a0b3e'] }),
  webhook_id: Type.String(),
  event_id: Type.String({ description: 'the `webhook-id` header of every try' }),
  event_type: Type.String(),
  sequence: Type.Integer({ minimum: 1, description: 'of the event' }),
  status: OneOf(deliveryStatuses),
  attempts: Type.Array(Attempt, { description: `the latest ${attemptsKept}, oldest first` }),
  attempt_count: Type.Integer({ minimum: 0, description: 'number of all tries' }),
  next_attempt_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
};

export const Delivery = Closed(delivery, { title: 'Delivery' });

const LastAnswer = Closed({
  headers: Type.Record(Type.String(), Type.String(), { description: 'by lower-case names, at most 4 KB' }),
  body: Type.String({ description: 'the first 2 KB, read as UTF-8' }),
  truncated: Type.Boolean({ description: 'the receiver sent more' }),
});

export const DeliveryWithAnswer = Closed(
  {
    ...delivery,
    last_answer: Nullable(LastAnswer, {
      description: 'what the receiver answered to the latest try; null: nothing, or it is not kept, as in production',
    }),
  },
  { title: 'DeliveryWithAnswer' },
);

export function deliveryView(record: DeliveryRecord): Type.Static<typeof Delivery> {
  const { id, webhookId, eventId, eventType, sequence, status, attempts, attemptCount, nextAttemptAtMs } = record;
  return {
    id,
    webhook_id: webhookId,
    event_id: eventId,
    event_type: eventType,
    sequence,
    status,
    attempts: attempts.map(attemptView),
    attempt_count: attemptCount,
    next_attempt_at: timestampOrNull(nextAttemptAtMs),
    created_at: timestamp(record.createdAtMs),
    updated_at: timestamp(record.updatedAtMs),
  };
}

function attemptView({ atMs, status, latencyMs, error }: DeliveryAttempt): Type.Static<typeof Attempt> {
  return { at: timestamp(atMs), status, latency_ms: latencyMs, error };
}
