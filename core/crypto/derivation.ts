/**
 * Child keys without hardening: BIP-32 CKDpub for secp256k1, and the same additive construction for ed25519.
 *
 * The child key is the parent key plus tweak·G, so a threshold key derives without a round: every Shamir share of the
 * key plus the tweak is a share of the child key, since a constant adds to the whole polynomial. The DKG key is at
 * the account level, as an account xpub does; leading hardened components of a path only name that account.
 *
 * The ed25519 formula is ours (docs/protocol.md); other wallets will not derive the same children.
 */
import { base58Check } from './base58.ts';
import { concatBytes, u32be, utf8 } from './bytes.ts';
import { CryptoError } from './errors.ts';
import { assertValidPoint, type Curve, groupOf } from './group.ts';
import { hmacSha512 } from './hashing.ts';
import { integerAt } from './scalar.ts';

const HARDENED_FROM = 0x80000000;
const DEPTH_MAX = 255;
const ED25519_TAG = utf8('signmesh/ed25519-ckd/v1');

/** A parsed path: the leading hardened indices (marker removed, each < 2^31) and the rest. */
export interface DerivationPath {
  readonly hardened: readonly number[];
  readonly normal: readonly number[];
}

/** A derived key: its distance from the parent (public), itself, and its chain code (32 bytes). */
export interface DerivedKey {
  /** In [0, order); zero stands for the parent itself. Public to a party that knows the chain code. */
  readonly tweak: bigint;
  readonly publicKey: Uint8Array;
  readonly chainCode: Uint8Array;
}

/**
 * Parses a BIP-32 path: empty or `m` is the key itself, else `m/44'/60'/0'/0/5`, with ', h or H as the hardened marker.
 * CryptoError INVALID_PATH, with a message for the caller, for anything else: an index of 2^31 or more, a hardened
 * component after a non-hardened one, more than 255 components.
 */
export function parsePath(path: string): DerivationPath {
  const hardened: number[] = [];
  const normal: number[] = [];
  if (path === '' || path === 'm') return { hardened, normal };
  const components = (path.startsWith('m/') ? path.slice(2) : path).split('/');
  if (components.length > DEPTH_MAX) throw invalidPath(`a path has at most ${DEPTH_MAX} components`);
  for (const [position, component] of components.entries()) {
    const match = /^(0|[1-9][0-9]{0,9})(['hH]?)$/.exec(component);
    const where = `component ${position + 1} of the path`;
    if (match === null) throw invalidPath(`${where} is not a number with an optional hardened marker`);
    const index = Number(match[1]);
    if (index >= HARDENED_FROM) throw invalidPath(`${where} is not below 2^31`);
    if (match[2] === '') normal.push(index);
    else if (normal.length === 0) hardened.push(index);
    else throw invalidPath(`${where} is hardened and follows a non-hardened one`);
  }
  return { hardened, normal };
}

/**
 * Derives along non-hardened indices and sums the tweaks.
 *
 * @param path each index an integer in [0, 2^31); empty gives the parent with tweak 0
 * @throws INVALID_POINT, INVALID_BYTES (chain code), INVALID_PATH (also for an index that has no child, chance 2^-127)
 */
export function deriveTweak(input: {
  readonly curve: Curve;
  readonly publicKey: Uint8Array;
  readonly chainCode: Uint8Array;
  readonly path: readonly number[];
}): DerivedKey {
  const { curve, path } = input;
  const group = groupOf(curve);
  assertValidPoint(curve, input.publicKey, 'the parent key');
  if (input.chainCode.length !== 32) throw new CryptoError('INVALID_BYTES', 'a chain code is 32 bytes');
  if (path.length > DEPTH_MAX) throw invalidPath(`a path has at most ${DEPTH_MAX} components`);
  let derived: DerivedKey = { tweak: 0n, publicKey: input.publicKey.slice(), chainCode: input.chainCode.slice() };
  for (const index of path) {
    if (!Number.isInteger(index) || index < 0 || index >= HARDENED_FROM) {
      throw invalidPath('an index is not from 0 to 2^31 - 1');
    }
    const step = curve === 'secp256k1' ? bip32Step(derived, index) : ed25519Step(derived, index);
    derived = {
      tweak: (derived.tweak + step.tweak) % group.order,
      publicKey: tweakPoint(curve, derived.publicKey, step.tweak),
      chainCode: step.chainCode,
    };
  }
  return derived;
}

/** CKDpub, BIP-32: I = HMAC-SHA-512(c, ser_P(K) ‖ ser_32(i)); the tweak is I_L, which must be below the order. */
function bip32Step(parent: DerivedKey, index: number): { tweak: bigint; chainCode: Uint8Array } {
  const digest = hmacSha512(parent.chainCode, parent.publicKey, u32be(index));
  const tweak = integerAt(digest, 0);
  if (tweak >= groupOf('secp256k1').order) throw invalidPath(`index ${index} has no child: take the next one`);
  return { tweak, chainCode: digest.slice(32) };
}

/** Ours: tweak = HMAC-SHA-512(c, tag ‖ 1 ‖ A ‖ i) as a little-endian integer mod L; chain code from tag ‖ 2. */
function ed25519Step(parent: DerivedKey, index: number): { tweak: bigint; chainCode: Uint8Array } {
  const derive = (part: number) =>
    hmacSha512(parent.chainCode, ED25519_TAG, Uint8Array.of(part), parent.publicKey, u32be(index));
  return { tweak: groupOf('ed25519').reduce(derive(1)), chainCode: derive(2).slice(0, 32) };
}

/** A share of the child key from a share of the parent key. Secret. */
export function tweakShare(curve: Curve, signingShare: bigint, tweak: bigint): bigint {
  return (signingShare + tweak) % groupOf(curve).order;
}

/** point + tweak·G: a child's public key or verification share. A zero tweak gives a copy. May throw IDENTITY_POINT. */
export function tweakPoint(curve: Curve, point: Uint8Array, tweak: bigint): Uint8Array {
  return groupOf(curve).linearCombination(tweak, [[1n, point]]);
}

/**
 * The key and chain code as a BIP-32 extended public key (depth 0, parent fingerprint 0, child number 0), which any
 * BIP-32 library derives from. secp256k1 only: another key is INVALID_POINT.
 *
 * @param network version bytes 0x0488B21E (xpub) or 0x043587CF (tpub)
 */
export function encodeXpub(input: {
  readonly publicKey: Uint8Array;
  readonly chainCode: Uint8Array;
  readonly network?: 'main' | 'test' | undefined;
}): string {
  assertValidPoint('secp256k1', input.publicKey, 'the key');
  if (input.chainCode.length !== 32) throw new CryptoError('INVALID_BYTES', 'a chain code is 32 bytes');
  const version = input.network === 'test' ? 0x043587cf : 0x0488b21e;
  return base58Check(concatBytes(u32be(version), new Uint8Array(9), input.chainCode, input.publicKey));
}

function invalidPath(message: string): CryptoError {
  return new CryptoError('INVALID_PATH', message);
}
