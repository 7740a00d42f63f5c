/**
 * MPC_FROST, and every shared key on ed25519: partials are scalars z_i, bound to the set of signers (core/crypto/frost/).
 *
 * R costs one multiplication per signer. Every signer computes it and sends it with its partial; so the coordinator uses a
 * signer's R, and computes R itself only if the signature does not verify with it, or a caller asks for R. The commitments were
 * checked when they were dealt (cluster/cluster.ts).
 */
import { tweakPoint } from '../../core/crypto/derivation.ts';
import type { FrostSuite } from '../../core/crypto/frost/ciphersuite.ts';
import { assertFrostRound, type FrostContext, frostContext } from '../../core/crypto/frost/context.ts';
import { frostAggregateAt, verifyFrostPartial, verifySchnorr } from '../../core/crypto/frost/frost.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import type { AttemptBackend, Keystore } from './port.ts';
import { derivedKey, isScalar, scalarPartialBytes, underDerivedKey, verificationShareOf } from './shared-key.ts';

export function frostKeystore(suite: FrostSuite, curve: Curve): Keystore {
  return {
    bindsSigners: true,
    sharesNonce: true,
    partialBytes: scalarPartialBytes,
    isPartial: (bytes) => isScalar(curve, bytes),
    open(task, nonces): AttemptBackend {
      const group = groupOf(curve);
      const { key, message } = task;
      const derived = derivedKey(task);
      const groupPublicKey = derived.publicKey;
      const round = { suite, groupPublicKey, message, commitments: nonces };
      assertFrostRound(round);
      let known: FrostContext | undefined;
      const context = () => {
        known ??= frostContext(round);
        return known;
      };
      const nodeIds = nonces.map(({ nodeId }) => nodeId);
      const signers = nonces.map(({ nodeId, hiding, binding }) => ({ nodeId, hiding, binding }));
      return {
        get noncePoint() {
          return context().groupCommitment;
        },
        request: { signers, noncePoint: new Uint8Array(), mockNonceInverse: new Uint8Array() },
        verifyPartial({ nodeId, partial }) {
          if (!nonces.some((nonce) => nonce.nodeId === nodeId)) return false;
          const verificationShare = tweakPoint(key.curve, verificationShareOf(key, nodeId), derived.tweak);
          const scalar = group.decodeScalar(partial);
          return verifyFrostPartial({ ...round, context: context(), nodeId, verificationShare, partial: scalar });
        },
        aggregate: (partials) =>
          underDerivedKey(derived, () => {
            const scalars = partials.map(({ nodeId, partial }) => ({ nodeId, partial: group.decodeScalar(partial) }));
            const signedAt = (noncePoint: Uint8Array) => {
              const signature = frostAggregateAt({ suite, nodeIds, noncePoint, partials: scalars });
              return verifySchnorr(suite, signature, message, groupPublicKey) ? signature : undefined;
            };
            const told = partials.find(({ noncePoint }) => noncePoint?.length === group.pointBytes)?.noncePoint;
            const signature = (told && signedAt(told)) ?? signedAt(context().groupCommitment);
            return signature && { signature, recoveryId: -1 };
          }),
      };
    },
  };
}
