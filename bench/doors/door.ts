/** A way to the coordinator, as the load generator sees it: the four calls of the two ceremonies, and nothing else. */

export type Curve = 'secp256k1' | 'ed25519';

/** What came back. A call that has no answer (a transport error, an HTTP status other than 200) rejects instead. */
export interface Answer {
  /** Empty when no session was made. */
  readonly sessionId: string;
  readonly reasonCode: string;
}

export interface Signed extends Answer {
  /** 64 bytes, or empty. */
  readonly signature: Uint8Array;
  /** -1: none. */
  readonly recoveryId: number;
}

export interface Door {
  readonly name: DoorName;
  initiateSigning(intentId: string, walletId: string, digest: Uint8Array): Promise<Answer>;
  /** Node 0: whichever quorum is there. */
  submitShare(sessionId: string): Promise<Signed>;
  initiateDkg(sessionId: string, curve: Curve): Promise<Answer>;
  /** The whole all-to-all round. */
  exchangeShares(sessionId: string): Promise<Answer>;
  close(): Promise<void>;
}

export const doorNames = ['rest', 'grpc', 'coordinator'] as const;
export type DoorName = (typeof doorNames)[number];
