/** The keystores, by the scheme of their keys; and a session's task for one. */
import type { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { type KeyScheme, keyBinding, schemeFacts, wireScheme } from '../../proto/key-schemes.ts';
import type { KeyRecord } from '../contract/record.ts';
import { frostKeystore } from './frost.ts';
import { hsmKeystore } from './hsm.ts';
import { mockEcdsaKeystore } from './mock-ecdsa.ts';
import { ownerEcdsaKeystore } from './owner-ecdsa.ts';
import type { Keystore, SigningTask } from './port.ts';
import { deriveFrom } from './shared-key.ts';

const keystores: Readonly<Record<KeyScheme, Keystore>> = {
  mock_ecdsa: mockEcdsaKeystore,
  frost_ed25519: frostKeystore('FROST-ED25519-SHA512-v1', 'ed25519'),
  frost_bip340: frostKeystore('FROST-secp256k1-SHA256-TR-v1', 'secp256k1'),
  owner_ecdsa: ownerEcdsaKeystore,
  hsm_ecdsa: hsmKeystore('secp256k1'),
  hsm_ed25519: hsmKeystore('ed25519'),
  vendor_ecdsa: hsmKeystore('secp256k1'),
  vendor_ed25519: hsmKeystore('ed25519'),
};

/** Throws for an unknown scheme, which a task never has. */
export function keystoreFor(scheme: Scheme): Keystore {
  const name = keyBinding(scheme);
  if (!name) throw new Error(`scheme ${scheme} has no keystore`);
  return keystores[name];
}

export function signingTask(
  key: KeyRecord,
  scheme: KeyScheme,
  path: readonly number[],
  message: Uint8Array,
): SigningTask {
  const derived = schemeFacts(scheme).derives ? deriveFrom(key, path) : undefined;
  return { scheme: wireScheme(scheme), key, message, derived };
}
