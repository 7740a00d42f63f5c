/** The coordinator's answer to one call, before it becomes a receipt. */
import type { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type ReasonCode, reasonCodes } from '../../proto/reason-codes.ts';
import type { SessionRecord } from './record.ts';

export interface CallAnswer {
  readonly state: ReceiptState;
  readonly reasonCode: ReasonCode;
  readonly message: string;
}

/** An answer with the registry's state and, unless a more precise text is given, its text. */
export function answer(reasonCode: ReasonCode, message?: string): CallAnswer {
  const entry = reasonCodes[reasonCode];
  return { state: entry.state, reasonCode, message: message ?? entry.text };
}

/** A well-formed call in the wrong state: the session's own state and reason. */
export function sessionAnswer(record: SessionRecord): CallAnswer {
  return { state: record.state, reasonCode: record.reasonCode, message: record.message };
}
