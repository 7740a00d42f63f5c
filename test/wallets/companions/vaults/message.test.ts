/** The bytes that a vault's key signs for a message, up to the limits of their lengths. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ed25519MessageBytesMax } from '../../../../proto/limits.ts';
import { signedBytes } from '../../../../wallets/companions/vaults/message.ts';

const longest = new Uint8Array(ed25519MessageBytesMax).fill(7);
const tooLong = new Uint8Array(ed25519MessageBytesMax + 1).fill(7);

describe('a raw message', () => {
  it('is signed as it is by ed25519, and hashed for secp256k1, up to the longest one', () => {
    expect(signedBytes('ed25519', 'raw', longest)).toEqual(longest);
    const hash = createHash('sha256').update(longest).digest();
    expect(Buffer.from(signedBytes('secp256k1', 'raw', longest))).toEqual(hash);
    expect(signedBytes('ed25519', 'raw', longest.subarray(0, 1))).toHaveLength(1);
  });

  it('is refused when it is empty, or longer', () => {
    for (const message of [tooLong, new Uint8Array()]) {
      expect(() => signedBytes('ed25519', 'raw', message)).toThrow('the request is not valid: message');
      expect(() => signedBytes('secp256k1', 'raw', message)).toThrow('the request is not valid: message');
    }
  });
});

it('a digest has 32 bytes, for ed25519 also 64, and is signed as it is', () => {
  const signs = (curve: 'ed25519' | 'secp256k1', length: number) => () =>
    signedBytes(curve, 'digest', longest.subarray(0, length));
  expect(signs('secp256k1', 32)()).toEqual(longest.subarray(0, 32));
  expect(signs('ed25519', 64)()).toHaveLength(64);
  for (const length of [31, 33, 63, 65]) expect(signs('ed25519', length)).toThrow('message');
  expect(signs('secp256k1', 64)).toThrow('message');
});
