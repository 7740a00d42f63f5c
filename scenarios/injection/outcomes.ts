/** The receipt in the answer to a call: which session it is about, and where that stands. */
import type { DescMessage } from '@bufbuild/protobuf';
import { CallReplySchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { FrameSchema } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import { type DiagnosticReceipt, DiagnosticReceiptSchema } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import { type Cursor, type FrameHead, readVarint, textOf } from './frame-scan.ts';
import type { Outcome } from './session-book.ts';

const replyNumber = FrameSchema.field.callReply.number;
/** The field of the receipt, by that of the response. */
const receiptNumbers = new Map(
  CallReplySchema.fields.flatMap(({ number, message }) => {
    const receipt = (message as DescMessage | undefined)?.fields.find((field) => field.localName === 'receipt');
    return receipt === undefined ? [] : [[number, receipt.number] as const];
  }),
);
const { state: stateField, sessionId: sessionField, reasonCode: reasonField } = DiagnosticReceiptSchema.field;

export function outcomeOf({ message }: WireEnvelope): Outcome | undefined {
  const { body } = message;
  if (body.case !== 'callReply') return undefined;
  const { receipt } = (body.value.outcome?.value ?? {}) as { readonly receipt?: DiagnosticReceipt };
  if (receipt === undefined) return undefined;
  const { sessionId: session, state, reasonCode } = receipt;
  return { session, state, reasonCode };
}

/** The same of a `call_reply` that is not decoded, at a small part of the cost. */
export function scanOutcome(bytes: Buffer, { begin, end }: FrameHead): Outcome | undefined {
  const scan = new Scan(bytes, begin);
  // The frame's own length.
  readVarint(bytes, scan.cursor);
  scan.end = end;
  if (!scan.enter((number) => number === replyNumber) || !scan.enter((number) => receiptNumbers.has(number))) {
    return undefined;
  }
  const receiptNumber = receiptNumbers.get(scan.number);
  if (!scan.enter((number) => number === receiptNumber)) return undefined;
  let [session, reasonCode, state] = ['', '', 0];
  while (scan.next()) {
    if (scan.number === stateField.number) state = scan.value;
    else if (scan.number === sessionField.number) session = textOf(bytes, scan.begin, scan.cursor.at);
    else if (scan.number === reasonField.number) reasonCode = textOf(bytes, scan.begin, scan.cursor.at);
  }
  return { session, state, reasonCode };
}

/** The fields of a message, one after the other. */
class Scan {
  readonly #bytes: Buffer;
  /** After the present field. */
  readonly cursor: Cursor;
  end = 0;
  number = 0;
  /** Where the content of the present field begins. */
  begin = 0;
  /** Of a number. */
  value = 0;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.cursor = { at, value: 0 };
  }

  /** To the next field. False: there is none, or the bytes make no sense. */
  next(): boolean {
    const { cursor } = this;
    if (cursor.at >= this.end || !readVarint(this.#bytes, cursor)) return false;
    const wireType = cursor.value % 8;
    this.number = Math.floor(cursor.value / 8);
    this.begin = cursor.at;
    this.value = 0;
    if (wireType === 1 || wireType === 5) cursor.at += wireType === 1 ? 8 : 4;
    else if ((wireType !== 0 && wireType !== 2) || !readVarint(this.#bytes, cursor)) return false;
    else if (wireType === 0) this.value = cursor.value;
    else {
      this.begin = cursor.at;
      cursor.at += cursor.value;
    }
    return cursor.at <= this.end;
  }

  /** Into the first field that `isIt`. False: there is none. */
  enter(isIt: (number: number) => boolean): boolean {
    while (this.next()) {
      if (!isIt(this.number)) continue;
      this.end = this.cursor.at;
      this.cursor.at = this.begin;
      return true;
    }
    return false;
  }
}
