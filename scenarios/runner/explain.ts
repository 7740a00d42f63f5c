/**
 * Explains why a schema refuses a value: every fault, with its path and a remedy. It supports the small part of JSON Schema that
 * scenarios and faults use; a property test compares it with TypeBox's check.
 */

export interface ScenarioSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly ScenarioSchema[];
  readonly properties?: Readonly<Record<string, ScenarioSchema>>;
  readonly patternProperties?: Readonly<Record<string, ScenarioSchema>>;
  readonly required?: readonly string[];
  readonly items?: ScenarioSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

export type Path = readonly (string | number)[];
export type ReportFault = (path: Path, message: string, remedy?: string) => void;

export interface SchemaFault {
  readonly path: Path;
  readonly message: string;
  /** The value to write instead; empty when the message says it. */
  readonly remedy: string;
  /** The key itself is wrong, not its value. */
  readonly atKey?: boolean;
}

/** Every fault of `value`; empty when there is none. */
export function explain(schema: ScenarioSchema, value: unknown, path: Path = []): SchemaFault[] {
  const fault = (message: string): SchemaFault[] => [{ path, message, remedy: describe(schema) }];
  if (schema.anyOf !== undefined) return explainAnyOf(schema.anyOf, value, path, fault);
  if (schema.type !== undefined && !hasType(schema.type, value)) return fault(`${kindOf(value)} is not taken here`);
  if (schema.const !== undefined && value !== schema.const) return fault(`${shown(value)} is not taken here`);
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return [{ path, message: `${shown(value)} is none of its values`, remedy: oneOf(schema.enum.map(String), value) }];
  }
  if (typeof value === 'string') return explainText(schema, value, fault);
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum) return fault(`${value} is too small`);
    if (schema.maximum !== undefined && value > schema.maximum) return fault(`${value} is too large`);
    return [];
  }
  if (Array.isArray(value)) return explainList(schema, value, path, fault);
  return isRecord(value) ? explainObject(schema, value, path) : [];
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** "one of a, b"; a similar name comes first. */
export function oneOf(allowed: readonly string[], meant: unknown): string {
  if (allowed.length === 0) return 'there is none';
  const near = typeof meant === 'string' ? nearest(allowed, meant) : undefined;
  const list = `one of ${allowed.join(', ')}`;
  if (near === undefined) return list;
  return allowed.length > 12 ? `did you mean ${near}?` : `did you mean ${near}? ${list}`;
}

/** A caller's value inside a message: bounded. */
export function shown(value: unknown): string {
  if (typeof value !== 'string') return isRecord(value) || Array.isArray(value) ? kindOf(value) : String(value);
  return JSON.stringify(value.length > 64 ? `${value.slice(0, 64)}…` : value);
}

function explainAnyOf(
  branches: readonly ScenarioSchema[],
  value: unknown,
  path: Path,
  fault: (message: string) => SchemaFault[],
): SchemaFault[] {
  const found = branches.map((branch) => ({ branch, faults: explain(branch, value, path) }));
  if (found.some(({ faults }) => faults.length === 0)) return [];
  const ofType = found.filter(({ branch }) => branch.type !== undefined && hasType(branch.type, value));
  return ofType.length === 1 ? ofType[0]!.faults : fault(`${shown(value)} is not taken here`);
}

function explainText(schema: ScenarioSchema, value: string, fault: (message: string) => SchemaFault[]): SchemaFault[] {
  const length = [...value].length;
  if (schema.minLength !== undefined && length < schema.minLength) return fault('it is too short');
  if (schema.maxLength !== undefined && length > schema.maxLength) return fault('it is too long');
  const fits = schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(value);
  return fits ? [] : fault(`${shown(value)} is not of the form that is taken here`);
}

function explainList(
  schema: ScenarioSchema,
  list: readonly unknown[],
  path: Path,
  fault: (message: string) => SchemaFault[],
): SchemaFault[] {
  if (schema.minItems !== undefined && list.length < schema.minItems) return fault('the list is too short');
  if (schema.maxItems !== undefined && list.length > schema.maxItems) return fault('the list is too long');
  const { items } = schema;
  return items === undefined ? [] : list.flatMap((item, index) => explain(items, item, [...path, index]));
}

function explainObject(schema: ScenarioSchema, value: Readonly<Record<string, unknown>>, path: Path): SchemaFault[] {
  const { properties = {}, patternProperties = {}, required = [] } = schema;
  // A schema that names no field takes any.
  if (schema.properties === undefined && schema.patternProperties === undefined) return [];
  const patterns = Object.entries(patternProperties);
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name): SchemaFault => ({ path, message: `${name} is missing`, remedy: describe(properties[name] ?? {}) }));
  const members = Object.entries(value).flatMap(([key, member]): SchemaFault[] => {
    const at = [...path, key];
    if (Object.hasOwn(properties, key)) return explain(properties[key]!, member, at);
    const pattern = patterns.find(([source]) => new RegExp(source, 'u').test(key));
    if (pattern !== undefined) return explain(pattern[1], member, at);
    const remedy = patterns.length > 0 ? `names here match ${patterns[0]![0]}` : oneOf(Object.keys(properties), key);
    return [{ path: at, message: `there is no field ${shown(key)} here`, remedy, atKey: true }];
  });
  return [...missing, ...members];
}

function hasType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isRecord(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'number') return Number.isFinite(value);
  return typeof value === type;
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (isRecord(value)) return 'a mapping';
  return typeof value === 'boolean' ? String(value) : `the ${typeof value} ${shown(value)}`;
}

/** The values that a schema accepts, in words. */
export function describe(schema: ScenarioSchema): string {
  const note = schema.description === undefined || schema.description === '' ? '' : ` (${schema.description})`;
  return `${words(schema)}${note}`;
}

function words(schema: ScenarioSchema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(words))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return oneOf(schema.enum.map(String), undefined);
  switch (schema.type) {
    case 'string':
      return schema.pattern === undefined
        ? `a text${counted(range(schema.minLength, schema.maxLength), 'characters')}`
        : 'a text';
    case 'integer':
      return `a whole number${range(schema.minimum, schema.maximum)}`;
    case 'number':
      return `a number${range(schema.minimum, schema.maximum)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${counted(range(schema.minItems, schema.maxItems), 'items')}`;
    case 'null':
      return 'null';
    default:
      return 'a mapping';
  }
}

function counted(bounds: string, of: string): string {
  return bounds === '' ? '' : `${bounds} ${of}`;
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` of ${min} to ${max}`;
  if (max !== undefined) return ` of at most ${max}`;
  return min === undefined ? '' : ` of at least ${min}`;
}

/** The name that was probably meant: at most a third of its letters differ. */
function nearest(names: readonly string[], meant: string): string | undefined {
  const text = meant.toLowerCase();
  const ranked = names.map((name) => ({ name, off: distance(name.toLowerCase(), text) })).sort((a, b) => a.off - b.off);
  const best = ranked[0];
  return best !== undefined && best.off <= Math.ceil(text.length / 3) ? best.name : undefined;
}

/** Levenshtein 1966; texts are cut to bound the cost. */
function distance(a: string, b: string): number {
  const [from, to] = [a.slice(0, 64), b.slice(0, 64)];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same));
    }
    row = next;
  }
  return row[to.length]!;
}
