/**
 * Encodes a message directly from an actor's object: the bytes equal those of the library's `toBinary` for the complete message
 * (a test compares them for every body of a frame), in a third of the time. The requirements of a schema are looked up once.
 *
 * Only for this repository's own schemas (proto3, no maps, no optional scalars); for anything else, and for messages with
 * unknown fields, it asks the library. Numbers that their fields cannot hold throw RangeError.
 */
import { type DescField, type DescMessage, type MessageShape, ScalarType, toBinary } from '@bufbuild/protobuf';
import { complete } from './complete.ts';

type Values = Readonly<Record<string, unknown>>;
/** Writes a value that is not the field's default, its tag first. */
type Put = (value: unknown) => void;

interface FieldPlan {
  readonly name: string;
  /** Of a member of a oneof: the oneof's name. */
  readonly oneof: string | undefined;
  readonly isDefault: (value: unknown) => boolean;
  readonly put: Put;
}

/** undefined: the library handles it. */
const plans = new Map<DescMessage, readonly FieldPlan[] | undefined>();

/** The buffer for encoding. It grows to the longest message so far, and never leaves this file. */
let scratch = Buffer.allocUnsafe(64 * 1024);
let at = 0;

/** The bytes of `init`, complete or not; a fresh array. */
export function encodeMessage(schema: DescMessage, init: unknown): Uint8Array {
  return Uint8Array.prototype.slice.call(encodeToScratch(schema, init));
}

/** The same, but the caller must copy it at once: the next encoding overwrites it. */
export function encodeToScratch(schema: DescMessage, init: unknown): Uint8Array {
  if (planOf(schema) === undefined || hasUnknown(init as Values)) return byLibrary(schema, init);
  at = 0;
  writeFields(schema, init as Values);
  return scratch.subarray(0, at);
}

function byLibrary(schema: DescMessage, init: unknown): Uint8Array {
  return toBinary(schema, complete(schema, init as MessageShape<DescMessage>));
}

function hasUnknown({ $unknown }: Values): boolean {
  return Array.isArray($unknown) && $unknown.length > 0;
}

function writeFields(schema: DescMessage, values: Values): void {
  const plan = plans.get(schema)!;
  for (let index = 0; index < plan.length; index += 1) {
    const { name, oneof, isDefault, put } = plan[index]!;
    if (oneof === undefined) {
      const value = values[name];
      if (value !== undefined && value !== null && !isDefault(value)) put(value);
    } else {
      const chosen = values[oneof] as { readonly case?: string; readonly value?: unknown } | undefined;
      if (chosen?.case === name) put(chosen.value);
    }
  }
}

function planOf(schema: DescMessage): readonly FieldPlan[] | undefined {
  if (plans.has(schema)) return plans.get(schema);
  // A recursive schema finds this, and the library handles it.
  plans.set(schema, undefined);
  const fields = [...schema.fields].sort((a, b) => a.number - b.number).map(fieldPlan);
  const plan = isOurs(schema) && fields.every((field) => field !== undefined) ? fields : undefined;
  plans.set(schema, plan);
  return plan;
}

function isOurs(schema: DescMessage): boolean {
  return schema.file.proto.syntax === 'proto3' && !schema.typeName.startsWith('google.');
}

function fieldPlan(field: DescField): FieldPlan | undefined {
  const made = field.proto.proto3Optional ? undefined : putOf(field);
  if (made === undefined) return undefined;
  return { name: field.localName, oneof: field.oneof?.localName, ...made };
}

function putOf(field: DescField): Pick<FieldPlan, 'isDefault' | 'put'> | undefined {
  const { number } = field;
  switch (field.fieldKind) {
    case 'scalar': {
      const scalar = scalars.get(field.scalar);
      if (scalar === undefined) return undefined;
      const tag = number * 8 + scalar.wireType;
      return { isDefault: scalar.isDefault, put: tagged(tag, scalar.write) };
    }
    case 'enum':
      return { isDefault: isZero, put: tagged(number * 8, writeInt32) };
    case 'message': {
      const nested = nestedPut(number, field.message);
      return nested && { isDefault: never, put: nested };
    }
    case 'list':
      return listPut(field);
    default:
      return undefined;
  }
}

function listPut(field: DescField & { fieldKind: 'list' }): Pick<FieldPlan, 'isDefault' | 'put'> | undefined {
  const { number } = field;
  const each = (put: Put) => ({
    isDefault: never,
    put: (list: unknown) => {
      for (const item of list as unknown[]) put(item);
    },
  });
  if (field.listKind === 'message') {
    const nested = nestedPut(number, field.message);
    return nested && each(nested);
  }
  const scalar = field.listKind === 'enum' ? enumScalar : scalars.get(field.scalar);
  if (scalar === undefined) return undefined;
  if (scalar.wireType === lengthDelimited) {
    const tag = number * 8 + lengthDelimited;
    return each(tagged(tag, scalar.write));
  }
  // Numbers are packed after one length.
  const tag = number * 8 + lengthDelimited;
  return {
    isDefault: (list) => (list as unknown[]).length === 0,
    put: (list) => {
      writeVarint(tag);
      delimited(() => {
        for (const item of list as unknown[]) scalar.write(item);
      });
    },
  };
}

