/** What a sandbox's gateway asks the coordinator alone: what is known of a session, and what a node would submit to it. */
import { create } from '@bufbuild/protobuf';
import { ServiceError } from '../../api/errors/service-error.ts';
import {
  InspectSessionRequestSchema,
  type InspectSessionResponse,
  PreviewPartialRequestSchema,
  type PreviewPartialResponse,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import type { RequestOf, ResponseOf } from '../../proto/wire.ts';
import type { Calls } from '../signing/signing-calls.ts';

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

export function sandboxSessions({ calls }: { readonly calls: Calls }): SandboxSessions {
  return {
    inspect: (caller, sessionId) =>
      call(calls, caller, 'inspectSession', create(InspectSessionRequestSchema, { sessionId })),
    preview: (caller, sessionId, nodeId) =>
      call(calls, caller, 'previewPartial', create(PreviewPartialRequestSchema, { sessionId, nodeId })),
  };
}

async function call<K extends 'inspectSession' | 'previewPartial'>(
  calls: Calls,
  { tenant, traceparent, requestId }: Caller,
  asked: K,
  value: RequestOf<K>,
): Promise<ResponseOf<K>> {
  const outcome = await calls.ask(asked, value, { tenant, correlationId: requestId, traceparent });
  if (outcome.failure === undefined) return outcome.response;
  const { kind, message } = outcome.failure;
  throw kind === 'deadlineExceeded' ? new ServiceError('unavailable', message) : outcome.failure;
}
