/** The deliveries that the service sends to webhooks, in OpenAPI 3.1. */
import { Event } from './event-schemas.ts';
import type { Json, JsonObject, NamedSchemas } from './parts.ts';

function header(name: string, description: string, pattern?: string): Json {
  const schema = { type: 'string', ...(pattern === undefined ? {} : { pattern }) };
  return { name, in: 'header', required: true, description, schema };
}

/** One webhook: its body is any event that the receiver subscribed to. Schemas are added to `schemas`. */
export function eventWebhooks(schemas: NamedSchemas): JsonObject {
  return {
    event: {
      post: {
        operationId: 'onEvent',
        tags: ['Webhooks'],
        summary: 'An event is delivered',
        description:
          'At least once, in no order: `id` tells repeats apart, `sequence` orders. `type` says which event it is. Check the ' +
          'signature over the raw body before anything is read (docs/webhooks.md). An answer of 2xx within 15 s ends the ' +
          'delivery; 410 disables the webhook; anything else is tried again.',
        security: [],
        parameters: [
          header('X-Svc-Signature', 'HMAC-SHA256 of the raw body under the newest secret', '^[0-9a-f]{64}$'),
          header('webhook-id', 'the id of the event (Standard Webhooks)'),
          header('webhook-timestamp', 'seconds since 1970, of this try', '^[0-9]+$'),
          header('webhook-signature', '`v1,` and a base64 HMAC for each valid secret, separated by spaces'),
        ],
        requestBody: { required: true, content: { 'application/json': { schema: schemas.refer(Event) } } },
        responses: {
          '2XX': { description: 'It arrived' },
          '410': { description: 'Nothing more is wanted: the webhook is disabled' },
        },
      },
    },
  };
}
