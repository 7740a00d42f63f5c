/**
 * What a sandbox's gateway asks the coordinator alone: what is known of a session, what a node would submit to it, and keys of
 * keystore types that a client's InitiateDkg does not name.
 */
import { create } from '@bufbuild/protobuf';
import {
  InspectSessionRequestSchema,
  type InspectSessionResponse,
  PreviewPartialRequestSchema,
  type PreviewPartialResponse,
} from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import type { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { InitiateDkgResponse } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyScheme, wireScheme } from '../../proto/key-schemes.ts';
import type { RequestOf, ResponseOf } from '../../proto/wire.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import type { Calls } from '../signing/signing-calls.ts';

export interface Caller {
  readonly tenant: string;
  readonly traceparent: string;
  readonly requestId: string;
}

/** All throw ServiceError when there is no answer. */
export interface SandboxSessions {
  inspect(caller: Caller, sessionId: string): Promise<InspectSessionResponse>;
  preview(caller: Caller, sessionId: string, nodeId: number): Promise<PreviewPartialResponse>;
  /** As an InitiateDkg of the caller's, for a key of this scheme alone. */
  beginKey(caller: Caller, request: RequestOf<'initiateDkg'>, scheme: KeyScheme): Promise<InitiateDkgResponse>;
}

export function sandboxSessions({ calls }: { readonly calls: Calls }): SandboxSessions {
  return {
    inspect: (caller, sessionId) =>
      call(calls, caller, 'inspectSession', create(InspectSessionRequestSchema, { sessionId })),
    preview: (caller, sessionId, nodeId) =>
      call(calls, caller, 'previewPartial', create(PreviewPartialRequestSchema, { sessionId, nodeId })),
    beginKey: (caller, request, scheme) => call(calls, caller, 'initiateDkg', request, wireScheme(scheme)),
  };
}

async function call<K extends 'inspectSession' | 'previewPartial' | 'initiateDkg'>(
  calls: Calls,
  { tenant, traceparent, requestId }: Caller,
  asked: K,
  value: RequestOf<K>,
  keyScheme?: Scheme,
): Promise<ResponseOf<K>> {
  const outcome = await calls.ask(asked, value, { tenant, correlationId: requestId, traceparent, keyScheme });
  if (outcome.failure === undefined) return outcome.response;
  const { kind, message } = outcome.failure;
  throw kind === 'deadlineExceeded' ? new ServiceError('unavailable', message) : outcome.failure;
}
