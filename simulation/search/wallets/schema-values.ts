/** Values of a JSON Schema: valid ones, those at its limits, and copies of a valid body with one rule of the schema broken. */
import type { JsonSchema } from '../../../gateway/api/schema-text.ts';
import type { Draw } from '../../cluster/draw.ts';

export interface ValueContext {
  readonly draw: Draw;
  readonly nowMs: number;
  /** An id with this prefix, of a resource if there is one. */
  readonly idOf: (prefix: string) => string;
}

type Fields = Readonly<Record<string, unknown>>;

const idForm = /^\^?([a-z]{3})_/;
/** No list and no text gets longer by a limit. */
const lengthMax = 3_000;

/** A valid value, often at a limit. */
export function schemaValue(schema: JsonSchema, context: ValueContext): unknown {
  const { draw } = context;
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) return schemaValue(draw.pick(branches), context);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return draw.pick(schema.enum);
  switch (schema.type) {
    case 'string':
      return textOf(schema, context);
    case 'integer':
    case 'number': {
      const { minimum = schema.exclusiveMinimum ?? 0, maximum = schema.exclusiveMaximum ?? 1_000 } = schema;
      return draw.pick([minimum, maximum, draw.int(minimum, Math.min(maximum, minimum + 1_000))]);
    }
    case 'boolean':
      return draw.chance(0.5);
    case 'array': {
      const { minItems = 0, maxItems = 2, items = {} } = schema;
      const count = draw.int(Math.max(minItems, 1), Math.max(minItems, Math.min(maxItems, 2)));
      return Array.from({ length: count }, () => schemaValue(items, context));
    }
    case 'object':
      return objectOf(schema, context, {}, 0.3);
    default:
      return null;
  }
}

/** `base` with further or other optional fields of its schema, some of them. */
export function objectOf(
  { properties = {}, required = [] }: JsonSchema,
  context: ValueContext,
  base: Fields,
  share: number,
): Fields {
  const made: Record<string, unknown> = { ...base };
  for (const [name, schema] of Object.entries(properties)) {
    const isDue = required.includes(name) && !(name in made);
    if (isDue || context.draw.chance(share)) made[name] = schemaValue(schema, context);
  }
  return made;
}

function textOf(
  { pattern, format, examples, minLength = 0, maxLength = 20 }: JsonSchema,
  context: ValueContext,
): string {
  const { draw, nowMs, idOf } = context;
  const [, prefix] = idForm.exec(String(pattern ?? examples?.[0] ?? '')) ?? [];
  if (prefix !== undefined) return idOf(prefix);
  if (format === 'date-time') return new Date(nowMs + draw.pick([-3_600_000, 0, 3_600_000])).toISOString();
  if (format === 'base64') return 'AAECAw==';
  if (examples !== undefined) return String(draw.pick(examples));
  const most = Math.min(maxLength, lengthMax);
  return 'a'.repeat(draw.pick([Math.max(1, minLength), most, draw.int(Math.max(1, minLength), most)]));
}

export interface BrokenBody {
  readonly body: Fields;
  /** The field that the refusal must name. */
  readonly field: string;
  /** As the refusal names the rule; undefined: by any name. */
  readonly issue?: string;
}

/** Every way to break one rule of a field of `base`, which is valid. */
export function brokenBodies({ properties = {}, required = [] }: JsonSchema, base: Fields): BrokenBody[] {
  const broken: BrokenBody[] = [{ body: { ...base, not_a_field: 1 }, field: 'not_a_field', issue: 'unknown_field' }];
  for (const [field, schema] of Object.entries(properties)) {
    if (required.includes(field)) broken.push({ body: without(base, field), field, issue: 'missing_required' });
    for (const value of wrongValues(schema)) broken.push({ body: { ...base, [field]: value }, field });
  }
  return broken;
}

function without(base: Fields, field: string): Fields {
  return Object.fromEntries(Object.entries(base).filter(([name]) => name !== field));
}

/** Each just beyond one limit, or of another type. */
function wrongValues(schema: JsonSchema): unknown[] {
  if (schema.anyOf !== undefined || schema.oneOf !== undefined || schema.const !== undefined) return [];
  const { type, minimum, maximum, minLength, maxLength, maxItems, minItems } = schema;
  const wrong: unknown[] = [type === 'string' || schema.enum !== undefined ? 7 : 'a text', null];
  if (schema.enum !== undefined) return [...wrong, 'no such choice'];
  if (minimum !== undefined) wrong.push(minimum - 1);
  if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) wrong.push(maximum + 1);
  if (minLength !== undefined && minLength > 0) wrong.push('a'.repeat(minLength - 1));
  if (maxLength !== undefined) wrong.push('a'.repeat(maxLength + 1));
  if (minItems !== undefined && minItems > 0) wrong.push([]);
  if (maxItems !== undefined && maxItems < lengthMax) wrong.push(Array.from({ length: maxItems + 1 }, () => 'a'));
  if (schema.multipleOf !== undefined || type === 'integer') wrong.push(0.5);
  return wrong;
}

/** Every way to break one rule of a query, alone. */
export function brokenQueries({ properties = {} }: JsonSchema): string[] {
  const broken = Object.entries(properties).flatMap(([name, schema]) => {
    if (name === 'limit') return ['0', '101', '1.5', '-1', 'many'].map((value) => `limit=${value}`);
    const isRefused = schema.enum !== undefined || schema.format === 'date-time' || name === 'cursor';
    return isRefused ? [`${name}=invented`] : [];
  });
  return [...broken, 'page=2'];
}
