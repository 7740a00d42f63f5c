import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BRIEF_RECORD_OVERHEAD_BYTES,
  decryptRecord,
  encryptBriefRecord,
  encryptRecord,
  RECORD_OVERHEAD_BYTES,
} from '../../../core/crypto/at-rest.ts';
import { utf8 } from '../../../core/crypto/bytes.ts';
import { expectRefusal, flipBit, seededRandom } from './support.ts';

const random = seededRandom('at rest');
const key = random(32);
const name = utf8('key package / wal_1');

describe.each([
  ['format 1', encryptRecord, RECORD_OVERHEAD_BYTES],
  ['format 2', encryptBriefRecord, BRIEF_RECORD_OVERHEAD_BYTES],
] as const)('records at rest, %s', (_, encrypt, overheadBytes) => {
  it('decrypt to what was encrypted', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 40 }), (plaintext, data) => {
        const record = encrypt(key, data, plaintext, random);
        expect(record).toHaveLength(plaintext.length + overheadBytes);
        expect(decryptRecord(key, data, record)).toEqual(plaintext);
      }),
      { numRuns: 50 },
    );
  });

  it('are refused after any change, under another name or key, and when random', () => {
    const record = encrypt(key, name, random(50), random);
    fc.assert(
      fc.property(fc.nat(), fc.uint8Array({ maxLength: 100 }), (bit, bytes) => {
        expectRefusal('RECORD_BROKEN', () => decryptRecord(key, name, flipBit(record, bit)));
        expectRefusal('RECORD_BROKEN', () => decryptRecord(key, flipBit(name, bit), record));
        expectRefusal('RECORD_BROKEN', () => decryptRecord(flipBit(key, bit), name, record));
        expectRefusal('RECORD_BROKEN', () => decryptRecord(key, name, bytes));
      }),
      { numRuns: 50 },
    );
    expectRefusal('RECORD_BROKEN', () => decryptRecord(key, name, record.slice(0, -1)));
    expectRefusal('INVALID_BYTES', () => encrypt(key.slice(1), name, record, random));
    expectRefusal('INVALID_BYTES', () => decryptRecord(key.slice(1), name, record));
  });

  it('take a fresh IV each time', () => {
    const [a, b] = [1, 2].map(() => encrypt(key, name, name, random));
    expect(a).not.toEqual(b);
  });
});
