/**
 * The OpenAPI 3.1 document, made from the routes and from the signing API's descriptors, so that it cannot
 * contradict the code.
 */

import { plannedOfTag, previewOfTag } from '../api/modules.ts';
import type { Route } from '../api/route.ts';
import { isIdempotent } from '../api/route-table.ts';
import type { JsonSchema } from '../api/schema-text.ts';
import { withAnswerExamples } from './answer-examples.ts';
import { healthSchema } from './health.ts';
import { documentTags, maturityOf, maturityText } from './modules.ts';
import {
  answerHeaders,
  errorResponses,
  errorSchema,
  idempotencyKeyParameter,
  type Json,
  type JsonObject,
  NamedSchemas,
  ref,
  securitySchemes,
  sharedHeaders,
  sharedResponses,
} from './parts.ts';
import { signingPaths } from './signing.ts';
import { eventWebhooks } from './webhooks.ts';

export const openapiPath = '/v1/openapi.json';

/** Plain JSON. `version`: this package's. `publicToken`: a token that is not secret, which the document offers. */
export function openapiDocument(routes: readonly Route[], version: string, publicToken?: string): JsonObject {
  const schemas = new NamedSchemas();
  schemas.add('Error', errorSchema);
  schemas.add('Health', healthSchema);
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:([A-Za-z0-9_]+)/g, '{$1}');
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route, schemas);
  }
  const tags = new Set([...routes.map(({ tag }) => tag), 'Signing', 'Service']);
  return withAnswerExamples({
    openapi: '3.1.0',
    info: {
      title: 'signmesh',
      version,
      summary: 'Wallet control plane and threshold signing, as a simulator and sandbox.',
      description:
        'Signing runs in mode M0, a mock: it must never guard real funds. Amounts are decimal strings, times RFC 3339 ' +
        'in UTC; fields that are not known are refused. Examples are sent as they stand; ids in them are placeholders. ' +
        maturityText +
        (publicToken === undefined
          ? ''
          : ` This sandbox’s own token, which the page at /v1/docs begins with: \`${publicToken}\``),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'this gateway' }],
    security: [{ bearer: [] }],
    tags: documentTags(tags),
    paths: { ...paths, ...signingPaths(schemas), ...servicePaths() },
    webhooks: eventWebhooks(schemas),
    components: {
      securitySchemes: securitySchemes(publicToken),
      schemas: schemas.all(),
      responses: sharedResponses(),
      headers: sharedHeaders,
      parameters: { IdempotencyKey: idempotencyKeyParameter },
    },
  });
}

function operation(route: Route, schemas: NamedSchemas): JsonObject {
  const { operationId, tag, summary, scope, limitClass } = route;
  const preview = previewOfTag(tag);
  const parameters = [
    ...parametersIn('path', route.params as JsonSchema | undefined, schemas),
    ...parametersIn('query', route.query as JsonSchema | undefined, schemas),
    ...parametersIn('header', route.headers as JsonSchema | undefined, schemas),
    ...(isIdempotent(route) ? [ref('parameters', 'IdempotencyKey')] : []),
  ];
  return {
    operationId,
    tags: [tag],
    'x-maturity': maturityOf(tag),
    summary,
    description: describe(route),
    ...(scope === undefined || scope === 'any' ? {} : { 'x-required-scope': scope }),
    ...(scope === undefined ? {} : { 'x-limit-class': limitClass }),
    ...(preview === undefined ? {} : { 'x-preview-scope': `preview:${preview}` }),
    security: scope === undefined ? [] : [{ bearer: scope === 'any' ? [] : [scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(route, schemas),
    responses: { ...successes(route, schemas), ...errorResponses(errorStatuses(route)) },
  };
}

function describe({ description, scope, tag, idempotencyField }: Route): string {
  const preview = previewOfTag(tag);
  const planned = plannedOfTag(tag);
  return [
    description ?? '',
    scope === undefined ? 'Public: no token.' : scope === 'any' ? 'Any valid token.' : `Scope: \`${scope}\`.`,
    preview === undefined ? '' : `In production also \`preview:${preview}\`.`,
    planned === undefined ? '' : `In a sandbox access is by request: \`POST /v1/modules/${planned}/access-requests\`.`,
    idempotencyField === undefined ? '' : `The idempotency key may also stand in the body, as \`${idempotencyField}\`.`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function parametersIn(
  place: 'path' | 'query' | 'header',
  schema: JsonSchema | undefined,
  schemas: NamedSchemas,
): Json[] {
  const { properties = {}, required = [] } = schema ?? {};
  return Object.entries(properties).map(([name, property]) => {
    // The page would fill in examples of parameters, and so filter every list.
    const { description, examples: _, ...rest } = property;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: schemas.refer(rest),
    };
  });
}

function requestBody({ method, operationId, body, bodyOptional, example }: Route, schemas: NamedSchemas): JsonObject {
  if (method === 'GET' || body === undefined) return {};
  const schema = schemas.refer(body, pascalCase(operationId));
  const content = {
    'application/json': { schema, ...(example === undefined ? {} : { example: example as JsonObject }) },
  };
  return { requestBody: { required: bodyOptional !== true, content } };
}

function pascalCase(operationId: string): string {
  return operationId.charAt(0).toUpperCase() + operationId.slice(1);
}

function successes(route: Route, schemas: NamedSchemas): JsonObject {
  const guarded = route.scope !== undefined && route.limitClass !== 'none';
  const headers = answerHeaders({ guarded, idempotent: isIdempotent(route) });
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, { schema, description, contentType = 'application/json' }]) => [
      status,
      {
        description,
        headers,
        ...(schema === undefined
          ? {}
          : {
              content: { [contentType]: { schema: schemas.refer(schema, `${pascalCase(route.operationId)}Response`) } },
            }),
      },
    ]),
  );
}

function errorStatuses(route: Route): number[] {
  const { method, params, scope, errors = [] } = route;
  return [
    ...[400, 500, 503],
    ...(scope === undefined ? [] : [401, 429]),
    ...(scope === undefined || scope === 'any' ? [] : [403]),
    ...(params === undefined ? [] : [404]),
    ...(method === 'GET' ? [] : [413, 415]),
    // A change may conflict with another one.
    ...(method === 'GET' ? [] : [409]),
    ...errors,
  ];
}

/** Paths that the HTTP server serves besides the routes. */
function servicePaths(): JsonObject {
  const headers = answerHeaders({ guarded: false, idempotent: false });
  const health = { 'application/json': { schema: ref('schemas', 'Health') } };
  return {
    '/v1/health': {
      get: {
        operationId: 'getHealth',
        tags: ['Service'],
        'x-maturity': maturityOf('Service'),
        summary: 'How the service is',
        description: 'For probes. Public: no token, no rate limit.',
        security: [],
        responses: {
          '200': { description: 'It can sign, perhaps with fewer nodes', headers, content: health },
          ...errorResponses([400, 500]),
          '503': {
            description: 'It cannot sign now; the body is the same',
            headers: { ...headers, 'Retry-After': ref('headers', 'RetryAfter') },
            content: health,
          },
        },
      },
    },
    [openapiPath]: {
      get: {
        operationId: 'getOpenapi',
        tags: ['Service'],
        'x-maturity': maturityOf('Service'),
        summary: 'This document',
        description: 'Public: no token.',
        security: [],
        responses: {
          '200': {
            description: 'OpenAPI 3.1',
            headers,
            content: { 'application/json': { schema: { type: 'object' } } },
          },
          ...errorResponses([400, 500]),
        },
      },
    },
  };
}
