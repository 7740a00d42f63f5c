/** Describes a schema in words, for the message beside an issue. It never quotes the caller's input. */

/** JSON Schema 2020-12, as far as the schemas of this API use it. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly title?: string;
  readonly type?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string | RegExp;
  /** A number that arrives as text, as all of a query does. */
  readonly 'x-whole-number'?: readonly [minimum: number, maximum: number];
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  /** Rules that JSON Schema cannot express; `error` names the issue. A property of TypeBox, not part of the document. */
  readonly '~refine'?: readonly { check(value: unknown): boolean; error(value: unknown): string }[];
}

/** Keys are the caller's text: they are cut short. */
const keyCharsMax = 64;

export function joinField(field: string, key: string): string {
  const text = key.length > keyCharsMax ? `${key.slice(0, keyCharsMax)}…` : key;
  const short = text.replace(/\p{Surrogate}/gu, '\ufffd');
  return field === '' ? short : `${field}.${short}`;
}

/** e.g. "takes a string of 1 to 100 characters". */
export function describeSchema(schema: JsonSchema): string {
  return `takes ${words(schema)}`;
}

function words(schema: JsonSchema): string {
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) return [...new Set(branches.map(words))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => String(value)).join(', ');
  if (schema.type === 'string') return stringWords(schema);
  if (schema.type === 'integer' || schema.type === 'number') return numberWords(schema);
  if (schema.type === 'array') return `a list${range(schema.minItems, schema.maxItems, 'items')}`;
  if (schema.type === 'object') return schema.description ?? 'an object';
  if (schema.type === 'boolean') return 'true or false';
  if (schema.type === 'null') return 'null';
  return schema.description ?? 'another value';
}

function stringWords(schema: JsonSchema): string {
  if (schema.format === 'date-time') return 'an RFC 3339 time, e.g. 2026-11-21T09:30:00.000Z';
  const size = range(schema.minLength, schema.maxLength, 'characters');
  const whole = schema['x-whole-number'];
  if (whole !== undefined) return numberWords({ type: 'integer', minimum: whole[0], maximum: whole[1] });
  if (schema.description !== undefined && schema.pattern !== undefined) return `a string: ${schema.description}`;
  if (schema.pattern !== undefined) {
    const { pattern } = schema;
    return `a string${size} that matches ${typeof pattern === 'string' ? pattern : pattern.source}`;
  }
  return schema.description === undefined ? `a string${size}` : `a string${size}: ${schema.description}`;
}

function numberWords(schema: JsonSchema): string {
  const kind = schema.type === 'integer' ? 'a whole number' : 'a number';
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const bounds = [
    minimum === undefined ? '' : `from ${minimum}`,
    exclusiveMinimum === undefined ? '' : `above ${exclusiveMinimum}`,
    maximum === undefined ? '' : `to ${maximum}`,
    exclusiveMaximum === undefined ? '' : `below ${exclusiveMaximum}`,
    multipleOf === undefined ? '' : `in steps of ${multipleOf}`,
  ].filter((part) => part !== '');
  return [kind, ...bounds].join(' ');
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  if (min !== undefined && max !== undefined)
    return min === max ? ` of ${min} ${unit}` : ` of ${min} to ${max} ${unit}`;
  if (max !== undefined) return ` of up to ${max} ${unit}`;
  return min === undefined ? '' : ` of ${min} or more ${unit}`;
}
