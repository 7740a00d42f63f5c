/**
 * The signature scheme that a key is bound to, by its name in records, views and events. A key has one: given at its
 * making, or taken by its first signature. On ed25519 there is only one.
 */
import { Scheme } from './gen/signmesh/wire/v1/signing_pb.ts';

export type KeyScheme = 'mock_ecdsa' | 'frost_ed25519' | 'frost_bip340';

/** Empty: the key is not bound yet. */
export type KeyBinding = KeyScheme | '';

type Curve = 'secp256k1' | 'ed25519';

const facts: Readonly<Record<KeyScheme, { readonly scheme: Scheme; readonly curve: Curve }>> = {
  mock_ecdsa: { scheme: Scheme.MOCK_ECDSA, curve: 'secp256k1' },
  frost_ed25519: { scheme: Scheme.FROST_ED25519, curve: 'ed25519' },
  frost_bip340: { scheme: Scheme.FROST_BIP340, curve: 'secp256k1' },
};

const names = Object.keys(facts) as KeyScheme[];

export function wireScheme(binding: KeyBinding): Scheme {
  return binding === '' ? Scheme.UNSPECIFIED : facts[binding].scheme;
}

/**
 * What the key of a wallet is bound to at its making, by the curve of its network: EVM and Bitcoin P2WPKH take ECDSA, Solana
 * takes Ed25519.
 */
export const walletKeySchemes: Readonly<Record<Curve, KeyScheme>> = {
  secp256k1: 'mock_ecdsa',
  ed25519: 'frost_ed25519',
};

/** `undefined`: the number names no scheme that this version knows. */
export function keyBinding(scheme: Scheme): KeyBinding | undefined {
  if (scheme === Scheme.UNSPECIFIED) return '';
  return names.find((name) => facts[name].scheme === scheme);
}

/** What a key of this curve is bound to when its maker names `asked`; `undefined`: the scheme is not for the curve. */
export function bindingAtMaking(curve: Curve, asked: KeyBinding): KeyBinding | undefined {
  if (asked === '') return curve === 'ed25519' ? 'frost_ed25519' : '';
  return facts[asked].curve === curve ? asked : undefined;
}
