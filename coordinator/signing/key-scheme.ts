/**
 * Which scheme a session signs with, and how a key is bound to it.
 *
 * A key has one scheme: given at its making, or taken by its first session. The key's record says so in the same atomic
 * step that opens the session, before any node is asked; the nodes bind their own records before their first partial leaves.
 * keystore_type UNSPECIFIED means the key's scheme; another one than the key's is KEYSTORE_MISMATCH. On ed25519 there is one
 * scheme for all keystore types.
 */
import type { Curve } from '../../crypto/group.ts';
import { KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { KeyScheme } from '../../proto/key-schemes.ts';
import { type Answer, answer } from '../contract/answers.ts';
import type { KeyRecord } from '../contract/record.ts';

const titles: Readonly<Record<KeyScheme, string>> = {
  mock_ecdsa: 'mock threshold ECDSA (MOCK_THRESHOLD)',
  frost_bip340: 'FROST giving BIP-340 signatures (MPC_FROST)',
  frost_ed25519: 'FROST giving Ed25519 signatures',
};

/** The scheme that a keystore type stands for, under a key that is not bound. */
export function schemeFor(curve: Curve, keystoreType: KeystoreType): KeyScheme {
  if (curve === 'ed25519') return 'frost_ed25519';
  return keystoreType === KeystoreType.MPC_FROST ? 'frost_bip340' : 'mock_ecdsa';
}

/** What UNSPECIFIED stands for where no key says more; a number outside the enum is shown as the default. */
export function effectiveKeystore(asked: KeystoreType): KeystoreType {
  return KeystoreType[asked] === undefined || asked === KeystoreType.UNSPECIFIED ? KeystoreType.MOCK_THRESHOLD : asked;
}

/** The keystore type of a session under this key: what was asked for, or what the key's scheme is called. */
export function keystoreOf({ curve }: KeyRecord, scheme: KeyScheme, asked: KeystoreType): KeystoreType {
  if (curve === 'ed25519') return effectiveKeystore(asked);
  return scheme === 'frost_bip340' ? KeystoreType.MPC_FROST : KeystoreType.MOCK_THRESHOLD;
}

/** The scheme of a session that asks this of the key, or why there is none. */
export function schemeUnder(
  { curve, scheme }: KeyRecord,
  asked: KeystoreType,
): { readonly scheme: KeyScheme } | { readonly fault: Answer } {
  const wanted = schemeFor(curve, asked);
  if (scheme === '' || scheme === wanted) return { scheme: wanted };
  if (asked === KeystoreType.UNSPECIFIED) return { scheme };
  const text = `keystore_type: this key signs with ${titles[scheme]} alone: name that, or leave it unspecified`;
  return { fault: answer('KEYSTORE_MISMATCH', text) };
}

/**
 * The key's record as a session of this scheme makes it; undefined: it says so already. `signs`: the session may ask nodes
 * now, so that a key of mock ECDSA counts as exposed: the nonce is disclosed.
 */
export function boundBy(key: KeyRecord, scheme: KeyScheme, signs: boolean): KeyRecord | undefined {
  const exposed = key.exposed || (signs && scheme === 'mock_ecdsa');
  return key.scheme === scheme && key.exposed === exposed ? undefined : { ...key, scheme, exposed };
}
