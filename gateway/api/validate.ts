/**
 * Validates input against a schema: no coercion, no defaults, unknown fields refused. TypeBox's compiled check alone decides;
 * explain.ts then walks a refused value to locate every fault.
 */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import Format from 'typebox/format';
import { readBase64 } from '../../proto/base64.ts';
import type { FieldIssue } from './errors/service-error.ts';
import { describeSchema, explain } from './explain.ts';
import { type JsonSchema, joinField } from './schema-text.ts';

/** More faults than this in one request are not listed. */
export const issuesMax = 20;

/** RFC 3339 with an offset. TypeBox also takes RFC 9557 suffixes and leap seconds, which Date cannot read. */
const timestampPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i;
Format.Set(
  'date-time',
  (text: string) => timestampPattern.test(text) && Format.IsDateTime(text) && !Number.isNaN(Date.parse(text)),
);
Format.Set('base64', (text: string) => readBase64(text) !== undefined);

/** All faults of a value, at most `issuesMax`; undefined: it is valid. */
export type Validate = (value: unknown) => readonly FieldIssue[] | undefined;

/** What was compiled: a function of its schema alone, so every gateway of a process may use it. */
const compiled = new WeakMap<TSchema, { Check(value: unknown): boolean }>();

export function compileSchema(schema: TSchema): Validate {
  return (value) => {
    // Compiled at first use, so that a start compiles no unused schema.
    let check = compiled.get(schema);
    if (check === undefined) {
      check = Compile(schema);
      compiled.set(schema, check);
    }
    if (check.Check(value)) return undefined;
    const issues = explain(schema as JsonSchema, value);
    if (issues.length > 0) return issues.slice(0, issuesMax);
    return [{ field: '', issue: 'not_allowed_value', message: describeSchema(schema as JsonSchema) }];
  };
}

/**
 * Faults of a body that no schema can express: numbers that a double cannot represent exactly, and (where the text had \\ud…
 * escapes) strings with half of a surrogate pair.
 */
export function scanJson(value: unknown, mayHoldHalfPairs: boolean): FieldIssue[] {
  const issues: FieldIssue[] = [];
  scan(value, '', mayHoldHalfPairs, issues);
  return issues.slice(0, issuesMax);
}

function scan(value: unknown, field: string, halfPairs: boolean, issues: FieldIssue[]): void {
  if (typeof value === 'number') {
    if (value > Number.MAX_SAFE_INTEGER) issues.push({ field, issue: 'too_large', message: numbersTake });
    else if (value < Number.MIN_SAFE_INTEGER) issues.push({ field, issue: 'too_small', message: numbersTake });
  } else if (typeof value === 'string') {
    if (halfPairs && hasHalfPair(value))
      issues.push({ field, issue: 'invalid_utf8', message: 'takes whole characters' });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      scan(item, `${field}[${index}]`, halfPairs, issues);
    });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      const path = joinField(field, key);
      if (halfPairs && hasHalfPair(key)) issues.push({ field: path, issue: 'invalid_utf8' });
      else scan(item, path, halfPairs, issues);
    }
  }
}

const numbersTake = `takes numbers from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`;

function hasHalfPair(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
