/**
 * Decodes a message like the library's `fromBinary` without unknown fields (a test compares the two), but several
 * times faster. The requirements of a schema are looked up once.
 *
 * Only for this repository's own schemas and for bytes as an encoder writes them. In all other cases (another schema,
 * an unknown field, a duplicate inner message, a wire type that is not the field's, truncated bytes) the
 * library decodes from the start, and accepts or refuses. So only the library decides what is malformed.
 *
 * A few bytes can hold a field, and every field costs an object: callers bound how many a message may hold. Byte fields
 * are views of `bytes`, as the library's are.
 */
import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  type MessageShape,
  ScalarType,
} from '@bufbuild/protobuf';
import { hasTooManyFields } from './field-count.ts';

type Values = Record<string, unknown>;
/** Reads one value at `at`. */
type Read = () => unknown;

interface FieldPlan {
  readonly name: string;
  /** Of a member of a oneof: the oneof's name. */
  readonly oneof: string | undefined;
  /** Field number and wire type. */
  readonly tag: number;
  readonly read: Read;
  readonly kind: 'scalar' | 'message' | 'list' | 'packed';
}

interface Plan {
  /** The zero message; every message gets fresh lists and oneofs. */
  readonly zero: Values;
  readonly lists: readonly string[];
  readonly oneofs: readonly string[];
  /** By tag. */
  readonly fields: readonly (FieldPlan | undefined)[];
}

/** undefined: the library handles it. */
const plans = new Map<DescMessage, Plan | undefined>();

/** Not as an encoder writes it: thrown internally, and never leaves this file. */
const unusual = new Error('the library reads this');

let source: Buffer = Buffer.alloc(0);
let at = 0;
let fieldsLeft = 0;

/** Throws when the bytes do not decode, or hold more than `fieldsMax` fields, including those of inner messages and lists. */
export function decodeMessage<D extends DescMessage>(schema: D, bytes: Uint8Array, fieldsMax: number): MessageShape<D> {
  const plan = planOf(schema);
  if (plan !== undefined) {
    source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    at = 0;
    fieldsLeft = fieldsMax;
    try {
      return readMessage(plan, bytes.byteLength) as MessageShape<D>;
    } catch (error) {
      if (error !== unusual) throw error;
    }
  }
  if (hasTooManyFields(schema, bytes, fieldsMax)) throw tooMany(fieldsMax);
  return fromBinary(schema, bytes, { readUnknownFields: false });
}

function tooMany(fieldsMax: number): RangeError {
  return new RangeError(`more than ${fieldsMax} fields in one message`);
}

function readMessage(plan: Plan, end: number): Values {
  const message = { ...plan.zero };
  const { lists, oneofs, fields } = plan;
  for (let index = 0; index < lists.length; index += 1) message[lists[index]!] = [];
  for (let index = 0; index < oneofs.length; index += 1) message[oneofs[index]!] = { case: undefined };
  while (at < end) {
    const field = fields[readVarint()];
    if (field === undefined || fieldsLeft === 0) throw unusual;
    fieldsLeft -= 1;
    take(message, field);
  }
  if (at !== end) throw unusual;
  return message;
}

function take(message: Values, { name, oneof, kind, read }: FieldPlan): void {
  if (kind === 'list') (message[name] as unknown[]).push(read());
  else if (kind === 'packed') readPacked(message[name] as unknown[], read);
  else if (oneof !== undefined) {
    // The library merges an inner message that occurs twice.
    if ((message[oneof] as { case?: string }).case !== undefined) throw unusual;
    message[oneof] = { case: name, value: read() };
  } else {
    if (kind === 'message' && message[name] !== undefined) throw unusual;
    message[name] = read();
  }
}

function readPacked(list: unknown[], read: Read): void {
  const end = readEnd();
  while (at < end) list.push(read());
  if (at !== end) throw unusual;
}

function planOf(schema: DescMessage): Plan | undefined {
  if (plans.has(schema)) return plans.get(schema);
  // A recursive schema finds this, and the library handles it.
  plans.set(schema, undefined);
  const plan = newPlan(schema);
  plans.set(schema, plan);
  return plan;
}

