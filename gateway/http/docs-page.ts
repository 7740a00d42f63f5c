/**
 * GET /v1/openapi.json, and the same to browse at /v1/docs, where `/` leads. All assets come from this process; the page
 * may load nothing from elsewhere and run no script of its own. It keeps the token that its reader gives it; in a sandbox
 * whose token is public it begins with that one.
 *
 * The document and the page are made at their first request: no start of a gateway waits for them.
 */
import Fastify, { type FastifyInstance } from 'fastify';
import type { Route } from '../../api/route.ts';
import { openapiDocument, openapiPath } from '../openapi/document.ts';
import { jsonContentType } from './errors.ts';
import { noSchemas } from './no-schemas.ts';

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

export function documentRoutes(app: FastifyInstance, routes: readonly Route[], options: PageOptions): void {
  const document = once(() => openapiDocument(routes, options.version, options.publicToken));
  const text = once(() => JSON.stringify(document()));
  const page = once(() => buildPage(document(), options));
  app.get('/', (_request, reply) => {
    reply.redirect(docsPath, 302);
  });
  app.get(openapiPath, (_request, reply) => {
    reply.header('content-type', jsonContentType).send(text());
  });
  for (const url of [docsPath, `${docsPath}/*`]) {
    app.get(url, async (request, reply) => {
      const { statusCode, headers, rawPayload } = await (await page()).inject({
        url: request.url,
        headers: request.headers as Record<string, string>,
      });
      // Errors of the page's application have neither our shape nor a request id.
      if (statusCode >= 400) return reply.callNotFound();
      return reply.code(statusCode).headers(headers).send(rawPayload);
    });
  }
}

/** An application of its own, never listening. */
async function buildPage(document: object, { publicToken }: PageOptions): Promise<FastifyInstance> {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const page = Fastify({ logger: false, schemaController: noSchemas });
  page.addHook('onSend', async (_request, reply) => {
    reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer');
  });
  await page.register(swagger, { mode: 'static', specification: { document: document as never } });
  await page.register(swaggerUi, {
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
  return page;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Swagger UI reads what it keeps under `authorized` when it starts. What the reader has entered goes first. */
function offerToken(token: string): string {
  const kept = { bearer: { name: 'bearer', schema: { type: 'http', scheme: 'bearer' }, value: token } };
  return `if (!localStorage.getItem('authorized')) localStorage.setItem('authorized', ${JSON.stringify(JSON.stringify(kept))});`;
}
