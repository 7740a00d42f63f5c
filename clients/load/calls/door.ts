/** A connection to the signing API for the load generator: the calls of two ceremonies, over REST or gRPC. */

export type Curve = 'secp256k1' | 'ed25519';

/** The answer. A call without a response message rejects with CallFailed instead. */
export interface Answer {
  /** Empty when the call made no session. */
  readonly sessionId: string;
  readonly reasonCode: string;
  /** Empty: the answer had no receipt. */
  readonly receiptId: string;
  /** Empty: the session cannot be resumed. */
  readonly resumeToken: string;
}

export interface Signed extends Answer {
  /** 64 bytes, or empty. */
  readonly signature: Uint8Array;
  /** -1: none. */
  readonly recoveryId: number;
}

export interface Door {
  initiateSigning(intentId: string, walletId: string, message: Uint8Array): Promise<Answer>;
  /** Node 0: a live quorum's. */
  submitShare(sessionId: string): Promise<Signed>;
  initiateDkg(sessionId: string, curve: Curve): Promise<Answer>;
  /** The whole all-to-all round. */
  exchangeShares(sessionId: string): Promise<Answer>;
  resume(sessionId: string, resumeToken: string): Promise<Answer>;
  close(): Promise<void>;
}

export const apiNames = ['rest', 'grpc'] as const;
export type ApiName = (typeof apiNames)[number];
