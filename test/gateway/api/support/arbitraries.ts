/** Values as a schema has them, and values that no schema wants, for fast-check. */
import fc from 'fast-check';
import type { JsonSchema } from '../../../../gateway/api/schema-text.ts';
import { codePoint } from '../../../support/code-point.ts';

/** Amounts that a careless parser takes for others. */
const amounts = [
  ...['1e3', '-1', 'NaN', '0', '9'.repeat(40), '0.000000000000000000000000000001', '1.', '.5', ' 1', '+1', '0x10'],
  ...['1,000', '١٢', 'Infinity', '-0', '00', '01', '1.0000000', '1_000', '', '0.01', '1', '2.5', '1\u0000'],
];

/** Texts that break things. */
export const nastyTexts: readonly string[] = [
  ...['', ' ', '\u0000', '\ud800', 'a\udfffb', '💥'.repeat(50), '\u202egnp.exe', '../../etc/passwd', '%00', '%zz'],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '#{7*7}',
    '{{7*7}}',
    "'; DROP TABLE x; --",
    '\r\nX-A: b',
  ],
  ...['null', 'true', 'NaN', '*', 'sm:{t:other}:x', 'wal_', 'a'.repeat(10_000), 'e\u0301'.repeat(200), '\ufeff', '𐀀'],
];

const numbers = [0, -0, -1, 1, 0.1, 1e308, -1e308, 2 ** 31, 2 ** 53, -(2 ** 53), Number.MIN_VALUE, 4294967296];

/** Anything that JSON can hold, biased to trouble. */
export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...nastyTexts),
  fc.constantFrom(...amounts),
  fc.constantFrom<unknown>(...numbers),
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { a: 1 }, { toString: 1 }, { length: 1e9 }),
  fc.integer({ min: 1, max: 60 }).map(nested),
  fc.jsonValue({ maxDepth: 3 }),
);

/** `[[[…]]]`. */
function nested(depth: number): unknown {
  let value: unknown = [];
  for (let at = 0; at < depth; at += 1) value = at % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Values that mean something in the service under test, by the name of the field they fit. */
export type Hints = Readonly<Record<string, readonly unknown[]>>;

/** Values that the schema takes, as far as it says; `name`: the field's, for a good guess at its meaning. */
export function valid(schema: JsonSchema, name = '', hints: Hints = {}): fc.Arbitrary<unknown> {
  const known = hints[name] ?? schema.examples ?? [];
  const made = anyOf(schema, name, hints);
  return known.length === 0
    ? made
    : fc.oneof({ arbitrary: fc.constantFrom(...known), weight: 4 }, { arbitrary: made, weight: 1 });
}

function anyOf(schema: JsonSchema, name: string, hints: Hints): fc.Arbitrary<unknown> {
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) return fc.oneof(...branches.map((branch) => valid(branch, name, hints)));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'string':
      return text(schema, name);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 3 } = schema;
      const size = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 3)) };
      const unique = { ...size, selector: (item: unknown) => JSON.stringify(item) };
      return schema.uniqueItems === true
        ? fc.uniqueArray(valid(items, name, hints), unique)
        : fc.array(valid(items, name, hints), size);
    }
    case 'object':
      return object(schema, hints);
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function object(schema: JsonSchema, hints: Hints): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], patternProperties = {} } = schema;
  const fields = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, valid(part, name, hints)]));
  const fixed = fc.record(fields, { requiredKeys: required.filter((name) => name in fields) });
  const [pattern, member] = Object.entries(patternProperties)[0] ?? [];
  if (pattern === undefined || member === undefined) return fixed;
  const maxKeys = Math.min(schema.maxProperties ?? 3, 3);
  return fc.dictionary(matching(pattern, 'key'), valid(member, '', hints), { maxKeys, noNullPrototype: true });
}

function text(schema: JsonSchema, name: string): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 40, pattern, format } = schema;
  if (format === 'date-time') {
    const min = new Date('1990-01-01T00:00:00Z');
    return fc
      .date({ min, max: new Date('2040-01-01T00:00:00Z'), noInvalidDate: true })
      .map((date) => date.toISOString());
  }
  if (schema.contentEncoding === 'base64') {
    return fc
      .uint8Array({ minLength: Math.min(1, minLength), maxLength: 70 })
      .map((bytes) => Buffer.from(bytes).toString('base64'));
  }
  const fits = (value: string): boolean => value.length >= minLength && value.length <= maxLength;
  if (pattern !== undefined) {
    return matching(typeof pattern === 'string' ? pattern : pattern.source, name).map((value) =>
      value.slice(0, maxLength),
    );
  }
  if (/amount|units|cap|balance/.test(name)) return fc.constantFrom(...amounts.filter(fits));
  return once(`${minLength} ${maxLength}`, () => {
    const any = fc.string({
      minLength,
      maxLength: Math.min(maxLength, Math.max(minLength, 40)),
      unit: 'grapheme-ascii',
    });
    const unicode = fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 5)), unit: codePoint });
    return fc.oneof(any, any, unicode.filter(fits));
  });
}

function matching(pattern: string, name: string): fc.Arbitrary<string> {
  return once(`${name} ${pattern}`, () => {
    try {
      return fc.stringMatching(new RegExp(pattern, 'u'));
    } catch {
      return fc.constant(name);
    }
  });
}

const texts = new Map<string, fc.Arbitrary<string>>();

/** To make an arbitrary of texts, fast-check tries many dangerous ones on it: a fifth of a fuzz's CPU time without this memo. */
function once(key: string, make: () => fc.Arbitrary<string>): fc.Arbitrary<string> {
  const known = texts.get(key);
  if (known !== undefined) return known;
  const made = make();
  texts.set(key, made);
  return made;
}

/** One fault somewhere in a value: a hostile part, a field less, a field more. */
export function spoiled(value: unknown): fc.Arbitrary<unknown> {
  const places = placesOf(value);
  return fc
    .tuple(
      fc.constantFrom(...places),
      hostile,
      fc.constantFrom<'replace' | 'remove' | 'add'>('replace', 'remove', 'add'),
    )
    .map(([place, part, how]) => change(value, place, part, how));
}

type Place = readonly (string | number)[];

function placesOf(value: unknown, at: Place = []): Place[] {
  if (value === null || typeof value !== 'object') return [at];
  const inner = Array.isArray(value) ? value.map((item, index) => [index, item] as const) : Object.entries(value);
  return [at, ...inner.flatMap(([key, item]) => placesOf(item, [...at, key]))];
}

function change(value: unknown, [step, ...rest]: Place, part: unknown, how: 'replace' | 'remove' | 'add'): unknown {
  if (step === undefined) {
    const isObject = value !== null && typeof value === 'object' && !Array.isArray(value);
    return how === 'add' && isObject ? { ...value, unknown_field: part } : part;
  }
  const copy: Record<string | number, unknown> = Array.isArray(value)
    ? ([...value] as never)
    : { ...(value as object) };
  if (rest.length === 0 && how === 'remove') delete copy[step];
  else copy[step] = change(copy[step], rest, part, how);
  return copy;
}
