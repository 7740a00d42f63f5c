/** A partial signature that is a scalar like any other, and wrong. */
import { CryptoError } from '../../crypto/errors.ts';
import { type Curve, groupOf } from '../../crypto/group.ts';
import type { PartialReply } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody } from '../../proto/wire.ts';
import type { ProcessName } from '../engine-contract.ts';
import type { Memory } from './memory.ts';

/** The node's partial plus one. Undefined for a refusal, which stays. */
export function wrongPartial(reply: PartialReply, peer: ProcessName, memory: Memory): WireBody | undefined {
  const { outcome } = reply;
  if (outcome?.case !== 'partial') return undefined;
  // A request that nobody remembers: on either curve the result is no right partial.
  const curve = memory.curveOf(peer, reply.attemptTag) ?? 'secp256k1';
  const value = { ...reply, outcome: { case: 'partial' as const, value: plusOne(curve, outcome.value) } };
  return { case: 'partialReply', value };
}

function plusOne(curve: Curve, scalar: Uint8Array): Uint8Array<ArrayBuffer> {
  const group = groupOf(curve);
  try {
    return Uint8Array.from(group.encodeScalar((group.decodeScalar(scalar) + 1n) % group.order));
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    // It was no scalar of this curve; nor need the lie be.
    return Uint8Array.from(scalar, (byte, index) => (index === 0 ? byte ^ 1 : byte));
  }
}
