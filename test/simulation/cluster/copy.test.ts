/** Copies of plain data: equal to what was copied, as `structuredClone` has it, and sharing nothing. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyOf } from '../../../simulation/cluster/copy.ts';

const data = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string(),
    fc.integer(),
    fc.bigInt(),
    fc.boolean(),
    fc.constantFrom(null, undefined),
    fc.uint8Array({ maxLength: 80 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.string({ maxLength: 4 }).filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).value;

test('is what structuredClone makes', () => {
  fc.assert(
    fc.property(data, (value) => {
      expect(copyOf(value)).toStrictEqual(structuredClone(value));
    }),
  );
});

test('shares no object, list or bytes with its source', () => {
  const source = { list: [{ bytes: Uint8Array.of(1, 2) }], inner: { text: 'a' } };
  const copy = copyOf(source);
  source.list[0]!.bytes[0] = 9;
  source.list.push({ bytes: new Uint8Array(0) });
  source.inner.text = 'b';
  expect(copy).toEqual({ list: [{ bytes: Uint8Array.of(1, 2) }], inner: { text: 'a' } });
});

test('a Buffer comes back as plain bytes, and what is not plain as structuredClone has it', () => {
  const source = { bytes: Buffer.from([1, 2]), map: new Map([['a', { b: 1 }]]) };
  const copy = copyOf(source);
  expect(copy.bytes).not.toBeInstanceOf(Buffer);
  expect(copy).toStrictEqual(structuredClone(source));
  expect(copy.map.get('a')).not.toBe(source.map.get('a'));
});

test('refuses what is no data', () => {
  expect(() => copyOf({ run: () => 1 })).toThrow(TypeError);
  expect(() => copyOf([() => 1])).toThrow(TypeError);
});
