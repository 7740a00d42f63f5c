/** The pieces that schemas of the REST API are made of. JSON Schema 2020-12, as OpenAPI 3.1 takes it. */
import type { DescEnum } from '@bufbuild/protobuf';
import Type, { type TObject, type TProperties, type TSchema, type TSchemaOptions } from 'typebox';
import { enumSpellings, readEnumName } from '../../proto/enum-names.ts';
import type { IdPrefix } from '../../proto/ids.ts';

/** A closed object: an unknown field is an error. */
export function Closed<T extends TProperties>(properties: T, options: object = {}): TObject<T> {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/**
 * Of a schema: the value is secret, or with `query` the values of a URL's query. Views of requests show it nowhere
 * (gateway/sandbox/masking.ts).
 */
export const secret = { 'x-secret': true } as const;
export const secretQuery = { 'x-secret': 'query' } as const;

/** An id as a caller may send it: any id of the right form, known or not. */
export function Id(prefix: IdPrefix) {
  return Type.String({
    pattern: `^${prefix}_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
    maxLength: 64,
    description: `\`${prefix}_\` and a UUIDv7`,
    examples: [`${prefix}_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e`],
  });
}

/** An id in a path: anything short; what does not exist is 404, not 400. */
export function PathId(description: string) {
  return Type.String({ minLength: 1, maxLength: 128, description });
}

export const Timestamp = Type.String({
  format: 'date-time',
  maxLength: 40,
  description: 'RFC 3339, UTC',
  examples: ['2026-11-21T09:30:00.000Z'],
});

/** A positive or zero decimal number as a string. Whether it fits the asset is checked by the handler. */
export const DecimalText = Type.String({
  minLength: 1,
  maxLength: 80,
  description: 'decimal number as a string',
  examples: ['1.25'],
});

/**
 * Characters that break a line or turn its direction, tags (a text within the text that no screen shows) and noncharacters: a text
 * with them shows as something else than it is.
 */
const hidden =
  '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufffe\\uffff\\u{e0000}-\\u{e007f}';
/** Characters that show nothing by themselves, variation selectors among them: a text of them alone is blank. */
const blank =
  ' \\u00a0\\u00ad\\u034f\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200d\\u202f\\u205f-\\u2065\\u206a-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0100}-\\u{e01ef}';

/** A line of text: not blank, without control and direction characters. The classes exclude each other: no backtracking. */
export function Line(maxLength: number, description?: string) {
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: `^[${blank}]*[^${blank}${hidden}][^${hidden}]*$`,
    description: `${description === undefined ? '' : `${description}: `}1 to ${maxLength} characters, not blank, without control and direction characters`,
  });
}

/** The same, in several lines if need be. */
export function Lines(maxLength: number, description?: string) {
  const inLines = hidden.replace('\\u0000-\\u001f', '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f');
  return Type.String({
    minLength: 1,
    maxLength,
    pattern: `^[${blank}\\t\\n\\r]*[^${blank}\\t\\n\\r${inLines}][^${inLines}]*$`,
    description: `${description === undefined ? '' : `${description}: `}1 to ${maxLength} characters, not blank, without control and direction characters but line ends`,
  });
}

export const Name = Line(100);

/** The caller's own id of a record. */
export function ExternalId(description: string, example: string) {
  return Type.String({
    pattern: '^[\\x21-\\x7e]{1,128}$',
    description: `${description}: 1 to 128 printable ASCII characters without spaces`,
    examples: [example],
  });
}

export function Nullable<T extends TSchema>(schema: T, options: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

export function OneOf<const V extends readonly string[]>(values: V, options: object = {}) {
  return Type.Unsafe<V[number]>({ ...options, type: 'string', enum: [...values] });
}

/** Bytes, at least one, as proto/base64.ts reads them. */
export function Base64Text(bytesMax: number, description: string, options: object = {}) {
  const maxLength = 4 * Math.ceil(bytesMax / 3);
  const words = `base64, standard or URL-safe, padded or not: ${description}`;
  return Type.String({
    ...options,
    ...{ format: 'base64', contentEncoding: 'base64', minLength: 1, maxLength, description: words },
  });
}

/**
 * Values of an enum of the contract, by their short forms as this API shows them. Input takes the contract's own name and the
 * short form, in either case; the handler gets the value as given here.
 */
export function ContractEnum<const V extends readonly string[]>(desc: DescEnum, values: V, options: object = {}) {
  const spellings = enumSpellings(desc, values);
  return Type.Unsafe<V[number]>({ ...options, type: 'string', enum: [...spellings], [contractEnum]: { desc, values } });
}

/** Of a schema: not part of the document. */
const contractEnum = Symbol('contractEnum');

/** Replaces the spellings of contract enums in the fields of a body or query, which is changed. */
export function enumReader(schema: TSchema): (fields: Record<string, unknown>) => void {
  const { properties = {} } = schema as { readonly properties?: Readonly<Record<string, TSchema>> };
  const readers = Object.entries(properties).flatMap(([field, { [contractEnum]: found }]: [string, Marked]) =>
    found === undefined ? [] : [{ field, ...found }],
  );
  return (fields) => {
    for (const { field, desc, values } of readers) {
      const text = fields[field];
      const name = typeof text === 'string' ? readEnumName(desc, text) : undefined;
      const value = name && values.find((one) => readEnumName(desc, one) === name);
      if (value !== undefined) fields[field] = value;
    }
  };
}

type Marked = TSchema & { readonly [contractEnum]?: { readonly desc: DescEnum; readonly values: readonly string[] } };

/**
 * A whole number in a query, a path or a header, where every value arrives as text: the schema checks the text, the
 * document says what it means (openapi-parts.ts reads `x-whole-number`).
 */
export function WholeNumberText(pattern: string, minimum: number, maximum: number, description: string) {
  return Type.String({ pattern, description, 'x-whole-number': [minimum, maximum] });
}

/** `true` or `false` in a query, likewise. */
export function BooleanText(description: string) {
  return OneOf(['true', 'false'], { description, 'x-boolean': true });
}

/** The query of every list. */
export const pageQuery = {
  limit: Type.Optional(WholeNumberText('^([1-9][0-9]?|100)$', 1, 100, '1 to 100; 50 by default')),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'next_cursor of the previous page' })),
} as const;

/** The body of every list: the resources under their plural name. It is called after them: `WalletPage`. */
export function ListOf<K extends string, T extends TSchema>(key: K, item: T) {
  const { title } = item as { title?: string };
  return Closed(
    {
      [key]: Type.Array(item),
      has_more: Type.Boolean(),
      next_cursor: Nullable(Type.String({ description: 'opaque; null at the end' })),
    } as unknown as { readonly [P in K]: ReturnType<typeof Type.Array<T>> },
    title === undefined ? {} : { title: `${title}Page` },
  );
}

export const ErrorBody = Closed({
  error: Closed({
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(
      Type.Array(Closed({ field: Type.String(), issue: Type.String(), message: Type.Optional(Type.String()) })),
    ),
    request_id: Type.String(),
  }),
});
