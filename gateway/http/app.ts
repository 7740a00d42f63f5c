/**
 * The HTTP door, built and not listening: what every route shares (request ids, bodies, errors, 404 and 405), then the
 * rooms' routes.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Timers } from '../../actors/contract.ts';
import type { Log } from '../../actors/live/ports.ts';
import { ServiceError } from '../../api/errors/service-error.ts';
import { toServiceError } from '../../api/failures.ts';
import { parseJsonBody, refuseEncoding } from '../../api/json-body.ts';
import { type RequestIds, requestIdHeader } from '../../api/request-id.ts';
import type { Route } from '../../api/route.ts';
import { httpBodyBytesMax } from '../../proto/limits.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import type { RequestWatcher } from '../access-log/access-log.ts';
import { HttpAccess } from '../access-log/http-access.ts';
import type { Admission } from '../auth/admission.ts';
import type { ClusterView } from '../signing/cluster-view.ts';
import type { Calls } from '../signing/signing-calls.ts';
import type { WalletReader } from '../signing/wallet-terms.ts';
import { boundConnections, connectionsDefaultMax } from './connections.ts';
import { documentRoutes } from './docs-page.ts';
import { type DoorTls, doorOptions, logTlsRefusals } from './door-tls.ts';
import { answerRaw, answerUnparsable, sendError } from './errors.ts';
import { healthRoute } from './health.ts';
import { mountRoutes, type RestDeps } from './mount.ts';
import { noSchemas } from './no-schemas.ts';
import { signingRoutes } from './signing-routes.ts';

export interface HttpDeps {
  readonly environment: ClusterEnvironment;
  readonly version: string;
  /** A public token: the page of the API offers it. */
  readonly publicToken?: string;
  readonly admission: Admission;
  readonly calls: Calls;
  readonly cluster: ClusterView;
  readonly timers: Timers;
  readonly requestIds: RequestIds;
  readonly log: Log;
  /** Who hears of every request: the access log, metrics, traces. */
  readonly requests?: RequestWatcher | undefined;
  /** Where the signing API finds what a wallet asks for; without it no wallet asks for anything. */
  readonly wallets?: WalletReader;
  /** How long a client may take to send a request: 30 s by default. */
  readonly requestTimeoutMs?: number;
  readonly connectionsMax?: number;
  /** undefined: plain HTTP. */
  readonly tls?: DoorTls | undefined;
  /** The wallet API; without it the door has the signing API alone. */
  readonly rest?: { readonly routes: readonly Route[]; readonly deps: RestDeps };
}

/** How long a client may take to send a request. */
const requestTimeoutDefaultMs = 30_000;
/** How often Node looks for requests that took longer. */
const requestCheckEveryMs = 1_000;

/** Ready for `listen` or `inject`. */
export async function buildHttp(deps: HttpDeps): Promise<FastifyInstance> {
  const access = deps.requests && new HttpAccess(deps.requests, deps.timers);
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): void =>
    sendError(reply, toServiceError(error), request.id, deps.log);
  const { requestTimeoutMs = requestTimeoutDefaultMs, tls, log } = deps;
  // Node's own refusal of a missing Host has neither a request id nor a body: `needOneHost` refuses it instead.
  const http = {
    requireHostHeader: false,
    connectionsCheckingInterval: requestCheckEveryMs,
    // Node's default is 60 s, and of the two it takes the longer one for the whole request.
    headersTimeout: requestTimeoutMs,
  };
  const app = Fastify({
    logger: false,
    schemaController: noSchemas,
    bodyLimit: httpBodyBytesMax,
    requestTimeout: requestTimeoutMs,
    ...(tls === undefined ? { http } : { https: { ...http, ...doorOptions(tls) } }),
    requestIdHeader: false,
    genReqId: (raw) => deps.requestIds.of(raw.headers[requestIdHeader]),
    frameworkErrors: (error, request, reply) => {
      // No hook runs for these.
      access?.begin(request, reply);
      fail(error, request, reply);
    },
    clientErrorHandler: (error, socket) => answerUnparsable(error, socket, deps.requestIds, access),
    // While the gateway drains, requests that still arrive are served like any other: Fastify's own 503 has no request id.
    return503OnClosing: false,
  }) as FastifyInstance;
  boundConnections(app.server, deps.connectionsMax ?? connectionsDefaultMax);
  if (tls !== undefined) logTlsRefusals(app.server, 'HTTP', log);
  answerWhatNodeWouldNot(app.server, deps.requestIds, access);
  app.decorateRequest('principal', undefined);
  app.decorateRequest('access', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    access?.begin(request, reply);
    reply.header(requestIdHeader, request.id).header('cache-control', 'no-store');
    done(needOneHost(request.raw));
  });
  app.setErrorHandler(fail);
  app.setNotFoundHandler((request, reply) => {
    fail(new ServiceError('notFound', `no such path: ${request.method} ${pathOf(request)}`), request, reply);
  });
  acceptJsonAlone(app);

  const paths = collectPaths(app);
  healthRoute(app, deps);
  signingRoutes(app, deps);
  if (deps.rest !== undefined) {
    await mountRoutes(app, deps.rest.routes, deps.rest.deps);
    documentRoutes(app, deps.rest.routes, deps);
  }
  refuseOtherMethods(app, paths);
  await app.ready();
  return app;
}

/** What Node's HTTP server by itself drops, or answers without a request id and a body. */
function answerWhatNodeWouldNot(server: Server, requestIds: RequestIds, access: HttpAccess | undefined): void {
  // It would drop the headers beyond its 2,000th silently, a second authorization among them. Their bytes are limited.
  server.maxHeadersCount = 0;
  // An expectation that is not known may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => {
    const error = new ServiceError('invalidRequest', 'CONNECT is not served: this is no proxy');
    answerRaw(socket as Socket, error, requestIds, access);
  });
}

/** RFC 9112 §3.2: HTTP/1.1 names its host exactly once. */
function needOneHost({ rawHeaders, httpVersion }: IncomingMessage): ServiceError | undefined {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts === 1 || (hosts === 0 && httpVersion !== '1.1')) return undefined;
  return new ServiceError('invalidRequest', 'exactly one Host header is needed');
}

function acceptJsonAlone(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      refuseEncoding(request.headers);
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** The path without its query, cut short: it is the caller's text. */
function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0]!.slice(0, 200);
}

const everyMethod = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Notes the paths that come from now on. */
function collectPaths(app: FastifyInstance): Set<string> {
  const paths = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    paths.add(url);
  });
  return paths;
}

/** Fastify answers 404 to a wrong method; a path that exists says 405 and what it would take. */
function refuseOtherMethods(app: FastifyInstance, paths: ReadonlySet<string>): void {
  for (const url of [...paths]) {
    const methods = everyMethod.filter((method) => app.hasRoute({ method, url }));
    const allow = methods.join(', ');
    const refuse = (): never => {
      throw new ServiceError('methodNotAllowed', `this path takes ${allow}`, { headers: { allow } });
    };
    app.route({
      method: everyMethod.filter((method) => !methods.includes(method)),
      url,
      // Before the body is read: its type and size do not matter any more.
      onRequest: async () => refuse(),
      handler: refuse,
    });
  }
}
