/** The message of a signing step, and the bytes that its signature covers. */
import { sha256 } from '@noble/hashes/sha2.js';
import type { Curve } from '../../core/crypto/group.ts';
import type { SignatureVerifier } from '../../simulation/cluster/invariants/verifier.ts';

type Scheme = Parameters<SignatureVerifier>[0]['scheme'];

/** The bytes that nodes sign for a text: its SHA-256 on secp256k1, its bytes on ed25519. */
export function messageBytes(curve: Curve, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return curve === 'ed25519' ? bytes : sha256(bytes);
}

/** The possible schemes of a signature; without a keystore type, any scheme that its key may be bound to. */
export function schemesOf(curve: Curve, keystore: 'MOCK_THRESHOLD' | 'MPC_FROST' | undefined): readonly Scheme[] {
  if (curve === 'ed25519') return ['ed25519'];
  if (keystore === undefined) return ['ecdsa', 'bip340'];
  return [keystore === 'MPC_FROST' ? 'bip340' : 'ecdsa'];
}
