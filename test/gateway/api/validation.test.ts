/** What a caller sent is judged strictly, and every fault is named by field and issue. */
import fc from 'fast-check';
import Type, { type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { explain } from '../../../gateway/api/explain.ts';
import { Metadata } from '../../../gateway/api/metadata.ts';
import {
  Closed,
  Id,
  Lines,
  Name,
  Nullable,
  OneOf,
  Timestamp,
  WholeNumberText,
} from '../../../gateway/api/schema-kit.ts';
import type { JsonSchema } from '../../../gateway/api/schema-text.ts';
import { compileSchema, issuesMax, scanJson } from '../../../gateway/api/validate.ts';
import { hostile, spoiled, valid } from './support/arbitraries.ts';

/** `field issue`, or what is right. */
function faults(schema: TSchema, json: string): string[] | 'right' {
  return compileSchema(schema)(JSON.parse(json))?.map(({ field, issue }) => `${field} ${issue}`) ?? 'right';
}

const nested = Closed({
  rules: Type.Array(Closed({ when: Type.String({ minLength: 1 }), n: Type.Optional(Type.Integer()) }), { maxItems: 2 }),
});
const Words = Type.Record(Type.String({ pattern: '^[a-z]+$' }), Type.String(), { additionalProperties: false });
const Counts = Type.Object({}, { additionalProperties: Type.Integer({ minimum: 1 }) });
const either = Type.Union([Type.Literal('x'), Type.Literal('y')]);
const tagged = Type.Union([
  Closed({ kind: Type.Literal('raw'), bytes: Type.String() }),
  Closed({ kind: Type.Literal('digest'), digest: Type.String({ minLength: 2 }) }),
]);

describe('every keyword', () => {
  it.each<[TSchema, string, string[] | 'right']>([
    [Closed({ a: Type.String() }), '{}', ['a missing_required']],
    [Closed({ a: Type.String() }), '{"a":1}', ['a wrong_type']],
    [Closed({ a: Type.String() }), '{"a":null}', ['a wrong_type']],
    [Closed({ a: Type.String() }), '{"a":"x","b":1,"c":2}', ['b unknown_field', 'c unknown_field']],
    [Closed({}), '{"__proto__":1}', ['__proto__ unknown_field']],
    [Closed({}), '{"constructor":1,"toString":2}', ['constructor unknown_field', 'toString unknown_field']],
    [Closed({ a: Type.Integer() }), '{"a":"1"}', ['a wrong_type']],
    [Closed({ a: Type.Integer() }), '{"a":1.5}', ['a wrong_type']],
    [Closed({ a: Type.Integer() }), '{"a":1e999}', ['a wrong_type']],
    [Closed({ a: Type.Integer({ minimum: 1, maximum: 3 }) }), '{"a":0}', ['a too_small']],
    [Closed({ a: Type.Integer({ minimum: 1, maximum: 3 }) }), '{"a":4}', ['a too_large']],
    [Closed({ a: Type.Number({ exclusiveMinimum: 0 }) }), '{"a":0}', ['a too_small']],
    [Closed({ a: Type.Number({ exclusiveMaximum: 1 }) }), '{"a":1}', ['a too_large']],
    [Closed({ a: Type.Integer({ multipleOf: 5 }) }), '{"a":7}', ['a not_allowed_value']],
    [Closed({ a: Type.Boolean() }), '{"a":"true"}', ['a wrong_type']],
    [Closed({ a: Type.String({ minLength: 2, maxLength: 3 }) }), '{"a":"x"}', ['a too_short']],
    [Closed({ a: Type.String({ minLength: 2, maxLength: 3 }) }), '{"a":"wxyz"}', ['a too_long']],
    [Closed({ a: Type.String({ minLength: 2, maxLength: 3 }) }), '{"a":"😀😀😀"}', 'right'],
    [Closed({ a: Name }), '{"a":"a\\nb"}', ['a invalid_format']],
    [Closed({ a: Id('wal') }), '{"a":"txi_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e"}', ['a invalid_format']],
    [Closed({ a: Timestamp }), '{"a":"2026-02-30T00:00:00Z"}', ['a invalid_format']],
    [Closed({ a: Timestamp }), '{"a":"2026-02-20T00:00:00"}', ['a invalid_format']],
    [Closed({ a: Timestamp }), '{"a":"2026-02-20T23:59:60Z"}', ['a invalid_format']],
    [Closed({ a: Timestamp }), '{"a":"2026-02-20T00:00:00Z[Europe/Paris]"}', ['a invalid_format']],
    [Closed({ a: Timestamp }), '{"a":"2026-02-20T00:00:00.123456+05:30"}', 'right'],
    [Closed({ a: OneOf(['x', 'y']) }), '{"a":"z"}', ['a not_allowed_value']],
    [Closed({ a: OneOf(['x', 'y']) }), '{"a":1}', ['a wrong_type']],
    [Closed({ a: Type.Literal('x') }), '{"a":"z"}', ['a not_allowed_value']],
    [Closed({ a: either }), '{"a":"z"}', ['a not_allowed_value']],
    [Closed({ a: Nullable(Type.String({ minLength: 2 })) }), '{"a":null}', 'right'],
    [Closed({ a: Nullable(Type.String({ minLength: 2 })) }), '{"a":"x"}', ['a too_short']],
    [Closed({ a: Nullable(Type.String()) }), '{"a":1}', ['a wrong_type']],
    [nested, '{"rules":[]}', 'right'],
    [nested, '{"rules":{}}', ['rules wrong_type']],
    [
      nested,
      '{"rules":[{"when":""},{"n":"x"}]}',
      ['rules[0].when too_short', 'rules[1].when missing_required', 'rules[1].n wrong_type'],
    ],
    [nested, '{"rules":[1,2,3]}', ['rules too_many_items']],
    [Closed({ a: Type.Array(Type.String(), { minItems: 1 }) }), '{"a":[]}', ['a too_few_items']],
    [Closed({ a: Type.Array(Type.String(), { uniqueItems: true }) }), '{"a":["x","y","x"]}', ['a[2] duplicate_item']],
    [Closed({ m: Words }), '{"m":{"a b":"x","ok":"y","n":1}}', ['m.a b invalid_format', 'm.n wrong_type']],
    [Counts, '{"a":0,"b":"x","c":1}', ['a too_small', 'b wrong_type']],
    [Closed({ a: Type.Optional(Type.String()) }, { minProperties: 1 }), '{}', [' too_few_items']],
    [Closed({ a: either, b: Type.Integer() }), '{"a":"y","b":"1"}', ['b wrong_type']],
    [Closed({ t: tagged }), '{"t":{"kind":"digest","digest":"x"}}', ['t.digest too_short']],
    [Closed({ t: tagged }), '{"t":{"kind":"raw"}}', ['t.bytes missing_required']],
    [Closed({ t: tagged }), '{"t":{"kind":"other"}}', ['t not_allowed_value']],
    [Closed({ t: tagged }), '{"t":"raw"}', ['t wrong_type']],
  ])('%j takes %s as %j', (schema, json, expected) => {
    expect(faults(schema, json)).toEqual(expected);
  });

  it('lists 20 faults at most', () => {
    const body = JSON.stringify(Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`f${at}`, 1])));
    expect(faults(Closed({}), body)).toHaveLength(issuesMax);
  });

  it('says what a field takes, and never what was sent', () => {
    const secret = 'sk-very-secret';
    const schema = Closed({ a: Type.Integer({ minimum: 1, maximum: 9 }), b: OneOf(['x', 'y']), c: Timestamp });
    const issues = compileSchema(schema)({ a: secret, b: secret, c: secret }) ?? [];
    expect(issues.map(({ message }) => message)).toEqual([
      'takes a whole number from 1 to 9',
      'takes x, y',
      'takes an RFC 3339 time, e.g. 2026-11-21T09:30:00.000Z',
    ]);
    expect(JSON.stringify(issues)).not.toContain(secret);
    const other = Closed({ a: Nullable(Type.Boolean()), b: Type.Array(Type.String(), { minItems: 1, maxItems: 2 }) });
    const messages = compileSchema(other)({ a: secret, b: secret })?.map(({ message }) => message);
    expect(messages).toEqual(['takes true or false or null', 'takes a list of 1 to 2 items']);
    const told = Closed({
      rate: Type.String({ pattern: '^[0-9]+$', description: 'satoshi' }),
      limit: WholeNumberText('^[0-9]+$', 1, 9, '1 to 9'),
    });
    const ofNumbers = compileSchema(told)({ rate: 5, limit: '' })?.map(({ message }) => message);
    expect(ofNumbers).toEqual(['takes a string: satoshi', 'takes a whole number from 1 to 9']);
  });

  it('cuts the names of fields short', () => {
    const [fault] = compileSchema(Closed({}))({ [`${'a'.repeat(63)}💥${'b'.repeat(9_999)}`]: 1 }) ?? [];
    expect([...(fault?.field ?? '')]).toHaveLength(65);
    expect(fault?.field).toMatch(/^a{63}\ufffd…$/);
  });
});

