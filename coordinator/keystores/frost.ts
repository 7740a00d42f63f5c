/** MPC_FROST, and every shared key on ed25519: partials are scalars z_i, bound to the set of signers (crypto/frost/). */
import { tweakPoint } from '../../crypto/derivation.ts';
import type { FrostSuite } from '../../crypto/frost/ciphersuite.ts';
import { frostContext } from '../../crypto/frost/context.ts';
import { frostAggregate, verifyFrostPartial, verifySchnorr } from '../../crypto/frost/frost.ts';
import { type Curve, groupOf } from '../../crypto/group.ts';
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
      const context = frostContext({ suite, groupPublicKey, message, commitments: nonces });
      const round = { suite, groupPublicKey, message, commitments: nonces, context };
      const signers = nonces.map(({ nodeId, hiding, binding }) => ({ nodeId, hiding, binding }));
      return {
        noncePoint: context.groupCommitment,
        request: { signers, noncePoint: new Uint8Array(), mockNonceInverse: new Uint8Array() },
        verifyPartial({ nodeId, partial }) {
          if (!nonces.some((nonce) => nonce.nodeId === nodeId)) return false;
          const verificationShare = tweakPoint(key.curve, verificationShareOf(key, nodeId), derived.tweak);
          return verifyFrostPartial({ ...round, nodeId, verificationShare, partial: group.decodeScalar(partial) });
        },
        aggregate: (partials) =>
          underDerivedKey(derived, () => {
            const scalars = partials.map(({ nodeId, partial }) => ({ nodeId, partial: group.decodeScalar(partial) }));
            const signature = frostAggregate({ ...round, partials: scalars });
            const holds = verifySchnorr(suite, signature, message, groupPublicKey);
            return holds ? { signature, recoveryId: -1 } : undefined;
          }),
      };
    },
  };
}
