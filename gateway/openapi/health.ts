/** The body of GET /v1/health (gateway/serve/health.ts), for the document. */
import type { JsonObject } from './parts.ts';

const fields = {
  status: { type: 'string', enum: ['ok', 'degraded', 'unavailable'] },
  environment: { type: 'string', enum: ['sandbox', 'production'] },
  version: { type: 'string' },
  coordinator: { type: 'string', enum: ['connected', 'disconnected'] },
  session_store: { type: 'string', enum: ['ready', 'unavailable'] },
  nodes_ready: { type: 'integer', minimum: 0 },
  nodes_total: { type: 'integer', minimum: 0 },
  quorum: { type: 'integer', minimum: 0 },
  crypto: { type: 'string', description: '`native` or `js`; empty while no coordinator is connected' },
  reasons: { type: 'array', items: { type: 'string' }, description: 'why `status` is not `ok`' },
  clusters: {
    type: 'array',
    description: 'each cluster, where there are several; the fields above then say what they have together',
    items: {
      type: 'object',
      properties: {
        cluster: { type: 'integer', minimum: 1 },
        status: { type: 'string', enum: ['ok', 'degraded', 'unavailable'] },
        coordinator: { type: 'string', enum: ['connected', 'disconnected'] },
        nodes_ready: { type: 'integer', minimum: 0 },
        nodes_total: { type: 'integer', minimum: 0 },
        quorum: { type: 'integer', minimum: 0 },
      },
    },
  },
} as const;

export const healthSchema: JsonObject = { type: 'object', properties: fields, required: ['status', 'environment'] };
