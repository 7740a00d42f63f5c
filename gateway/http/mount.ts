/**
 * Puts routes on the HTTP door: admission before a byte of the body is read, strict validation, one run of the handler,
 * one commit, one answer. Encapsulated: nothing here changes how other routes of the app read bodies.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { Place } from '../../actors/admission/gate-host.ts';
import type { Ports } from '../../actors/contract.ts';
import type { Log } from '../../actors/live/ports.ts';
import { pause } from '../../actors/waiting.ts';
import type { Outcome, SealPort } from '../../api/answers.ts';
import { callTrace } from '../../api/call-trace.ts';
import { type Attempt, type ContextBase, freshAttempt } from '../../api/context.ts';
import { ServiceError } from '../../api/errors/service-error.ts';
import { type Executed, execute } from '../../api/execute.ts';
import { toServiceError } from '../../api/failures.ts';
import { type HashedRequest, hashRequest, Idempotency, readIdempotencyKey } from '../../api/idempotency.ts';
import { type Input, inputReader } from '../../api/input.ts';
import { parseJsonRequest } from '../../api/json-body.ts';
import { plannedOfTag, previewOfTag } from '../../api/modules.ts';
import { actorOf, type Principal } from '../../api/principal.ts';
import { responseCheck } from '../../api/response-check.ts';
import type { Route, StreamCaller } from '../../api/route.ts';
import { assertRoutes, isIdempotent, isStreaming } from '../../api/route-table.ts';
import { Turns } from '../../api/turns.ts';
import { type ModuleAccess, moduleRefusal } from '../../modules/access/public.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import type { TenantStore } from '../../store/contract.ts';
import type { Admission, Requirement } from '../auth/admission.ts';
import { onlyAuthorization } from '../auth/bearer.ts';
import { jsonContentType, sendError } from './errors.ts';
import { guard, principalOf } from './guard.ts';

export interface RestDeps extends Ports {
  readonly admission: Admission;
  readonly store: TenantStore;
  readonly environment: ClusterEnvironment;
  readonly log: Log;
  /** Seals the answers that are kept under idempotency keys. */
  readonly seal: SealPort;
  /** 32 secret bytes, the same for all gateways: key the hashes that tell idempotent requests apart, and the cursors. */
  readonly hashKey: Uint8Array;
  /** Who has access to modules that are PLANNED, in a sandbox. */
  readonly access: ModuleAccess;
  /** For tests: an answer that does not match its response schema is a 500 that says so in the log. */
  readonly checkResponses?: boolean;
}

/** The principal of public routes: none. */
const anonymous: Principal = Object.freeze({
  tenant: '',
  environment: 'sandbox',
  scopes: new Set<never>(),
  tokenId: '',
  actorId: '',
  providerConnectionIds: undefined,
});

/** Throws an Error when a route contradicts itself. Resolves when the routes stand. */
export async function mountRoutes(app: FastifyInstance, routes: readonly Route[], deps: RestDeps): Promise<void> {
  assertRoutes(routes);
  const { store, seal, clock, timers } = deps;
  const waiting = { nowMs: () => clock.nowMs(), pause: (ms: number) => pause(timers, ms) };
  const idempotency = new Idempotency({ store, seal, ...waiting });
  const turns = new Turns(timers);
  await app.register(async (scope) => {
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
      try {
        done(null, parseJsonRequest(request.headers, bytes as Buffer));
      } catch (error) {
        done(error as Error);
      }
    });
    for (const route of routes) mountRoute(scope, route, deps, idempotency, turns);
  });
}

function mountRoute(
  scope: FastifyInstance,
  route: Route,
  deps: RestDeps,
  idempotency: Idempotency,
  turns: Turns,
): void {
  const { admission, environment } = deps;
  const preview = environment === 'production' ? previewOfTag(route.tag) : undefined;
  const requirement =
    route.scope === undefined
      ? undefined
      : {
          scope: route.scope,
          limitClass: route.limitClass,
          loadClass: route.loadClass,
          ...(preview === undefined ? {} : { alsoScope: `preview:${preview}` as const }),
        };
  const read = inputReader(route);
  const check = deps.checkResponses === true ? responseCheck(route) : undefined;
  const serve = server(route, deps, idempotency, turns);
  scope.route({
    method: route.method,
    url: route.path,
    // A HEAD would read a stream that never ends.
    exposeHeadRoute: route.method === 'GET' && !isStreaming(route),
    ...(requirement === undefined ? {} : { onRequest: [guard(admission, requirement), ...moduleGuard(route, deps)] }),
    handler: async (request, reply) => {
      const input = read(request);
      const place = requirement && (await placeOf(admission, requirement, request, reply));
      let served: Served;
      try {
        served = await serve(request, input);
      } finally {
        place?.leave();
      }
      check?.(served.outcome);
      const stillAdmitted = async () =>
        requirement === undefined || admission.stillAdmits(onlyAuthorization(request.raw.rawHeaders), requirement);
      return answer(reply, served, { stillAdmitted }, request.id, deps.log);
    },
  });
}