function newPlan(schema: DescMessage): Plan | undefined {
  if (schema.file.proto.syntax !== 'proto3' || schema.typeName.startsWith('google.')) return undefined;
  const zero = { ...create(schema) } as Values;
  const fields: FieldPlan[] = [];
  for (const field of schema.fields) {
    const plan = fieldPlan(field);
    if (plan === undefined) return undefined;
    fields[plan.tag] = plan;
  }
  const lists = schema.fields.filter(({ fieldKind }) => fieldKind === 'list').map(({ localName }) => localName);
  return { zero, lists, oneofs: schema.oneofs.map(({ localName }) => localName), fields };
}

function fieldPlan(field: DescField): FieldPlan | undefined {
  if (field.proto.proto3Optional) return undefined;
  const planned = (kind: FieldPlan['kind'], value: Value | undefined): FieldPlan | undefined => {
    if (value === undefined) return undefined;
    const wireType = kind === 'packed' ? lengthDelimited : value.wireType;
    const { localName: name, oneof, number } = field;
    return { name, oneof: oneof?.localName, tag: number * 8 + wireType, read: value.read, kind };
  };
  switch (field.fieldKind) {
    case 'scalar':
      return planned('scalar', scalars.get(field.scalar));
    case 'enum':
      return planned('scalar', enumValue);
    case 'message':
      return planned('message', nestedValue(field.message));
    case 'list': {
      if (field.listKind === 'message') return planned('list', nestedValue(field.message));
      const value = field.listKind === 'enum' ? enumValue : scalars.get(field.scalar);
      return planned(value?.wireType === lengthDelimited ? 'list' : 'packed', value);
    }
    default:
      return undefined;
  }
}

function nestedValue(schema: DescMessage): Value | undefined {
  const plan = planOf(schema);
  return plan && { wireType: lengthDelimited, read: () => readMessage(plan, readEnd()) };
}

interface Value {
  readonly wireType: number;
  readonly read: Read;
}

const varint = 0;
const bits64 = 1;
const lengthDelimited = 2;

const enumValue: Value = { wireType: varint, read: readInt32 };
const scalars: ReadonlyMap<ScalarType, Value> = new Map([
  [ScalarType.STRING, { wireType: lengthDelimited, read: readText }],
  [ScalarType.BYTES, { wireType: lengthDelimited, read: readBytes }],
  [ScalarType.BOOL, { wireType: varint, read: () => readVarint() !== 0 }],
  [ScalarType.UINT32, { wireType: varint, read: readUint32 }],
  [ScalarType.INT32, { wireType: varint, read: readInt32 }],
  [ScalarType.UINT64, { wireType: varint, read: readBig }],
  [ScalarType.INT64, { wireType: varint, read: readBig }],
  [ScalarType.FIXED64, { wireType: bits64, read: readFixed64 }],
]);

/** A whole number up to 2^53. Longer and truncated ones are unusual. */
function readVarint(): number {
  let byte = source[at]!;
  at += 1;
  if (byte < 0x80) return byte;
  let value = byte & 0x7f;
  for (let unit = 0x80; unit <= 2 ** 42; unit *= 0x80) {
    byte = source[at]!;
    at += 1;
    value += (byte & 0x7f) * unit;
    if (byte < 0x80) return value;
  }
  throw unusual;
}

function readUint32(): number {
  const value = readVarint();
  if (value > 0xffff_ffff) throw unusual;
  return value;
}

/** Negative ones have ten bytes, and the library handles them. */
function readInt32(): number {
  const value = readVarint();
  if (value > 0x7fff_ffff) throw unusual;
  return value;
}

function readBig(): bigint {
  return BigInt(readVarint());
}

function readFixed64(): bigint {
  if (at + 8 > source.length) throw unusual;
  at += 8;
  return source.readBigUInt64LE(at - 8);
}

/** Reads a length and returns the end of its bytes. */
function readEnd(): number {
  const length = readVarint();
  const end = at + length;
  if (!(end <= source.length)) throw unusual;
  return end;
}

function readBytes(): Uint8Array {
  const end = readEnd();
  const bytes = new Uint8Array(source.buffer, source.byteOffset + at, end - at);
  at = end;
  return bytes;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function readText(): string {
  const end = readEnd();
  const begin = at;
  at = end;
  for (let index = begin; index < end; index += 1) if (source[index]! >= 0x80) return readUtf8(begin, end);
  return source.toString('latin1', begin, end);
}

function readUtf8(begin: number, end: number): string {
  try {
    return utf8.decode(source.subarray(begin, end));
  } catch {
    throw unusual;
  }
}
