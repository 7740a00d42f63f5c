/**
 * svc.mesh.v1.MpcWalletService for grpc-js, made from the table. The definition passes raw bytes both ways: grpc-js
 * answers INTERNAL when its own deserializer throws, and bytes that do not decode are the caller's mistake.
 */
import { Metadata, type MethodDefinition, type Server, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { callTrace } from '../../api/call-trace.ts';
import { internalError, ServiceError } from '../../api/errors/service-error.ts';
import { type RequestIds, requestIdHeader } from '../../api/request-id.ts';
import { callRequest, type SigningMethod, signingMethods } from '../../api/signing-methods.ts';
import { requestFieldsMax } from '../../proto/limits.ts';
import { decodeMessage } from '../../proto/message-decoding.ts';
import { encodeMessage } from '../../proto/message-encoding.ts';
import type { CallResponse } from '../../proto/wire.ts';
import type { AccessEntry } from '../access-log/access-log.ts';
import type { GrpcAccess } from '../access-log/grpc-access.ts';
import { receiptFacts } from '../access-log/receipt-facts.ts';
import type { Admission } from '../auth/admission.ts';
import type { RateVerdict } from '../limits/rate-limits.ts';
import { type ClientCallDeps, startClientCall } from '../signing/wallet-terms.ts';
import { toStatus } from './status.ts';

export interface SigningServiceDeps extends ClientCallDeps {
  readonly admission: Pick<Admission, 'admit' | 'enter'>;
  readonly access: GrpcAccess;
  readonly requestIds: RequestIds;
}

type RawDefinition = MethodDefinition<Buffer, Buffer>;
type RawCall = ServerUnaryCall<Buffer, Buffer>;

const asTheyAre = (bytes: Buffer): Buffer => bytes;

/** The service with raw bytes: the server's definition, and a client's that decodes by itself. */
export const signingServiceDefinition: Readonly<Record<string, RawDefinition>> = Object.fromEntries(
  signingMethods.map(({ name, grpcPath }): [string, RawDefinition] => [
    name,
    {
      path: grpcPath,
      requestStream: false,
      responseStream: false,
      requestSerialize: asTheyAre,
      requestDeserialize: asTheyAre,
      responseSerialize: asTheyAre,
      responseDeserialize: asTheyAre,
      originalName: name,
    },
  ]),
);

export function addSigningService(server: Server, deps: SigningServiceDeps): void {
  const handlers = signingMethods.map((method) => {
    const handle = (call: RawCall, callback: sendUnaryData<Buffer>) => serve(method, call, callback, deps);
    return [method.name, handle];
  });
  server.addService(signingServiceDefinition, Object.fromEntries(handlers));
}

function serve(method: SigningMethod, call: RawCall, callback: sendUnaryData<Buffer>, deps: SigningServiceDeps): void {
  const requestId = deps.requestIds.of(onlyText(call.metadata, requestIdHeader));
  const entry = deps.access.entryOf(call.metadata);
  const fail = (error: ServiceError): void => {
    if (error.kind === 'internalError') {
      const cause = error.cause instanceof Error ? error.cause.stack : String(error.cause);
      deps.log.error({ request_id: requestId, reason: cause }, 'internal error');
    }
    if (entry !== undefined) entry.error = error;
    callback(toStatus(error, requestId));
  };
  deps.admission.admit(onlyText(call.metadata, 'authorization'), method.requirement, (result) => {
    // The client is gone already.
    if (call.cancelled) return;
    if (entry !== undefined) entry.principal = result.principal;
    call.sendMetadata(initialMetadata(requestId, result.rate));
    if (!result.admitted) {
      fail(result.error);
      return;
    }
    try {
      submit(method, call, requestId, result.principal.tenant, deps, entry, fail, (response) => {
        if (entry !== undefined) entry.receipt = receiptFacts(response);
        const { buffer, byteOffset, byteLength } = encodeMessage(method.response, response.value);
        callback(null, Buffer.from(buffer, byteOffset, byteLength));
      });
    } catch (error) {
      fail(internalError(error));
    }
  });
}

function submit(
  method: SigningMethod,
  call: RawCall,
  requestId: string,
  tenant: string,
  deps: SigningServiceDeps,
  entry: AccessEntry | undefined,
  fail: (error: ServiceError) => void,
  succeed: (response: CallResponse) => void,
): void {
  let message: object;
  try {
    message = decodeMessage(method.request, call.request, requestFieldsMax);
  } catch {
    fail(new ServiceError('invalidRequest', `the request does not decode as ${method.request.name}`));
    return;
  }
  const trace = callTrace(message, onlyText(call.metadata, 'traceparent'), requestId);
  if (entry !== undefined) entry.trace = trace;
  const deadline = call.getDeadline();
  const clientCall = {
    request: callRequest(method, message),
    tenant,
    correlationId: trace.correlationId,
    traceparent: trace.traceparent,
    deadlineEpochMs: deadline instanceof Date ? deadline.getTime() : deadline,
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
  call.once('cancelled', () => {
    cancel();
    place.leave();
  });
}

function initialMetadata(requestId: string, rate: RateVerdict | undefined): Metadata {
  const metadata = new Metadata();
  metadata.set(requestIdHeader, requestId);
  if (rate !== undefined) {
    metadata.set('ratelimit-policy', rate.policy);
    if (rate.state !== undefined) metadata.set('ratelimit', rate.state);
  }
  return metadata;
}

/** The value of an entry that is there exactly once. */
function onlyText(metadata: Metadata, key: string): string | undefined {
  const values = metadata.get(key);
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : undefined;
}
