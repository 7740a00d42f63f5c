/**
 * The bytes that a key signs for a message: a digest unchanged, a raw message hashed as the scheme requires. Pure.
 *
 * ECDSA and BIP-340 sign 32 bytes: for a raw message its SHA-256. Ed25519 (RFC 8032) includes hashing, so it signs the raw
 * message; it signs a digest as a message with these bytes.
 */

import { sha256 } from '../../../core/crypto/hashing.ts';
import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { digestBytes, ed25519MessageBytesMax } from '../../../proto/limits.ts';
import type { VaultCurve } from './record.ts';

export const messageTypes = ['raw', 'digest'] as const;
export type MessageType = (typeof messageTypes)[number];

/** Throws ServiceError 400. */
export function signedBytes(curve: VaultCurve, type: MessageType, message: Uint8Array): Uint8Array {
  const { length } = message;
  if (length === 0 || length > ed25519MessageBytesMax) {
    throw refused('not_allowed_value', `takes 1 to ${ed25519MessageBytesMax} bytes`);
  }
  if (type === 'raw') return curve === 'ed25519' ? message : sha256(message);
  const lengths = curve === 'ed25519' ? [digestBytes, 2 * digestBytes] : [digestBytes];
  if (!lengths.includes(length)) throw refused('not_allowed_value', `a digest takes ${lengths.join(' or ')} bytes`);
  return message;
}

function refused(issue: string, message: string): ServiceError {
  return invalidFields([{ field: 'message', issue, message }]);
}
