/**
 * The only error that core/crypto/ throws for a fault of a peer or a caller.
 *
 * A peer's fault is data: the callers turn `code` and `culprits` into a reason code and into blame. Native libraries throw
 * plain errors on bad input; none of those ever leaves core/crypto/.
 */

/** The fault. One code, one meaning; the message carries the detail and never a secret. */
export type CryptoErrorCode =
  | 'AGGREGATE_INVALID'
  | 'IDENTITY_POINT'
  | 'INVALID_BYTES'
  | 'INVALID_COMMITMENTS'
  | 'INVALID_MESSAGE'
  | 'INVALID_NODE_ID'
  | 'INVALID_NONCE'
  | 'INVALID_PARTIAL'
  | 'INVALID_PATH'
  | 'INVALID_POINT'
  | 'INVALID_SCALAR'
  | 'INVALID_SHARE'
  | 'INVALID_THRESHOLD'
  | 'RECORD_BROKEN'
  | 'SEAL_BROKEN';

/**
 * A value that fails a mathematical check.
 *
 * `culprits` holds the node ids whose own material is provably wrong, in ascending order; it is empty when the fault
 * cannot be attributed to a node (for example when the caller passed a wrong length).
 */
export class CryptoError extends Error {
  readonly code: CryptoErrorCode;
  readonly culprits: readonly number[];

  constructor(code: CryptoErrorCode, message: string, culprits: readonly number[] = []) {
    super(message);
    this.name = 'CryptoError';
    this.code = code;
    this.culprits = [...culprits].sort((a, b) => a - b);
  }
}
