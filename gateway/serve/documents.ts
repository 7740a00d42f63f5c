/**
 * GET /v1/openapi.json, and /v1/docs, where the same is browsed and `/` leads. The HTTP server provides the files of that page
 * (http/docs-page.ts); without them there is no page. The document is made at its first request, so that no start waits for it.
 */
import type { Route } from '../api/route.ts';
import { openapiDocument, openapiPath } from '../openapi/document.ts';
import { type Endpoint, jsonContentType, type Reply, type ServeRequest } from './contract.ts';
import { noSuchPath } from './endpoints.ts';

export const docsPath = '/v1/docs';

/** The page's answer to a request below `docsPath`; undefined: it has no such file. */
export type DocsPage = (document: () => object, request: ServeRequest) => Reply | undefined;

export interface DocumentOptions {
  /** This package's. */
  readonly version: string;
  /** Never a secret one: the document is public. */
  readonly publicToken?: string;
  readonly docsPage?: DocsPage;
}

export function documentEndpoints(routes: readonly Route[], options: DocumentOptions): readonly Endpoint[] {
  const { version, publicToken, docsPage } = options;
  const document = once(() => openapiDocument(routes, version, publicToken));
  const text = once(() => JSON.stringify(document()));
  const read = (path: string, run: Endpoint['run']): Endpoint => ({ method: 'GET', path, answersHead: true, run });
  const json = { 'content-type': jsonContentType };
  const endpoints = [read(openapiPath, async () => ({ status: 200, headers: json, body: text() }))];
  if (docsPage === undefined) return endpoints;
  const browse: Endpoint['run'] = async ({ request, entry }) => {
    const reply = docsPage(document, request);
    if (reply !== undefined) return reply;
    entry.route = undefined;
    throw noSuchPath(request.method, request.target);
  };
  return [
    ...endpoints,
    read('/', async () => ({ status: 302, headers: { location: docsPath } })),
    ...[docsPath, `${docsPath}/*`].map((path) => read(path, browse)),
  ];
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
