/**
 * Routes as endpoints: admission before a byte of the body is read, strict validation, one run of the handler, one
 * commit, one answer.
 */
import type { Ports } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { pause } from '../../core/actors/waiting.ts';
import type { ClusterEnvironment } from '../../proto/roster.ts';
import { type ModuleAccess, moduleRefusal } from '../../wallets/companions/access/public.ts';
import type { TenantStore } from '../../wallets/store/contract.ts';
import { callTrace } from '../api/call-trace.ts';
import { ConflictLocks } from '../api/conflict-queue.ts';
import { type ContextBase, freshAttempt, type RequestAttempt } from '../api/context.ts';
import { type Executed, execute } from '../api/execute.ts';
import { toServiceError } from '../api/failures.ts';
import { callerOf, hashRequest, Idempotency, readIdempotencyKey } from '../api/idempotency.ts';
import { inputReader, type RequestInput } from '../api/input.ts';
import { plannedOfTag, previewOfTag } from '../api/modules.ts';
import type { Principal } from '../api/principal.ts';
import { responseCheck } from '../api/response-check.ts';
import type { Route, StreamCaller } from '../api/route.ts';
import { assertRoutes, isIdempotent, isStreaming } from '../api/route-table.ts';
import type { RouteOutcome, SealPort } from '../api/stored-answers.ts';
import type { Admission, Requirement } from '../auth/admission.ts';
import { onlyAuthorization } from '../auth/bearer.ts';
import { readJsonBody } from './bodies.ts';
import { type Endpoint, headerOf, jsonContentType, type Reply, type ServedCall } from './contract.ts';
import { admit, placeOf } from './guard.ts';

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
export const anonymous: Principal = Object.freeze({
  tenant: '',
  environment: 'sandbox',
  scopes: new Set<never>(),
  tokenId: '',
  actorId: '',
  providerConnectionIds: undefined,
});

/** Throws an Error when a route contradicts itself. */
export function restEndpoints(routes: readonly Route[], deps: RestDeps): readonly Endpoint[] {
  assertRoutes(routes);
  const { store, seal, clock, timers } = deps;
  const times = { nowMs: () => clock.nowMs(), machineMs: () => timers.epochMs() };
  const idempotency = new Idempotency({ store, seal, ...times, pause: (ms: number) => pause(timers, ms) });
  const turns = new ConflictLocks(timers);
  return routes.map((route) => endpointOf(route, deps, idempotency, turns));
}

function endpointOf(route: Route, deps: RestDeps, idempotency: Idempotency, turns: ConflictLocks): Endpoint {
  const { method, path } = route;
  const { admission } = deps;
  const requirement = requirementOf(route, deps);
  const admitToModule = moduleGuard(route, deps);
  const read = inputReader(route);
  const check = deps.checkResponses === true ? responseCheck(route) : undefined;
  const execute = executor(route, deps, idempotency, turns);
  return {
    method,
    path,
    requirement,
    // A HEAD would read a stream that never ends.
    answersHead: method === 'GET' && !isStreaming(route),
    run: async (call) => {
      const { request, params, query } = call;
      const principal = requirement === undefined ? anonymous : await admit(admission, requirement, call);
      await admitToModule?.(principal);
      const body = method === 'GET' ? undefined : await readJsonBody(request);
      const input = read({ params, query, headers: request.headers, body });
      const place = requirement && (await placeOf(admission, requirement, principal.tenant, request));
      let served: Served;
      try {
        served = await execute(call, principal, input);
      } finally {
        place?.leave();
      }
      check?.(served.outcome);
      const stillAdmitted = async () =>
        requirement === undefined || admission.stillAdmits(onlyAuthorization(request.rawHeaders), requirement);
      return replyOf(call, served, stillAdmitted);
    },
  };
}

/** undefined: a public route. */
function requirementOf(
  { scope, limitClass, loadClass, tag }: Route,
  { environment }: RestDeps,
): Requirement | undefined {
  if (scope === undefined) return undefined;
  const preview = environment === 'production' ? previewOfTag(tag) : undefined;
  return { scope, limitClass, loadClass, ...(preview !== undefined && { alsoScope: `preview:${preview}` as const }) };
}

/** Refuses a tenant of a sandbox without access to the route's module; nothing of the body is read before. */
function moduleGuard(
  { tag }: Route,
  { environment, access, store }: RestDeps,
): ((principal: Principal) => Promise<void>) | undefined {
  const planned = environment === 'sandbox' ? plannedOfTag(tag) : undefined;
  if (planned === undefined) return undefined;
  return async ({ tenant }) => {
    const refusal = await moduleRefusal(access, store, tenant, planned);
    if (refusal !== undefined) throw refusal;
  };
}

interface Served {
  readonly outcome: RouteOutcome;
  readonly replayed: boolean;
}

type Execute = (call: ServedCall, principal: Principal, input: RequestInput) => Promise<Served>;

function executor(route: Route, deps: RestDeps, idempotency: Idempotency, turns: ConflictLocks): Execute {
  const { clock, random, store, log, hashKey } = deps;
  const takesKey = isIdempotent(route);
  return async ({ request, entry: { requestId } }, principal, input) => {
    const header = takesKey ? headerOf(request, 'idempotency-key') : undefined;
    const key = takesKey ? readIdempotencyKey(header, route.idempotencyField, input.body) : undefined;
    const full = { ...input, idempotencyKey: key };
    const base: ContextBase = {
      tenant: principal.tenant,
      principal,
      requestId,
      traceparent: callTrace({}, headerOf(request, 'traceparent'), requestId).traceparent,
      store,
      log,
      cursorKey: hashKey,
    };
    const run = (attempt: RequestAttempt, markOf: Parameters<typeof execute>[0]['markOf']): Promise<Executed> =>
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

/** Throws the ServiceError of an outcome that is one. */
function replyOf(call: ServedCall, { outcome, replayed }: Served, stillAdmitted: StreamCaller['stillAdmitted']): Reply {
  if (replayed) call.headers['idempotent-replayed'] = 'true';
  if (outcome.kind === 'error') throw outcome.error;
  const { status, headers, body, stream } = outcome.answer;
  if (stream !== undefined) return { status, headers, stream: (cut) => stream({ stillAdmitted, cut }) };
  if (status === 204) return { status, headers };
  return { status, headers: { ...headers, 'content-type': jsonContentType }, body: JSON.stringify(body) };
}
