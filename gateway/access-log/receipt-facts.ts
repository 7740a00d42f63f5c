/** What an access line tells of a receipt. */
import { type DiagnosticReceipt, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { CallResponse } from '../../proto/wire.ts';

export interface ReceiptFacts {
  readonly receiptId: string;
  /** e.g. "DENIED". */
  readonly state: string;
  readonly reasonCode: string;
  /** Empty: the call has none. */
  readonly sessionId: string;
}

/** undefined: the response has no receipt. */
export function receiptFacts({ value }: CallResponse): ReceiptFacts | undefined {
  const { receipt } = value as { readonly receipt?: DiagnosticReceipt };
  if (receipt === undefined) return undefined;
  const { receiptId, state, reasonCode, sessionId } = receipt;
  return { receiptId, state: ReceiptState[state] ?? String(state), reasonCode, sessionId };
}
