/**
 * The FROST ciphersuites (RFC 9591 §6): a group, and the five hashes that tie a signature to its round.
 *
 * - FROST-ED25519-SHA512-v1, §6.1: gives standard Ed25519 signatures (RFC 8032).
 * - FROST-secp256k1-SHA256-v1, §6.5: here for the RFC's own test vectors; no keystore uses it.
 * - FROST-secp256k1-SHA256-TR-v1: §6.5 with the challenge and the x-only conventions of BIP-340, as the Zcash
 *   Foundation's frost-secp256k1-tr and @noble/curves' schnorr_FROST have it, without a taproot output tweak.
 */
import { concatBytes, utf8 } from '../bytes.ts';
import { type Curve, type Group, groupOf } from '../group.ts';
import { sha256, sha512 } from '../hashing.ts';
import { integerAt } from '../scalar.ts';
import { bip340Challenge } from './bip340.ts';

/** The suites that the service signs with. */
export type FrostSuite = 'FROST-ED25519-SHA512-v1' | 'FROST-secp256k1-SHA256-TR-v1';

/** The above and the plain secp256k1 suite of the RFC. */
export type AnyFrostSuite = FrostSuite | 'FROST-secp256k1-SHA256-v1';

/** A ciphersuite; RFC 9591 §6 names the hashes H1 to H5. */
export interface Ciphersuite {
  readonly suite: AnyFrostSuite;
  readonly curve: Curve;
  /** The group of the cryptography in use. */
  readonly group: Group;
  /** Whether keys and R are x-only with an even y, as in BIP-340. */
  readonly xOnly: boolean;
  /** H1: binding factors. */
  bindingHash(...parts: readonly Uint8Array[]): bigint;
  /** H2: the Schnorr challenge over R, the group key and the message. */
  challenge(R: Uint8Array, publicKey: Uint8Array, message: Uint8Array): bigint;
  /** H3: nonces. */
  nonceHash(...parts: readonly Uint8Array[]): bigint;
  /** H4: the message, hashed before it enters H1. */
  messageHash(message: Uint8Array): Uint8Array;
  /** H5: the list of commitments, hashed before it enters H1. */
  commitmentHash(list: Uint8Array): Uint8Array;
}

function ed25519Suite(): Ciphersuite {
  const suite = 'FROST-ED25519-SHA512-v1';
  const reduce = (bytes: Uint8Array) => groupOf('ed25519').reduce(bytes);
  const tag = (name: string) => utf8(suite + name);
  const [rho, nonce, msg, com] = [tag('rho'), tag('nonce'), tag('msg'), tag('com')];
  return {
    suite,
    curve: 'ed25519',
    get group() {
      return groupOf('ed25519');
    },
    xOnly: false,
    bindingHash: (...parts) => reduce(sha512(rho, ...parts)),
    // H2 carries no domain separator, so that the challenge is RFC 8032's.
    challenge: (R, publicKey, message) => reduce(sha512(R, publicKey, message)),
    nonceHash: (...parts) => reduce(sha512(nonce, ...parts)),
    messageHash: (message) => sha512(msg, message),
    commitmentHash: (list) => sha512(com, list),
  };
}

function secp256k1Suite(suite: Exclude<AnyFrostSuite, 'FROST-ED25519-SHA512-v1'>): Ciphersuite {
  const xOnly = suite === 'FROST-secp256k1-SHA256-TR-v1';
  const tag = (name: string) => utf8(suite + name);
  const [rho, chal, nonce] = [domainOf(tag('rho')), domainOf(tag('chal')), domainOf(tag('nonce'))];
  const [msg, com] = [tag('msg'), tag('com')];
  return {
    suite,
    curve: 'secp256k1',
    get group() {
      return groupOf('secp256k1');
    },
    xOnly,
    bindingHash: (...parts) => hashToField(rho, ...parts),
    challenge: (R, publicKey, message) =>
      xOnly ? bip340Challenge(R.slice(1), publicKey.slice(1), message) : hashToField(chal, R, publicKey, message),
    nonceHash: (...parts) => hashToField(nonce, ...parts),
    messageHash: (message) => sha256(msg, message),
    commitmentHash: (list) => sha256(com, list),
  };
}

/** The endings of the inputs of the three hashes of `hashToField`. */
interface Domain {
  readonly first: Uint8Array;
  readonly second: Uint8Array;
  readonly third: Uint8Array;
}

function domainOf(tag: Uint8Array): Domain {
  const prime = concatBytes(tag, Uint8Array.of(tag.length));
  return {
    first: concatBytes(Uint8Array.of(0, 48, 0), prime),
    second: concatBytes(Uint8Array.of(1), prime),
    third: concatBytes(Uint8Array.of(2), prime),
  };
}

const zeroBlock = new Uint8Array(64);

/**
 * hash_to_field (RFC 9380 §5.2) into the scalar field, with expand_message_xmd (§5.3.1), SHA-256 and L = 48.
 */
function hashToField({ first: firstEnd, second, third }: Domain, ...message: readonly Uint8Array[]): bigint {
  const first = sha256(zeroBlock, ...message, firstEnd);
  const block1 = sha256(first, second);
  for (let index = 0; index < first.length; index += 1) first[index]! ^= block1[index]!;
  const block2 = sha256(first, third);
  return ((integerAt(block1, 0) << 128n) | (integerAt(block2, 0) >> 128n)) % groupOf('secp256k1').order;
}

const suites: Readonly<Record<AnyFrostSuite, Ciphersuite>> = {
  'FROST-ED25519-SHA512-v1': ed25519Suite(),
  'FROST-secp256k1-SHA256-v1': secp256k1Suite('FROST-secp256k1-SHA256-v1'),
  'FROST-secp256k1-SHA256-TR-v1': secp256k1Suite('FROST-secp256k1-SHA256-TR-v1'),
};

/** The ciphersuite with this name. */
export function ciphersuite(suite: AnyFrostSuite): Ciphersuite {
  return suites[suite];
}
