/** The list of sessions, as gateways request it and coordinators store it: newest first. */
import type { ReceiptState } from './gen/svc/mesh/v1/mpc_wallet_pb.ts';

export interface SessionPageQuery {
  /** Empty: both. */
  readonly kind: 'dkg' | 'signing' | '';
  /** Empty: all. */
  readonly states: readonly ReceiptState[];
  /** 1 to `sessionsPageMax` (limits.ts). */
  readonly limit: number;
  /** The position after which it begins; undefined: at the newest. */
  readonly after: SessionPlace | undefined;
}

/** The position of a session in the list: its start, milliseconds since the Unix epoch. */
export interface SessionPlace {
  readonly atMs: number;
  readonly id: string;
}
