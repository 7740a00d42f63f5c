/**
 * Secrets at rest: an envelope holds a text under its own data key (AES-256-GCM), and that data key wrapped under a
 * key of the key ring (AES-256-GCM too). The associated data names the secret's purpose, tenant and record, so
 * that an envelope which was moved to another record does not open.
 *
 * Text form: `e1.<key id>.<wrapped data key>.<ciphertext>`, the last two in base64url, each with its own IV and tag (see
 * ../../../core/crypto/at-rest.ts). Rotation wraps the data key again and leaves the ciphertext unchanged.
 *
 * One key of the ring may wrap no more than 2^32 data keys (NIST SP 800-38D §8.3); every sealed answer of an idempotent
 * request is one. At a thousand a second that is 49 days: rotate more often than that.
 */
import { decryptRecord, encryptRecord } from '../../../core/crypto/at-rest.ts';
import { encodeParts, type RandomSource, utf8 } from '../../../core/crypto/bytes.ts';
import type { KeyRing, WrappingKey } from './key-ring.ts';

/** The owner of a secret. An envelope opens only for exactly the same values. */
export interface SealAbout {
  /** e.g. "credentials". */
  readonly purpose: string;
  readonly tenant: string;
  /** The kind of record, e.g. "provider_connection". */
  readonly kind: string;
  readonly id: string;
}

/** An envelope does not open: its key is gone, it was moved or changed, or it is malformed. Contains no content. */
export class EnvelopeBroken extends Error {
  override readonly name = 'EnvelopeBroken';
}

const version = 'e1';
const pattern = /^e1\.([1-9]\d{0,8})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;
const domain = utf8('signmesh/envelope/v1');
const wrapDomain = utf8('signmesh/envelope/wrap/v1');

/** Seals a text. */
export function seal(ring: KeyRing, about: SealAbout, plaintext: string): string {
  const { random } = ring;
  const dataKey = random(32);
  const ciphertext = encryptRecord(dataKey, associatedData(about), utf8(plaintext), random);
  const envelope = write(wrap(ring.current(), dataKey, random), ciphertext);
  dataKey.fill(0);
  return envelope;
}

/** The text of an envelope. Throws EnvelopeBroken. */
export function open(ring: KeyRing, about: SealAbout, envelope: string): string {
  const { keyId, wrapped, ciphertext } = read(envelope);
  const dataKey = unwrap(ring, keyId, wrapped);
  try {
    return Buffer.from(decryptRecord(dataKey, associatedData(about), ciphertext)).toString('utf8');
  } catch {
    throw new EnvelopeBroken('the envelope does not open here: it was changed, or belongs to another record');
  } finally {
    dataKey.fill(0);
  }
}

/** The same secret under the ring's current key; the identical text if it already is. Throws EnvelopeBroken. */
export function rewrap(envelope: string, ring: KeyRing): string {
  const { keyId, wrapped, ciphertext } = read(envelope);
  const current = ring.current();
  if (keyId === current.id) return envelope;
  const dataKey = unwrap(ring, keyId, wrapped);
  const rewrapped = write(wrap(current, dataKey, ring.random), ciphertext);
  dataKey.fill(0);
  return rewrapped;
}

/** The id of the key that wraps an envelope. Throws EnvelopeBroken. */
export function wrappingKeyId(envelope: string): string {
  return read(envelope).keyId;
}

interface Wrapped {
  readonly keyId: string;
  readonly wrapped: Uint8Array;
}

function wrap({ id, key }: WrappingKey, dataKey: Uint8Array, random: RandomSource): Wrapped {
  return { keyId: id, wrapped: encryptRecord(key, encodeParts(wrapDomain, utf8(id)), dataKey, random) };
}

function unwrap(ring: KeyRing, keyId: string, wrapped: Uint8Array): Uint8Array {
  const wrapping = ring.find(keyId);
  if (wrapping === undefined) throw new EnvelopeBroken(`the envelope's key ${keyId} is not there`);
  try {
    return decryptRecord(wrapping.key, encodeParts(wrapDomain, utf8(keyId)), wrapped);
  } catch {
    throw new EnvelopeBroken(`the envelope does not open with key ${keyId}`);
  }
}

function write({ keyId, wrapped }: Wrapped, ciphertext: Uint8Array): string {
  return `${version}.${keyId}.${base64url(wrapped)}.${base64url(ciphertext)}`;
}

function read(envelope: string): Wrapped & { readonly ciphertext: Uint8Array } {
  const match = pattern.exec(envelope);
  if (match === null) throw new EnvelopeBroken('not an envelope');
  return {
    keyId: match[1]!,
    wrapped: Buffer.from(match[2]!, 'base64url'),
    ciphertext: Buffer.from(match[3]!, 'base64url'),
  };
}

function associatedData({ purpose, tenant, kind, id }: SealAbout): Uint8Array {
  return encodeParts(domain, utf8(purpose), utf8(tenant), utf8(kind), utf8(id));
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');
}
