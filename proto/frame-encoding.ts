/**
 * Encodes one frame, after its length. The bytes equal those of protobuf's generic encoder (a test compares them),
 * but it writes the envelope, a dozen fields of every frame, directly into one array: otherwise it would cost
 * more than most bodies. Names and numbers come from the descriptor.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { FrameSchema } from './gen/signmesh/wire/v1/frame_pb.ts';
import { encodeToScratch } from './message-encoding.ts';

const varintType = 0;
const lengthDelimitedType = 2;
const tagOf = (fieldNumber: number, wireType: number): number => fieldNumber * 8 + wireType;

const { to, from, tenant, session, attempt, correlationId, traceparent } = FrameSchema.field;
const [toTag, fromTag, tenantTag, sessionTag, correlationIdTag, traceparentTag] = [
  to,
  from,
  tenant,
  session,
  correlationId,
  traceparent,
].map((field) => tagOf(field.number, lengthDelimitedType)) as [number, number, number, number, number, number];
const attemptTag = tagOf(attempt.number, varintType);

interface Body {
  readonly tag: number;
  readonly schema: DescMessage;
}

const bodies: ReadonlyMap<string, Body> = new Map(
  (FrameSchema.oneofs[0]?.fields ?? []).flatMap((field): [string, Body][] =>
    field.fieldKind === 'message'
      ? [[field.localName, { tag: tagOf(field.number, lengthDelimitedType), schema: field.message }]]
      : [],
  ),
);

/** An envelope of the wire (wire.ts), with an opaque body. */
interface Envelope {
  readonly to: string;
  readonly from: string;
  readonly message: {
    readonly tenant: string;
    readonly session: string;
    readonly attempt: number;
    readonly body: { readonly case: string; readonly value: unknown };
  };
  readonly trace: { readonly correlationId: string; readonly traceparent: string };
}

/** Throws on a body of an unknown kind, and on numbers that their fields cannot hold. */
export function writeFrame({ to, from, message, trace }: Envelope): Uint8Array {
  const kind = bodies.get(message.body.case);
  if (kind === undefined) throw new RangeError(`no frame has a body ${message.body.case}`);
  const { attempt } = message;
  if (attempt >>> 0 !== attempt) throw new RangeError('an attempt is an unsigned 32-bit integer');
  const body = encodeToScratch(kind.schema, message.body.value);

  const length =
    textSize(to) +
    textSize(from) +
    textSize(message.tenant) +
    textSize(message.session) +
    numberSize(attempt) +
    textSize(trace.correlationId) +
    textSize(trace.traceparent) +
    varintSize(kind.tag) +
    varintSize(body.length) +
    body.length;
  // From Buffer's pool if it is short: a separate allocation for every frame would cost more than writing it.
  const bytes = Buffer.allocUnsafe(varintSize(length) + length);
  let at = writeVarint(bytes, 0, length);
  at = writeText(bytes, at, toTag, to);
  at = writeText(bytes, at, fromTag, from);
  at = writeText(bytes, at, tenantTag, message.tenant);
  at = writeText(bytes, at, sessionTag, message.session);
  at = writeNumber(bytes, at, attemptTag, attempt);
  at = writeText(bytes, at, correlationIdTag, trace.correlationId);
  at = writeText(bytes, at, traceparentTag, trace.traceparent);
  at = writeVarint(bytes, at, kind.tag);
  at = writeVarint(bytes, at, body.length);
  bytes.set(body, at);
  return bytes;
}

/** With its tag, which is one byte for the envelope's fields. Omits fields at their default. */
function textSize(text: string): number {
  if (text === '') return 0;
  const length = Buffer.byteLength(text);
  return 1 + varintSize(length) + length;
}

function numberSize(value: number): number {
  return value === 0 ? 0 : 1 + varintSize(value);
}

function writeText(bytes: Buffer, at: number, tag: number, text: string): number {
  if (text === '') return at;
  bytes[at] = tag;
  const begin = writeVarint(bytes, at + 1, Buffer.byteLength(text));
  return begin + bytes.write(text, begin);
}

function writeNumber(bytes: Buffer, at: number, tag: number, value: number): number {
  if (value === 0) return at;
  bytes[at] = tag;
  return writeVarint(bytes, at + 1, value);
}

/** Bytes of a varint; up to 2^53, hence division and no shifts. */
function varintSize(value: number): number {
  let size = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) size += 1;
  return size;
}

function writeVarint(bytes: Buffer, begin: number, value: number): number {
  let at = begin;
  let left = value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) {
    bytes[at] = (left % 0x80) | 0x80;
    at += 1;
  }
  bytes[at] = left;
  return at + 1;
}
