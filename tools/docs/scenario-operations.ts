/**
 * scenarios/runner/generated-operations.ts: the calls of the wallet API and of the simulated chains for scenario files, from the routes: the schemas of
 * queries and bodies, and the names of the fields of answers. Plain data: reading a scenario loads no route.
 */

import { restRoutes, sandboxRoutes } from './rest-routes.ts';

type Json = Readonly<Record<string, unknown>>;

/** The keywords that `explain` (scenarios/runner/explain.ts) reads. */
const words: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'const', 'required', 'minItems', 'maxItems', 'minLength', 'maxLength', 'pattern'],
  ...['minimum', 'maximum', 'description'],
]);

export function scenarioOperationsModule(): string {
  // The rest of the sandbox is the file's own: its steps inject faults, wait and sign.
  const chains = sandboxRoutes().filter(({ path }) => path.startsWith('/v1/sandbox/chains/'));
  const rows = [...restRoutes(), ...chains]
    .flatMap((route) => (route.clientName === undefined ? [] : [{ name: route.clientName, route }]))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, route }) => {
      const answers = Object.entries(route.responses).flatMap(([status, { schema }]) =>
        status < '300' && schema !== undefined ? [shapeOf(schema as unknown as Json)] : [],
      );
      const operation = {
        method: route.method,
        path: route.path,
        ...(route.query && { query: schemaOf(route.query as unknown as Json) }),
        ...(route.body && { body: schemaOf(route.body as unknown as Json) }),
        ...(route.bodyOptional === true && { bodyOptional: true }),
        ...((route.idempotent ?? route.method === 'POST') && { keyed: true }),
        answer: answers.length === 0 ? null : merged(answers),
      };
      return `  '${name}': ${JSON.stringify(operation)},\n`;
    });
  return `/** Made from the routes by "npm run docs". Do not edit: see tools/docs/scenario-operations.ts. */
import type { CustodyOperation } from './custody-operation.ts';

export const operations: Readonly<Record<string, CustodyOperation>> = {
${rows.join('')}};
`;
}

function schemaOf(schema: Json): object {
  const entries = Object.entries(schema).flatMap(([name, value]): [string, unknown][] => {
    if (words.has(name)) return [[name, value]];
    if (name === 'properties' || name === 'patternProperties') return [[name, mapped(value as Json, schemaOf)]];
    if (name === 'items') return [[name, schemaOf(value as Json)]];
    return name === 'anyOf' ? [[name, (value as Json[]).map(schemaOf)]] : [];
  });
  return Object.fromEntries(entries);
}

/** The fields of an answer by name; for a list those of its items; 0: a value, or an object of any fields. */
function shapeOf(schema: Json): unknown {
  const { anyOf, properties, items } = schema;
  if (anyOf !== undefined) return merged((anyOf as Json[]).map(shapeOf));
  if (properties !== undefined) return mapped(properties as Json, shapeOf);
  return items === undefined ? 0 : [shapeOf(items as Json)];
}

function merged(shapes: readonly unknown[]): unknown {
  const objects = shapes.filter((shape) => shape !== 0);
  if (objects.length < 2) return objects[0] ?? 0;
  return Object.assign({}, ...objects);
}

function mapped(fields: Json, of: (schema: Json) => unknown): object {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, of(field as Json)]));
}
