/**
 * Public keys as the addresses that the chains' tools show. Only for showing: nothing here signs or spends.
 *
 * EVM: the last 20 bytes of Keccak-256 over the uncompressed point without its prefix, with EIP-55's checksum.
 * Bitcoin testnet: P2WPKH, BIP-141 and BIP-173 (witness version 0, RIPEMD-160 of SHA-256 of the compressed point).
 * Solana: base58 of the 32 bytes.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58, bech32 } from '@scure/base';

/** @param publicKey secp256k1, 33 bytes compressed. */
export function evmAddress(publicKey: Uint8Array): string {
  const uncompressed = secp256k1.Point.fromBytes(publicKey).toBytes(false);
  const hex = Buffer.from(keccak_256(uncompressed.subarray(1)).subarray(12)).toString('hex');
  const checksum = keccak_256(Buffer.from(hex, 'latin1'));
  const digits = [...hex].map((digit, index) => {
    const nibble = (checksum[index >> 1]! >> (index % 2 === 0 ? 4 : 0)) & 0xf;
    return nibble >= 8 ? digit.toUpperCase() : digit;
  });
  return `0x${digits.join('')}`;
}

/** @param publicKey secp256k1, 33 bytes compressed. */
export function bitcoinTestnetAddress(publicKey: Uint8Array): string {
  return p2wpkh('tb', publicKey);
}

/** `prefix` is the human-readable part: "tb" for testnet, "bc" for mainnet. */
export function p2wpkh(prefix: string, publicKey: Uint8Array): string {
  return bech32.encode(prefix, [0, ...bech32.toWords(ripemd160(sha256(publicKey)))]);
}

/** @param publicKey ed25519, 32 bytes. */
export function solanaAddress(publicKey: Uint8Array): string {
  return base58.encode(publicKey);
}
