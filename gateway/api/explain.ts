/**
 * Explains why a schema refuses a value: every fault with its field path, in the order of the schema's fields. It only explains
 * refusals of the compiled check; a property test compares the two.
 */
import Format from 'typebox/format';
import { base64Fault } from '../../proto/base64.ts';
import type { FieldIssue } from './errors/service-error.ts';
import { describeSchema, type JsonSchema, joinField } from './schema-text.ts';

export { describeSchema };

/** Every fault of `value`; empty when there is none. */
export function explain(schema: JsonSchema, value: unknown, field = ''): FieldIssue[] {
  const fault = (issue: string): FieldIssue[] => [
    { field, issue, message: issue === 'invalid_base64' ? base64Fault(String(value)) : describeSchema(schema) },
  ];
  const branches = schema.anyOf ?? schema.oneOf;
  if (branches !== undefined) return explainBranches(schema, branches, value, field);
  if (schema.allOf !== undefined) return schema.allOf.flatMap((part) => explain(part, value, field));
  if (!hasType(schema.type, value)) return fault('wrong_type');
  if (schema.const !== undefined && value !== schema.const) return fault('not_allowed_value');
  if (schema.enum !== undefined && !schema.enum.includes(value)) return fault('not_allowed_value');
  if (typeof value === 'string') return stringIssues(schema, value).flatMap(fault);
  if (typeof value === 'number') return numberIssues(schema, value).flatMap(fault);
  if (Array.isArray(value)) return explainList(schema, value, field);
  if (value !== null && typeof value === 'object') return explainObject(schema, value, field);
  return [];
}

