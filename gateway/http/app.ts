/**
 * The HTTP server: Fastify runs it, and passes every request to `serve`, which knows no sockets; it writes the response
 * unchanged. This module itself handles connections and requests that Node's parser refuses.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { Acceptors } from '../../core/actors/live/acceptors.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { AccessEntry, type RequestWatcher } from '../access-log/access-log.ts';
import { HttpAccess } from '../access-log/http-access.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { type RequestIds, requestIdHeader } from '../api/request-id.ts';
import type { RefuseForLoad, Serve } from '../serve/contract.ts';
import { makeServing, type ServeDeps } from '../serve/serve.ts';
import { boundConnections, connectionsDefaultMax } from './connections.ts';
import { docsPage } from './docs-page.ts';
import { answerRaw, answerUnparsable } from './errors.ts';
import { expectsContinue, HttpRequest } from './http-request.ts';
import { noSchemas } from './no-schemas.ts';
import { type ApiServerTls, apiServerOptions, logTlsRefusals } from './server-tls.ts';

export interface ApiServerDeps extends Pick<ServeDeps, 'requestIds' | 'timers' | 'log'> {
  /** Rejects when the gateway has died: the connection is cut. */
  readonly serve: Serve;
  /** Asked first. */
  readonly refuseForLoad?: RefuseForLoad;
  /** The observers of every request: the access log, metrics, traces. */
  readonly requests?: RequestWatcher | undefined;
  /** How long a client may take to send a request: 30 s by default. */
  readonly requestTimeoutMs?: number;
  readonly connectionsMax?: number;
  /** Whether the event loop is late: then more connections are accepted in each turn. */
  readonly isLate?: () => boolean;
  /** undefined: plain HTTP. */
  readonly tls?: ApiServerTls | undefined;
}

export type HttpDeps = ServeDeps & Omit<ApiServerDeps, 'serve' | 'refuseForLoad'>;

/** How long a client may take to send a request. */
const requestTimeoutDefaultMs = 30_000;
/** How often Node looks for requests that took longer. */
const requestCheckEveryMs = 1_000;

/** Ready for `listen` or `inject`. */
export function buildHttp(deps: HttpDeps): Promise<FastifyInstance> {
  return buildApiServer({ ...deps, ...makeServing({ docsPage: docsPage(deps), ...deps }) });
}

/** The same over a `serve` that is made elsewhere. */
export async function buildApiServer(deps: ApiServerDeps): Promise<FastifyInstance> {
  const { serve, refuseForLoad, requestIds, timers, log, tls, requestTimeoutMs = requestTimeoutDefaultMs } = deps;
  const access = deps.requests && new HttpAccess(deps.requests, timers);
  // Node's own refusal of a missing Host has neither a request id nor a body: `serve` refuses it instead.
  const http = {
    requireHostHeader: false,
    connectionsCheckingInterval: requestCheckEveryMs,
    // Node's default is 60 s, and of the two it takes the longer one for the whole request.
    headersTimeout: requestTimeoutMs,
  };
  const lastResponses = new WeakMap<Socket, ServerResponse>();
  const app = Fastify({
    logger: false,
    schemaController: noSchemas,
    requestTimeout: requestTimeoutMs,
    ...(tls === undefined ? { http } : { https: { ...http, ...apiServerOptions(tls) } }),
    // Paths are found by `serve`.
    rewriteUrl: () => '/',
    requestIdHeader: false,
    clientErrorHandler: (error, socket) =>
      answerUnparsable(error, socket, lastResponses.get(socket), requestIds, access),
    // While the gateway drains, requests that still arrive are served like any other: Fastify's own 503 has no request id.
    return503OnClosing: false,
  }) as FastifyInstance;
  boundConnections(app.server, deps.connectionsMax ?? connectionsDefaultMax);
  if (deps.isLate !== undefined) addAcceptors(app.server, deps.isLate, log);
  if (tls !== undefined) logTlsRefusals(app.server, 'HTTP', log);
  answerWhatNodeWouldNot(app.server, requestIds, access);
  app.addHook('onRequest', (request, reply) => {
    reply.hijack();
    lastResponses.set(request.raw.socket, reply.raw);
    const entry = new AccessEntry(requestIds.of(request.headers[requestIdHeader]), timers.elapsedMs());
    const { raw, originalUrl } = request;
    if (refuseForLoad !== undefined && refuse(refuseForLoad, raw, reply.raw, originalUrl, entry, access)) return;
    access?.begin(entry, raw, reply.raw, originalUrl);
    answer(serve, new HttpRequest(raw, reply.raw, originalUrl, entry), reply.raw).catch((error: unknown) => {
      log.error({ request_id: entry.requestId, reason: String(error) }, 'an answer could not be written');
      reply.raw.destroy();
    });
  });
  await app.ready();
  return app;
}

/** Whether it was refused. Nothing waits for the end of the answer, and what is left of the request is not looked at. */
function refuse(
  refuseForLoad: RefuseForLoad,
  raw: IncomingMessage,
  response: ServerResponse,
  target: string,
  entry: AccessEntry,
  access: HttpAccess | undefined,
): boolean {
  const { method = '', httpVersion, headers, rawHeaders } = raw;
  const refusal = refuseForLoad({ method, target, httpVersion, headers, rawHeaders, entry });
  if (refusal === undefined) return false;
  if (expectsContinue(headers)) response.setHeader('connection', 'close');
  entry.answer = refusal;
  response.writeHead(refusal.status, refusal.headers);
  response.end(refusal.body);
  access?.answered(entry, raw, target, refusal.status);
  return true;
}

async function answer(serve: Serve, request: HttpRequest, raw: ServerResponse): Promise<void> {
  const response = await serve(request);
  request.entry.answer = response;
  const { status, headers, body, stream } = response;
  // A stream's connection ends with it, so that it does not delay a stopping gateway. After an abandoned body, or one that was
  // never asked for, a client may continue to send.
  if (stream !== undefined || request.isCutShort) raw.setHeader('connection', 'close');
  raw.writeHead(status, headers);
  if (stream === undefined) raw.end(body);
  else
    await pump(
      stream(() => raw.destroy()),
      raw,
    );
}

function addAcceptors(server: Server, isLate: () => boolean, log: Log): void {
  const acceptors = new Acceptors(server, log);
  const look = (): void => {
    if (!isLate()) return;
    server.off('request', look);
    acceptors.add();
  };
  server.on('request', look);
}

/** What Node's HTTP server by itself drops, or answers without a request id and a body. */
function answerWhatNodeWouldNot(server: Server, requestIds: RequestIds, access: HttpAccess | undefined): void {
  // It would drop the headers beyond its 2,000th silently, a second authorization among them. Their bytes are limited.
  server.maxHeadersCount = 0;
  // Node would ask for the body at once, also of a caller that is not admitted: HttpRequest asks when it is read.
  server.on('checkContinue', (request, response) => server.emit('request', request, response));
  // An expectation that is not known may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => {
    const error = new ServiceError('invalidRequest', 'CONNECT is not supported: this server is not a proxy');
    answerRaw(socket as Socket, error, requestIds, access);
  });
}

async function pump(stream: AsyncIterableIterator<string>, raw: ServerResponse): Promise<void> {
  let resume = (): void => {};
  raw.on('drain', () => resume());
  raw.once('close', () => {
    resume();
    void stream.return?.();
  });
  for await (const text of stream) {
    if (raw.destroyed) return;
    if (raw.write(text)) continue;
    await new Promise<void>((resolve) => {
      resume = resolve;
    });
  }
  raw.end();
}
