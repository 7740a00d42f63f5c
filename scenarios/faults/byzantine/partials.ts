/** A wrong partial signature: a well-formed random scalar. */
import type { RandomSource } from '../../../core/crypto/bytes.ts';
import { groupOf } from '../../../core/crypto/group.ts';
import type { PartialReply } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody } from '../../../proto/wire.ts';
import type { ProcessName } from '../vocabulary/engine-contract.ts';
import type { LiarMemory } from './memory.ts';

/**
 * A random scalar instead of the node's partial; the same error at two nodes could cancel out in the sum. Undefined for a
 * refusal, which does not change.
 */
export function wrongPartial(
  reply: PartialReply,
  peer: ProcessName,
  memory: LiarMemory,
  random: RandomSource,
): WireBody | undefined {
  if (reply.outcome?.case !== 'partial') return undefined;
  // The request was not recorded: this scalar is wrong on either curve.
  const group = groupOf(memory.curveOf(peer, reply.attemptTag) ?? 'secp256k1');
  const value = Uint8Array.from(group.encodeScalar(group.randomScalar(random)));
  return { case: 'partialReply', value: { ...reply, outcome: { case: 'partial', value } } };
}
