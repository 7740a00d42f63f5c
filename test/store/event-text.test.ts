/** Packed objects of events give back the very bytes, and what was packed once can be read for good. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packObject, unpackObject } from '../../store/event-text.ts';

const transfer = (words: Record<string, unknown>) =>
  JSON.stringify({ id: 'txi_1', kind: 'transfer', status: 'created', metadata: words, note: 'é💥'.repeat(600) });

test('every object comes back byte for byte, short or long', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(5_000), (words, length) => {
      for (const json of [JSON.stringify(words), transfer(words), JSON.stringify({ text: 'x'.repeat(length) })]) {
        expect(unpackObject(packObject(json))).toBe(json);
      }
    }),
    { numRuns: 50 },
  );
});

test('small objects stand as they are, large ones take less', () => {
  const small = JSON.stringify({ id: 'sig_1' });
  expect(packObject(small)).toBe(small);
  const large = transfer({});
  expect(packObject(large).length).toBeLessThan(large.length / 4);
});

test('an object that was packed by an earlier process is read: the dictionary is the same', () => {
  const stored =
    '1xVe7bsMwDPyVILsK8SFK6pj/6BCnzlqgS3+/sM1T3QIy4LhFJyIMeSQPxp3980U1aQ7GwzXkJDWUu4xB7/lWrzpKKfZvL6rnjtHO+0bLkzpbKBaHwDomEhnl9TbZWddoD5nkMaO7xGExut1utnyL/pmP/aZE0bPoE3E5LFEdoN0S1Vtop0R1YB6SqA7WAxLVRdorUSugl28Odv54e5/8do6neJoDLUGXUD1pS+S0RPHf6v+blxfvpgg0Rka9hAyYFaBA5YRM8Rph7xLDXkBWRaZ4TWLvStlxDMiGTEZNRlcBTgVyxSyKGE8RGxFhSWKgE+MUknadtoNT48AaLdaYyuCOCtikCn45Nm6IGl3R72SJfjprdDY4YQZby+VWV1pvBZ60GUKYK4xdRLCfaKFJ4bZ87etR2/a1dd2Wr60e3U8=';
  expect(createHash('sha256').update(unpackObject(stored)).digest('hex')).toBe(
    'cf6f5837578433ad04f8b3eee52d80148bf279bb4831c33f02510417df3fd27e',
  );
});

test('what was not packed here is refused, and so is what would fill the memory', () => {
  expect(() => unpackObject('1AAAA')).toThrow();
  expect(() => unpackObject(packObject(JSON.stringify('x'.repeat(8 * 1024 * 1024))))).toThrow();
});
