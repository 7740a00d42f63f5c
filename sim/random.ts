/**
 * Labelled streams of pseudo-random bytes from one seed: the same seed and label give the same bytes, and one stream's
 * use does not move another. ChaCha20 (RFC 8439) with a key per label, so the bytes are good enough for real curves.
 */
import { createCipheriv, createHash } from 'node:crypto';
import type { RandomBytes } from '../actors/contract.ts';

export function randomStream(seed: string, label: string): RandomBytes {
  const key = createHash('sha256')
    .update(JSON.stringify(['signmesh/sim', seed, label]))
    .digest();
  const cipher = createCipheriv('chacha20', key, Buffer.alloc(16));
  return (length) => cipher.update(Buffer.alloc(length));
}
