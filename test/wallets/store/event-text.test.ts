/** Packed objects of events give back the very bytes, and what was packed once can be read for good. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { holdObjects, ObjectTable, packObject, unpackObject } from '../../../wallets/store/event-text.ts';

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
  const sized = (chars: number) => JSON.stringify({ text: 'x'.repeat(chars - JSON.stringify({ text: '' }).length) });
  expect(packObject(sized(1_199))).toBe(sized(1_199));
  expect(packObject(sized(1_200))).not.toBe(sized(1_200));
  const large = transfer({});
  expect(packObject(large).length).toBeLessThan(large.length / 4);
});

test('with a table, large objects are stored as their places, and packed ones are read too', () => {
  const large = transfer({});
  const packed = packObject(large);
  const restore = holdObjects(new ObjectTable());
  const placed = packObject(large);
  expect([packObject(large), packObject(transfer({ a: 1 })), packObject('{}')]).toEqual([placed, 't1', '{}']);
  expect([unpackObject(placed), unpackObject(packed), unpackObject('{}')]).toEqual([large, large, '{}']);
  expect(() => unpackObject('t2')).toThrow('there is no object at 2');
  restore();
  expect([packObject(large), unpackObject(placed)]).toEqual([packed, placed]);
});

test('an object that was packed over the first dictionary is read', () => {
  const stored =
    '1xVe7bsMwDPyVILsK8SFK6pj/6BCnzlqgS3+/sM1T3QIy4LhFJyIMeSQPxp3980U1aQ7GwzXkJDWUu4xB7/lWrzpKKfZvL6rnjtHO+0bLkzpbKBaHwDomEhnl9TbZWddoD5nkMaO7xGExut1utnyL/pmP/aZE0bPoE3E5LFEdoN0S1Vtop0R1YB6SqA7WAxLVRdorUSugl28Odv54e5/8do6neJoDLUGXUD1pS+S0RPHf6v+blxfvpgg0Rka9hAyYFaBA5YRM8Rph7xLDXkBWRaZ4TWLvStlxDMiGTEZNRlcBTgVyxSyKGE8RGxFhSWKgE+MUknadtoNT48AaLdaYyuCOCtikCn45Nm6IGl3R72SJfjprdDY4YQZby+VWV1pvBZ60GUKYK4xdRLCfaKFJ4bZ87etR2/a1dd2Wr60e3U8=';
  expect(createHash('sha256').update(unpackObject(stored)).digest('hex')).toBe(
    'cf6f5837578433ad04f8b3eee52d80148bf279bb4831c33f02510417df3fd27e',
  );
});

test('a record that was packed by an earlier process is read: the dictionary is the same', () => {
  const stored =
    '2Q2/XmSUn6aYkGZrompunmesmJSWa6xqnmKakmRqYpxpbmmCtq7EN0xI2B/vgDWF96IM3pLcYswk0AyE9c4xmIGGnoTUDCWsgsp1Xy5xslJOXlOtmkBLhBe4LYEuBSIWNUl5+Cah2qxgFoyEwGgIDGgLgKSKaDEOSMoJpZIBac5Ew+GlkSL5WI/K1GpOv1YR8raa1sbUA';
  expect(createHash('sha256').update(unpackObject(stored)).digest('hex')).toBe(
    '268fea48dcf0912f4fb323a3a6d6499f082c449769e11d0262cada3649abc499',
  );
});

test('what was not packed here is refused, and so is what would fill the memory', () => {
  expect(() => unpackObject('1AAAA')).toThrow();
  expect(() => unpackObject(packObject(JSON.stringify('x'.repeat(8 * 1024 * 1024))))).toThrow();
});

const base64url = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64url'));
const receipts = fc.oneof(
  fc.array(base64url, { minLength: 2, maxLength: 4 }).map((parts) => parts.join('.')),
  fc.tuple(fc.jsonValue(), fc.jsonValue(), base64url).map(([head, claims, signature]) => {
    const [one, two] = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    return `${one}.${two}.${signature}`;
  }),
  fc.string(),
);

test('a receipt comes back byte for byte, whatever it is, in views and in records', () => {
  fc.assert(
    fc.property(receipts, fc.string(), fc.constantFrom('policy_receipt', 'policyReceipt'), (receipt, words, field) => {
      const json = JSON.stringify({ id: 'txi_1', words, [field]: receipt, more: receipt, note: '.'.repeat(1_300) });
      expect(unpackObject(packObject(json))).toBe(json);
    }),
    { numRuns: 200 },
  );
});

test('a receipt in an object costs little more than its signature', () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const id = '01a206cb-db14-77f7-bba7-3d5df507e394';
  const transaction = { wallet_id: `wal_${id}`, kind: 'transfer', asset: 'ETH', amount: '0.00001' };
  const claims = { iss: 'signmesh', jti: `dec_${id}`, sub: `txi_${id}`, purpose: 'transaction_intent', transaction };
  const receipt = `${part({ alg: 'EdDSA', typ: 'policy-receipt+jwt' })}.${part(claims)}.${'x7Q-'.repeat(21)}xQ`;
  const transfer = (shown: string) =>
    packObject(
      JSON.stringify({ id: `txi_${id}`, policy_receipt: shown, wallet_id: `wal_${id}`, note: '-'.repeat(1_200) }),
    );
  expect(transfer(receipt).length - transfer('').length).toBeLessThan(100);
});
