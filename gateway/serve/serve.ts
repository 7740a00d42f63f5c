/**
 * Serves one request of the HTTP API without a socket: finds the endpoint, runs it, and answers failures with the API's error
 * body. The HTTP server and simulated worlds both call it. It does I/O only through its ports.
 */
import type { Timers } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import { AccessEntry } from '../access-log/access-log.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { toServiceError } from '../api/failures.ts';
import { needLocalHost } from '../api/hosts.ts';
import { type RequestIds, requestIdHeader } from '../api/request-id.ts';
import type { Route } from '../api/route.ts';
import type { Admission } from '../auth/admission.ts';
import { onlyAuthorization } from '../auth/bearer.ts';
import type { Inboxes } from '../sandbox/inboxes.ts';
import type { ClusterView } from '../signing/cluster-view.ts';
import type { CallServerDeps } from '../signing/keyed-calls.ts';
import { type ConsoleFiles, consoleEndpoints } from './console.ts';
import type { RefuseForLoad, Reply, Serve, ServeRequest, ServeResponse } from './contract.ts';
import { corsFor } from './cors.ts';
import { type DocumentOptions, documentEndpoints } from './documents.ts';
import { endpointFinder } from './endpoints.ts';
import { errorReply } from './errors.ts';
import { healthEndpoint } from './health.ts';
import { inboxEndpoint } from './inboxes.ts';
import { type RestDeps, restEndpoints } from './rest.ts';
import { signingEndpoints } from './signing.ts';

export interface ServeDeps extends CallServerDeps, DocumentOptions {
  readonly environment: ClusterEnvironment;
  readonly admission: Admission;
  readonly cluster: ClusterView;
  readonly timers: Timers;
  readonly requestIds: RequestIds;
  readonly log: Log;
  /** Of browsers' pages that may call the API, or "*"; undefined: in a sandbox those of this machine, else none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Names under which a sandbox answers, beside those of this machine and network; "*": any. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** In a sandbox alone. */
  readonly inboxes?: Inboxes | undefined;
  /** Says how receivers of a sandbox behave now. */
  readonly control?: SandboxControl | undefined;
  /** Of the page at `/`, in a sandbox alone. */
  readonly consoleFiles?: ConsoleFiles | undefined;
  /** The wallet API; without it there is the signing API alone. */
  readonly rest?: { readonly routes: readonly Route[]; readonly deps: RestDeps } | undefined;
}

/** Throws an Error when a route contradicts itself, or two are the same. */
export function makeServe(deps: ServeDeps): Serve {
  return makeServing(deps).serve;
}

export interface Serving {
  readonly serve: Serve;
  readonly refuseForLoad: RefuseForLoad;
}

/** As `makeServe`, with what an HTTP server asks first. */
export function makeServing(deps: ServeDeps): Serving {
  const { rest, requestIds, timers, log } = deps;
  const isSandbox = deps.environment === 'sandbox';
  const cors = corsFor(deps.corsOrigins ?? (isSandbox ? 'loopback' : []));
  const allowedHosts = isSandbox ? (deps.allowedHosts ?? []) : ['*'];
  const find = endpointFinder([
    healthEndpoint(deps),
    ...signingEndpoints(deps),
    ...(rest === undefined ? [] : restEndpoints(rest.routes, rest.deps)),
    ...(rest === undefined ? [] : documentEndpoints(rest.routes, deps)),
    ...(isSandbox && deps.inboxes !== undefined ? [inboxEndpoint(deps.inboxes, deps.control, timers)] : []),
    ...(isSandbox && deps.consoleFiles !== undefined ? consoleEndpoints(deps.consoleFiles, deps.publicToken) : []),
  ]);
  const refuseForLoad: RefuseForLoad = (request) => {
    if (!deps.admission.mayRefuse) return undefined;
    try {
      const { endpoint } = find(request.method, request.target);
      if (endpoint.requirement === undefined) return undefined;
      needOneHost(request);
      needLocalHost(request, allowedHosts);
      const refused = deps.admission.refusedForLoad(() => onlyAuthorization(request.rawHeaders), endpoint.requirement);
      if (refused === undefined) return undefined;
      const { entry } = request;
      entry.route = endpoint.path;
      entry.principal = refused.principal;
      const headers = { [requestIdHeader]: entry.requestId, 'cache-control': 'no-store', ...cors.headers(request) };
      return respond(errorReply(refused.error, entry, log), headers, request);
    } catch {
      // No path, or not one host: `serve` says so.
      return undefined;
    }
  };
  const serve: Serve = async (request) => {
    const { entry = new AccessEntry(requestIds.of(request.headers[requestIdHeader]), timers.elapsedMs()) } = request;
    const headers: Record<string, string> = {
      [requestIdHeader]: entry.requestId,
      'cache-control': 'no-store',
      ...cors.headers(request),
    };
    let reply: Reply | undefined;
    try {
      needLocalHost(request, allowedHosts);
      reply = cors.preflight(request);
      if (reply === undefined) {
        const { endpoint, params, query } = find(request.method, request.target);
        entry.route = endpoint.path;
        needOneHost(request);
        reply = await endpoint.run({ request, entry, params, query, headers });
      }
    } catch (error) {
      reply = errorReply(toServiceError(error), entry, log);
    }
    return respond(reply, headers, request);
  };
  return { serve, refuseForLoad };
}

/** RFC 9112 §3.2: HTTP/1.1 names its host exactly once. */
function needOneHost({ rawHeaders, httpVersion }: Pick<ServeRequest, 'rawHeaders' | 'httpVersion'>): void {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts === 1 || (hosts === 0 && httpVersion !== '1.1')) return;
  throw new ServiceError('invalidRequest', 'exactly one Host header is needed');
}

function respond(
  reply: Reply,
  headers: Record<string, string>,
  { method }: Pick<ServeRequest, 'method'>,
): ServeResponse {
  const { status, body, stream } = reply;
  Object.assign(headers, reply.headers);
  if (stream !== undefined) return { status, headers, stream };
  // RFC 9110 §8.6: a 204 has no length; a 304 may have that of what it stands for.
  if (status !== 204 && status !== 304) headers['content-length'] ??= String(body === undefined ? 0 : lengthOf(body));
  return { status, headers, body: method === 'HEAD' ? undefined : body };
}

function lengthOf(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}
