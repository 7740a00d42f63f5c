/** A child of a whole secp256k1 key (BIP-32), for signers in a test's own hands. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { deriveTweak, parsePath } from '../../core/crypto/derivation.ts';

export function childKey(
  secret: Uint8Array,
  chainCode: Uint8Array,
  path: string,
): { readonly secret: Uint8Array; readonly publicKey: Uint8Array } {
  const { normal } = parsePath(path);
  const publicKey = secp256k1.getPublicKey(secret);
  const child = deriveTweak({ curve: 'secp256k1', publicKey, chainCode, path: normal });
  const { Fn } = secp256k1.Point;
  return { secret: Fn.toBytes(Fn.add(Fn.fromBytes(secret), child.tweak)), publicKey: child.publicKey };
}