describe('what no schema says', () => {
  it.each([
    ['{"a":[9007199254740992]}', ['a[0] too_large']],
    ['{"a":-1e300}', ['a too_small']],
    ['{"a":1e999}', ['a too_large']],
    ['{"a":"\\ud800"}', ['a invalid_utf8']],
    ['{"\\udc00":1}', ['\ufffd invalid_utf8']],
    ['{"a":"\\ud83d\\ude00","b":[{"c":9007199254740991}]}', []],
  ])('%s', (json, expected) => {
    expect(scanJson(JSON.parse(json), true).map(({ field, issue }) => `${field} ${issue}`)).toEqual(expected);
  });
});

describe('the explanation', () => {
  const schema = Closed({
    name: Name,
    amount: Type.String({ minLength: 1, maxLength: 10, pattern: '^[0-9.]+$' }),
    at: Type.Optional(Nullable(Timestamp)),
    mode: Type.Optional(OneOf(['fast', 'slow'])),
    rules: Type.Array(tagged, { minItems: 1, maxItems: 3 }),
    count: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
    metadata: Type.Optional(Metadata),
    free: Type.Optional(Type.Unknown()),
  });
  const judge = Compile(schema);

  it('finds a fault exactly where the judge does', () => {
    const made = valid(schema as JsonSchema);
    const anything = fc.oneof(made, made.chain(spoiled), made.chain(spoiled).chain(spoiled), hostile);
    let refused = 0;
    let taken = 0;
    fc.assert(
      fc.property(anything, (value) => {
        const sent: unknown = JSON.parse(JSON.stringify(value) ?? 'null');
        const isRight = judge.Check(sent);
        if (isRight) taken += 1;
        else refused += 1;
        expect(explain(schema as JsonSchema, sent).length === 0).toBe(isRight);
      }),
      { numRuns: 500 },
    );
    expect(Math.min(refused, taken)).toBeGreaterThan(100);
  });
});

