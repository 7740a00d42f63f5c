/** /v1/sandbox/requests: the last requests of the caller's tenant through this gateway, and those that no token admitted. */
import Type from 'typebox';
import { type Route, route } from '../api/route.ts';
import { Closed, ListOf, PathId, WholeNumberText } from '../api/schema-kit.ts';
import { noSuch } from '../api/visibility.ts';
import { openapiDocument } from '../openapi/document.ts';
import { notSupported } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import type { SeenRequest } from './request-log.ts';
import { type DescribedBodies, lineOf, RequestLine, RequestView, requestView } from './request-views.ts';
import { common, wholeList } from './shared.ts';

const limitMax = 1_000;
const limitDefault = 100;

export function requestRoutes({ requests, routes, version }: SandboxDeps): readonly Route[] {
  const log = () => {
    if (requests === undefined) throw notSupported('this gateway keeps no requests');
    return requests;
  };
  // No token admitted the others: they are of no tenant.
  const seenBy = (tenant: string): readonly SeenRequest[] => log().since(0, [tenant, '']).requests;
  let document: DescribedBodies | undefined;
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/requests',
      operationId: 'listSandboxRequests',
      clientName: 'sandbox.requests',
      summary: 'List the last requests of the caller’s tenant over REST and gRPC, newest first',
      description:
        `The last ${limitMax}, of one gateway, in memory; also those that no token admitted. Probes and the reading of this list are ` +
        'left out. A reset ends them.',
      query: Closed({
        limit: Type.Optional(
          WholeNumberText(
            '^([1-9][0-9]{0,2}|1000)$',
            1,
            limitMax,
            `requests, 1 to ${limitMax}; ${limitDefault} by default`,
          ),
        ),
        request_id: Type.Optional(
          Type.String({ minLength: 1, maxLength: 256, description: 'those with this `X-Request-Id` alone' }),
        ),
      }),
      responses: { 200: { description: 'Requests', schema: ListOf('requests', RequestLine) } },
      handle: async ({ tenant }, { query }) => {
        const { limit = String(limitDefault), request_id: requestId } = query;
        const found = seenBy(tenant).filter(({ entry }) => requestId === undefined || entry.requestId === requestId);
        const shown = found.slice(-Number(limit)).reverse();
        return {
          status: 200,
          body: wholeList(
            'requests',
            shown.map((seen) => lineOf(log(), seen)),
          ),
        };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/requests/:id',
      operationId: 'getSandboxRequest',
      clientName: 'sandbox.request',
      summary: 'Read one of these requests: its body and its answer',
      description:
        'Up to 4 KB of each. The values of secret fields (`x-secret` in this document) and of fields that the document does not know ' +
        'are masked; text that is no JSON is not shown.',
      params: Closed({ id: PathId('id of the list') }),
      responses: { 200: { description: 'The request', schema: RequestView } },
      handle: async ({ tenant }, { params: { id } }) => {
        const found = seenBy(tenant).find(({ number }) => String(number) === id);
        if (found === undefined) throw noSuch('request');
        document ??= openapiDocument(routes(), version) as unknown as DescribedBodies;
        return { status: 200, body: requestView(log(), found, document) };
      },
    }),
  ];
}
