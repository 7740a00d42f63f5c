/**
 * A signer's cached keys: final key packages and the children derived from them, both bounded.
 *
 * A child costs one HMAC and one point addition per index, so the cache holds
 * frequently used children: the derived share and public key. Secret, only in memory.
 */

import { recentlyUsed } from '../../core/actors/recently-used.ts';
import { deriveTweak, parsePath, tweakShare } from '../../core/crypto/derivation.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import type { Curve } from '../../core/crypto/group.ts';
import type { KeyPackage } from '../../core/crypto/key-package.ts';
import { placeOf } from '../../core/crypto/participants.ts';
import { isSharedKey, type KeyBinding, type KeyScheme } from '../../proto/key-schemes.ts';
import type { StoredKey } from '../records/key-record.ts';

export const keysMax = 1_024;
export const childrenMax = 4_096;

/** A signing key: a key, or a child of one. */
export interface SigningKey {
  readonly curve: Curve;
  readonly threshold: number;
  /** The nodes that hold a share, ascending. */
  readonly participants: readonly number[];
  /** The group's; the node's own if every node has its own key. */
  readonly publicKey: Uint8Array;
  /** Secret. */
  readonly signingShare: bigint;
}

/** The part of a key package for signing: without the other nodes' verification shares. */
interface ParentKey extends SigningKey {
  readonly chainCode: Uint8Array;
  readonly scheme: KeyBinding;
  /** Of the share. */
  readonly version: number;
  /** Of an unbound key: the whole content of its record, to write it again. */
  readonly unbound: KeyPackage | undefined;
}

function ownPublicKey(keyPackage: KeyPackage): Uint8Array {
  return keyPackage.verificationShares[placeOf(keyPackage, keyPackage.nodeId)]!;
}

/** Mutable, and owned by one actor state. `key` is the record key of the parent. */
export class SigningKeys {
  readonly #parents = recentlyUsed<ParentKey>(keysMax);
  readonly #children = recentlyUsed<SigningKey>(childrenMax);

  add(key: string, { keyPackage, scheme, version }: StoredKey): void {
    const { curve, threshold, participants, signingShare, chainCode } = keyPackage;
    const publicKey = isSharedKey(scheme) ? keyPackage.publicKey : ownPublicKey(keyPackage);
    const unbound = scheme === '' ? keyPackage : undefined;
    const shared = { curve, threshold, participants, publicKey, signingShare, chainCode };
    this.#parents.set(key, { ...shared, scheme, version, unbound });
  }

  /** The binding of a cached key. */
  schemeOf(key: string): KeyBinding {
    return this.#parents.get(key)?.scheme ?? '';
  }

  /** Of a cached key's share. */
  versionOf(key: string): number {
    return this.#parents.get(key)?.version ?? 0;
  }

  /** Binds a cached unbound key, and returns its new record. The caller must store it. */
  bind(key: string, scheme: KeyScheme): StoredKey {
    const keyPackage = this.#parents.get(key)?.unbound;
    if (keyPackage === undefined) throw new Error('the key is not at hand, or bound already');
    const stored = { keyPackage, scheme, version: this.versionOf(key) };
    this.add(key, stored);
    return stored;
  }

  /** The next request loads it again. */
  evict(key: string): void {
    this.#parents.delete(key);
    // Seldom, and a child's share goes with its key's.
    this.#children.clear();
  }

  has(key: string): boolean {
    return this.#parents.has(key);
  }

  /**
   * The key at a path from an order: its hardened components name the account and derive nothing. Its parent must be
   * cached (`has`).
   *
   * @throws CryptoError INVALID_PATH for an invalid path, or an index without a child
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
