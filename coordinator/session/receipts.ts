/**
 * Receipts and checkpoints. The receipt describes the call, the checkpoint the session. Without a session (refused at
 * initiation, unknown, or another tenant's, which answer alike): epoch 0, no session id, no token, a fresh checkpoint id.
 */
import type { Context } from '../../core/actors/contract.ts';
import { contractVersion } from '../../proto/contract-version.ts';
import {
  ApprovalMode,
  type DiagnosticReceipt,
  KeystoreType,
  type SessionCheckpoint,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from '../../proto/ids.ts';
import type { CallAnswer } from '../contract/call-answer.ts';
import type { CallFacts } from '../contract/messages.ts';
import type { SessionRecord } from '../contract/record.ts';
import { isResumable } from '../contract/transitions.ts';
import { resumeToken } from './resume-token.ts';

/** The request of a call without a session, with the fields that the answer can repeat. */
export interface EchoedFields {
  readonly approvalMode?: ApprovalMode;
  readonly keystoreType?: KeystoreType;
  /** A session that the answer names, and about which this coordinator has no data. */
  readonly sessionId?: string;
}

type Fields<M> = Omit<M, '$typeName' | '$unknown'>;

export interface Proof {
  readonly receipt: Fields<DiagnosticReceipt>;
  readonly checkpoint: Fields<SessionCheckpoint>;
  /** The session, if there is one. */
  readonly record: SessionRecord | undefined;
}

export function proofOf(
  call: CallFacts,
  given: CallAnswer,
  record: SessionRecord | undefined,
  resumeKey: Uint8Array,
  context: Context,
  asked: EchoedFields = {},
): Proof {
  const { nowMs, random } = context;
  const checkpointId = record?.checkpointId ?? newId('ckp', nowMs, random);
  const epoch = BigInt(record?.epoch ?? 0);
  const resumable = record !== undefined && isResumable(record.state);
  const receipt = {
    receiptId: call.receiptId,
    state: given.state,
    approvalMode: record?.approvalMode ?? (asked.approvalMode || ApprovalMode.DIRECT_ALLOWED),
    reasonCode: given.reasonCode,
    message: given.message,
    correlationId: call.correlationId || record?.correlationId || newId('cor', nowMs, random),
    sessionId: record?.sessionId ?? asked.sessionId ?? '',
    contractVersion,
    clientName: call.clientName,
    clientVersion: call.clientVersion,
    epoch,
    checkpointId,
    resumable,
    keystoreType: record?.keystoreType ?? (asked.keystoreType || KeystoreType.MOCK_THRESHOLD),
    backendRoute: record ? backendRoute(record) : 'm0/coordinator',
  };
  return {
    receipt,
    checkpoint: {
      checkpointId,
      epoch,
      createdAtEpochMs: BigInt(record?.checkpointMs ?? nowMs),
      state: record?.state ?? given.state,
      resumeToken: resumable ? resumeToken(resumeKey, record) : '',
    },
    record,
  };
}

/** The backend of a session: mode, ceremony, curve. docs/keystores.md lists them. */
export function backendRoute(record: SessionRecord): string {
  const { ceremony } = record;
  const { keystoreType } = record;
  if (ceremony.kind === 'dkg') {
    if (keystoreType === KeystoreType.HSM_PKCS11) return `m0/hsm-keys/${ceremony.curve}`;
    if (keystoreType === KeystoreType.MPC_VENDOR) return `m0/vendor-keys/${ceremony.curve}`;
    return keystoreType === KeystoreType.MULTISIG_EVM_WALLET ? 'm0/owner-keys' : `m0/dkg/${ceremony.curve}`;
  }
  if (ceremony.curve === '') return 'm0/mock-directive';
  if (keystoreType === KeystoreType.HSM_PKCS11) return `m0/hsm-pkcs11/${ceremony.curve}`;
  if (keystoreType === KeystoreType.MPC_VENDOR) return `m0/mpc-vendor/${ceremony.curve}`;
  if (keystoreType === KeystoreType.MULTISIG_EVM_WALLET) return 'm0/multisig-evm';
  if (ceremony.curve === 'ed25519') return 'm0/frost-ed25519';
  return keystoreType === KeystoreType.MPC_FROST ? 'm0/frost-bip340' : 'm0/mock-ecdsa-secp256k1';
}
