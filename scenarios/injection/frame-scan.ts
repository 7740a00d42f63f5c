/**
 * What a WebSocket message of the wire holds, seen from outside: of each frame its sender, receiver and kind, and
 * how long it is. Written by hand against the wire format of protobuf, since every message of an idle cluster passes
 * here: a whole decoding would cost twenty times as much. Bodies are skipped.
 */

import { FrameSchema } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import type { WireCase } from '../../proto/wire.ts';
import { type Point, pointOf } from '../faults/vocabulary/trigger-points.ts';

export interface FrameHead {
  /** Where the frame stands in the message, its length before it included. */
  readonly begin: number;
  readonly end: number;
  readonly from: string;
  readonly to: string;
  readonly tenant: string;
  readonly session: string;
  readonly attempt: number;
  readonly point: Point;
}

const { to, from, tenant, session, attempt } = FrameSchema.field;
const pointByField: ReadonlyMap<number, Point> = new Map(
  (FrameSchema.oneofs[0]?.fields ?? []).map((field) => [field.number, pointOf(field.localName as WireCase)]),
);

/** undefined: not frames, or of a kind that this version lacks. What it is worth is for the receiver to say. */
export function scanFrames(bytes: Buffer): FrameHead[] | undefined {
  const heads: FrameHead[] = [];
  const cursor: Cursor = { at: 0, value: 0 };
  while (cursor.at < bytes.length) {
    const head = scanFrame(bytes, cursor);
    if (head === undefined) return undefined;
    heads.push(head);
  }
  return heads;
}

export interface Cursor {
  at: number;
  /** The varint that was read last. */
  value: number;
}

function scanFrame(bytes: Buffer, cursor: Cursor): FrameHead | undefined {
  const begin = cursor.at;
  if (!readVarint(bytes, cursor)) return undefined;
  const end = cursor.at + cursor.value;
  if (end > bytes.length) return undefined;
  const head = { begin, end, from: '', to: '', tenant: '', session: '', attempt: 0 };
  let point: Point | undefined;
  while (cursor.at < end) {
    if (!readVarint(bytes, cursor)) return undefined;
    const number = Math.floor(cursor.value / 8);
    const wireType = cursor.value % 8;
    if (wireType === 0) {
      if (!readVarint(bytes, cursor)) return undefined;
      if (number === attempt.number) head.attempt = cursor.value;
      continue;
    }
    if (wireType === 1 || wireType === 5) {
      cursor.at += wireType === 1 ? 8 : 4;
      continue;
    }
    if (wireType !== 2 || !readVarint(bytes, cursor)) return undefined;
    const valueBegin = cursor.at;
    cursor.at += cursor.value;
    if (cursor.at > end) return undefined;
    if (number === to.number) head.to = textOf(bytes, valueBegin, cursor.at);
    else if (number === from.number) head.from = textOf(bytes, valueBegin, cursor.at);
    else if (number === tenant.number) head.tenant = textOf(bytes, valueBegin, cursor.at);
    else if (number === session.number) head.session = textOf(bytes, valueBegin, cursor.at);
    else point = pointByField.get(number) ?? point;
  }
  return point === undefined || cursor.at !== end ? undefined : { ...head, point };
}

/** Addresses, tenants and sessions are ASCII; other bytes are shown wrongly, without further effect. */
export function textOf(bytes: Buffer, begin: number, end: number): string {
  return bytes.toString('latin1', begin, end);
}

/** Numbers up to 2^53: larger ones (no field read here has them) lose their last bits. */
export function readVarint(bytes: Buffer, cursor: Cursor): boolean {
  let factor = 1;
  let value = 0;
  for (let count = 0; count < 10; count += 1) {
    const byte = bytes[cursor.at];
    if (byte === undefined) return false;
    cursor.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) {
      cursor.value = value;
      return true;
    }
    factor *= 0x80;
  }
  return false;
}
