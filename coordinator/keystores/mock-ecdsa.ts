/** MOCK_THRESHOLD on secp256k1: partials are scalars s_i that add up to s (core/crypto/mock-ecdsa.ts). Any nodes may answer. */
import { tweakPoint } from '../../core/crypto/derivation.ts';
import { groupOf } from '../../core/crypto/group.ts';
import {
  aggregateMockEcdsa,
  combineMockNonces,
  verifyEcdsa,
  verifyMockEcdsaPartial,
} from '../../core/crypto/mock-ecdsa.ts';
import type { AttemptBackend, Keystore } from './port.ts';
import { derivedKey, isScalar, scalarPartialBytes, underDerivedKey, verificationShareOf } from './shared-key.ts';

export const mockEcdsaKeystore: Keystore = {
  bindsSigners: false,
  sharesNonce: true,
  partialBytes: scalarPartialBytes,
  isPartial: (bytes) => isScalar('secp256k1', bytes),
  open(task, nonces): AttemptBackend {
    const group = groupOf('secp256k1');
    const { key, message } = task;
    const derived = derivedKey(task);
    const { R, r, kInverse } = combineMockNonces(nonces.map((nonce) => group.decodeScalar(nonce.mockNonce)));
    return {
      noncePoint: R,
      request: { signers: [], noncePoint: R, mockNonceInverse: group.encodeScalar(kInverse) },
      verifyPartial({ nodeId, partial }) {
        const verificationShare = tweakPoint(key.curve, verificationShareOf(key, nodeId), derived.tweak);
        return verifyMockEcdsaPartial({
          R,
          r,
          digest: message,
          verificationShare,
          partial: group.decodeScalar(partial),
        });
      },
      aggregate: (partials) =>
        underDerivedKey(derived, () => {
          const scalars = partials.map(({ nodeId, partial }) => ({ nodeId, partial: group.decodeScalar(partial) }));
          const made = aggregateMockEcdsa({ R, r, partials: scalars });
          const { publicKey } = derived;
          return verifyEcdsa({ signature: made.signature, digest: message, publicKey }) ? made : undefined;
        }),
    };
  },
};
