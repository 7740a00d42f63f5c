/** JSON schemas as tables: each field, whether it is required, and its meaning. */
import type { TSchema } from 'typebox';
import { code, table } from './sections.ts';

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly patternProperties?: object;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

const valuesCharsMax = 100;

/** The fields of an answer. */
export function answerTable(schema: TSchema): string {
  return table(
    ['Field', 'Type', 'Meaning'],
    fieldsOf(schema as Schema).map(({ name, field }) => [code(name), typeOf(field), meaningOf(field)]),
  );
}

/** The fields of a request: required ones are marked. */
export function requestTable(schema: TSchema): string {
  return table(
    ['Field', 'Type', 'Required', 'Rules'],
    fieldsOf(schema as Schema).map(({ name, field, isRequired }) => [
      code(name),
      typeOf(field),
      isRequired ? 'yes' : '',
      [boundsOf(field), meaningOf(field)].filter((text) => text !== '').join('; '),
    ]),
  );
}

/** What a list field of an object holds. */
export function itemsOf(schema: TSchema, field: string): TSchema {
  const { items } = (schema as Schema).properties?.[field] ?? {};
  if (items === undefined) throw new Error(`${field} is no list`);
  return items as TSchema;
}

interface Field {
  readonly name: string;
  readonly field: Schema;
  readonly isRequired: boolean;
}

function fieldsOf({ properties = {}, required = [] }: Schema): readonly Field[] {
  return Object.entries(properties).map(([name, field]) => ({ name, field, isRequired: required.includes(name) }));
}

function typeOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.enum !== undefined) return 'string';
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.patternProperties !== undefined) return 'map of strings';
  if (schema.format === 'date-time') return 'time';
  return schema.type ?? 'any';
}

function meaningOf(schema: Schema): string {
  const present = notNull(schema);
  const parts = [values(present), present.description ?? schema.description ?? '', members(present)];
  return parts.filter((text) => text !== '').join('; ');
}

/** Long lists have their own tables, which the description names. */
function values({ enum: allowed = [], description }: Schema): string {
  const listed = allowed.map((value) => code(String(value))).join(', ');
  return listed.length > valuesCharsMax && description !== undefined ? '' : listed;
}

/** The fields of an object, or of the objects in a list, by name. */
function members(schema: Schema): string {
  const inner = schema.type === 'array' ? notNull(schema.items ?? {}) : schema;
  const names = Object.keys(inner.properties ?? {});
  return names.length === 0 ? '' : `{${names.join(', ')}}`;
}

function boundsOf(schema: Schema): string {
  const { minLength, maxLength, minimum, maximum, description } = notNull(schema);
  if (description !== undefined && /\d (printable|visible|keys|to)/.test(description)) return '';
  if (maxLength !== undefined)
    return `${minLength === undefined ? 'up to' : `${minLength} to`} ${maxLength} characters`;
  if (minimum !== undefined) return maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`;
  return '';
}

/** The first part of "this or null". */
function notNull(schema: Schema): Schema {
  const [first, ...rest] = (schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return first !== undefined && rest.length === 0 ? first : schema;
}
