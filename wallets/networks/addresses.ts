/**
 * Addresses: the checks of their network's own tools, the canonical form for storing and comparing, and derivation from
 * public keys.
 *
 * EVM: the last 20 bytes of Keccak-256 over the uncompressed point without its prefix; mixed case is EIP-55's checksum.
 * Bitcoin testnet: P2WPKH and P2WSH (BIP-173), P2TR (BIP-350), P2PKH and P2SH (Base58Check). Our wallets' are P2WPKH, BIP-141:
 * witness version 0, RIPEMD-160 of SHA-256 of the compressed point. Solana: base58 of 32 bytes.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 as realSha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58, bech32, bech32m } from '@scure/base';
import { toHex } from '../../core/crypto/bytes.ts';
import { evmAddressOf } from '../../core/crypto/evm-address.ts';
import { sha256 } from '../../core/crypto/hashing.ts';
import { assetsOn } from './assets.ts';
import { type NetworkFamily, type NetworkId, networkOf, networks } from './networks.ts';

export type AddressProblem = 'invalid_format' | 'invalid_checksum' | 'wrong_network';

/** Longer than any address; decoding base 58 takes time quadratic in the length. */
const lengthMax = 100;

/** The fault of an address that a transfer on `network` names as its destination; undefined: none. */
export function addressProblem(network: NetworkId, text: string): AddressProblem | undefined {
  const { family } = networkOf(network);
  const problem = problemIn(family, text);
  if (problem !== 'invalid_format') return problem;
  // A valid address of another network is a likelier mistake than a string that resembles one by chance.
  const elsewhere = networks
    .filter((other) => other.family !== family)
    .map((other) => problemIn(other.family, text))
    .some((other) => other === undefined || other === 'wrong_network');
  return elsewhere ? 'wrong_network' : problem;
}

/** The canonical form for storing and comparing: EIP-55, lower-case bech32. Throws Error for an invalid address. */
export function canonicalAddress(network: NetworkId, text: string): string {
  const { family } = networkOf(network);
  if (problemIn(family, text) !== undefined) throw new Error(`not an address of ${network}`);
  if (family === 'evm') return withChecksum(text.slice(2).toLowerCase());
  return family === 'bitcoin' && /^tb1/i.test(text) ? text.toLowerCase() : text;
}

/**
 * Addresses whose funds no one can spend: EVM's zero address and the contracts of its assets, taproot keys that are no point of
 * the curve (BIP-340), Solana's system program. `address`: canonical.
 */
export function isLostAddress(network: NetworkId, address: string): boolean {
  switch (networkOf(network).family) {
    case 'evm':
      return /^0x0{40}$/.test(address) || assetsOn(network).some(({ contract }) => contract === address);
    case 'bitcoin':
      return (
        address.startsWith('tb1p') &&
        !isPoint(bech32m.fromWords(bech32m.decode(address as `tb1${string}`).words.slice(1)))
      );
    case 'solana':
      return address === '1'.repeat(32);
  }
}

/** Whether 32 bytes are the abscissa of a point of secp256k1. Also under model cryptography: libraries for transactions check it. */
function isPoint(x: Uint8Array): boolean {
  try {
    secp256k1.Point.fromBytes(Uint8Array.of(2, ...x));
    return true;
  } catch {
    return false;
  }
}

/** The address of a wallet's public key. `publicKey`: compressed, 33 bytes for secp256k1, 32 for ed25519. */
export function addressOfKey(network: NetworkId, publicKey: Uint8Array): string {
  switch (networkOf(network).family) {
    case 'evm':
      return evmAddress(publicKey);
    case 'bitcoin':
      return bitcoinTestnetAddress(publicKey);
    case 'solana':
      return solanaAddress(publicKey);
  }
}

/** @param publicKey secp256k1, 33 bytes compressed. */
export function evmAddress(publicKey: Uint8Array): string {
  return withChecksum(evmAccount(publicKey).slice(2));
}

/** The same without the checksum, in lower case: the form in which a chain names its accounts. */
export function evmAccount(publicKey: Uint8Array): string {
  return `0x${toHex(evmAddressOf(publicKey))}`;
}

