/** What the signer tells its coordinator about one request, and its events. */
import type { PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import type { SigningAsked as Asked, NodeEffect } from '../records/messages.ts';
import type { SignerIdentity } from './signer-state.ts';

const noPoint = new Uint8Array(0);

export function partialReply(
  { nodeId }: SignerIdentity,
  asked: Asked,
  partial: Uint8Array,
  noncePoint: Uint8Array = noPoint,
): NodeEffect {
  const { attemptTag } = asked.request;
  return send(asked, {
    case: 'partialReply',
    value: { nodeId, attemptTag, outcome: { case: 'partial', value: partial }, noncePoint },
  });
}

export function refusal(
  { nodeId }: SignerIdentity,
  asked: Asked,
  code: PartialRefusalCode,
  message: string,
): NodeEffect {
  const { attemptTag } = asked.request;
  const outcome = { case: 'refusal' as const, value: { code, message } };
  return send(asked, { case: 'partialReply', value: { nodeId, attemptTag, outcome } });
}

/** Not `reply`: a request may have waited for its key, so the present input may be another one. */
function send({ from, trace, tenant, session, attempt }: Asked, body: WireBodyInit): NodeEffect {
  return { kind: 'send', to: from, message: { tenant, session, attempt, body }, trace };
}

/** For checkers: the nonce of a signature, and its purpose. No nonce may appear twice. */
export function signed({ boot }: SignerIdentity, { tenant, session, attempt, request }: Asked): NodeEffect {
  const { scheme, coordinatorBoot, nonceNumber } = request;
  const nonce = Number(nonceNumber);
  return event('signer.partial.signed', 'debug', { tenant, session, attempt, scheme, boot, coordinatorBoot, nonce });
}

export function event(
  type: string,
  level: 'debug' | 'info' | 'warn' | 'error',
  fields: Readonly<Record<string, string | number>>,
): NodeEffect {
  return { kind: 'emit', event: { type, level, fields } };
}
