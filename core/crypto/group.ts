/** The groups by the name of their curve; prime-order-group.ts defines a group. */
import { cryptography, Variant } from './backend.ts';
import { CryptoError } from './errors.ts';
import { ed25519Group } from './group-ed25519.ts';
import { secp256k1Group } from './group-secp256k1.ts';
import type { Curve, Group } from './prime-order-group.ts';
import { secp256k1Backend } from './secp256k1.ts';

export { uncompress } from './group-secp256k1.ts';
export type { Curve, Group } from './prime-order-group.ts';

/** The groups in use. The model's have the orders and lengths of the real ones. */
export const groups = new Variant<Readonly<Record<Curve, Group>>>({ secp256k1: secp256k1Group, ed25519: ed25519Group });

/** The group of a curve. Do not store it: a choice of the cryptography changes it (backend.ts). */
export function groupOf(curve: Curve): Group {
  return groups.current[curve];
}

/**
 * Whether secp256k1 arithmetic runs in its native binding or in the JavaScript fallback, which the library uses
 * silently where it ships no binary, and which is about ten times slower.
 *
 * Processes call it at start. It throws an Error for a process that computes with the model, which must not serve.
 */
export function cryptoBackend(): 'native' | 'js' {
  if (cryptography() === 'model')
    throw new Error('the model of cryptography is for simulations: nothing may serve with it');
  return secp256k1Backend;
}

/** Throws INVALID_POINT unless `bytes` is a valid point of `curve`; `what` names it in the message. */
export function assertValidPoint(curve: Curve, bytes: Uint8Array, what: string): void {
  if (!groupOf(curve).isValidPoint(bytes)) {
    throw new CryptoError('INVALID_POINT', `${what} is not a point of ${curve}`);
  }
}
