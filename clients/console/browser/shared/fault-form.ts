/**
 * The form of a fault, made from the vocabulary's JSON Schema (clients/console/page.ts serves it): which fields a kind has,
 * with the sentences of docs/faults.md, and the body that their texts make.
 */

/** The parts of JSON Schema that the vocabulary uses. */
export interface FaultSchema {
  readonly type?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly FaultSchema[];
  readonly items?: FaultSchema;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, FaultSchema>>;
  readonly required?: readonly string[];
}

export interface FaultField {
  /** `by_ms`; of the trigger `at.point`. */
  readonly name: string;
  readonly how: 'text' | 'number' | 'choice' | 'switch';
  readonly choices: readonly string[];
  readonly isRequired: boolean;
  readonly help: string;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly pattern?: string | undefined;
}

/** Texts of fields by name; of a switch 'true'. An empty text is no value. */
export type FaultTexts = Readonly<Record<string, string>>;

/** Those that say what and whom first, then the rest of the kind, then when. */
export function fieldsOf(schema: FaultSchema, trigger: FaultSchema): readonly FaultField[] {
  const { properties = {}, required = [] } = schema;
  const own = Object.entries(properties)
    .filter(([name]) => name !== 'fault' && name !== 'at')
    .map(([name, each]) => fieldOf(name, each, required.includes(name)));
  const rank = ({ name, isRequired }: FaultField) =>
    name === 'target' ? 0 : isRequired ? 1 : ['count', 'for_ms'].includes(name) ? 3 : isCommon(name) ? 4 : 2;
  own.sort((a, b) => rank(a) - rank(b));
  if (properties.at === undefined) return own;
  const when = Object.entries(trigger.properties ?? {}).map(([name, each]) => fieldOf(`at.${name}`, each, false));
  return [...own, ...when];
}

/** Fields that every fault has, and a first try does not need. */
export function isCommon(name: string): boolean {
  return name.startsWith('at.') || ['id', 'probability', 'count', 'for_ms'].includes(name);
}

/** The body of POST /v1/sandbox/faults. Texts that are no value of their field go as they are: the service says what is wrong. */
export function faultBody(
  kind: string,
  schema: FaultSchema,
  trigger: FaultSchema,
  texts: FaultTexts,
): Record<string, unknown> {
  const body: Record<string, unknown> = { fault: kind };
  const at: Record<string, unknown> = {};
  for (const { name } of fieldsOf(schema, trigger)) {
    const text = (texts[name] ?? '').trim();
    if (text === '') continue;
    const [first, inside] = name.split('.') as [string, string?];
    if (inside !== undefined) at[inside] = fieldValue(text, trigger.properties?.[inside] ?? {});
    else body[first] = fieldValue(text, schema.properties?.[first] ?? {});
  }
  return Object.keys(at).length === 0 ? body : { ...body, at };
}

function fieldOf(name: string, schema: FaultSchema, isRequired: boolean): FaultField {
  const parts = partsOf(schema);
  const choices = parts.flatMap((part) => (part.enum ?? (part.const === undefined ? [] : [part.const])).map(String));
  const number = parts.find(({ type }) => type === 'integer' || type === 'number');
  const how =
    choices.length > 0
      ? 'choice'
      : parts.some(({ type }) => type === 'boolean')
        ? 'switch'
        : number
          ? 'number'
          : 'text';
  const isList = parts.some(({ type }) => type === 'array');
  const described = schema.description ?? parts.find(({ description }) => description !== undefined)?.description ?? '';
  return {
    ...{ name, how, choices, isRequired },
    help: isList ? [described, 'several with commas'].filter((part) => part !== '').join('; ') : described,
    minimum: number?.minimum,
    maximum: number?.maximum,
    pattern: isList ? undefined : parts.find(({ pattern }) => pattern !== undefined)?.pattern,
  };
}

function fieldValue(text: string, schema: FaultSchema): unknown {
  const parts = partsOf(schema);
  const has = (...types: readonly string[]) => parts.some(({ type }) => types.includes(type ?? ''));
  const list = parts.find(({ type }) => type === 'array');
  if (list !== undefined && (text.includes(',') || !has('string')))
    return text.split(',').map((part) => fieldValue(part.trim(), list.items ?? {}));
  if (has('boolean')) return text === 'true';
  if (has('null') && text === 'null') return null;
  if (has('integer', 'number') && Number.isFinite(Number(text))) return Number(text);
  if (has('object') && text.startsWith('{')) return parsed(text);
  return text;
}

/** A schema, or the alternatives that it names. */
function partsOf(schema: FaultSchema): readonly FaultSchema[] {
  return (schema.anyOf ?? [schema]).flatMap((part) => (part.anyOf === undefined ? [part] : partsOf(part)));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
