/** What a sandbox's gateway asks the coordinator alone: what is known of a session, and what a node would submit to it. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { ServiceError } from '../../api/errors/service-error.ts';
import {
  InspectSessionRequestSchema,
  type InspectSessionResponse,
  InspectSessionResponseSchema,
  Method,
  PreviewPartialRequestSchema,
  type PreviewPartialResponse,
  PreviewPartialResponseSchema,
} from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { SigningCalls } from '../signing/signing-calls.ts';

export interface Caller {
  readonly tenant: string;
  readonly traceparent: string;
  readonly requestId: string;
}

/** Both throw ServiceError when there is no answer. */
export interface SandboxSessions {
  inspect(caller: Caller, sessionId: string): Promise<InspectSessionResponse>;
  preview(caller: Caller, sessionId: string, nodeId: number): Promise<PreviewPartialResponse>;
}

export function sandboxSessions({ calls }: { readonly calls: SigningCalls }): SandboxSessions {
  const inspecting = {
    method: Method.INSPECT_SESSION,
    request: InspectSessionRequestSchema,
    response: InspectSessionResponseSchema,
  };
  const previewing = {
    method: Method.PREVIEW_PARTIAL,
    request: PreviewPartialRequestSchema,
    response: PreviewPartialResponseSchema,
  };
  return {
    inspect: (caller, sessionId) => call(calls, caller, inspecting, { sessionId }),
    preview: (caller, sessionId, nodeId) => call(calls, caller, previewing, { sessionId, nodeId }),
  };
}

interface Exchange<Q extends DescMessage, A extends DescMessage> {
  readonly method: Method;
  readonly request: Q;
  readonly response: A;
}

async function call<Q extends DescMessage, A extends DescMessage>(
  calls: SigningCalls,
  { tenant, traceparent, requestId }: Caller,
  { method, request, response }: Exchange<Q, A>,
  init: MessageInitShape<Q>,
): Promise<MessageShape<A>> {
  const asked = create(request, init);
  const outcome = await calls.call({
    method: { method },
    request: toBinary(request, asked),
    message: asked,
    tenant,
    correlationId: requestId,
    traceparent,
  });
  if (outcome.failure === undefined) return fromBinary(response, outcome.response);
  const { kind, message } = outcome.failure;
  throw kind === 'deadlineExceeded' ? new ServiceError('unavailable', message) : outcome.failure;
}
