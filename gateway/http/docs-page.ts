/**
 * GET /v1/openapi.json, and the same to browse at /v1/docs, where `/` leads. All assets come from this process; the page
 * may load nothing from elsewhere and run no script of its own. It keeps the token that its reader gives it; in a sandbox
 * whose token everybody knows it begins with that one.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { Route } from '../../api/route.ts';
import { openapiDocument, openapiPath } from '../openapi/document.ts';
import { jsonContentType } from './errors.ts';

export const docsPath = '/v1/docs';

const contentPolicy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface PageOptions {
  /** This package's. */
  readonly version: string;
  /** Never a secret one: the page is public. */
  readonly publicToken?: string;
}

export async function documentRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  { version, publicToken }: PageOptions,
): Promise<void> {
  const document = openapiDocument(routes, version, publicToken);
  app.get('/', (_request, reply) => {
    reply.redirect(docsPath, 302);
  });
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
      uiConfig: {
        layout: 'BaseLayout',
        docExpansion: 'list',
        displayRequestDuration: true,
        tryItOutEnabled: true,
        persistAuthorization: true,
        filter: true,
        defaultModelsExpandDepth: 0,
      },
      theme: {
        title: 'signmesh',
        ...(publicToken !== undefined && { js: [{ filename: 'token.js', content: offerToken(publicToken) }] }),
      },
    });
  });
}

/** Swagger UI reads what it keeps under `authorized` when it starts. What the reader has entered goes first. */
function offerToken(token: string): string {
  const kept = { bearer: { name: 'bearer', schema: { type: 'http', scheme: 'bearer' }, value: token } };
  return `if (!localStorage.getItem('authorized')) localStorage.setItem('authorized', ${JSON.stringify(JSON.stringify(kept))});`;
}
