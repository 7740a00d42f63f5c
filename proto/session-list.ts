/** The list of sessions, as gateways ask for it and coordinators keep it: newest first. */
import type { ReceiptState } from './gen/svc/mesh/v1/mpc_wallet_pb.ts';

export interface SessionPageQuery {
  /** Empty: both. */
  readonly kind: 'dkg' | 'signing' | '';
  /** Empty: all. */
  readonly states: readonly ReceiptState[];
  /** 1 to `sessionsPageMax` (limits.ts). */
  readonly limit: number;
  /** The place after which it begins; undefined: the newest comes first. */
  readonly after: SessionPlace | undefined;
}

/** Of a session in the list: when it began, milliseconds since the Unix epoch. */
export interface SessionPlace {
  readonly atMs: number;
  readonly id: string;
}
