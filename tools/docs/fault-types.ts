/**
 * scenarios/faults/vocabulary/generated-types.ts: the types of faults, from their schemas. The declarations of signmesh/testing show them: a
 * type that is computed from a schema would cost every compiler of a user the types of typebox, and would have no comments.
 */
import { faultKinds, faultSchemas } from '../../scenarios/faults/vocabulary/fault.ts';
import { Trigger } from '../../scenarios/faults/vocabulary/fault-parts.ts';
import { comment, objectType, type Schema } from './client-api.ts';

type Fields = Readonly<Record<string, Schema>>;

export function faultTypesModule(): string {
  const schemas = faultKinds.map((kind) => ({ kind, schema: faultSchemas[kind] as unknown as Schema }));
  const fieldsOf = ({ properties = {} }: Schema): Fields => properties as Fields;
  const [first] = schemas;
  const common = Object.entries(fieldsOf(first!.schema)).filter(
    ([name, field]) =>
      name !== 'fault' &&
      schemas.every(({ schema }) => JSON.stringify(fieldsOf(schema)[name]) === JSON.stringify(field)),
  );
  const shared = new Set(common.map(([name]) => name));
  const trigger = Trigger as unknown as Schema;
  const kinds = schemas.map(({ kind, schema }) => {
    const own = Object.entries(fieldsOf(schema)).filter(([name]) => !shared.has(name));
    const { required = [] } = schema;
    return `${comment(schema, '')}export interface ${titleOf(kind)}Fault extends EveryFault ${objectOf(own, required)}\n`;
  });
  const commonFields = objectOf(common, []).replace(/at\?: \{.*?\n {2}\};/s, 'at?: Trigger;');
  return `/** Made from scenarios/faults/vocabulary/fault.ts by "npm run docs". Do not edit: see tools/docs/fault-types.ts. */

${comment(trigger, '')}export interface Trigger ${objectOf(Object.entries(fieldsOf(trigger)), [])}

/** What every fault has. */
export interface EveryFault ${commonFields}

${kinds.join('\n')}
/** The faults by their kinds. */
export interface FaultKinds {
${faultKinds.map((kind) => `  ${kind}: ${titleOf(kind)}Fault;\n`).join('')}}

export type FaultKind = keyof FaultKinds;
export type FaultOf<K extends FaultKind> = FaultKinds[K];
/** docs/faults.md explains them. */
export type Fault = FaultKinds[FaultKind];
`;
}

/** "bad_share" → "BadShare". */
function titleOf(kind: string): string {
  return kind.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Tests and tools change faults: the fields are not readonly. */
function objectOf(fields: readonly (readonly [string, Schema])[], required: readonly string[]): string {
  return objectType({ properties: Object.fromEntries(fields), required } as Schema, '').replaceAll('readonly ', '');
}
