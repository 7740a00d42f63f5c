/** A connection to the signing API for the load generator: the calls of two ceremonies, over REST or gRPC. */

export type SigningCurve = 'secp256k1' | 'ed25519';

/** The answer. A call without a response message rejects with CallFailed instead. */
export interface SigningAnswer {
  /** Empty when the call made no session. */
  readonly sessionId: string;
  readonly reasonCode: string;
  /** Empty: the answer had no receipt. */
  readonly receiptId: string;
  /** Empty: the session cannot be resumed. */
  readonly resumeToken: string;
}

export interface SignedAnswer extends SigningAnswer {
  /** 64 bytes, or empty. */
  readonly signature: Uint8Array;
  /** -1: none. */
  readonly recoveryId: number;
}

export interface SigningCaller {
  initiateSigning(intentId: string, walletId: string, message: Uint8Array): Promise<SigningAnswer>;
  /** Node 0: a live quorum's. */
  submitShare(sessionId: string): Promise<SignedAnswer>;
  initiateDkg(sessionId: string, curve: SigningCurve): Promise<SigningAnswer>;
  /** The whole all-to-all round. */
  exchangeShares(sessionId: string): Promise<SigningAnswer>;
  resume(sessionId: string, resumeToken: string): Promise<SigningAnswer>;
  close(): Promise<void>;
}

export const apiNames = ['rest', 'grpc'] as const;
export type ApiName = (typeof apiNames)[number];
