/** The JSON Schema of scenario files, for editors: scenarios/schema.json is made from it. */
import { faultSchemas } from '../../faults/vocabulary/fault.ts';
import { Scenario, stepSchemas } from './format.ts';

/** JSON Schema 2020-12. Faults and steps are told apart by their kinds. */
export function scenarioJsonSchema(): object {
  const schema = JSON.parse(JSON.stringify(Scenario)) as {
    readonly properties: Readonly<Record<string, { items?: object; patternProperties?: Record<string, object> }>>;
  };
  const { faults, steps, clients, ...rest } = schema.properties;
  const step = { $ref: '#/$defs/step' };
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
      step: { oneOf: refs('step', Object.keys(stepSchemas)) },
      ...defs('fault', faultSchemas),
      ...defs('step', {
        ...stepSchemas,
        inject: withProperty(stepSchemas.inject, 'inject', { $ref: '#/$defs/fault' }),
      }),
    },
  };
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
