/** A body means one thing: no field has two values, of which a proxy in front might have checked the other one. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { parseJsonBody } from '../../../gateway/api/json-body.ts';
import { runs } from '../../support/thorough.ts';

function read(text: string): unknown {
  try {
    return parseJsonBody(Buffer.from(text)).value;
  } catch (error) {
    return (error as ServiceError).details;
  }
}

it('names no field where the name is empty', () => {
  expect(() => parseJsonBody(Buffer.from('{"":1,"":2}'))).toThrow('the body gives a field without a name twice');
});

it.each([
  ['{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}', undefined],
  ['{"a":":","b":"{\\"a\\":1,\\"a\\":2}","c":[":",[":"]]}', undefined],
  ['{"a":1,"a":1}', 'a'],
  ['{"a":1,"\\u0061":null}', 'a'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"1":0,"a":[0,[1,{"b":"]","c":{"d":1,"e":"\\\\","d":[]}}]]}', 'a[1][1].c.d'],
  ['{"a":{},"b":[{"x":1},{"x":1,"y":{"x":1},"x":{}}]}', 'b[1].x'],
])('%s: %s is given twice', (text, field) => {
  const expected = field === undefined ? JSON.parse(text) : [{ field, issue: 'given_twice', message: 'is given once' }];
  expect(read(text)).toEqual(expected);
});

it('reads every object that JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.stringify(read(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: runs(100, 5_000) },
  );
});
