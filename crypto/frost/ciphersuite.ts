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
import { integerFromBigEndian } from '../scalar.ts';
import { bip340Challenge } from './bip340.ts';

/** The suites that the service signs with. */
export type FrostSuite = 'FROST-ED25519-SHA512-v1' | 'FROST-secp256k1-SHA256-TR-v1';

/** The above and the plain secp256k1 suite of the RFC. */
export type AnyFrostSuite = FrostSuite | 'FROST-secp256k1-SHA256-v1';

/** A ciphersuite: RFC 9591 §6 names the hashes H1 to H5. */
export interface Ciphersuite {
  readonly suite: AnyFrostSuite;
  readonly curve: Curve;
  /** The group in use, of the cryptography that is chosen. */
  readonly group: Group;
  /** Whether keys and R are x-only with an even y, as BIP-340 has it. */
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
  const [rho, chal, nonce, msg, com] = [tag('rho'), tag('chal'), tag('nonce'), tag('msg'), tag('com')];
  return {
    suite,
    curve: 'secp256k1',
    get group() {
      return groupOf('secp256k1');
    },
    xOnly,
    bindingHash: (...parts) => hashToField(rho, concatBytes(...parts)),
    challenge: (R, publicKey, message) =>
      xOnly
        ? bip340Challenge(R.slice(1), publicKey.slice(1), message)
        : hashToField(chal, concatBytes(R, publicKey, message)),
    nonceHash: (...parts) => hashToField(nonce, concatBytes(...parts)),
    messageHash: (message) => sha256(msg, message),
    commitmentHash: (list) => sha256(com, list),
  };
}

/** hash_to_field (RFC 9380 §5.2) into the scalar field, with expand_message_xmd (§5.3.1), SHA-256 and L = 48. */
function hashToField(domain: Uint8Array, message: Uint8Array): bigint {
  const domainPrime = concatBytes(domain, Uint8Array.of(domain.length));
  const first = sha256(new Uint8Array(64), message, Uint8Array.of(0, 48, 0), domainPrime);
  const block1 = sha256(first, Uint8Array.of(1), domainPrime);
  const block2 = sha256(
    first.map((byte, index) => byte ^ block1[index]!),
    Uint8Array.of(2),
    domainPrime,
  );
  return integerFromBigEndian(concatBytes(block1, block2.slice(0, 16))) % groupOf('secp256k1').order;
}

const suites: Readonly<Record<AnyFrostSuite, Ciphersuite>> = {
  'FROST-ED25519-SHA512-v1': ed25519Suite(),
  'FROST-secp256k1-SHA256-v1': secp256k1Suite('FROST-secp256k1-SHA256-v1'),
  'FROST-secp256k1-SHA256-TR-v1': secp256k1Suite('FROST-secp256k1-SHA256-TR-v1'),
};

/** The ciphersuite of a name. */
export function ciphersuite(suite: AnyFrostSuite): Ciphersuite {
  return suites[suite];
}

/** The suite that the keystore types use on a curve (Ed25519, or BIP-340 on secp256k1). */
export function frostSuiteOf(curve: Curve): FrostSuite {
  return curve === 'ed25519' ? 'FROST-ED25519-SHA512-v1' : 'FROST-secp256k1-SHA256-TR-v1';
}
