/**
 * What an access line tells of a receipt, read out of an encoded response: the rest of it is skipped, not decoded, since
 * this runs for every signing call.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { DiagnosticReceiptSchema, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';

export interface ReceiptFacts {
  readonly receiptId: string;
  /** e.g. "DENIED". */
  readonly state: string;
  readonly reasonCode: string;
  /** Empty: the call has none. */
  readonly sessionId: string;
}

export type ReceiptReader = (response: Uint8Array) => ReceiptFacts | undefined;

const numbers = {
  receiptId: DiagnosticReceiptSchema.field.receiptId.number,
  state: DiagnosticReceiptSchema.field.state.number,
  reasonCode: DiagnosticReceiptSchema.field.reasonCode.number,
  sessionId: DiagnosticReceiptSchema.field.sessionId.number,
} as const;

/** Reads responses of this message; the reader answers undefined for one without a receipt, or that does not decode. */
export function receiptReader(response: DescMessage): ReceiptReader {
  const field = response.fields.find(({ name }) => name === 'receipt')?.number;
  return (bytes) => {
    try {
      const reader = new BinaryReader(bytes);
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag();
        if (number === field && wireType === WireType.LengthDelimited) return readReceipt(reader);
        reader.skip(wireType, number);
      }
    } catch {
      // The client is given the bytes as they are, and finds out for itself.
    }
    return undefined;
  };
}

function readReceipt(reader: BinaryReader): ReceiptFacts {
  const length = reader.uint32();
  const end = reader.pos + length;
  let receiptId = '';
  let state = 0;
  let reasonCode = '';
  let sessionId = '';
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    switch (number) {
      case numbers.receiptId:
        receiptId = reader.string();
        break;
      case numbers.state:
        state = reader.int32();
        break;
      case numbers.reasonCode:
        reasonCode = reader.string();
        break;
      case numbers.sessionId:
        sessionId = reader.string();
        break;
      default:
        reader.skip(wireType, number);
    }
  }
  return { receiptId, state: ReceiptState[state] ?? String(state), reasonCode, sessionId };
}
