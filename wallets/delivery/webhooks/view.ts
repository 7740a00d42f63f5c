/**
 * A webhook as the API shows it, and what may be said of one in a request. Its events show the webhook alone; answers
 * also show how its deliveries are, which changes by itself.
 */
import Type from 'typebox';
import { Closed, Lines, Nullable, OneOf, secret, secretQuery, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { timestamp, timestampOrNull } from '../../../proto/timestamps.ts';
import { shownRecord } from '../../store/contract.ts';
import { type WebhookRecord, webhookStatuses } from './record.ts';

const fields = {
  id: Type.String({ examples: ['whk_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'] }),
  url: Type.String(secretQuery),
  events: Type.Array(Type.String()),
  description: Nullable(Type.String()),
  status: OneOf(webhookStatuses),
  suspended_at: Nullable(Timestamp),
  version: Type.Integer({ minimum: 1 }),
  created_at: Timestamp,
  updated_at: Timestamp,
} as const;

const count = (description: string) => Type.Integer({ minimum: 0, description });

const liveFields = {
  ...fields,
  queue: Closed({
    outstanding: count('deliveries in flight'),
    retrying: count('deliveries that wait for their next try'),
    behind: count('events that the webhook’s outbox has not read yet'),
  }),
  failing_since: Nullable(
    Type.String({
      format: 'date-time',
      description: 'the first failed try since the last successful delivery; null: it does not fail',
    }),
  ),
  previous_secret_expires_at: Nullable(
    Type.String({ format: 'date-time', description: 'until then deliveries are also signed with the previous secret' }),
  ),
} as const;

/** Of its events: a webhook as it was set up. */
export const WebhookSettings = Closed(fields, { title: 'WebhookSettings' });

export const Webhook = Closed(liveFields, { title: 'Webhook' });

export const NewWebhook = Closed(
  {
    ...liveFields,
    secret: Type.String({
      ...secret,
      description: 'signs deliveries; only this answer shows it',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  },
  { title: 'NewWebhook' },
);

export const UrlText = Type.String({
  ...secretQuery,
  minLength: 1,
  maxLength: 2048,
  description: 'absolute URL without credentials and fragment; https in production',
  examples: ['https://example.com/hooks'],
});

export const EventList = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'event types, prefixes such as "wallet.*", or "*" alone for all',
  examples: [['transaction_intent.completed', 'wallet.*']],
});

export const Description = Lines(200);

export type WebhookView = Type.Static<typeof WebhookSettings>;

export function webhookView(record: WebhookRecord): WebhookView {
  const { id, url, events, description, status, version, suspendedAtMs, createdAtMs, updatedAtMs } = record;
  return {
    id,
    url,
    events: [...events],
    description,
    status,
    suspended_at: status === 'suspended' ? timestampOrNull(suspendedAtMs) : null,
    version,
    created_at: timestamp(createdAtMs),
    updated_at: timestamp(updatedAtMs),
  };
}

/** How the deliveries of a webhook are. */
export interface QueueDepth {
  readonly outstanding: number;
  readonly retrying: number;
  readonly behind: number;
  readonly failingSinceMs: number | null;
}

/** Of a webhook that was just made. */
export const emptyQueue: QueueDepth = { outstanding: 0, retrying: 0, behind: 0, failingSinceMs: null };

/** Throws StoreTampered. */
export function liveView(record: WebhookRecord, depth: QueueDepth, nowMs: number): Type.Static<typeof Webhook> {
  return shownRecord(record.id, () => liveViewOf(record, depth, nowMs));
}

function liveViewOf(record: WebhookRecord, depth: QueueDepth, nowMs: number): Type.Static<typeof Webhook> {
  const { outstanding, retrying, behind, failingSinceMs } = depth;
  const ends = record.secrets.map(({ endsAtMs }) => endsAtMs ?? 0).filter((endsAtMs) => endsAtMs > nowMs);
  return {
    ...webhookView(record),
    queue: { outstanding, retrying, behind },
    failing_since: timestampOrNull(failingSinceMs),
    previous_secret_expires_at: ends.length === 0 ? null : timestampOrNull(Math.max(...ends)),
  };
}
