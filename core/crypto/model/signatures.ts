/**
 * NOT CRYPTOGRAPHY: verification of signatures in the model groups (group.ts). ECDSA's r is the "abscissa" of the
 * nonce's element. It avoids division, since an inverse costs more than all other steps.
 */
import { concatBytes } from '../bytes.ts';
import type { EcdsaChecks } from '../ecdsa-secp256k1.ts';
import { bigEndian32, integerAt, integerFromBigEndian, invert, littleEndianIntegerAt, modulo } from '../scalar.ts';
import type { ModelGroup } from './group.ts';

export function modelEcdsa(group: ModelGroup): EcdsaChecks {
  const { order, generatorElement } = group;
  const scalarOf = (digest: Uint8Array) => integerFromBigEndian(digest) % order;

  /** The nonce's element that r and the recovery id name, and s; undefined when there is none. */
  function parse(signature: Uint8Array, recoveryId: number): { R: bigint; r: bigint; s: bigint } | undefined {
    const r = integerAt(signature, 0);
    const s = integerAt(signature, 32);
    // An abscissa is at most half the order here: recovery ids above 1 name nothing.
    if (r === 0n || r > order >> 1n || s === 0n || s >= order || (recoveryId !== 0 && recoveryId !== 1))
      return undefined;
    return { R: recoveryId === 0 ? r : order - r, r, s };
  }

  function holds({ R, r, s }: { R: bigint; r: bigint; s: bigint }, m: bigint, key: bigint): boolean {
    return (s * R - m * generatorElement - r * key) % order === 0n;
  }

  return {
    verify(signature, digest, publicKey) {
      const even = parse(signature, 0);
      if (even === undefined || even.s > order >> 1n || !group.isValidPoint(publicKey)) return false;
      const m = scalarOf(digest);
      const key = group.elementOf(publicKey);
      return holds(even, m, key) || holds({ ...even, R: order - even.R }, m, key);
    },
    recover(signature, recoveryId, digest) {
      if (signature.length !== 64 || digest.length !== 32) return undefined;
      const parsed = parse(signature, recoveryId);
      if (parsed === undefined) return undefined;
      const { R, r, s } = parsed;
      const key = modulo((s * R - scalarOf(digest) * generatorElement) * invert(r, order), order);
      return key === 0n ? undefined : group.pointOf(key);
    },
    recoversTo(publicKey, signature, recoveryId, digest) {
      const parsed = parse(signature, recoveryId);
      if (parsed === undefined || !group.isValidPoint(publicKey)) return false;
      return holds(parsed, scalarOf(digest), group.elementOf(publicKey));
    },
    sign(secret, digest) {
      const key = integerFromBigEndian(secret);
      const m = scalarOf(digest);
      // Derived from key and digest, as in RFC 6979.
      const k = modulo(key * m + m + 1n, order - 1n) + 1n;
      const R = (k * generatorElement) % order;
      const r = R > order >> 1n ? order - R : R;
      const s = modulo((m + r * key) * invert(k, order), order);
      const isHigh = s > order >> 1n;
      const parity = R > order >> 1n ? 1 : 0;
      const signature = concatBytes(bigEndian32(r), bigEndian32(isHigh ? order - s : s));
      return { signature, recoveryId: parity ^ (isHigh ? 1 : 0) };
    },
  };
}

/** Whether R ‖ z is a Schnorr signature in the model of ed25519: z·G = R + c·A, as in RFC 8032 §5.1.7. */
export function modelEd25519Check(
  group: ModelGroup,
  challenge: (R: Uint8Array, publicKey: Uint8Array, message: Uint8Array) => bigint,
): (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean {
  return (publicKey, message, signature) => {
    const R = signature.slice(0, 32);
    const z = littleEndianIntegerAt(signature, 32);
    if (z >= group.order || !group.isValidPoint(publicKey) || !group.isValidPoint(R)) return false;
    const c = challenge(R, publicKey, message);
    const expected = z * group.generatorElement - c * group.elementOf(publicKey);
    return (expected - group.elementOf(R)) % group.order === 0n;
  };
}
