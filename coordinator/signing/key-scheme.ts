/**
 * Determines the scheme of a session, and binds its key to it.
 *
 * A key has one scheme: given at its creation, or set by its first session. The key's record stores it in the same atomic
 * step that opens the session, before any request to a node; the nodes bind their own records before their first partial leaves.
 * keystore_type UNSPECIFIED means the key's scheme; a different one is KEYSTORE_MISMATCH. On ed25519 one scheme serves
 * all keystore types with shared keys. A key that is not shared is bound at its creation.
 */
import type { Curve } from '../../core/crypto/group.ts';
import { KeystoreType } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { isSharedKey, type KeyScheme, schemeFacts, schemeOfKeystore } from '../../proto/key-schemes.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import type { KeyRecord } from '../contract/record.ts';

const titles: Readonly<Record<KeyScheme, string>> = {
  mock_ecdsa: 'mock threshold ECDSA (MOCK_THRESHOLD)',
  frost_bip340: 'FROST giving BIP-340 signatures (MPC_FROST)',
  frost_ed25519: 'FROST giving Ed25519 signatures',
  owner_ecdsa: 'the owner keys of its nodes (MULTISIG_EVM_WALLET)',
  hsm_ecdsa: 'a PKCS#11 token, by ECDSA (HSM_PKCS11)',
  hsm_ed25519: 'a PKCS#11 token, by Ed25519 (HSM_PKCS11)',
  vendor_ecdsa: 'a vendor, by ECDSA (MPC_VENDOR)',
  vendor_ed25519: 'a vendor, by Ed25519 (MPC_VENDOR)',
};

/** The scheme of a keystore type; UNSPECIFIED: the scheme of an unbound key. Undefined: none on this curve. */
function schemeFor(curve: Curve, asked: KeystoreType): KeyScheme | undefined {
  return schemeOfKeystore(asked === KeystoreType.UNSPECIFIED ? KeystoreType.MOCK_THRESHOLD : asked, curve);
}

/** The scheme of a session under its key, from the session's own keystore type. */
export function schemeOfSession({ curve, scheme }: KeyRecord, keystoreType: KeystoreType): KeyScheme {
  const known = scheme === '' ? schemeFor(curve, keystoreType) : scheme;
  if (known === undefined) throw new Error(`keystore type ${keystoreType} has no scheme on ${curve}`);
  return known;
}

/** The meaning of UNSPECIFIED without a key; a number outside the enum counts as the default. */
export function effectiveKeystore(asked: KeystoreType): KeystoreType {
  return KeystoreType[asked] === undefined || asked === KeystoreType.UNSPECIFIED ? KeystoreType.MOCK_THRESHOLD : asked;
}

/** The keystore type of a session that signs with this scheme: the requested type, or the scheme's first type. */
export function keystoreOf(scheme: KeyScheme, asked: KeystoreType): KeystoreType {
  const { keystoreTypes } = schemeFacts(scheme);
  return keystoreTypes.includes(asked) ? asked : keystoreTypes[0];
}

/** The scheme of a session with this request for the key, or the reason for none. */
export function schemeUnder(
  { curve, scheme }: KeyRecord,
  asked: KeystoreType,
): { readonly scheme: KeyScheme } | { readonly fault: CallAnswer } {
  if (scheme !== '' && asked === KeystoreType.UNSPECIFIED) return { scheme };
  const wanted = schemeFor(curve, asked);
  if (wanted !== undefined && (scheme === wanted || (scheme === '' && isSharedKey(wanted)))) return { scheme: wanted };
  const signs = scheme === '' ? 'its nodes share this key' : `this key signs with ${titles[scheme]} alone`;
  const text = `keystore_type: ${signs}: name ${scheme === '' ? 'MOCK_THRESHOLD or MPC_FROST' : 'that'}, or leave it unspecified`;
  return { fault: answer('KEYSTORE_MISMATCH', text) };
}

/**
 * The key's record as a session of this scheme makes it; undefined: it is up to date. `signs`: the session may ask nodes
 * now, so that a key of mock ECDSA counts as exposed: the nonce is disclosed.
 */
export function boundBy(key: KeyRecord, scheme: KeyScheme, signs: boolean): KeyRecord | undefined {
  const exposed = key.exposed || (signs && scheme === 'mock_ecdsa');
  return key.scheme === scheme && key.exposed === exposed ? undefined : { ...key, scheme, exposed };
}
