/** What a scenario asks to be signed, and what was signed when a signature came back. */
import { sha256 } from '@noble/hashes/sha2.js';
import type { Curve } from '../../crypto/group.ts';
import type { SignatureVerifier } from '../../sim/invariants/verifier.ts';

type Scheme = Parameters<SignatureVerifier>[0]['scheme'];

/** What the nodes sign for a text: its SHA-256 on secp256k1, its bytes on ed25519. */
export function messageBytes(curve: Curve, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  return curve === 'ed25519' ? bytes : sha256(bytes);
}

/** What a signature may be; without a keystore type it is what its key is bound to. */
export function schemesOf(curve: Curve, keystore: 'MOCK_THRESHOLD' | 'MPC_FROST' | undefined): readonly Scheme[] {
  if (curve === 'ed25519') return ['ed25519'];
  if (keystore === undefined) return ['ecdsa', 'bip340'];
  return [keystore === 'MPC_FROST' ? 'bip340' : 'ecdsa'];
}
