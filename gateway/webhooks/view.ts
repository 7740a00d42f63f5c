/** A webhook as the API shows it, and what may be said of one in a request. */
import Type from 'typebox';
import { Closed, Nullable, OneOf, Timestamp } from '../rest/schema-kit.ts';
import { type WebhookRecord, webhookStatuses } from './record.ts';

const fields = {
  id: Type.String({ examples: ['whk_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'] }),
  url: Type.String(),
  events: Type.Array(Type.String()),
  description: Nullable(Type.String()),
  status: OneOf(webhookStatuses),
  version: Type.Integer({ minimum: 1 }),
  created_at: Timestamp,
  updated_at: Timestamp,
} as const;

export const Webhook = Closed(fields, { title: 'Webhook' });

export const NewWebhook = Closed(
  {
    ...fields,
    secret: Type.String({
      description: 'signs deliveries; shown here alone, and never again',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  },
  { title: 'NewWebhook' },
);

export const UrlText = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'absolute URL without credentials and fragment; https in production',
  examples: ['https://example.com/hooks'],
});

export const EventList = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: 'event types, beginnings such as "wallet.*", or "*" alone for all',
  examples: [['transaction_intent.completed', 'wallet.*']],
});

export const Description = Type.String({ maxLength: 200 });

export type WebhookView = Type.Static<typeof Webhook>;

export function webhookView(record: WebhookRecord): WebhookView {
  const { id, url, events, description, status, version, createdAtMs, updatedAtMs } = record;
  return {
    id,
    url,
    events: [...events],
    description,
    status,
    version,
    created_at: new Date(createdAtMs).toISOString(),
    updated_at: new Date(updatedAtMs).toISOString(),
  };
}
