/** Everything that a route takes has a bound: a text its length, a list its number, a number its ends, an object its fields. */
import type { TSchema } from 'typebox';
import { expect, test } from 'vitest';
import { restRoutes, sandboxRoutes } from '../../../tools/docs/rest-routes.ts';

type Json = Readonly<Record<string, unknown>>;

/** A pattern that repeats without end bounds nothing. */
const isEndless = (pattern: string): boolean => /(?<!\\)[*+]|\{\d+,\}/.test(pattern.replace(/\[[^\]]*\]/g, 'x'));

/** Where a schema takes as much as a caller likes to send. */
function unbounded(schema: Json | undefined, at: string): string[] {
  if (schema === undefined) return [];
  const { type, properties = {}, items, pattern } = schema;
  const has = (...names: string[]): boolean => names.some((name) => schema[name] !== undefined);
  const isText = type === 'string' && !has('maxLength', 'enum', 'const', 'format');
  const found = isText && (typeof pattern !== 'string' || isEndless(pattern)) ? [at] : [];
  if (type === 'array' && !has('maxItems')) found.push(at);
  if ((type === 'integer' || type === 'number') && !has('const') && !(has('minimum') && has('maximum'))) found.push(at);
  if (type === 'object' && schema.additionalProperties !== false && !has('maxProperties', 'patternProperties'))
    found.push(at);
  for (const [name, field] of Object.entries(properties as Json))
    found.push(...unbounded(field as Json, `${at}.${name}`));
  found.push(...unbounded(items as Json | undefined, `${at}[]`));
  for (const kind of ['anyOf', 'oneOf', 'allOf']) {
    for (const each of (schema[kind] ?? []) as Json[]) found.push(...unbounded(each, at));
  }
  return found;
}

const routes = [...restRoutes(), ...sandboxRoutes()];

test('no route takes what has no bound', () => {
  const found = routes.flatMap(({ operationId, body, query, params }) =>
    Object.entries({ body, query, params }).flatMap(([part, schema]) =>
      unbounded(schema as (TSchema & Json) | undefined, `${operationId} ${part}`),
    ),
  );
  expect([...new Set(found)]).toEqual([]);
  expect(routes.length).toBeGreaterThan(100);
});

test.each<[Json, boolean]>([
  [{ type: 'string' }, true],
  [{ type: 'string', maxLength: 9 }, false],
  [{ type: 'string', pattern: '^[a-z]+$' }, true],
  [{ type: 'string', pattern: '^[a-z+*]{1,9}$' }, false],
  [{ type: 'array', items: { type: 'integer', minimum: 0, maximum: 1 } }, true],
  [{ type: 'array', maxItems: 2, items: { type: 'integer' } }, true],
  [{ type: 'object', additionalProperties: false, properties: { one: { type: 'number', minimum: 0 } } }, true],
  [{ type: 'object', properties: {} }, true],
  [{ anyOf: [{ type: 'string', maxLength: 1 }, { type: 'null' }] }, false],
])('%j is found: %s', (schema, isFound) => expect(unbounded(schema, '').length > 0).toBe(isFound));
