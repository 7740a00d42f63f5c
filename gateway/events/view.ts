/** An event as the API shows it and as webhooks carry it (decisions 2.5). */
import Type from 'typebox';
import type { TokenEnvironment } from '../auth/token-format.ts';
import { Closed, Nullable, OneOf, Timestamp } from '../rest/schema-kit.ts';
import type { StoredEvent } from '../store/contract.ts';
import { eventApiVersion } from './event.ts';

export const Event = Closed(
  {
    id: Type.String({ examples: ['evt_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'] }),
    type: Type.String({ examples: ['transaction_intent.approved'] }),
    timestamp: Timestamp,
    api_version: Type.String({ examples: ['v1'] }),
    environment: OneOf(['sandbox', 'production']),
    sequence: Type.Integer({ minimum: 1, description: 'rises by one per tenant, from 1, without holes' }),
    resource: Closed({
      type: Type.String({ examples: ['transaction_intent'] }),
      id: Type.String(),
      version: Type.Integer({ minimum: 0 }),
    }),
    correlation_id: Type.String(),
    provider: Nullable(Type.String({ description: 'provider kind' })),
    data: Closed({
      object: Type.Object({}, { description: 'the resource as the API shows it', additionalProperties: true }),
    }),
  },
  { title: 'Event' },
);

export type EventView = Type.Static<typeof Event>;

export function eventView(event: StoredEvent, environment: TokenEnvironment): EventView {
  const { id, type, atMs, sequence, resource, correlationId, provider, object } = event;
  return {
    id,
    type,
    timestamp: new Date(atMs).toISOString(),
    api_version: eventApiVersion,
    environment,
    sequence,
    resource: { type: resource.type, id: resource.id, version: resource.version },
    correlation_id: correlationId,
    provider,
    data: { object },
  };
}
