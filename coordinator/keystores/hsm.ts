/**
 * HSM_PKCS11 and MPC_VENDOR: the token, or the vendor, of the key's one node makes the whole signature, and the partial is that
 * signature (core/crypto/hsm.ts). On secp256k1 the recovery id, which the node computes, follows it.
 */

import type { Curve } from '../../core/crypto/group.ts';
import { isHsmSignature } from '../../core/crypto/hsm.ts';
import { type AttemptBackend, aloneRequest, type Keystore } from './port.ts';
import { verificationShareOf } from './shared-key.ts';

export function hsmKeystore(curve: Curve): Keystore {
  const partialBytes = curve === 'secp256k1' ? 65 : 64;
  return {
    bindsSigners: false,
    sharesNonce: false,
    partialBytes,
    isPartial: (bytes) => bytes.length === partialBytes,
    open({ key, message }): AttemptBackend {
      const isRight: AttemptBackend['verifyPartial'] = ({ nodeId, partial }) =>
        isHsmSignature(curve, partial, message, verificationShareOf(key, nodeId));
      return {
        noncePoint: new Uint8Array(),
        request: aloneRequest,
        verifyPartial: isRight,
        aggregate([one]) {
          if (one === undefined || !isRight(one)) return undefined;
          const publicKey = Buffer.from(verificationShareOf(key, one.nodeId)).toString('hex');
          return {
            signature: one.partial.subarray(0, 64),
            recoveryId: curve === 'secp256k1' ? one.partial[64]! : -1,
            verified: `verified under the public key ${publicKey}`,
          };
        },
      };
    },
  };
}
