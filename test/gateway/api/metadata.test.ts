/** Metadata is any JSON object within its limits, whatever its keys are called. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Metadata, metadataLimits, sameMetadata } from '../../../gateway/api/metadata.ts';
import { Closed } from '../../../gateway/api/schema-kit.ts';
import { compileSchema, scanJson } from '../../../gateway/api/validate.ts';

const { keysMax, depthMax, bytesMax } = metadataLimits;
const check = compileSchema(Closed({ m: Metadata }));

/** The fault of this text as the metadata of a body. */
function faultsOf(json: string): string[] {
  const body: unknown = JSON.parse(`{"m":${json}}`);
  return [...scanJson(body, true), ...(check(body) ?? [])].map(({ field, issue }) => `${field} ${issue}`);
}

/** `levels` objects within each other. */
const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
/** An object whose shortest text has so many bytes. */
const ofBytes = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;
const ofKeys = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at])));

describe('metadata', () => {
  it.each([
    ['nothing', '{}'],
    ['every JSON type', '{"a":null,"b":true,"c":-1.5e-7,"d":"x","e":[1,[],{}],"f":{"g":{}}}'],
    [
      'keys that objects have by themselves',
      '{"__proto__":{"admin":true},"constructor":{"prototype":[]},"toString":1}',
    ],
    ['an empty key, spaces and control characters', '{"":1," ":2,"a b":3,"\\u0000\\n":"\\u0007"}'],
    ['every plane of Unicode', '{"ключ":"значение","鍵":"値","\\u202e💥":"e\\u0301 \\ud83d\\ude00"}'],
    ['as many keys as it may', ofKeys(keysMax)],
    ['as many levels as it may', nested(depthMax)],
    ['as many bytes as it may', ofBytes(bytesMax)],
    ['many keys further in', `{"a":${ofKeys(500)}}`],
  ])('takes %s', (_, json) => {
    expect(faultsOf(json)).toEqual([]);
  });

  it.each([
    ['no object', '[]', 'm wrong_type'],
    ['no object', 'null', 'm wrong_type'],
    ['no object', '"{}"', 'm wrong_type'],
    ['a key more', ofKeys(keysMax + 1), 'm too_many_items'],
    ['a level more', nested(depthMax + 1), 'm too_deep'],
    ['a level more, of lists', `{"a":${'['.repeat(depthMax)}${']'.repeat(depthMax)}}`, 'm too_deep'],
    ['a byte more', ofBytes(bytesMax + 1), 'm too_large'],
    ['bytes, not characters', `{"a":"${'é'.repeat(bytesMax / 2)}"}`, 'm too_large'],
    ['half of a character', '{"a":"\\ud800"}', 'm.a invalid_utf8'],
    ['half of a character in a key', '{"\\udc00":1}', 'm.\ufffd invalid_utf8'],
    ['a number that would come back as another', '{"a":9007199254740993}', 'm.a too_large'],
  ])('refuses %s: %#', (_, json, fault) => {
    expect(faultsOf(json)).toEqual([fault]);
  });

  it('is the same whatever the order of its keys, and another by any value', () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true });
    fc.assert(
      fc.property(value, value, (one, other) => {
        const turned = Object.fromEntries(Object.entries(one).reverse());
        expect(sameMetadata(one, turned)).toBe(true);
        if (sameMetadata(one, other)) expect(other).toEqual(one);
        expect(sameMetadata(one, { ...one, [`${Object.keys(one).join('')}x`]: 1 })).toBe(false);
      }),
    );
    const own = (json: string) => JSON.parse(json) as Record<string, unknown>;
    expect(sameMetadata(own('{"__proto__":1}'), own('{"__proto__":2}'))).toBe(false);
    expect(sameMetadata(own('{"__proto__":{}}'), {})).toBe(false);
  });
});
