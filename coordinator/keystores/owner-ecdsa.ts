/**
 * MULTISIG_EVM_WALLET: every node signs the Safe transaction hash with its own owner key; the whole signature is the
 * partials of `threshold` owners, ascending by address (core/crypto/owner-ecdsa.ts). Any nodes may answer.
 */
import { evmAddressOf } from '../../core/crypto/evm-address.ts';
import { isOwnerSignature, joinOwnerSignatures, ownerSignatureBytes } from '../../core/crypto/owner-ecdsa.ts';
import { type AttemptBackend, aloneRequest, type Keystore } from './port.ts';
import { verificationShareOf } from './shared-key.ts';

export const ownerEcdsaKeystore: Keystore = {
  bindsSigners: false,
  sharesNonce: false,
  partialBytes: ownerSignatureBytes,
  isPartial: (bytes) => bytes.length === ownerSignatureBytes,
  open({ key, message }): AttemptBackend {
    const isRight: AttemptBackend['verifyPartial'] = ({ nodeId, partial }) =>
      isOwnerSignature(partial, message, verificationShareOf(key, nodeId));
    return {
      noncePoint: new Uint8Array(),
      request: aloneRequest,
      verifyPartial: isRight,
      aggregate(partials) {
        if (!partials.every(isRight)) return undefined;
        const signed = partials.map(({ nodeId, partial }) => ({
          owner: verificationShareOf(key, nodeId),
          signature: partial,
        }));
        const owners = signed.map(({ owner }) => addressText(owner)).sort();
        const verified = `each recovers to its owner: ${owners.join(', ')}`;
        return { signature: joinOwnerSignatures(signed), recoveryId: -1, verified };
      },
    };
  },
};

/** An owner's address, lower case. */
export function addressText(owner: Uint8Array): string {
  return `0x${Buffer.from(evmAddressOf(owner)).toString('hex')}`;
}
