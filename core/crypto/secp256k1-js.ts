/**
 * The operations of libsecp256k1 in JavaScript (@noble/curves), for machines that none of its binaries fits: ten times slower.
 * Each throws where the native one throws (ecdsaVerify may say false instead), and gives the same bytes.
 */
import { secp256k1 as noble } from '@noble/curves/secp256k1.js';
import { integerFromBigEndian } from './scalar.ts';

/** Points are 33 bytes, or 65 uncompressed; scalars 32, big-endian; signatures r ‖ s of 64. Compressed is the default. */
export interface Secp256k1 {
  publicKeyVerify(publicKey: Uint8Array): boolean;
  publicKeyCreate(secretKey: Uint8Array, compressed?: boolean): Uint8Array;
  publicKeyConvert(publicKey: Uint8Array, compressed?: boolean): Uint8Array;
  publicKeyCombine(publicKeys: Uint8Array[], compressed?: boolean): Uint8Array;
  publicKeyTweakAdd(publicKey: Uint8Array, tweak: Uint8Array, compressed?: boolean): Uint8Array;
  publicKeyTweakMul(publicKey: Uint8Array, tweak: Uint8Array, compressed?: boolean): Uint8Array;
  ecdsaSign(digest: Uint8Array, secretKey: Uint8Array): { signature: Uint8Array; recid: number };
  ecdsaVerify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean;
  ecdsaRecover(signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed?: boolean): Uint8Array;
}

const { Point } = noble;
type Point = InstanceType<typeof Point>;

/** The point at infinity has no encoding: throws. */
function encoded(point: Point, compressed = true): Uint8Array {
  point.assertValidity();
  return point.toBytes(compressed);
}

/** Throws for 0 and for what is not below the order. */
function times(point: Point, scalar: Uint8Array): Point {
  return point.multiply(integerFromBigEndian(scalar));
}

export const javascriptSecp256k1: Secp256k1 = {
  publicKeyVerify(publicKey) {
    try {
      Point.fromBytes(publicKey);
      return true;
    } catch {
      return false;
    }
  },
  publicKeyCreate: (secretKey, compressed) => encoded(times(Point.BASE, secretKey), compressed),
  publicKeyConvert: (publicKey, compressed) => encoded(Point.fromBytes(publicKey), compressed),
  publicKeyCombine: (publicKeys, compressed) =>
    encoded(
      publicKeys.reduce((sum, key) => sum.add(Point.fromBytes(key)), Point.ZERO),
      compressed,
    ),
  publicKeyTweakAdd(publicKey, tweak, compressed) {
    const point = Point.fromBytes(publicKey);
    const isZero = tweak.every((byte) => byte === 0);
    return encoded(isZero ? point : point.add(times(Point.BASE, tweak)), compressed);
  },
  publicKeyTweakMul: (publicKey, tweak, compressed) => encoded(times(Point.fromBytes(publicKey), tweak), compressed),
  ecdsaSign(digest, secretKey) {
    const signed = noble.sign(digest, secretKey, { prehash: false, format: 'recovered', extraEntropy: false });
    return { signature: signed.slice(1), recid: signed[0]! };
  },
  ecdsaVerify: (signature, digest, publicKey) => noble.verify(signature, digest, publicKey, { prehash: false }),
  ecdsaRecover: (signature, recoveryId, digest, compressed) =>
    encoded(
      noble.Signature.fromBytes(signature, 'compact').addRecoveryBit(recoveryId).recoverPublicKey(digest),
      compressed,
    ),
};