describe('a line of text', () => {
  const fits = (text: string) => new RegExp((Name as { pattern?: string }).pattern!, 'u').test(text);
  const fitsLines = (text: string) => new RegExp((Lines(500) as { pattern?: string }).pattern!, 'u').test(text);

  it('takes names of every script', () => {
    for (const name of ['treasury', ' a ', 'Kasse №1', '金庫', 'خزانة', 'क्षेत्र', 'x\u200dy', '🏦', '✔️', '👩‍💻']) {
      expect([name, fits(name), fitsLines(name)]).toEqual([name, true, true]);
    }
    expect(fitsLines('one\n\ttwo\r\n')).toBe(true);
  });

  it('is not blank', () => {
    for (const text of [
      '',
      ' ',
      '\u00a0\u3000',
      '\u200b',
      '\u2800\ufeff',
      '\u3164',
      '\u2060\u00ad',
      '\ufe0f',
      '\u180b \u206a',
      '\ufff9',
      '\u{e0100}',
    ]) {
      expect([text, fits(text), fitsLines(text)]).toEqual([text, false, false]);
    }
    expect(fitsLines('\n \t')).toBe(false);
  });

  it('has no control and no direction characters', () => {
    const hidden = [
      0x0, 0x7, 0x1b, 0x7f, 0x85, 0x9f, 0x61c, 0x200e, 0x200f, 0x2028, 0x202a, 0x202e, 0x2066, 0x2069, 0xffff, 0xe0041,
    ];
    for (const code of hidden) {
      const text = `pay ${String.fromCodePoint(code)}bob`;
      expect([code, fits(text), fitsLines(text)]).toEqual([code, false, false]);
    }
    expect(fits('one\ntwo')).toBe(false);
  });

  it('is read in time that grows with its length alone', () => {
    const before = process.cpuUsage();
    for (const text of [
      `${' '.repeat(200_000)}\u0000`,
      `${'a'.repeat(200_000)}\u0000`,
      `${' a'.repeat(100_000)}\u0000`,
    ]) {
      expect(fits(text)).toBe(false);
    }
    // CPU time, in microseconds: other work on the machine does not count.
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  });
});
