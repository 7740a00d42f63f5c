/** The groups by the name of their curve; prime-order-group.ts says what a group is. */
import { CryptoError } from './errors.ts';
import { ed25519Group } from './group-ed25519.ts';
import { secp256k1Group } from './group-secp256k1.ts';
import type { Curve, Group } from './prime-order-group.ts';

export { cryptoBackend, toXOnly, uncompress } from './group-secp256k1.ts';
export type { Curve, Group } from './prime-order-group.ts';

/** The group of a curve. */
export function groupOf(curve: Curve): Group {
  return curve === 'secp256k1' ? secp256k1Group : ed25519Group;
}

/** Throws INVALID_POINT unless `bytes` is a valid point of `curve`; `what` names it in the message. */
export function assertValidPoint(curve: Curve, bytes: Uint8Array, what: string): void {
  if (!groupOf(curve).isValidPoint(bytes)) {
    throw new CryptoError('INVALID_POINT', `${what} is not a point of ${curve}`);
  }
}
