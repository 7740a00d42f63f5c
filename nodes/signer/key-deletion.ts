/** The deletion of a key that a gateway ordered. */
import type { Address, Trace } from '../../core/actors/contract.ts';
import { deletionDigest, macHolds } from '../../core/crypto/order-macs.ts';
import type { DeleteKey } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { hsmAddress, hsmLabel } from '../records/hsm-port.ts';
import type { NodeEffect, NodeMessageInput } from '../records/messages.ts';
import { dkgRecordKey, isRecordName, keyRecordKey } from '../records/records.ts';
import { vendorAddress } from '../records/vendor-port.ts';
import { event } from './replies.ts';
import type { SignerIdentity, SignerState } from './signer-state.ts';

/**
 * An archived wallet's key: the share and the record of its generation go in one write, and the answer after it. Without the
 * gateway's order it deletes nothing and does not answer: the coordinator cannot end a key by itself.
 */
export function deleteKey(
  { nodeId, orderKey }: SignerIdentity,
  state: SignerState,
  { keySession, mac }: DeleteKey,
  { from, trace, message: { tenant } }: NodeMessageInput,
  self: Address,
): NodeEffect[] {
  const terms = { tenant, keyId: keySession };
  if (!isRecordName(tenant, keySession) || !macHolds(orderKey, deletionDigest(terms), mac)) {
    return [event('signer.deletion.unordered', 'warn', { from, tenant, key: keySession })];
  }
  const begins = state.pending.isEmpty;
  const recordKey = keyRecordKey(tenant, keySession);
  state.keys.evict(recordKey);
  state.pending.delete(recordKey);
  state.pending.delete(dkgRecordKey(tenant, keySession));
  const body: WireBodyInit = { case: 'keyDeleted', value: { nodeId, keySession } };
  state.pending.after([
    { kind: 'send', to: from, message: { tenant, session: '', attempt: 0, body }, trace },
    event('signer.key.deleted', 'info', { tenant, key: keySession }),
    ...tokenCleared(from, trace, tenant, keySession),
  ]);
  return begins ? [{ kind: 'send', to: self, message: { kind: 'flush' } }] : [];
}

/** Also deletes the key at the token and the vendor, if any, on every curve. */
function tokenCleared(from: Address, trace: Trace, tenant: string, keySession: string): NodeEffect[] {
  const label = hsmLabel(tenant, keySession);
  const body = { case: 'keyDeleted' as const, value: { keySession } };
  const about = { from, trace, message: { tenant, session: '', attempt: 0, body } };
  const request = { kind: 'destroy' as const, label };
  const message = { kind: 'hsmAsked' as const, request, about };
  return [hsmAddress, vendorAddress].map((to) => ({ kind: 'send', to, message }));
}
