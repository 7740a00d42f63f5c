/**
 * The allowed values or the meaning of every field of the signing API, by message. Names, numbers and types come from the
 * descriptor, limits from proto/limits.ts; the texts are here. A field without text, or text without a field, fails the page.
 */
import { contractVersion } from '../../proto/contract-version.ts';
import {
  defaultThreshold,
  defaultTotalNodes,
  derivationPathCharsMax,
  digestBytes,
  ed25519MessageBytesMax,
  identifierCharsMax,
  nodesMax,
  opaqueBytesMax,
  reservedSessionPrefixes,
  resumeTokenCharsMax,
  scalarBytes,
  sessionIdPattern,
  thresholdMin,
} from '../../proto/limits.ts';

const chars = `At most ${identifierCharsMax} characters.`;
const opaque = `At most ${opaqueBytesMax} bytes.`;
const context = 'See OrchestrationContext.';
const receipt = 'This call: see DiagnosticReceipt.';
const checkpoint = 'The session after the call: see SessionCheckpoint.';
const state = 'As in the receipt.';
const scalar = `A scalar of ${scalarBytes} bytes, below the order of the group: big-endian on secp256k1, little-endian on ed25519`;

export const fieldRules: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  InitiateDkgRequest: {
    session_id: `Names the session and its key within the tenant. \`${sessionIdPattern.source.slice(1, -1)}\`, not beginning with ${reservedSessionPrefixes.map((prefix) => `\`${prefix}\``).join(' or ')}. Empty: the server makes a \`dkg_…\`. A known id is \`DUPLICATE_SESSION\`.`,
    threshold: `How many nodes sign. ${thresholdMin} ≤ threshold ≤ total_nodes, else \`INVALID_THRESHOLD\`. 0: ${defaultThreshold}.`,
    total_nodes: `How many nodes hold a share: nodes 1 to total_nodes, unless others take the place of unreachable ones. At most the nodes of the cluster (${defaultTotalNodes} by default, up to ${nodesMax}). 0: ${defaultTotalNodes}.`,
    derivation: 'Curve and account of the key: see ThresholdDerivation.',
    context,
  },
  InitiateDkgResponse: {
    session_id: 'Empty when the call was refused and there is no session.',
    state,
    epoch: state,
    receipt,
    checkpoint,
  },
  DkgShareExchangeRequest: {
    session_id: 'A DKG session of this tenant, else `SESSION_NOT_FOUND`.',
    sender_node_id: 'The dealer, a node of the session. 0: all dealers. Other values: `NODE_NOT_PARTICIPANT`.',
    recipient_node_id:
      'The recipient that verifies, a node of the session. 0: all recipients. Other values: `NODE_NOT_PARTICIPANT`.',
    encrypted_share: `Empty: the sender’s process deals. Given: a client-supplied share in place of the sender’s; then both ids and \`commitments\` are required. ${scalar}, not encrypted (mock mode).`,
    commitments:
      'Only with `encrypted_share`: as many points as the threshold, compressed (33 bytes on secp256k1, 32 on ed25519), constant term first.',
    context,
  },
  DkgShareExchangeResponse: {
    session_id: 'As in the request; empty when there is no such session.',
    verified: 'All requested pairs have verified.',
    error_message: 'The receipt’s message when `verified` is false, else empty.',
    receipt,
    checkpoint,
  },
  InitiateSigningRequest: {
    transaction_intent_id: `The caller’s name for this signature: the service signs one intent of a tenant once. Required. ${chars}`,
    wallet_id: `A wallet of this tenant with a key on the cluster (provider \`self_hosted\`), or the session_id of a completed DKG, else \`WALLET_KEY_NOT_FOUND\`. Needed. ${chars}`,
    derivation: 'The derived key: see ThresholdDerivation.',
    message_hash: `secp256k1: exactly ${digestBytes} bytes, a digest. ed25519: 1 to ${ed25519MessageBytesMax} bytes, signed as the message. Else \`INVALID_MESSAGE_HASH\`.`,
    policy_approval_token: `Not interpreted; the session's events contain its SHA-256. ${opaque}`,
    human_approval_witness: `With \`HUMAN_REQUIRED\`: any bytes count as the approval (mock mode does not interpret them); without them the session waits for a human. The session's events contain its SHA-256. ${opaque}`,
    approval_mode: '`HUMAN_REQUIRED` requires a witness; the others do not.',
    context,
    keystore_type:
      'The scheme that signs: see Schemes. `UNSPECIFIED` means the key’s own; any other is `KEYSTORE_MISMATCH`.',
    mock_directive: 'See Mock directives.',
  },
  InitiateSigningResponse: {
    signing_session_id: 'A `sig_…`; empty when the call was refused. With `DUPLICATE_INTENT`: the first session.',
    state,
    epoch: state,
    receipt,
    checkpoint,
  },
  SignatureShareRequest: {
    signing_session_id: 'A signing session of this tenant, else `SESSION_NOT_FOUND`.',
    node_id:
      'The node of the partial, which must hold a share of the key. 0: a live quorum. An unknown or excluded node: `NODE_NOT_PARTICIPANT`.',
    partial_signature: `Empty: the node’s process makes it. Given: it replaces that node’s own, and \`node_id\` is required. ${scalar}; for a MULTISIG_EVM_WALLET or HSM_PKCS11 key a signature: see docs/keystores.md.`,
    ephemeral_public_key:
      'Optional: the nonce point R that the caller expects, 33 or 32 bytes. If it differs from the attempt’s, the answer is `INVALID_REQUEST`.',
    context,
  },
  SignatureShareResponse: {
    signing_session_id: 'As in the request; empty when there is no such session.',
    is_complete: 'The signature is here.',
    full_signature: '64 bytes when complete, for a MULTISIG_EVM_WALLET key 65 for each owner: see Schemes. Else empty.',
    recovery_id: 'One byte, 0 to 3, for ECDSA when complete. Else empty.',
    receipt,
    checkpoint,
  },
  ResumeSessionRequest: {
    session_id: 'A session of this tenant, of either kind, else `SESSION_NOT_FOUND`.',
    resume_token: `The token of the session’s current checkpoint. Required. At most ${resumeTokenCharsMax} characters.`,
    context,
    human_approval_witness: `Required and not empty while the session waits for a human, else \`WITNESS_MISSING\`. The session's events contain its SHA-256. ${opaque}`,
  },
  ResumeSessionResponse: {
    session_id: 'As in the request; empty when there is no such session.',
    state,
    epoch: state,
    receipt,
    checkpoint,
  },
  ThresholdDerivation: {
    derivation_path: `See Derivation. At most ${derivationPathCharsMax} characters.`,
    curve:
      '`secp256k1` or `ed25519`. Empty: secp256k1 for a DKG, the key’s own curve for a signature. Other values: `UNSUPPORTED_CURVE`.',
    network_id: `Recorded in the events of the session. ${chars}`,
  },
  OrchestrationContext: {
    payload: `Not interpreted. ${opaque}`,
    traceparent: `W3C traceparent of the caller’s trace. ${chars}`,
    correlation_id: `Comes back in the receipt. Empty: the session’s, or a new \`cor_…\`. ${chars}`,
    client: 'See ClientVersionInfo.',
  },
  ClientVersionInfo: {
    client_name: `Comes back in the receipt. ${chars}`,
    client_version: `Comes back in the receipt. ${chars}`,
    contract_version: `\`MAJOR[.MINOR[.PATCH]]\`, optional leading \`v\`; \`1\` is 1.0. Empty: ${contractVersion}. See Contract versions.`,
  },
  DiagnosticReceipt: {
    receipt_id: 'A new `rcp_…` for every answer.',
    state: 'The outcome of the call: see States.',
    approval_mode: 'The session’s; `DIRECT_ALLOWED` unless a human is required.',
    reason_code: 'See [reason-codes.md](reason-codes.md).',
    message: 'For human readers. Its wording may change.',
    correlation_id: 'The call’s, else the session’s, else a new `cor_…`.',
    session_id: 'The session; empty without one.',
    contract_version: 'The server’s.',
    client_name: 'The call’s.',
    client_version: 'The call’s.',
    epoch: 'The session’s after the call; 0 without one.',
    checkpoint_id: 'The checkpoint’s.',
    resumable: 'The session is paused, and the checkpoint has a token.',
    keystore_type: 'The session’s, `UNSPECIFIED` resolved.',
    backend_route:
      'The backend of the call, for human readers: `m0/` and the ceremony, e.g. `m0/mock-ecdsa-secp256k1`.',
  },
  SessionCheckpoint: {
    checkpoint_id: 'A `ckp_…`, one for each epoch of the session. Without a session: a new one.',
    epoch: 'Begins at 1 and rises by one with every change of the session; 0 without one.',
    created_at_epoch_ms: 'The time at which the session reached this epoch.',
    state: 'The session’s; without one, the receipt’s.',
    resume_token: 'Set while the session can be resumed: see Resume tokens.',
  },
};
