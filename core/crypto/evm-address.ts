/**
 * The 20 bytes that identify the holder of a secp256k1 key on EVM chains: the end of Keccak-256 over the uncompressed point
 * without its prefix (Ethereum yellow paper, appendix F).
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { Variant } from './backend.ts';
import { uncompress } from './group-secp256k1.ts';

/** The function in use; the model has its own. */
export const evmAddresses = new Variant(
  (publicKey: Uint8Array): Uint8Array => keccak_256(uncompress(publicKey).subarray(1)).slice(12),
);

/** @param publicKey compressed, 33 bytes; must be a point */
export function evmAddressOf(publicKey: Uint8Array): Uint8Array {
  return evmAddresses.current(publicKey);
}
