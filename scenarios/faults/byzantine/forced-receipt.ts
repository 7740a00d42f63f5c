/** Signing sessions that begin with a mock directive, as if their client had requested it. */
import { MockDirective } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBodyInit, WireEnvelope } from '../../../proto/wire.ts';
import type { FaultOf } from '../vocabulary/fault.ts';
import { type Said, saidInstead, withBody } from './replacement.ts';

const directives = {
  DENIED: MockDirective.FORCE_DENIED,
  REVOKED: MockDirective.FORCE_REVOKED,
  EXPIRED: MockDirective.FORCE_EXPIRED,
  BACKEND_FAILED: MockDirective.FORCE_BACKEND_FAILED,
} as const;

/** Undefined for calls that begin no signing session. */
export function withForcedReceipt(fault: FaultOf<'force_receipt'>, envelope: WireEnvelope): Said | undefined {
  const { body } = envelope.message;
  if (body.case !== 'call') return undefined;
  const { request } = body.value;
  if (request?.case !== 'initiateSigning' && request?.case !== 'sign') return undefined;
  const asked = { ...request.value, mockDirective: directives[fault.state] };
  const value = { ...body.value, request: { case: request.case, value: asked } };
  return saidInstead(withBody(envelope, { case: 'call', value } as WireBodyInit));
}
