/**
 * ProtoJSON of this repository's own messages, by plans that are looked up once for each schema: what the library's `toJson` and
 * `fromJson` give (a test compares them), in a fraction of the time. Only for what is usual: for any other schema or value both
 * answer undefined, and the library decides what it means, or what is wrong with it.
 */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { readBase64 } from '../../proto/base64.ts';
import { complete } from '../../proto/complete.ts';

type Values = Readonly<Record<string, unknown>>;

/** Not usual: thrown on the way, and never leaves this file. */
const unusual = new Error('the library does this');

// --- out -------------------------------------------------------------------------------------------------------------

type Write = (value: unknown) => string;

interface Output {
  /** As JSON, with the colon. */
  readonly key: string;
  readonly name: string;
  readonly write: Write;
  readonly isMessage: boolean;
}

/** By number. undefined: the library's business. */
const outputs = new Map<DescMessage, readonly Output[] | undefined>();

/**
 * The text of a message, every field present. Sub-messages that are not set are left out, or, with `nulls`, stand at the end of
 * this message as null.
 */
export function writePlanned(schema: DescMessage, message: object, nulls: boolean): string | undefined {
  const plan = outputsOf(schema);
  if (plan === undefined) return undefined;
  try {
    return textOf(plan, message as Values, nulls);
  } catch (error) {
    if (error !== unusual) throw error;
    return undefined;
  }
}

function textOf(plan: readonly Output[], message: Values, nulls: boolean): string {
  let text = '';
  let missing = '';
  for (let index = 0; index < plan.length; index += 1) {
    const { key, name, write, isMessage } = plan[index]!;
    const value = message[name];
    if (!isMessage || value !== undefined) text += (text === '' ? '' : ',') + key + write(value);
    else if (nulls) missing += `,${key}null`;
  }
  return `{${text === '' ? missing.slice(1) : text + missing}}`;
}

function outputsOf(schema: DescMessage): readonly Output[] | undefined {
  if (!outputs.has(schema)) {
    // A schema that holds itself finds this, and is the library's.
    outputs.set(schema, undefined);
    const plan = [...schema.fields].sort((a, b) => a.number - b.number).map(outputOf);
    const known = plan.filter((output) => output !== undefined);
    outputs.set(schema, isOurs(schema) && known.length === plan.length ? known : undefined);
  }
  return outputs.get(schema);
}

function outputOf(field: DescField): Output | undefined {
  const write = writerOf(field);
  const isMessage = field.fieldKind === 'message';
  return write && { key: `${JSON.stringify(field.name)}:`, name: field.localName, write, isMessage };
}

function writerOf(field: DescField): Write | undefined {
  if (field.oneof !== undefined) return undefined;
  switch (field.fieldKind) {
    case 'scalar':
      return writers.get(field.scalar);
    case 'enum': {
      const names = new Map(field.enum.values.map(({ number, name }) => [number, JSON.stringify(name)]));
      return (value) => names.get(value as number) ?? refuse();
    }
    case 'message': {
      const plan = outputsOf(field.message);
      return plan && ((value) => textOf(plan, value as Values, false));
    }
    default:
      return undefined;
  }
}

const writers: ReadonlyMap<ScalarType, Write> = new Map<ScalarType, Write>([
  [ScalarType.STRING, (value) => (typeof value === 'string' ? JSON.stringify(value) : refuse())],
  [ScalarType.BOOL, (value) => (typeof value === 'boolean' ? String(value) : refuse())],
  [ScalarType.INT32, (value) => (Number.isInteger(value) ? String(value) : refuse())],
  [ScalarType.INT64, (value) => (typeof value === 'bigint' ? `"${value}"` : refuse())],
  [ScalarType.BYTES, (value) => (value instanceof Uint8Array ? `"${base64Of(value)}"` : refuse())],
]);

function base64Of(bytes: Uint8Array): string {
  return bytes.length === 0 ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}

// --- in --------------------------------------------------------------------------------------------------------------

type Read = (value: unknown) => unknown;

interface Input {
  readonly name: string;
  readonly read: Read;
}

/** By both names of each field. undefined: the library's business. */
const inputs = new Map<DescMessage, ReadonlyMap<string, Input> | undefined>();

/** The message of a JSON object whose texts are well-formed. Unknown fields are left out. */
export function readPlanned(schema: DescMessage, json: object): object | undefined {
  const plan = inputsOf(schema);
  if (plan === undefined) return undefined;
  try {
    return messageOf(schema, plan, json);
  } catch (error) {
    if (error !== unusual) throw error;
    return undefined;
  }
}

function messageOf(schema: DescMessage, plan: ReadonlyMap<string, Input>, json: unknown): object {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) return refuse();
  const values: Record<string, unknown> = {};
  for (const key of Object.keys(json)) {
    const field = plan.get(key);
    if (field === undefined) continue;
    // Given twice, by its two names.
    if (Object.hasOwn(values, field.name)) return refuse();
    values[field.name] = field.read((json as Values)[key]);
  }
  return complete(schema, values);
}

function inputsOf(schema: DescMessage): ReadonlyMap<string, Input> | undefined {
  if (!inputs.has(schema)) {
    inputs.set(schema, undefined);
    const plan = new Map<string, Input>();
    for (const field of schema.fields) {
      const input = { name: field.localName, read: readerOf(field) ?? refuse };
      plan.set(field.name, input).set(field.jsonName, input);
    }
    inputs.set(schema, isOurs(schema) ? plan : undefined);
  }
  return inputs.get(schema);
}

/** undefined: whatever is given for this field, the library reads. */
function readerOf(field: DescField): Read | undefined {
  if (field.oneof !== undefined) return undefined;
  switch (field.fieldKind) {
    case 'scalar':
      return readers.get(field.scalar);
    case 'enum': {
      const numbers = new Map(field.enum.values.map(({ number, name }) => [name, number]));
      return (value) => numbers.get(value as string) ?? refuse();
    }
    case 'message': {
      const { message } = field;
      const plan = inputsOf(message);
      return plan && ((value) => messageOf(message, plan, value));
    }
    default:
      return undefined;
  }
}

const int32Max = 2 ** 31 - 1;

const readers: ReadonlyMap<ScalarType, Read> = new Map<ScalarType, Read>([
  [ScalarType.STRING, (value) => (typeof value === 'string' ? value : refuse())],
  [ScalarType.BOOL, (value) => (typeof value === 'boolean' ? value : refuse())],
  [ScalarType.INT32, (value) => (isInt32(value) ? value : refuse())],
  [ScalarType.BYTES, (value) => (typeof value === 'string' && readBase64(value)) || refuse()],
]);

function isInt32(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) <= int32Max && (value as number) >= -int32Max - 1;
}

function isOurs(schema: DescMessage): boolean {
  return (
    schema.file.proto.syntax === 'proto3' &&
    !schema.typeName.startsWith('google.') &&
    schema.fields.every(({ proto }) => !proto.proto3Optional)
  );
}

function refuse(): never {
  throw unusual;
}
