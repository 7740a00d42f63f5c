/** The common part of the keystores for keys of a DKG. */
import { toHex } from '../../core/crypto/bytes.ts';
import { type DerivedKey, deriveTweak } from '../../core/crypto/derivation.ts';
import { type Curve, groupOf } from '../../core/crypto/group.ts';
import { placeOf } from '../../core/crypto/participants.ts';
import { scalarBytes } from '../../proto/limits.ts';
import type { KeyRecord } from '../contract/record.ts';
import type { FullSignature, SigningTask } from './port.ts';

export const scalarPartialBytes = scalarBytes;

/** The last derived key of each record: sessions of one key mostly have one path, and a derivation checks the key's point. */
const lastDerived = new WeakMap<KeyRecord, { readonly path: readonly number[]; readonly derived: DerivedKey }>();

export function deriveFrom(key: KeyRecord, path: readonly number[]): DerivedKey {
  const last = lastDerived.get(key);
  if (last?.path.length === path.length && path.every((index, place) => index === last.path[place]))
    return last.derived;
  const derived = deriveTweak({
    curve: key.curve,
    publicKey: Buffer.from(key.publicKey, 'hex'),
    chainCode: Buffer.from(key.chainCode, 'hex'),
    path,
  });
  lastDerived.set(key, { path, derived });
  return derived;
}

export function derivedKey({ derived }: SigningTask): DerivedKey {
  if (!derived) throw new Error('the task of a shared key has a derived key');
  return derived;
}

/** The verification share, or the public key of a node's own key. */
export function verificationShareOf(key: KeyRecord, nodeId: number): Uint8Array {
  return Buffer.from(key.verificationShares[placeOf(key, nodeId)]!, 'hex');
}

/** Whether bytes are a scalar of the curve, below its order. */
export function isScalar(curve: Curve, bytes: Uint8Array): boolean {
  try {
    groupOf(curve).decodeScalar(bytes);
    return true;
  } catch {
    return false;
  }
}

/** A signature that `make` has verified. A sum that degenerates (zero, the identity) is a wrong partial too. */
export function underDerivedKey(
  { publicKey }: DerivedKey,
  make: () => Omit<FullSignature, 'verified'> | undefined,
): FullSignature | undefined {
  try {
    const made = make();
    const verified = `verified under the derived public key ${toHex(publicKey)}`;
    return made && { ...made, verified };
  } catch {
    return undefined;
  }
}
