/**
 * The registry of reason codes: for each, its receipt state, its text, and whether repeating the call can
 * help. docs/reason-codes.md is generated from it.
 */
import { ReceiptState } from './gen/svc/mesh/v1/mpc_wallet_pb.ts';

export interface ReasonEntry {
  /** The receipt's state. For codes that report the session's state, its usual one. */
  readonly state: ReceiptState;
  readonly text: string;
  /** The caller's remedy: resume the session and repeat the call, correct the call, begin a new session, or nothing. */
  readonly helps: 'nothingToDo' | 'resume' | 'correctedCall' | 'newSession' | 'never';
}

const S = ReceiptState;

export const reasonCodes = {
  SESSION_ACCEPTED: { state: S.ACCEPTED, text: 'The session is open.', helps: 'nothingToDo' },
  SHARE_ACCEPTED: {
    state: S.ACCEPTED,
    text: 'The partial signature verifies and is kept; more are needed.',
    helps: 'nothingToDo',
  },
  VENDOR_ORDER_OPEN: {
    state: S.ACCEPTED,
    text: 'The vendor of the key has the order. The session completes without a call when the vendor has decided.',
    helps: 'nothingToDo',
  },
  SHARE_VERIFIED: {
    state: S.ACCEPTED,
    text: 'The share verifies against its dealer’s commitments; pairs are still missing.',
    helps: 'nothingToDo',
  },
  DKG_COMPLETED: {
    state: S.BACKEND_COMPLETED,
    text: 'Every pair has verified and all nodes report the same group key.',
    helps: 'nothingToDo',
  },
  SIGNATURE_COMPLETED: {
    state: S.BACKEND_COMPLETED,
    text: 'The signature is complete and verifies under the derived public key.',
    helps: 'nothingToDo',
  },
  SESSION_RESUMED: { state: S.RESUMED, text: 'The session continues.', helps: 'nothingToDo' },
  HUMAN_APPROVAL_REQUIRED: {
    state: S.PENDING_HUMAN_APPROVAL,
    text: 'A human must approve: resume the session with the token and a human_approval_witness.',
    helps: 'resume',
  },
  WITNESS_MISSING: {
    state: S.DENIED,
    text: 'This session needs a human_approval_witness to be resumed, and the call has none.',
    helps: 'correctedCall',
  },

  INVALID_REQUEST: {
    state: S.DENIED,
    text: 'A field is missing or out of its range; the message names it.',
    helps: 'correctedCall',
  },
  INVALID_THRESHOLD: {
    state: S.DENIED,
    text: 'threshold and total_nodes must satisfy 2 ≤ threshold ≤ total_nodes ≤ nodes of the cluster (0: 3 and 5).',
    helps: 'correctedCall',
  },
  UNSUPPORTED_CURVE: {
    state: S.DENIED,
    text: 'derivation.curve is not supported, or is not the curve of this key.',
    helps: 'correctedCall',
  },
  INVALID_DERIVATION_PATH: {
    state: S.DENIED,
    text: 'derivation.derivation_path does not parse, or its hardened part is not the key’s account.',
    helps: 'correctedCall',
  },
  INVALID_MESSAGE_HASH: {
    state: S.DENIED,
    text: 'message_hash must be 32 bytes for secp256k1 and 1 to 65,536 bytes for ed25519.',
    helps: 'correctedCall',
  },
  UNSUPPORTED_KEYSTORE: {
    state: S.DENIED,
    text: 'This keystore_type does not support this curve: choose another curve or type.',
    helps: 'correctedCall',
  },
  KEYSTORE_MISMATCH: {
    state: S.DENIED,
    text: 'The key is bound to another scheme than that of keystore_type: use the key’s own type, or leave it unspecified.',
    helps: 'correctedCall',
  },
  INTENT_MESSAGE_CHANGED: {
    state: S.DENIED,
    text: 'Nodes have already signed another message for this transaction intent: an intent is for one message, key and path.',
    helps: 'never',
  },
  WALLET_KEY_NOT_FOUND: {
    state: S.DENIED,
    text: 'wallet_id is neither a wallet nor the session_id of a completed DKG.',
    helps: 'correctedCall',
  },
  WALLET_KEY_AT_CUSTODIAN: {
    state: S.DENIED,
    text: 'The wallet’s custodian holds its key: only transaction intents can use it, not this API.',
    helps: 'never',
  },
  WALLET_INTENTS_ONLY: {
    state: S.DENIED,
    text: 'This wallet signs only for transaction intents: create an intent, or set the wallet’s signing_api to allowed.',
    helps: 'never',
  },
  VAULT_KEY: {
    state: S.DENIED,
    text: 'The key belongs to a vault, whose policy decides: sign with POST /v1/vaults/:id/sign.',
    helps: 'never',
  },
  WALLET_ARCHIVED: {
    state: S.DENIED,
    text: 'The wallet is archived: its key no longer signs.',
    helps: 'never',
  },
  TENANT_QUOTA_EXCEEDED: {
    state: S.DENIED,
    text: 'The tenant has reached SIGNMESH_TENANT_BYTES, or the wallet has 10,000 sessions that have not ended, so no session was begun: raise the bound, or wait until older sessions and records expire.',
    helps: 'newSession',
  },
  SESSION_NOT_FOUND: { state: S.DENIED, text: 'No such session.', helps: 'correctedCall' },
  NODE_NOT_PARTICIPANT: {
    state: S.DENIED,
    text: 'The node is not in the session, or was excluded from it for a proven fault.',
    helps: 'correctedCall',
  },
  SHARE_VERIFICATION_FAILED: {
    state: S.DENIED,
    text: 'The share does not verify against the commitments (Feldman).',
    helps: 'correctedCall',
  },
  COMMITMENT_MISMATCH: {
    state: S.DENIED,
    text: 'The commitments differ from this dealer’s earlier ones, or the dealer is a real node in this session.',
    helps: 'correctedCall',
  },
  CLIENT_DEALERS_NOT_ALLOWED: {
    state: S.DENIED,
    text: 'The key belongs to a wallet, or the recipient node’s configuration does not accept client-supplied shares.',
    helps: 'never',
  },
  INVALID_PARTIAL_SIGNATURE: {
    state: S.DENIED,
    text: 'The partial signature does not verify under the node’s verification share.',
    helps: 'correctedCall',
  },

  DUPLICATE_SESSION: { state: S.REPLAY_REJECTED, text: 'A session with this id exists already.', helps: 'newSession' },
  DUPLICATE_INTENT: {
    state: S.REPLAY_REJECTED,
    text: 'This transaction intent has a live or completed signing session already; the receipt names it.',
    helps: 'never',
  },
  DUPLICATE_SHARE: {
    state: S.REPLAY_REJECTED,
    text: 'The session already has this node’s partial signature.',
    helps: 'never',
  },
  RESUME_TOKEN_REUSED: { state: S.REPLAY_REJECTED, text: 'This resume token was used already.', helps: 'never' },
  RESUME_TOKEN_INVALID: {
    state: S.DENIED,
    text: 'The resume token is not the one of the session’s current checkpoint.',
    helps: 'correctedCall',
  },
  SESSION_NOT_RESUMABLE: {
    state: S.DENIED,
    text: 'The session is not paused, so it cannot be resumed. The receipt has the session’s state.',
    helps: 'never',
  },

  NODES_UNAVAILABLE: {
    state: S.BACKEND_FAILED,
    text: 'Nodes that the call needs are unreachable; the message names them. A step for one node or pair does not change the session: repeat it.',
    helps: 'resume',
  },
  QUORUM_UNAVAILABLE: { state: S.BACKEND_FAILED, text: 'Fewer nodes than the threshold can sign.', helps: 'resume' },
  DEALER_MISBEHAVED: {
    state: S.BACKEND_FAILED,
    text: 'A node broke the DKG protocol, with evidence; the message names it. A resume starts a fresh attempt.',
    helps: 'resume',
  },
  NODE_REFUSED: {
    state: S.BACKEND_FAILED,
    text: 'A node refused a step of the DKG, or complained without evidence; the message names it. No node is blamed.',
    helps: 'resume',
  },
  TRANSCRIPT_MISMATCH: {
    state: S.BACKEND_FAILED,
    text: 'The nodes do not report the same result; their key packages were discarded. A resume starts a fresh attempt.',
    helps: 'resume',
  },
  KEYSTORE_UNAVAILABLE: {
    state: S.BACKEND_FAILED,
    text: 'The backend of the key is not configured at its node: HSM_PKCS11 needs a PKCS#11 module, MPC_VENDOR a vendor. A resume tries again.',
    helps: 'resume',
  },
  HSM_SESSION_LOST: {
    state: S.BACKEND_FAILED,
    text: 'The PKCS#11 module, or its session with the token, ended before it signed. A resume opens a new one.',
    helps: 'resume',
  },
  HSM_PIN_REFUSED: {
    state: S.BACKEND_FAILED,
    text: 'The PKCS#11 token refuses the configured PIN. An operator must correct it; then a resume continues.',
    helps: 'resume',
  },
  HSM_TIMEOUT: {
    state: S.BACKEND_FAILED,
    text: 'The PKCS#11 module did not answer in time; its process was ended. A resume starts a new one.',
    helps: 'resume',
  },
  HSM_TOKEN_ABSENT: {
    state: S.BACKEND_FAILED,
    text: 'The PKCS#11 token, or the key in it, is absent. Insert it; then a resume continues.',
    helps: 'resume',
  },
  HSM_FAILED: {
    state: S.BACKEND_FAILED,
    text: 'The PKCS#11 token refused, or its signature does not verify; the message has the token’s code.',
    helps: 'resume',
  },
  VENDOR_UNAVAILABLE: {
    state: S.BACKEND_FAILED,
    text: 'The vendor of the key does not answer, or answers incorrectly. A resume asks it again and makes no second order.',
    helps: 'resume',
  },
  VENDOR_REJECTED: {
    state: S.BACKEND_FAILED,
    text: 'The vendor of the key rejected the order. A resume makes a new one.',
    helps: 'resume',
  },
  VENDOR_CANCELLED: {
    state: S.BACKEND_FAILED,
    text: 'The order was cancelled at the vendor of the key. A resume makes a new one.',
    helps: 'resume',
  },
  VENDOR_SIGNATURE_INVALID: {
    state: S.BACKEND_FAILED,
    text: 'The vendor’s signature does not verify for the message under its key. The session did not release it; a resume makes a new order.',
    helps: 'resume',
  },
  ORDER_REFUSED: {
    state: S.BACKEND_FAILED,
    text: 'Nodes refused to sign: no gateway ordered the request, or the order has expired. Begin a new session.',
    helps: 'newSession',
  },
  STORE_TAMPERED: {
    state: S.BACKEND_FAILED,
    text: 'The stored session or key was changed outside the coordinator, which refuses to use it. An operator must investigate.',
    helps: 'never',
  },
  SESSION_EXPIRED: { state: S.EXPIRED, text: 'The session’s lifetime has ended.', helps: 'newSession' },
  SESSION_REVOKED: {
    state: S.REVOKED,
    text: 'The session was revoked: a newer session of the same intent replaced it, or its wallet was archived.',
    helps: 'newSession',
  },

  MOCK_FORCED_DENIED: { state: S.DENIED, text: 'mock_directive FORCE_DENIED.', helps: 'newSession' },
  MOCK_FORCED_REVOKED: { state: S.REVOKED, text: 'mock_directive FORCE_REVOKED.', helps: 'newSession' },
  MOCK_FORCED_EXPIRED: { state: S.EXPIRED, text: 'mock_directive FORCE_EXPIRED.', helps: 'newSession' },
  MOCK_FORCED_BACKEND_FAILED: {
    state: S.BACKEND_FAILED,
    text: 'mock_directive FORCE_BACKEND_FAILED; it applies once, a resume continues the session.',
    helps: 'resume',
  },

  CONTRACT_VERSION_UNSUPPORTED: {
    state: S.UNSUPPORTED_CLIENT_CONTRACT_VERSION,
    text: 'context.client.contract_version is not supported; this server supports 1.0.',
    helps: 'correctedCall',
  },
} as const satisfies Record<string, ReasonEntry>;

export type ReasonCode = keyof typeof reasonCodes;
