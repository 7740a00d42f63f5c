/**
 * One call of svc.mesh.v1.MpcWalletService without a socket: token, scope, load and allowance; the bytes of the request; the
 * coordinator; the bytes of the answer, or the error. The gRPC server calls it (signing-service.ts), and so do simulated
 * worlds.
 *
 * The listener gets `initial` once, then `answered` or `failed` once; nothing after the caller has disconnected.
 */
import type { Timers } from '../../core/actors/contract.ts';
import { requestFieldsMax } from '../../proto/limits.ts';
import { decodeMessage } from '../../proto/message-decoding.ts';
import { encodeMessage } from '../../proto/message-encoding.ts';
import type { CallResponse } from '../../proto/wire.ts';
import type { AccessEntry } from '../access-log/access-log.ts';
import { receiptFacts } from '../access-log/receipt-facts.ts';
import { callTrace } from '../api/call-trace.ts';
import { internalError, ServiceError } from '../api/errors/service-error.ts';
import { toServiceError } from '../api/failures.ts';
import { readIdempotencyKey } from '../api/idempotency.ts';
import type { Principal } from '../api/principal.ts';
import { type RequestIds, requestIdHeader } from '../api/request-id.ts';
import { callRequest, type SigningMethod } from '../api/signing-methods.ts';
import type { Admission } from '../auth/admission.ts';
import type { RateVerdict } from '../limits/rate-limits.ts';
import type { CallServerDeps, KeyedAnswer } from '../signing/keyed-calls.ts';
import { startClientCall } from '../signing/wallet-terms.ts';

export interface RpcDeps extends CallServerDeps {
  readonly admission: Pick<Admission, 'admit' | 'enter'>;
  readonly requestIds: RequestIds;
  readonly timers: Pick<Timers, 'elapsedMs' | 'epochMs'>;
}

export interface RpcRequest {
  readonly method: SigningMethod;
  readonly message: Uint8Array;
  /** The value of an entry of the metadata that is there exactly once. */
  metadata(key: string): string | undefined;
  /** Milliseconds that the caller still waits; Infinity: as long as it takes. */
  readonly leftMs: number;
  /** The caller has left. */
  readonly isCancelled: boolean;
  /** Calls back when the caller disconnects; at most once. */
  onCancelled(leave: () => void): void;
  /** Its line of the access log, if there is one. */
  readonly entry: AccessEntry | undefined;
}

export interface RpcListener {
  initial(metadata: Readonly<Record<string, string>>): void;
  answered(message: Uint8Array): void;
  failed(error: ServiceError, requestId: string): void;
}

export function serveRpc(deps: RpcDeps, request: RpcRequest, listener: RpcListener): void {
  const { method, entry } = request;
  const requestId = deps.requestIds.of(request.metadata(requestIdHeader));
  const fail = (error: ServiceError): void => {
    if (error.kind === 'internalError') {
      const cause = error.cause instanceof Error ? error.cause.stack : String(error.cause);
      deps.log.error({ request_id: requestId, reason: cause }, 'internal error');
    }
    if (entry !== undefined) entry.error = error;
    listener.failed(error, requestId);
  };
  deps.admission.admit(request.metadata('authorization'), method.requirement, (result) => {
    if (request.isCancelled) return;
    if (entry !== undefined) entry.principal = result.principal;
    const succeed = (response: CallResponse): void => {
      const message = encodeMessage(method.response, response.value);
      if (entry !== undefined) {
        entry.receipt = receiptFacts(response);
        entry.answer = { headers: sent, body: message };
      }
      listener.answered(message);
    };
    const initial = initialMetadata(requestId, result.rate);
    let sent = initial;
    if (entry !== undefined) {
      entry.body = request.message;
      entry.answer = { headers: initial };
    }
    const isKeyed = result.admitted && request.metadata(keyName) !== undefined;
    if (!isKeyed) listener.initial(initial);
    if (!result.admitted) {
      fail(result.error);
      return;
    }
    try {
      if (!isKeyed) submit(deps, request, requestId, result.principal.tenant, fail, succeed);
      else {
        // Whether the answer is an earlier one is known with it alone.
        submitKeyed(deps, request, requestId, result.principal).then(
          ({ response, replayed }) => {
            if (request.isCancelled) return;
            if (replayed) sent = { ...initial, 'idempotent-replayed': 'true' };
            listener.initial(sent);
            succeed(response);
          },
          (error: unknown) => {
            if (request.isCancelled) return;
            listener.initial(initial);
            fail(toServiceError(error));
          },
        );
      }
    } catch (error) {
      fail(internalError(error));
    }
  });
}

const keyName = 'idempotency-key';

/** Rejects with ServiceError, StoreUnavailable. */
async function submitKeyed(
  deps: RpcDeps,
  request: RpcRequest,
  requestId: string,
  principal: Principal,
): Promise<KeyedAnswer> {
  const key = readIdempotencyKey(request.metadata(keyName), undefined, undefined)!;
  const message = messageOf(request);
  const about = aboutOf(deps, request, message, requestId, principal.tenant);
  return await deps.keyed.answer(deps, { method: request.method, principal, key, message, about });
}

/** Throws ServiceError. */
function messageOf({ method, message }: RpcRequest): object {
  try {
    return decodeMessage(method.request, message, requestFieldsMax);
  } catch {
    throw new ServiceError('invalidRequest', `the request does not decode as ${method.request.name}`);
  }
}

function aboutOf(
  { timers }: RpcDeps,
  { metadata, leftMs, entry }: RpcRequest,
  message: object,
  requestId: string,
  tenant: string,
) {
  const trace = callTrace(message, metadata('traceparent'), requestId);
  if (entry !== undefined) entry.trace = trace;
  const { correlationId, traceparent } = trace;
  return { tenant, correlationId, traceparent, deadlineMs: timers.elapsedMs() + leftMs };
}

function submit(
  deps: RpcDeps,
  request: RpcRequest,
  requestId: string,
  tenant: string,
  fail: (error: ServiceError) => void,
  succeed: (response: CallResponse) => void,
): void {
  const { method, onCancelled } = request;
  let message: object;
  try {
    message = messageOf(request);
  } catch (error) {
    fail(toServiceError(error));
    return;
  }
  const clientCall = {
    request: callRequest(method, message),
    ...aboutOf(deps, request, message, requestId, tenant),
  };
  let cancel = (): void => undefined;
  const place = deps.admission.enter(
    method.requirement,
    tenant,
    (taken) => {
      cancel = startClientCall(deps, clientCall, ({ response, failure }) => {
        taken.leave();
        if (failure !== undefined) fail(failure);
        else succeed(response);
      });
    },
    fail,
  );
  onCancelled(() => {
    cancel();
    place.leave();
  });
}

function initialMetadata(requestId: string, rate: RateVerdict | undefined): Readonly<Record<string, string>> {
  return {
    [requestIdHeader]: requestId,
    ...(rate !== undefined && { 'ratelimit-policy': rate.policy }),
    ...(rate?.state !== undefined && { ratelimit: rate.state }),
  };
}
