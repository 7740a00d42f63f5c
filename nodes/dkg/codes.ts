/**
 * The codes with which a node refuses a DKG request (DkgRefused) or complains about a dealer (DkgVerdict), each registered once
 * with its sentence; docs/protocol.md quotes them.
 */

/** Why a node refuses a request. A refusal never changes the node's state. */
export const dkgRefusals = {
  REQUEST_INVALID: 'the request contradicts itself, its frame, or the cluster',
  PARAMETERS_CHANGED: 'this attempt was opened with another curve, threshold, size or scheme',
  STALE_ATTEMPT: 'a later attempt of this session is known here',
  NOT_OPEN: 'this attempt is not open here: open it first',
  ATTEMPT_DISCARDED: 'this attempt was discarded: open a later one',
  ATTEMPT_BROKEN: 'this attempt ended with a complaint that revealed the sealing key: open a later one',
  ALREADY_FINAL: 'the key of this session is final here',
  OPENING_INVALID: 'a recipient’s opening is not signed by it, or its sealing key is none',
  NOT_FINISHED: 'the node does not hold a verified share of every dealer yet',
  FINISH_FAILED: 'the verified shares do not add up to a key',
  SIGNATURE_INVALID: 'a result is not signed by its node',
  TRANSCRIPT_MISMATCH: 'the nodes’ results are not all equal',
  HSM_UNCONFIGURED: 'this node has no PKCS#11 token',
  HSM_SESSION_LOST: 'the session with the PKCS#11 token ended',
  HSM_PIN_REFUSED: 'the PKCS#11 token refused the PIN',
  HSM_TIMEOUT: 'the PKCS#11 module did not answer in time',
  HSM_TOKEN_ABSENT: 'the PKCS#11 token, or the key in it, is absent',
  HSM_FAILED: 'the PKCS#11 token refused',
  VENDOR_UNCONFIGURED: 'this node has no vendor',
  VENDOR_UNAVAILABLE: 'the vendor of the key does not answer, or not as agreed',
  CLIENT_DEALERS_NOT_ALLOWED: 'this node takes no client-supplied dealer in this session',
  ORDER_INVALID: 'no gateway ordered new shares of this key, or the time of its order is over',
  KEY_UNKNOWN: 'this node does not hold the shares of the key that are replaced',
  RESULT_SIGNED: 'this node has signed a result of an earlier attempt: show it a node that has not',
} as const;

export type DkgRefusalCode = keyof typeof dkgRefusals;

/** Why a dealer's share is not verified. */
export const dkgFaults = {
  /** Malformed commitments, or not signed by the dealer. */
  OPENING_INVALID: 'the opening is malformed or not signed by its dealer',
  POSSESSION_INVALID: 'the dealer does not prove possession of its constant term',
  /** Another opening than the one that was verified here, or client-supplied where it was real, or the reverse. */
  COMMITMENT_MISMATCH: 'the dealer committed to something else before',
  /** Of a refresh. */
  PART_INVALID: 'the dealer does not deal its part of the key',
  SHARE_UNSIGNED: 'the sealed share is not signed by its dealer',
  /** With the revealed sealing key; the attempt is dead. */
  BOX_BROKEN: 'the sealed share does not open',
  /** Sealed: with the revealed sealing key, the attempt is dead. Client-supplied: the right share can still follow. */
  SHARE_INVALID: 'the share does not verify against its dealer’s commitments',
} as const;

export type DkgFaultCode = keyof typeof dkgFaults;
