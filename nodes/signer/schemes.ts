/** The signature schemes of the wire, and their requirements for a key and a message. */
import type { FrostSuite } from '../../core/crypto/frost/ciphersuite.ts';
import type { Curve } from '../../core/crypto/group.ts';
import { Scheme } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { digestBytes, ed25519MessageBytesMax } from '../../proto/limits.ts';

export type FrostScheme = Scheme.FROST_ED25519 | Scheme.FROST_BIP340;
/** Schemes with precomputed nonces. */
export type DealtScheme = Scheme.MOCK_ECDSA | FrostScheme;
export type SigningScheme = DealtScheme | Scheme.OWNER_ECDSA | HsmScheme | VendorScheme;
/** Schemes of keys in the node's token. */
export type HsmScheme = Scheme.HSM_ECDSA | Scheme.HSM_ED25519;
/** Schemes of keys at the node's vendor. */
export type VendorScheme = Scheme.VENDOR_ECDSA | Scheme.VENDOR_ED25519;

interface SchemeFacts {
  readonly curve: Curve;
  readonly messageBytesMin: number;
  readonly messageBytesMax: number;
}

export const schemes: Readonly<
  Record<Scheme.MOCK_ECDSA | Scheme.OWNER_ECDSA | HsmScheme | VendorScheme, SchemeFacts> &
    Record<FrostScheme, SchemeFacts & { readonly suite: FrostSuite }>
> = {
  [Scheme.MOCK_ECDSA]: { curve: 'secp256k1', messageBytesMin: digestBytes, messageBytesMax: digestBytes },
  [Scheme.OWNER_ECDSA]: { curve: 'secp256k1', messageBytesMin: digestBytes, messageBytesMax: digestBytes },
  [Scheme.HSM_ECDSA]: { curve: 'secp256k1', messageBytesMin: digestBytes, messageBytesMax: digestBytes },
  [Scheme.HSM_ED25519]: { curve: 'ed25519', messageBytesMin: 1, messageBytesMax: ed25519MessageBytesMax },
  [Scheme.VENDOR_ECDSA]: { curve: 'secp256k1', messageBytesMin: digestBytes, messageBytesMax: digestBytes },
  [Scheme.VENDOR_ED25519]: { curve: 'ed25519', messageBytesMin: 1, messageBytesMax: ed25519MessageBytesMax },
  [Scheme.FROST_ED25519]: {
    curve: 'ed25519',
    messageBytesMin: 1,
    messageBytesMax: ed25519MessageBytesMax,
    suite: 'FROST-ED25519-SHA512-v1',
  },
  [Scheme.FROST_BIP340]: {
    curve: 'secp256k1',
    messageBytesMin: digestBytes,
    messageBytesMax: digestBytes,
    suite: 'FROST-secp256k1-SHA256-TR-v1',
  },
};

/** Whether the number on the wire is a scheme that a node signs with. */
export function isSigningScheme(scheme: Scheme): scheme is SigningScheme {
  return isDealtScheme(scheme) || scheme === Scheme.OWNER_ECDSA || isHsmScheme(scheme) || isVendorScheme(scheme);
}

export function isHsmScheme(scheme: Scheme): scheme is HsmScheme {
  return scheme === Scheme.HSM_ECDSA || scheme === Scheme.HSM_ED25519;
}

export function isVendorScheme(scheme: Scheme): scheme is VendorScheme {
  return scheme === Scheme.VENDOR_ECDSA || scheme === Scheme.VENDOR_ED25519;
}

/** Whether it is a scheme with precomputed nonces. */
export function isDealtScheme(scheme: Scheme): scheme is DealtScheme {
  return scheme === Scheme.MOCK_ECDSA || scheme === Scheme.FROST_ED25519 || scheme === Scheme.FROST_BIP340;
}
