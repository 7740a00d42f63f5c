/**
 * GET /v1/openapi.json, and the same to browse at /v1/docs. All assets come from this process; the page may load nothing
 * from elsewhere and run no script of its own.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { jsonContentType } from '../http/errors.ts';
import { openapiDocument, openapiPath } from './openapi.ts';
import type { Route } from './route.ts';

export const docsPath = '/v1/docs';

const contentPolicy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export async function documentRoutes(app: FastifyInstance, routes: readonly Route[], version: string): Promise<void> {
  const document = openapiDocument(routes, version);
  const text = JSON.stringify(document);
  app.get(openapiPath, (_request, reply) => {
    reply.header('content-type', jsonContentType).send(text);
  });
  await app.register(async (scope) => {
    scope.addHook('onSend', async (_request, reply) => {
      reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer');
    });
    await scope.register(swagger, { mode: 'static', specification: { document: document as never } });
    await scope.register(swaggerUi, {
      routePrefix: docsPath,
      staticCSP: contentPolicy,
      uiConfig: { docExpansion: 'none', displayRequestDuration: true, tryItOutEnabled: true },
      theme: { title: 'signmesh' },
    });
  });
}
