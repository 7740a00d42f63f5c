/** The JSON Schema of scenario files, for editors: scenarios/schema.json is made from it. */
import { faultSchemas } from '../faults/vocabulary/fault.ts';
import { custodyStepSchemas } from './custody-format.ts';
import type { ScenarioSchema } from './explain.ts';
import { Scenario, stepSchemas } from './format.ts';
import { operations } from './generated-operations.ts';

/** JSON Schema 2020-12. The kinds of faults and steps select their schemas. */
export function scenarioJsonSchema(): object {
  const schema = JSON.parse(JSON.stringify(Scenario)) as {
    readonly properties: Readonly<Record<string, { items?: object; patternProperties?: Record<string, object> }>>;
  };
  const { faults, steps, clients, ...rest } = schema.properties;
  const step = { $ref: '#/$defs/step' };
  const { api, ...others } = stepSchemas;
  const lists = Object.entries(clients!.patternProperties ?? {}).map(([name, list]) => [
    name,
    { ...list, items: step },
  ]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://signmesh.invalid/scenario.schema.json',
    title: 'A signmesh fault scenario',
    ...schema,
    properties: {
      ...rest,
      faults: { ...faults, items: { $ref: '#/$defs/fault' } },
      steps: { ...steps, items: step },
      clients: { ...clients, patternProperties: Object.fromEntries(lists), additionalProperties: false },
    },
    oneOf: [{ required: ['steps'] }, { required: ['clients'] }],
    $defs: {
      fault: { oneOf: refs('fault', Object.keys(faultSchemas)) },
      step: {
        oneOf: [...refs('step', Object.keys(others)), ...refs('api', [...Object.keys(operations), 'unchecked'])],
      },
      reference: { type: 'string', pattern: '[$][{]?[A-Za-z0-9_-]+', description: 'a field of an earlier answer' },
      ...defs('fault', faultSchemas),
      ...defs('step', {
        ...others,
        inject: withProperty(stepSchemas.inject, 'inject', { $ref: '#/$defs/fault' }),
      }),
      api: { ...api, properties: { ...(api as { properties: object }).properties, api: { type: 'string' } } },
      ...defs('api', Object.fromEntries(Object.keys(operations).map((name) => [name, apiStep(name)]))),
      'api.unchecked': uncheckedStep(),
    },
  };
}

const { properties, ...rest } = custodyStepSchemas.api as unknown as {
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
};

/** A step of any operation with an intentionally wrong query and body. */
function uncheckedStep(): object {
  const { api, ...others } = properties;
  return {
    ...rest,
    required: [...rest.required, 'unchecked'],
    properties: {
      ...Object.fromEntries(Object.keys(others).map((field) => [field, { $ref: `#/$defs/api/properties/${field}` }])),
      api,
    },
  };
}

/** A step of one operation, with its query and body. */
function apiStep(name: string): object {
  const { query, body, keyed } = operations[name]!;
  const { query: _query, body: _body, key: _key, api: _api, unchecked: _unchecked, ...common } = properties;
  return {
    ...rest,
    properties: {
      ...Object.fromEntries(Object.keys(common).map((field) => [field, { $ref: `#/$defs/api/properties/${field}` }])),
      api: { const: name },
      ...(keyed === true && { key: { $ref: '#/$defs/api/properties/key' } }),
      ...(query && { query: plainly(withReferences(query)) }),
      ...(body && { body: withReferences(body) }),
    },
  };
}

/** The values of a query are texts; a file may write numbers, true and false plainly. */
function plainly(query: object): object {
  const { properties: fields = {} } = query as { readonly properties?: Readonly<Record<string, object>> };
  const open = (field: object) => ({ anyOf: [field, { type: ['number', 'boolean'] }] });
  return {
    ...query,
    properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, open(field)])),
  };
}

const reference = { $ref: '#/$defs/reference' };

/** A field may also be a reference to an earlier answer; texts then have any form. */
function withReferences({ pattern: _, minLength: _min, maxLength: _max, ...schema }: ScenarioSchema): object {
  const { type, anyOf, properties, patternProperties, items, ...rest } = schema;
  if (anyOf !== undefined) return { ...rest, anyOf: anyOf.map(withReferences) };
  if (type === 'array') return { ...schema, ...(items && { items: withReferences(items) }) };
  if (type === 'object') {
    return {
      ...schema,
      ...(properties && { properties: mapped(properties), additionalProperties: false }),
      ...(patternProperties && { patternProperties: mapped(patternProperties) }),
    };
  }
  if (type === 'string' && schema.enum === undefined) return { type, ...rest };
  const { description, ...value } = schema;
  return { ...(description !== undefined && { description }), anyOf: [value, reference] };
}

function mapped(fields: Readonly<Record<string, ScenarioSchema>>): Record<string, object> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, withReferences(field)]));
}

function refs(prefix: string, names: readonly string[]): object[] {
  return names.map((name) => ({ $ref: `#/$defs/${prefix}.${name}` }));
}

function defs(prefix: string, schemas: Readonly<Record<string, object>>): Record<string, object> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [`${prefix}.${name}`, schema]));
}

function withProperty(schema: object, name: string, property: object): object {
  const { properties, ...rest } = schema as { readonly properties: object };
  return { ...rest, properties: { ...properties, [name]: property } };
}
