/** An event as the API shows it and as webhooks carry it. */
import Type from 'typebox';
import { eventApiVersion } from '../../../gateway/api/event.ts';
import { Closed, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import type { StoredEvent } from '../../store/contract.ts';

/**
 * The envelope, with any resource in it: what a route checks. The document says `Event` (schemas.ts) instead, which also
 * types the resource.
 */
export const EventEnvelope = Closed(
  {
    id: Type.String(),
    type: Type.String(),
    timestamp: Timestamp,
    api_version: Type.String(),
    environment: OneOf(['sandbox', 'production']),
    sequence: Type.Integer({ minimum: 1 }),
    resource: Closed({ type: Type.String(), id: Type.String(), version: Type.Integer({ minimum: 0 }) }),
    correlation_id: Type.String(),
    provider: Nullable(Type.String()),
    data: Closed({ object: Type.Object({}, { additionalProperties: true }) }),
  },
  { title: 'Event', 'x-documented-as': 'Event' },
);

export interface EventView {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly api_version: string;
  readonly environment: ClusterEnvironment;
  readonly sequence: number;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly correlation_id: string;
  readonly provider: string | null;
  readonly data: { readonly object: object };
}

export function eventView(event: StoredEvent, environment: ClusterEnvironment): EventView {
  const { id, type, atMs, sequence, resource, correlationId, provider, object } = event;
  return {
    id,
    type,
    timestamp: timestamp(atMs),
    api_version: eventApiVersion,
    environment,
    sequence,
    resource: { type: resource.type, id: resource.id, version: resource.version },
    correlation_id: correlationId,
    provider,
    data: { object },
  };
}