/** @param publicKey secp256k1, 33 bytes compressed. */
export function bitcoinTestnetAddress(publicKey: Uint8Array): string {
  return p2wpkh('tb', publicKey);
}

/** `prefix` is the human-readable part: "tb" for testnet, "bc" for mainnet. */
export function p2wpkh(prefix: string, publicKey: Uint8Array): string {
  return bech32.encode(prefix, [0, ...bech32.toWords(publicKeyHash(publicKey))]);
}

/** HASH160 of a public key: 20 bytes. */
export function publicKeyHash(publicKey: Uint8Array): Uint8Array {
  return ripemd160(sha256(publicKey));
}

/** @param publicKey ed25519, 32 bytes. */
export function solanaAddress(publicKey: Uint8Array): string {
  return base58.encode(publicKey);
}

function problemIn(family: NetworkFamily, text: string): AddressProblem | undefined {
  if (text.length > lengthMax) return 'invalid_format';
  switch (family) {
    case 'evm':
      return evmProblem(text);
    case 'bitcoin':
      return /^(tb|bc|bcrt)1/i.test(text) ? segwitProblem(text) : base58CheckProblem(text);
    case 'solana':
      return decodeBase58(text)?.length === 32 ? undefined : 'invalid_format';
  }
}

function evmProblem(text: string): AddressProblem | undefined {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return 'invalid_format';
  const digits = text.slice(2);
  const lower = digits.toLowerCase();
  if (digits === lower || digits === digits.toUpperCase()) return undefined;
  return withChecksum(lower) === text ? undefined : 'invalid_checksum';
}

/** EIP-55. `hex`: 40 lower-case digits. */
function withChecksum(hex: string): string {
  const checksum = keccak_256(Buffer.from(hex, 'latin1'));
  const digits = [...hex].map((digit, index) => {
    const nibble = (checksum[index >> 1]! >> (index % 2 === 0 ? 4 : 0)) & 0xf;
    return nibble >= 8 ? digit.toUpperCase() : digit;
  });
  return `0x${digits.join('')}`;
}

/** BIP-173 and BIP-350: version 0 under bech32, 20 or 32 bytes; version 1 under bech32m, 32 bytes. */
function segwitProblem(text: string): AddressProblem | undefined {
  const plain = bech32.decodeUnsafe(text);
  const modified = bech32m.decodeUnsafe(text);
  const decoded = plain ?? modified;
  if (decoded === undefined) {
    return /^(?:[02-9ac-hj-np-z]+|[02-9AC-HJ-NP-Z]+)$/.test(text.slice(text.lastIndexOf('1') + 1)) && oneCase(text)
      ? 'invalid_checksum'
      : 'invalid_format';
  }
  const version = decoded.words[0];
  const program = bech32.fromWordsUnsafe(decoded.words.slice(1));
  if (program === undefined) return 'invalid_format';
  if (version === 0 ? plain === undefined : modified === undefined) return 'invalid_checksum';
  const known = version === 0 ? program.length === 20 || program.length === 32 : version === 1 && program.length === 32;
  if (!known) return 'invalid_format';
  return decoded.prefix.toLowerCase() === 'tb' ? undefined : 'wrong_network';
}

function oneCase(text: string): boolean {
  return text === text.toLowerCase() || text === text.toUpperCase();
}

/**
 * Version bytes: 0x6f and 0xc4 are testnet's P2PKH and P2SH, 0x00 and 0x05 mainnet's. Also under model cryptography, whose hashes
 * differ, the addresses of other software must pass.
 */
function base58CheckProblem(text: string): AddressProblem | undefined {
  const bytes = decodeBase58(text);
  if (bytes?.length !== 25) return 'invalid_format';
  const checksum = realSha256(realSha256(bytes.subarray(0, 21))).subarray(0, 4);
  if (!checksum.every((byte, index) => byte === bytes[21 + index])) return 'invalid_checksum';
  const version = bytes[0];
  if (version === 0x6f || version === 0xc4) return undefined;
  return version === 0x00 || version === 0x05 ? 'wrong_network' : 'invalid_format';
}

function decodeBase58(text: string): Uint8Array | undefined {
  try {
    return base58.decode(text);
  } catch {
    return undefined;
  }
}
