/**
 * Examples of answers, generated from their schemas: every field with the first of its own examples, the first value of an
 * enum, or the smallest value of its schema. Every operation gets one, and so do the events of webhooks.
 */
import type { JsonSchema } from '../api/schema-text.ts';
import type { Json, JsonObject } from './parts.ts';

type Schema = JsonSchema;
type Named = Readonly<Record<string, Json>>;

/** Example values for fields whose schemas are too general. */
const byName: readonly (readonly [RegExp, string])[] = [
  [/(^|_)id$/, '01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'],
  [/_(at|since|until)$|^(at|as_of|until|from|to|timestamp)$/, '2026-11-21T09:30:00.000Z'],
  [/^url$/, 'https://example.com/hooks'],
  [/^events$/, 'transaction_intent.*'],
  [/address|contract$/, '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  [/amount|balance|available|pending|reserved|paid|supply|price|_usd$/, '1.25'],
];

/** The document, with an example beside every JSON schema of an answer or a webhook that has none. */
export function withAnswerExamples(document: JsonObject): JsonObject {
  const { paths, webhooks, components } = document as Readonly<Record<string, Named>>;
  const named = components!.schemas as Named;
  const each = (items: Named, side: 'responses' | 'requestBody'): JsonObject =>
    mapped(items, (item) => mapped(item as Named, (operation) => withExamples(operation as Named, side, named)));
  return { ...document, paths: each(paths!, 'responses'), webhooks: each(webhooks!, 'requestBody') };
}

function withExamples(operation: Named, side: 'responses' | 'requestBody', named: Named): Json {
  const part = operation[side] as Named;
  const done =
    side === 'requestBody' ? withExample(part, named) : mapped(part, (one) => withExample(one as Named, named));
  return { ...operation, [side]: done };
}

function withExample(response: Named, named: Named): Json {
  const json = (response.content as Named | undefined)?.['application/json'] as Named | undefined;
  if (json === undefined || json.example !== undefined) return response;
  const example = sampleOf(json.schema as unknown as Schema, named, '', []);
  return { ...response, content: { ...(response.content as Named), 'application/json': { ...json, example } } };
}

function mapped(of: Named, change: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));
}

/** `within`: enclosing schemas, by name, which stops recursion. */
function sampleOf(schema: Schema, named: Named, field: string, within: readonly string[]): Json {
  const { $ref, allOf, anyOf, examples, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)!;
    return sampleOf(named[name] as unknown as Schema, named, field, [...within, name]);
  }
  if (schema.const !== undefined) return schema.const as Json;
  if (examples?.[0] !== undefined) return examples[0] as Json;
  if (schema.enum?.[0] !== undefined) return schema.enum[0] as Json;
  const choices = anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    const isOpen = (one: Schema) => one.$ref === undefined || !within.includes(one.$ref.split('/').at(-1)!);
    const chosen = choices.find((one) => one.type !== 'null' && isOpen(one));
    return chosen === undefined ? null : sampleOf(chosen, named, field, within);
  }
  if (allOf !== undefined) return Object.assign({}, ...allOf.map((one) => sampleOf(one, named, field, within)));
  switch (type) {
    case 'object':
      return sampleObject(schema, named, within);
    case 'array':
      return sampleArray(schema, named, field, within);
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'boolean':
      return false;
    case 'null':
      return null;
    case 'string':
      return sampleText(schema, field);
    default:
      return {};
  }
}

function sampleObject({ properties = {}, required = [] }: Schema, named: Named, within: readonly string[]): Json {
  const fields = Object.entries(properties).filter(
    ([name, property]) => required.includes(name) || !isWithin(property, within),
  );
  return Object.fromEntries(fields.map(([name, one]) => [name, sampleOf(one, named, name, within)]));
}

function sampleArray(schema: Schema, named: Named, field: string, within: readonly string[]): Json {
  const { items, minItems = 0 } = schema;
  if (items === undefined || isWithin(items, within)) return [];
  return Array.from({ length: Math.max(1, minItems) }, () => sampleOf(items, named, field, within));
}

function isWithin({ $ref }: Schema, within: readonly string[]): boolean {
  return $ref !== undefined && within.includes($ref.split('/').at(-1)!);
}

function sampleText({ minLength = 0, maxLength = 100, pattern }: Schema, field: string): string {
  const fits = (text: string) =>
    text.length >= minLength &&
    text.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text));
  const known = byName.filter(([name]) => name.test(field)).map(([, text]) => text);
  const candidates = [...known, field.replaceAll('_', ' '), 'example', '1', '0'.repeat(64), 'f'.repeat(minLength)];
  return candidates.find(fits) ?? candidates[0]!;
}
