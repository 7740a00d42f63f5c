/** Signing sessions that begin with a mock directive, as if their client had asked for it. */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { Method } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { InitiateSigningRequestSchema, MockDirective } from '../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireEnvelope } from '../proto/wire.ts';
import { type Said, saidInstead, withBody } from './byzantine/said.ts';
import type { FaultOf } from './fault.ts';

const directives = {
  DENIED: MockDirective.FORCE_DENIED,
  REVOKED: MockDirective.FORCE_REVOKED,
  EXPIRED: MockDirective.FORCE_EXPIRED,
  BACKEND_FAILED: MockDirective.FORCE_BACKEND_FAILED,
} as const;

/** Undefined for calls that begin no signing session, and for requests that do not decode. */
export function withForcedReceipt(fault: FaultOf<'force_receipt'>, envelope: WireEnvelope): Said | undefined {
  const { body } = envelope.message;
  if (body.case !== 'call') return undefined;
  const { method, request } = body.value;
  if ((method !== Method.INITIATE_SIGNING && method !== Method.SIGN) || !(request instanceof Uint8Array))
    return undefined;
  const asked = decoded(request);
  if (asked === undefined) return undefined;
  asked.mockDirective = directives[fault.state];
  const value = { ...body.value, request: toBinary(InitiateSigningRequestSchema, asked) };
  return saidInstead(withBody(envelope, { case: 'call', value }));
}

function decoded(request: Uint8Array) {
  try {
    return fromBinary(InitiateSigningRequestSchema, request);
  } catch {
    // The receiver reports it.
    return undefined;
  }
}
