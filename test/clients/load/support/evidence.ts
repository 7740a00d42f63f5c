/** Right signatures, made by libraries, as a service would have given them. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import type { ClusterKey, Evidence } from '../../../../clients/load/verdict/signatures.ts';

export function ecdsaEvidence(count: number): Evidence[] {
  const secret = secp256k1.utils.randomSecretKey();
  const key: ClusterKey = { walletId: 'ecdsa', curve: 'secp256k1', publicKey: secp256k1.getPublicKey(secret) };
  return Array.from({ length: count }, (_, index) => {
    const text = Buffer.from(`text ${index}`);
    const message = createHash('sha256').update(text).digest();
    const [recoveryId, ...signature] = secp256k1.sign(message, secret, { prehash: false, format: 'recovered' });
    return {
      key,
      text,
      message,
      sessionId: `sig_${index}`,
      signature: Uint8Array.from(signature),
      recoveryId: recoveryId!,
    };
  });
}

export function ed25519Evidence(count: number): Evidence[] {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const key: ClusterKey = { walletId: 'ed25519', curve: 'ed25519', publicKey: raw };
  return Array.from({ length: count }, (_, index) => {
    const text = Buffer.from(`text ${index}`);
    return {
      key,
      text,
      message: text,
      sessionId: `sig_ed_${index}`,
      signature: sign(null, text, privateKey),
      recoveryId: -1,
    };
  });
}
