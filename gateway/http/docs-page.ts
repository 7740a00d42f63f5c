/**
 * The page of the API, below /v1/docs. All assets come from this process; the page may not load other origins or run inline
 * scripts. It stores the token that its reader enters; in a sandbox with a public token it begins with that one.
 *
 * It is made at its first request: no start of a gateway waits for it.
 */
import Fastify, { type FastifyInstance } from 'fastify';
import { type DocsPage, docsPath } from '../serve/documents.ts';
import { noSchemas } from './no-schemas.ts';

const contentPolicy = [
  "default-src 'self'",
  "img-src 'self' data:",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface PageOptions {
  /** Never a secret one: the page is public. */
  readonly publicToken?: string;
}

export function docsPage(options: PageOptions): DocsPage {
  let page: Promise<FastifyInstance> | undefined;
  return async (document, { target, headers: asked }) => {
    page ??= buildPage(document(), options);
    const {
      statusCode: status,
      headers,
      rawPayload,
    } = await (await page).inject({
      url: target,
      headers: asked as Record<string, string>,
    });
    // Errors of the page's application have neither our shape nor a request id.
    if (status >= 400) return undefined;
    const { connection: _hop, ...own } = headers;
    return { status, headers: own as Record<string, string>, body: rawPayload };
  };
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

/** Swagger UI reads the stored `authorized` when it starts. The reader's own entry takes precedence. */
function offerToken(token: string): string {
  const kept = { bearer: { name: 'bearer', schema: { type: 'http', scheme: 'bearer' }, value: token } };
  return `if (!localStorage.getItem('authorized')) localStorage.setItem('authorized', ${JSON.stringify(JSON.stringify(kept))});`;
}