/** Resolves when the call may be worked on; rejects with ServiceError when it is refused, or its client has gone. */
function placeOf(
  admission: Admission,
  requirement: Requirement,
  request: FastifyRequest,
  { raw }: FastifyReply,
): Promise<Place> {
  return new Promise((resolve, reject) => {
    let waits = true;
    const settle = (): void => {
      waits = false;
      raw.off('close', gone);
    };
    const gone = (): void => {
      place.leave();
      reject(new ServiceError('unavailable', 'the client has gone'));
    };
    const place = admission.enter(
      requirement,
      principalOf(request).tenant,
      (taken) => {
        settle();
        resolve(taken);
      },
      (error) => {
        settle();
        reject(error);
      },
    );
    if (waits) raw.once('close', gone);
  });
}

/** Refuses a tenant of a sandbox without access to the route's module; nothing of the body is read before. */
function moduleGuard({ tag }: Route, { environment, access, store }: RestDeps): onRequestAsyncHookHandler[] {
  const planned = environment === 'sandbox' ? plannedOfTag(tag) : undefined;
  if (planned === undefined) return [];
  return [
    async (request) => {
      const refusal = await moduleRefusal(access, store, principalOf(request).tenant, planned);
      if (refusal !== undefined) throw refusal;
    },
  ];
}

interface Served {
  readonly outcome: Outcome;
  readonly replayed: boolean;
}

type Serve = (request: FastifyRequest, input: Input) => Promise<Served>;

function server(route: Route, deps: RestDeps, idempotency: Idempotency, turns: Turns): Serve {
  const { clock, random, store, log, hashKey } = deps;
  const takesKey = isIdempotent(route);
  return async (request, input) => {
    const principal = request.principal ?? anonymous;
    const header = takesKey ? headerOf(request, 'idempotency-key') : undefined;
    const key = takesKey ? readIdempotencyKey(header, route.idempotencyField, input.body) : undefined;
    const full = { ...input, idempotencyKey: key };
    const base: ContextBase = {
      tenant: principal.tenant,
      principal,
      requestId: request.id,
      traceparent: callTrace({}, headerOf(request, 'traceparent'), request.id).traceparent,
      store,
      log,
      cursorKey: hashKey,
    };
    const run = (attempt: Attempt, markOf: Parameters<typeof execute>[0]['markOf']): Promise<Executed> =>
      execute({
        base,
        attempt,
        turns,
        ports: deps,
        markOf,
        handle: (context) => route.handle(context, full),
      });
    try {
      if (key === undefined || route.isReadOnly?.(full) === true) {
        const executed = await run(freshAttempt(clock.nowMs(), random), undefined);
        if (executed.kind === 'overtaken') throw new Error('a request without an idempotency key was overtaken');
        return { outcome: executed.outcome, replayed: false };
      }
      const { method, path, idempotencyField: keyField } = route;
      const { params, query, body } = input;
      const { tenant } = principal;
      const caller = callerOf(principal);
      const hashes = hashRequest({ tenant, caller, method, path, params, key, query, body, keyField }, hashKey);
      return await idempotency.once(tenant, hashes, run);
    } catch (error) {
      throw toServiceError(error);
    }
  };
}

/** Who may be given a kept answer again: what one caller was told, another need not be allowed to see. */
function callerOf(principal: Principal): HashedRequest['caller'] {
  return { actor: actorOf(principal), connectionIds: principal.providerConnectionIds };
}

function answer(
  reply: FastifyReply,
  { outcome, replayed }: Served,
  caller: StreamCaller,
  requestId: string,
  log: Log,
): FastifyReply {
  if (replayed) reply.header('idempotent-replayed', 'true');
  if (outcome.kind === 'error') {
    sendError(reply, outcome.error, requestId, log);
    return reply;
  }
  const { status, headers, body, stream } = outcome.answer;
  reply.code(status);
  if (headers !== undefined) reply.headers(headers);
  // The connection ends with it, so that a gateway which stops is not held up by it.
  if (stream !== undefined) return reply.header('connection', 'close').send(stream(caller));
  if (status === 204) return reply.send();
  return reply.header('content-type', jsonContentType).send(JSON.stringify(body));
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}