function hasType(type: string | undefined, value: unknown): boolean {
  switch (type) {
    case undefined:
      return true;
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return value !== null && typeof value === 'object' && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function stringIssues(schema: JsonSchema, value: string): string[] {
  const { minLength, maxLength, pattern, format } = schema;
  if (minLength !== undefined && codePoints(value) < minLength) return ['too_short'];
  // A text of many megabytes is not counted character by character.
  if (maxLength !== undefined && (value.length > 2 * maxLength || codePoints(value) > maxLength)) return ['too_long'];
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return ['invalid_format'];
  if (format !== undefined && !Format.Test(format, value))
    return [format === 'base64' ? 'invalid_base64' : 'invalid_format'];
  return [];
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function numberIssues(schema: JsonSchema, value: number): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (minimum !== undefined && value < minimum) return ['too_small'];
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return ['too_small'];
  if (maximum !== undefined && value > maximum) return ['too_large'];
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return ['too_large'];
  return multipleOf !== undefined && value % multipleOf !== 0 ? ['not_allowed_value'] : [];
}

function explainList(schema: JsonSchema, list: readonly unknown[], field: string): FieldIssue[] {
  const message = describeSchema(schema);
  const issues: FieldIssue[] = [];
  if (schema.minItems !== undefined && list.length < schema.minItems) {
    issues.push({ field, issue: 'too_few_items', message });
  }
  if (schema.maxItems !== undefined && list.length > schema.maxItems) {
    return [{ field, issue: 'too_many_items', message }];
  }
  const { items } = schema;
  if (items !== undefined) {
    list.forEach((item, index) => {
      issues.push(...explain(items, item, `${field}[${index}]`));
    });
  }
  if (schema.uniqueItems === true) {
    const seen = new Set<string>();
    list.forEach((item, index) => {
      const text = JSON.stringify(item);
      if (seen.has(text))
        issues.push({ field: `${field}[${index}]`, issue: 'duplicate_item', message: 'takes each once' });
      seen.add(text);
    });
  }
  return issues;
}

function explainObject(schema: JsonSchema, object: object, field: string): FieldIssue[] {
  const issues: FieldIssue[] = [];
  const { properties = {}, required = [], minProperties, maxProperties } = schema;
  const entries = Object.entries(object);
  const message = describeSchema(schema);
  if (maxProperties !== undefined && entries.length > maxProperties) {
    return [{ field, issue: 'too_many_items', message }];
  }
  if (minProperties !== undefined && entries.length < minProperties) {
    issues.push({ field, issue: 'too_few_items', message });
  }
  for (const name of required) {
    if (Object.hasOwn(object, name)) continue;
    const wanted = properties[name];
    issues.push({
      field: joinField(field, name),
      issue: 'missing_required',
      ...(wanted === undefined ? {} : { message: describeSchema(wanted) }),
    });
  }
  for (const [key, value] of entries) issues.push(...explainMember(schema, key, value, field));
  for (const { check, error } of schema['~refine'] ?? []) {
    if (!check(object)) issues.push({ field, issue: error(object), message });
  }
  return issues;
}

function explainMember(schema: JsonSchema, key: string, value: unknown, field: string): FieldIssue[] {
  const path = joinField(field, key);
  const { properties = {}, patternProperties = {}, additionalProperties } = schema;
  if (Object.hasOwn(properties, key)) return explain(properties[key]!, value, path);
  const patterns = Object.entries(patternProperties).filter(([pattern]) => new RegExp(pattern, 'u').test(key));
  if (patterns.length > 0) return patterns.flatMap(([, member]) => explain(member, value, path));
  if (typeof additionalProperties === 'object') return explain(additionalProperties, value, path);
  if (additionalProperties !== false) return [];
  // A map's key of the wrong form; otherwise a name that the object does not have.
  if (Object.keys(patternProperties).length > 0) {
    return [{ field: path, issue: 'invalid_format', message: describeSchema(schema) }];
  }
  return [{ field: path, issue: 'unknown_field', message: knownFields(Object.keys(properties)) }];
}

function knownFields(names: readonly string[]): string {
  return names.length === 0 ? 'takes no fields' : `the fields here are ${names.join(', ')}`;
}

/** For a value that matches no branch, explains the faults of the intended branch, if it can be determined. */
function explainBranches(
  schema: JsonSchema,
  branches: readonly JsonSchema[],
  value: unknown,
  field: string,
): FieldIssue[] {
  const tag = tagOf(branches);
  if (tag !== undefined && hasType('object', value)) return explainTagged(tag, branches, value as object, field);
  const found = branches.map((branch) => ({ branch, issues: explain(branch, value, field) }));
  if (found.some(({ issues }) => issues.length === 0)) return [];
  const fault = (issue: string): FieldIssue[] => [{ field, issue, message: describeSchema(schema) }];
  const ofType = found.filter(({ branch }) => hasType(branch.type, value) && !isOtherTag(branch, value));
  if (ofType.length === 0)
    return fault(found.some(({ branch }) => hasType(branch.type, value)) ? 'not_allowed_value' : 'wrong_type');
  if (ofType.length > 1 && ofType.every(({ branch }) => branch.const !== undefined)) return fault('not_allowed_value');
  return ofType.reduce((best, next) => (next.issues.length < best.issues.length ? next : best)).issues;
}

/** The field that has another constant in each of three objects or more. */
function tagOf(branches: readonly JsonSchema[]): string | undefined {
  if (branches.length < 3) return undefined;
  const isTag = (name: string) => branches.every(({ properties = {} }) => properties[name]?.const !== undefined);
  return Object.keys(branches[0]?.properties ?? {}).find(isTag);
}

/** `tag` selects the branch: explains the faults of the named branch, or lists the permitted tags. */
function explainTagged(tag: string, branches: readonly JsonSchema[], value: object, field: string): FieldIssue[] {
  const named = (value as Record<string, unknown>)[tag];
  const branch = branches.find(({ properties = {} }) => properties[tag]?.const === named);
  if (branch !== undefined && Object.hasOwn(value, tag)) return explain(branch, value, field);
  const kinds = branches.map(({ properties = {} }) => String(properties[tag]?.const));
  const issue = !Object.hasOwn(value, tag)
    ? 'missing_required'
    : typeof named === 'string'
      ? 'not_allowed_value'
      : 'wrong_type';
  return [{ field: joinField(field, tag), issue, message: `takes ${kinds.join(', ')}` }];
}

/** A field with a constant, such as `kind`, distinguishes the branches of a union of objects. */
function isOtherTag(branch: JsonSchema, value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return Object.entries(branch.properties ?? {}).some(
    ([name, { const: tag }]) =>
      tag !== undefined && Object.hasOwn(value, name) && (value as Record<string, unknown>)[name] !== tag,
  );
}
