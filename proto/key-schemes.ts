/**
 * The signature scheme that a key is bound to, by its name in records, views and events. A key has one: given at its
 * creation, or set by its first signature. On ed25519 nodes share only one scheme.
 *
 * docs/keystores.md lists the keystore type of each scheme, and its meaning for a session.
 */
import { Scheme } from './gen/signmesh/wire/v1/signing_pb.ts';
import { KeystoreType } from './gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Sharing } from './roster.ts';

export type KeyScheme =
  | 'mock_ecdsa'
  | 'frost_ed25519'
  | 'frost_bip340'
  | 'owner_ecdsa'
  | 'hsm_ecdsa'
  | 'hsm_ed25519'
  | 'vendor_ecdsa'
  | 'vendor_ed25519';

/** The holder of a key that is not shared: the node's own store, the PKCS#11 token behind it, or a remote vendor. */
export type KeyHolder = 'node' | 'hsm' | 'vendor';

/** Empty: the key is not bound yet. */
export type KeyBinding = KeyScheme | '';

type Curve = 'secp256k1' | 'ed25519';

interface SchemeFacts {
  readonly scheme: Scheme;
  readonly curve: Curve;
  /** The keystore types of sessions under such a key; UNSPECIFIED means the first. */
  readonly keystoreTypes: readonly [KeystoreType, ...KeystoreType[]];
  /** Undefined: every node holds a share of one key, which a DKG made. Otherwise each node has its own key, held there. */
  readonly ownKeys: KeyHolder | undefined;
  /** Nodes make nonces for it ahead. */
  readonly dealsNonces: boolean;
  /** Keys have children by derivation. */
  readonly derives: boolean;
}

const { MOCK_THRESHOLD, MPC_FROST, MULTISIG_EVM_WALLET, HSM_PKCS11, MPC_VENDOR } = KeystoreType;
const shared = { ownKeys: undefined, dealsNonces: true, derives: true } as const;
const alone = { ownKeys: 'node', dealsNonces: false, derives: false } as const;
const atVendor = { ...alone, ownKeys: 'vendor', keystoreTypes: [MPC_VENDOR] } as const;

const facts: Readonly<Record<KeyScheme, SchemeFacts>> = {
  mock_ecdsa: { scheme: Scheme.MOCK_ECDSA, curve: 'secp256k1', keystoreTypes: [MOCK_THRESHOLD], ...shared },
  frost_ed25519: {
    scheme: Scheme.FROST_ED25519,
    curve: 'ed25519',
    keystoreTypes: [MOCK_THRESHOLD, MPC_FROST],
    ...shared,
  },
  frost_bip340: { scheme: Scheme.FROST_BIP340, curve: 'secp256k1', keystoreTypes: [MPC_FROST], ...shared },
  owner_ecdsa: { scheme: Scheme.OWNER_ECDSA, curve: 'secp256k1', keystoreTypes: [MULTISIG_EVM_WALLET], ...alone },
  hsm_ecdsa: { scheme: Scheme.HSM_ECDSA, curve: 'secp256k1', keystoreTypes: [HSM_PKCS11], ...alone, ownKeys: 'hsm' },
  hsm_ed25519: { scheme: Scheme.HSM_ED25519, curve: 'ed25519', keystoreTypes: [HSM_PKCS11], ...alone, ownKeys: 'hsm' },
  vendor_ecdsa: { scheme: Scheme.VENDOR_ECDSA, curve: 'secp256k1', ...atVendor },
  vendor_ed25519: { scheme: Scheme.VENDOR_ED25519, curve: 'ed25519', ...atVendor },
};

export const keySchemes = Object.keys(facts) as readonly KeyScheme[];

export function schemeFacts(scheme: KeyScheme): SchemeFacts {
  return facts[scheme];
}

export function wireScheme(binding: KeyBinding): Scheme {
  return binding === '' ? Scheme.UNSPECIFIED : facts[binding].scheme;
}

/**
 * The scheme of a new wallet key, by the curve of its network: EVM and Bitcoin P2WPKH use ECDSA, Solana
 * uses Ed25519.
 */
export const walletKeySchemes: Readonly<Record<Curve, KeyScheme>> = {
  secp256k1: 'mock_ecdsa',
  ed25519: 'frost_ed25519',
};

/** `undefined`: this version does not know the scheme. */
export function keyBinding(scheme: Scheme): KeyBinding | undefined {
  if (scheme === Scheme.UNSPECIFIED) return '';
  return keySchemes.find((name) => facts[name].scheme === scheme);
}

/** The binding of a new key of this curve for the request `asked`; `undefined`: the scheme is not for the curve. */
export function bindingAtMaking(curve: Curve, asked: KeyBinding): KeyBinding | undefined {
  if (asked === '') return curve === 'ed25519' ? 'frost_ed25519' : '';
  return facts[asked].curve === curve ? asked : undefined;
}

/** The scheme of a new key for a keystore type; `undefined`: the type has none on this curve. */
export function schemeOfKeystore(type: KeystoreType, curve: Curve): KeyScheme | undefined {
  return keySchemes.find((name) => facts[name].curve === curve && facts[name].keystoreTypes.includes(type));
}

/** The scheme for a caller's type and curve; key creation refuses it if the type has none on the curve. */
export function schemeMeant(type: KeystoreType, curve: Curve): KeyScheme | undefined {
  return schemeOfKeystore(type, curve) ?? keySchemes.find((name) => facts[name].keystoreTypes.includes(type));
}

/** Whether a key is shared among its nodes; an unbound key is. */
export function isSharedKey(binding: KeyBinding): boolean {
  return ownKeysOf(binding) === undefined;
}

/** Threshold and number of nodes of a key whose scheme determines them: a token's or a vendor's key has one node. */
export function fixedSharing(binding: KeyBinding): Sharing | undefined {
  const holder = ownKeysOf(binding);
  return holder === 'hsm' || holder === 'vendor' ? { threshold: 1, totalNodes: 1 } : undefined;
}

/** The sharing of a key that requests `threshold` and `totalNodes`; 0 means the scheme's value, or else `usual`. */
export function sharingAtMaking({ threshold, totalNodes }: Sharing, binding: KeyBinding, usual: Sharing): Sharing {
  const { threshold: signers, totalNodes: nodes } = fixedSharing(binding) ?? usual;
  return { threshold: threshold || signers, totalNodes: totalNodes || nodes };
}

/** The holder of a key that is not shared. */
export function ownKeysOf(binding: KeyBinding): KeyHolder | undefined {
  return binding === '' ? undefined : facts[binding].ownKeys;
}
