/**
 * The keys that a signer has at hand: final key packages and the children derived from them, both bounded.
 *
 * A child costs one HMAC and one point addition an index, so that frequently used children are
 * kept: the derived share and public key, ready to sign with. Secret, in memory only.
 */
import { deriveTweak, parsePath, tweakShare } from '../../crypto/derivation.ts';
import { CryptoError } from '../../crypto/errors.ts';
import type { Curve } from '../../crypto/group.ts';
import type { KeyPackage } from '../../crypto/key-package.ts';
import { placeOf } from '../../crypto/participants.ts';
import { isSharedKey, type KeyBinding, type KeyScheme } from '../../proto/key-schemes.ts';
import type { StoredKey } from '../records/key-record.ts';
import { recentlyUsed } from './lru-cache.ts';

export const keysMax = 1_024;
export const childrenMax = 4_096;

/** A key, or a child of one, as it signs. */
export interface SigningKey {
  readonly curve: Curve;
  readonly threshold: number;
  /** The nodes that hold a share, ascending. */
  readonly participants: readonly number[];
  /** The group's; the node's own where every node has a key of its own. */
  readonly publicKey: Uint8Array;
  /** Secret. */
  readonly signingShare: bigint;
}

/** What of a key package signing needs: not the other nodes' verification shares. */
interface ParentKey extends SigningKey {
  readonly chainCode: Uint8Array;
  readonly scheme: KeyBinding;
  /** Of a key that is not bound yet: all that its record holds, to write it anew. */
  readonly unbound: KeyPackage | undefined;
}

function ownPublicKey(keyPackage: KeyPackage): Uint8Array {
  return keyPackage.verificationShares[placeOf(keyPackage, keyPackage.nodeId)]!;
}

/** Mutable, and owned by one actor state. `key` is the record key of the parent. */
export class SigningKeys {
  readonly #parents = recentlyUsed<ParentKey>(keysMax);
  readonly #children = recentlyUsed<SigningKey>(childrenMax);

  add(key: string, { keyPackage, scheme }: StoredKey): void {
    const { curve, threshold, participants, signingShare, chainCode } = keyPackage;
    const publicKey = isSharedKey(scheme) ? keyPackage.publicKey : ownPublicKey(keyPackage);
    const unbound = scheme === '' ? keyPackage : undefined;
    this.#parents.set(key, { curve, threshold, participants, publicKey, signingShare, chainCode, scheme, unbound });
  }

  /** What a key at hand is bound to. */
  schemeOf(key: string): KeyBinding {
    return this.#parents.get(key)?.scheme ?? '';
  }

  /** Binds a key at hand that is not bound, and gives what its record shall hold. The caller must store it. */
  bind(key: string, scheme: KeyScheme): StoredKey {
    const keyPackage = this.#parents.get(key)?.unbound;
    if (keyPackage === undefined) throw new Error('the key is not at hand, or bound already');
    const stored = { keyPackage, scheme };
    this.add(key, stored);
    return stored;
  }

  /** It is loaded anew when it is asked for again. */
  evict(key: string): void {
    this.#parents.delete(key);
  }

  has(key: string): boolean {
    return this.#parents.has(key);
  }

  /**
   * The key at a path as orders write it: its hardened components name the account and derive nothing. Its parent must be
   * at hand (`has`).
   *
   * @throws CryptoError INVALID_PATH for what is no path, or an index without a child
   */
  find(key: string, derivationPath: string): SigningKey {
    const parent = this.#parents.get(key);
    if (parent === undefined) throw new Error('the parent key is not at hand');
    if (derivationPath === '') return parent;
    const childKey = `${key} ${derivationPath}`;
    const known = this.#children.get(childKey);
    if (known !== undefined) return known;
    const path = parsePath(derivationPath).normal;
    if (path.length === 0) return parent;
    const { curve, threshold, participants, publicKey, chainCode, scheme } = parent;
    if (!isSharedKey(scheme)) throw new CryptoError('INVALID_PATH', 'a key of the node’s own has no children');
    const derived = deriveTweak({ curve, publicKey, chainCode, path });
    const child: SigningKey = {
      curve,
      threshold,
      participants,
      publicKey: derived.publicKey,
      signingShare: tweakShare(curve, parent.signingShare, derived.tweak),
    };
    this.#children.set(childKey, child);
    return child;
  }
}
