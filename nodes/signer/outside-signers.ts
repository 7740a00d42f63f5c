/** Signatures that a node's token or vendor makes: the signer asks them, and the token's answers come back to it. */
import { hsmSignature } from '../../core/crypto/hsm.ts';
import { PartialRefusalCode, Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { hsmAddress, hsmLabel } from '../records/hsm-port.ts';
import { type SigningAsked as Asked, type HsmAnswered, type NodeEffect, receivedBody } from '../records/messages.ts';
import { vendorOrderAddress } from '../records/vendor-port.ts';
import { event, partialReply, refusal, signed } from './replies.ts';
import type { Ordered, SignerIdentity } from './signer-state.ts';
import type { SigningKey } from './signing-keys.ts';

/** The node's token makes the signature. The actor asks it once the records for the signature are durable. */
export function tokenAsked(asked: Asked, { curve, publicKey }: SigningKey): { kind: 'asked'; effect: NodeEffect } {
  const { from, trace, tenant, session, attempt, request } = asked;
  const message = { tenant, session, attempt, body: { case: 'partialRequest' as const, value: request } };
  const label = hsmLabel(tenant, request.keySession);
  const wanted = { kind: 'sign' as const, label, curve, message: request.message };
  const about = { from, trace, message, publicKey };
  return {
    kind: 'asked',
    effect: { kind: 'send', to: hsmAddress, message: { kind: 'hsmAsked', request: wanted, about } },
  };
}

/** The actor of the intent's order asks the vendor, and answers. It gets the request once the records for it are durable. */
export function vendorAsked(
  { nodeId }: SignerIdentity,
  { intent, ...asked }: Ordered,
  { curve, publicKey }: SigningKey,
  digest: string,
): { kind: 'asked'; effect: NodeEffect } {
  const to = vendorOrderAddress(nodeId, asked.tenant, intent.intent);
  return {
    kind: 'asked',
    effect: { kind: 'send', to, message: { kind: 'vendorSign', asked, curve, publicKey, digest } },
  };
}

export function tokenAnswered(identity: SignerIdentity, { outcome, about }: HsmAnswered): NodeEffect[] {
  const { from, trace, message, publicKey } = about;
  const body = receivedBody(message);
  if (body.case !== 'partialRequest' || publicKey === undefined) {
    if (outcome.kind !== 'failed' || outcome.fault.endsWith('_UNCONFIGURED')) return [];
    return [event('signer.token.key_left', 'error', { fault: outcome.fault, reason: outcome.message })];
  }
  const { tenant, session, attempt } = message;
  const asked = { from, trace, tenant, session, attempt, request: body.value };
  if (outcome.kind === 'failed') {
    return [refusal(identity, asked, PartialRefusalCode[outcome.fault], outcome.message)];
  }
  const { scheme, message: signedMessage } = body.value;
  const curve = scheme === Scheme.HSM_ED25519 ? 'ed25519' : 'secp256k1';
  const partial =
    outcome.kind === 'signed' ? hsmSignature(curve, outcome.signature, signedMessage, publicKey) : undefined;
  if (partial !== undefined) return [partialReply(identity, asked, partial), signed(identity, asked)];
  return [refusal(identity, asked, PartialRefusalCode.HSM_FAILED, 'what the token gave does not verify under its key')];
}
