/**
 * One call of svc.mesh.v1.MpcWalletService without a socket: token, scope, load and allowance; the bytes of the request; the
 * coordinator; the bytes of the answer, or the error. The gRPC server calls it (signing-service.ts), and so do simulated
 * worlds.
 *
 * The listener gets `initial` once, then `answered` or `failed` once; nothing after the caller has disconnected.
 */
import type { Timers } from '../../actors/contract.ts';
import { callTrace } from '../../api/call-trace.ts';
import { internalError, ServiceError } from '../../api/errors/service-error.ts';
import { type RequestIds, requestIdHeader } from '../../api/request-id.ts';
import { callRequest, type SigningMethod } from '../../api/signing-methods.ts';
import { requestFieldsMax } from '../../proto/limits.ts';
import { decodeMessage } from '../../proto/message-decoding.ts';
import { encodeMessage } from '../../proto/message-encoding.ts';
import type { CallResponse } from '../../proto/wire.ts';
import type { AccessEntry } from '../access-log/access-log.ts';
import { receiptFacts } from '../access-log/receipt-facts.ts';
import type { Admission } from '../auth/admission.ts';
import type { RateVerdict } from '../limits/rate-limits.ts';
import { type ClientCallDeps, startClientCall } from '../signing/wallet-terms.ts';

export interface RpcDeps extends ClientCallDeps {
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
    listener.initial(initialMetadata(requestId, result.rate));
    if (!result.admitted) {
      fail(result.error);
      return;
    }
    try {
      submit(deps, request, requestId, result.principal.tenant, fail, (response) => {
        if (entry !== undefined) entry.receipt = receiptFacts(response);
        listener.answered(encodeMessage(method.response, response.value));
      });
    } catch (error) {
      fail(internalError(error));
    }
  });
}

function submit(
  deps: RpcDeps,
  { method, message: bytes, metadata, leftMs, onCancelled, entry }: RpcRequest,
  requestId: string,
  tenant: string,
  fail: (error: ServiceError) => void,
  succeed: (response: CallResponse) => void,
): void {
  let message: object;
  try {
    message = decodeMessage(method.request, bytes, requestFieldsMax);
  } catch {
    fail(new ServiceError('invalidRequest', `the request does not decode as ${method.request.name}`));
    return;
  }
  const trace = callTrace(message, metadata('traceparent'), requestId);
  if (entry !== undefined) entry.trace = trace;
  const clientCall = {
    request: callRequest(method, message),
    tenant,
    correlationId: trace.correlationId,
    traceparent: trace.traceparent,
    deadlineMs: deps.timers.elapsedMs() + leftMs,
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