function nestedPut(number: number, schema: DescMessage): Put | undefined {
  if (planOf(schema) === undefined) return undefined;
  const tag = number * 8 + lengthDelimited;
  return (value) => {
    writeVarint(tag);
    if (hasUnknown(value as Values)) writeBytes(byLibrary(schema, value));
    else delimited(() => writeFields(schema, value as Values));
  };
}

/** The output of `write`, after its length: it reserves one byte for the length, if that is enough. */
function delimited(write: () => void): void {
  reserve(1);
  const begin = at;
  at += 1;
  write();
  const length = at - begin - 1;
  if (length < 0x80) {
    scratch[begin] = length;
    return;
  }
  const more = varintSize(length) - 1;
  reserve(more);
  scratch.copyWithin(begin + 1 + more, begin + 1, at);
  at = begin;
  writeVarint(length);
  at += length;
}

/** Writes a value after its tag. */
function tagged(tag: number, write: Put): Put {
  return (value) => {
    writeVarint(tag);
    write(value);
  };
}

interface Scalar {
  readonly wireType: number;
  readonly isDefault: (value: unknown) => boolean;
  readonly write: Put;
}

const varint = 0;
const bits64 = 1;
const lengthDelimited = 2;
const never = (): boolean => false;
const isZero = (value: unknown): boolean => value === 0;
const isZeroBig = (value: unknown): boolean => value === 0n;
const isEmpty = (value: unknown): boolean => (value as { readonly length: number }).length === 0;

const enumScalar: Scalar = { wireType: varint, isDefault: isZero, write: writeInt32 };
const scalars: ReadonlyMap<ScalarType, Scalar> = new Map([
  [ScalarType.STRING, { wireType: lengthDelimited, isDefault: isEmpty, write: writeText }],
  [ScalarType.BYTES, { wireType: lengthDelimited, isDefault: isEmpty, write: writeBytes }],
  [ScalarType.BOOL, { wireType: varint, isDefault: (value) => value === false, write: writeBool }],
  [ScalarType.UINT32, { wireType: varint, isDefault: isZero, write: writeUint32 }],
  [ScalarType.INT32, { wireType: varint, isDefault: isZero, write: writeInt32 }],
  [ScalarType.UINT64, { wireType: varint, isDefault: isZeroBig, write: (value) => writeBig(value, 0n, uint64Max) }],
  [ScalarType.INT64, { wireType: varint, isDefault: isZeroBig, write: (value) => writeBig(value, int64Min, int64Max) }],
  [ScalarType.FIXED64, { wireType: bits64, isDefault: isZeroBig, write: writeFixed64 }],
]);

const uint64Max = 2n ** 64n - 1n;
const int64Max = 2n ** 63n - 1n;
const int64Min = -(2n ** 63n);
const safeMax = BigInt(Number.MAX_SAFE_INTEGER);

function reserve(bytes: number): void {
  if (at + bytes <= scratch.length) return;
  const larger = Buffer.allocUnsafe(2 * (at + bytes));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}

function varintSize(value: number): number {
  let size = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) size += 1;
  return size;
}

/** A whole number up to 2^53. */
function writeVarint(value: number): void {
  reserve(8);
  let left = value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) {
    scratch[at] = (left % 0x80) | 0x80;
    at += 1;
  }
  scratch[at] = left;
  at += 1;
}

function writeUint32(value: unknown): void {
  if ((value as number) >>> 0 !== value) throw new RangeError('not an unsigned 32-bit integer');
  writeVarint(value as number);
}

/** Negative ones take ten bytes, as if they had 64 bits. */
function writeInt32(value: unknown): void {
  if (((value as number) | 0) !== value) throw new RangeError('not a 32-bit integer');
  if ((value as number) >= 0) writeVarint(value as number);
  else writeBig(BigInt(value as number), int64Min, int64Max);
}

function writeBool(value: unknown): void {
  writeVarint(value === true ? 1 : 0);
}

function writeBig(value: unknown, min: bigint, max: bigint): void {
  const whole = BigInt(value as bigint);
  if (whole < min || whole > max) throw new RangeError('not a 64-bit integer of the field');
  if (whole >= 0n && whole <= safeMax) {
    writeVarint(Number(whole));
    return;
  }
  reserve(10);
  let left = BigInt.asUintN(64, whole);
  for (; left >= 0x80n; left >>= 7n) {
    scratch[at] = Number(left & 0x7fn) | 0x80;
    at += 1;
  }
  scratch[at] = Number(left);
  at += 1;
}

function writeFixed64(value: unknown): void {
  reserve(8);
  at = scratch.writeBigUInt64LE(value as bigint, at);
}

function writeText(value: unknown): void {
  const text = value as string;
  const length = Buffer.byteLength(text);
  writeVarint(length);
  reserve(length);
  at += scratch.write(text, at, length, 'utf8');
}

function writeBytes(value: unknown): void {
  // The library accepts lists of numbers, too.
  const bytes = value instanceof Uint8Array ? value : Uint8Array.from(value as number[]);
  writeVarint(bytes.length);
  reserve(bytes.length);
  scratch.set(bytes, at);
  at += bytes.length;
}
