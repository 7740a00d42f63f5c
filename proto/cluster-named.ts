/** The session or key that a call names, and the answer to the call while its cluster is unreachable. */
import { create } from '@bufbuild/protobuf';
import { contractVersion } from './contract-version.ts';
import { MakeKeyResponseSchema, SignResponseSchema } from './gen/signmesh/wire/v1/cluster_pb.ts';
import {
  ApprovalMode,
  type DiagnosticReceipt,
  DiagnosticReceiptSchema,
  DkgShareExchangeResponseSchema,
  InitiateDkgResponseSchema,
  InitiateSigningResponseSchema,
  KeystoreType,
  type OrchestrationContext,
  ReceiptState,
  ResumeSessionResponseSchema,
  type SessionCheckpoint,
  SessionCheckpointSchema,
  SignatureShareResponseSchema,
} from './gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { newId } from './ids.ts';
import { reasonCodes } from './reason-codes.ts';
import type { CallRequest, CallResponse } from './wire.ts';

export interface Named {
  /** The id of the session or key of the call; empty: a new one without a name. */
  readonly id: string;
  /** The call creates it if it does not exist. */
  readonly makesKey: boolean;
}

export function namedBy(request: CallRequest): Named {
  switch (request.case) {
    case 'initiateDkg':
    case 'makeKey':
      return { id: request.value.sessionId, makesKey: true };
    case 'initiateSigning':
    case 'sign':
      return { id: request.value.walletId, makesKey: false };
    case 'submitSignatureShare':
      return { id: request.value.signingSessionId, makesKey: false };
    case 'closeKey':
    case 'refreshKey':
      return { id: request.value.keyId, makesKey: false };
    case 'readNoncePools':
      return { id: '', makesKey: false };
    default:
      return { id: request.value.sessionId, makesKey: false };
  }
}

/** The session of an answer; empty: none, or the named session may belong to another cluster. */
export function sessionOf(response: CallResponse | undefined): string {
  if (response === undefined || !('receipt' in response.value)) return '';
  const { receipt } = response.value;
  return receipt === undefined || receipt.reasonCode === 'DUPLICATE_INTENT' ? '' : receipt.sessionId;
}

const openStates: readonly number[] = [
  ReceiptState.ACCEPTED,
  ReceiptState.PENDING_HUMAN_APPROVAL,
  ReceiptState.RESUMED,
  ReceiptState.BACKEND_FAILED,
];

export function unreachableText(cluster: number): string {
  return `cluster ${cluster} is unreachable`;
}

/** The content of a session's record. Numbers of the contract's enums. */
export interface SessionSeen {
  readonly epoch: number;
  readonly state: number;
  readonly checkpointId: string;
  readonly checkpointMs: number;
  readonly approvalMode: number;
  readonly keystoreType: number;
  readonly correlationId: string;
}

/**
 * Answers a client's call with a receipt, as its cluster would without nodes. The checkpoint follows the session's record; only
 * the cluster can make its token. `session` undefined: none exists, and the call has changed nothing. Returns undefined for a
 * call whose answer has no receipt.
 */
export function unreachableAnswer(
  cluster: number,
  request: CallRequest,
  session: SessionSeen | undefined,
  moment: { readonly nowMs: number; readonly random: (length: number) => Uint8Array },
): CallResponse | undefined {
  if (isPlain(request)) {
    return undefined;
  }
  const text = unreachableText(cluster);
  const { nowMs, random } = moment;
  const { id } = namedBy(request);
  const epoch = BigInt(session?.epoch ?? 0);
  const { QUORUM_UNAVAILABLE: reason } = reasonCodes;
  const context: OrchestrationContext | undefined = request.value.context;
  const sessionId = session === undefined ? '' : id;
  const checkpointId = session?.checkpointId ?? newId('ckp', nowMs, random);
  const isOpen = session !== undefined && openStates.includes(session.state);
  const receipt = create(DiagnosticReceiptSchema, {
    receiptId: newId('rcp', nowMs, random),
    state: reason.state,
    approvalMode: session?.approvalMode || ApprovalMode.DIRECT_ALLOWED,
    reasonCode: 'QUORUM_UNAVAILABLE',
    message:
      session === undefined
        ? `${text}, and the call has changed nothing: repeat it when the cluster is back`
        : `${text}: repeat the call when it is back, or resume with the token of the session's last checkpoint`,
    correlationId: context?.correlationId || session?.correlationId || newId('cor', nowMs, random),
    sessionId,
    contractVersion,
    clientName: context?.client?.clientName ?? '',
    clientVersion: context?.client?.clientVersion ?? '',
    epoch,
    checkpointId,
    resumable: isOpen,
    keystoreType: session?.keystoreType || KeystoreType.MOCK_THRESHOLD,
    backendRoute: 'm0/gateway',
  });
  const checkpoint = create(SessionCheckpointSchema, {
    checkpointId,
    epoch,
    createdAtEpochMs: BigInt(session?.checkpointMs ?? nowMs),
    state: session?.state ?? reason.state,
  });
  const { state } = receipt;
  const proof = { receipt, checkpoint };
  return responseOf(request.case, sessionId, { state, epoch }, proof);
}

/** Calls whose answer has no receipt. */
const plainCases = ['closeKey', 'readSessions', 'inspectSession', 'previewPartial', 'readNoncePools'] as const;
type Plain = Extract<CallRequest, { case: (typeof plainCases)[number] }>;
const plain: ReadonlySet<string> = new Set(plainCases);

function isPlain(request: CallRequest): request is Plain {
  return plain.has(request.case);
}

type Answered = Exclude<CallRequest['case'], Plain['case']>;

function responseOf(
  asked: Answered,
  sessionId: string,
  at: { readonly state: ReceiptState; readonly epoch: bigint },
  proof: { readonly receipt: DiagnosticReceipt; readonly checkpoint: SessionCheckpoint },
): CallResponse {
  const errorMessage = proof.receipt.message;
  switch (asked) {
    case 'initiateDkg':
      return { case: asked, value: create(InitiateDkgResponseSchema, { sessionId, ...at, ...proof }) };
    case 'exchangeDkgShares':
      return { case: asked, value: create(DkgShareExchangeResponseSchema, { sessionId, errorMessage, ...proof }) };
    case 'initiateSigning':
      return {
        case: asked,
        value: create(InitiateSigningResponseSchema, { signingSessionId: sessionId, ...at, ...proof }),
      };
    case 'submitSignatureShare':
      return { case: asked, value: create(SignatureShareResponseSchema, { signingSessionId: sessionId, ...proof }) };
    case 'resumeSession':
      return { case: asked, value: create(ResumeSessionResponseSchema, { sessionId, ...at, ...proof }) };
    case 'makeKey':
    case 'refreshKey':
      return { case: asked, value: create(MakeKeyResponseSchema, proof) };
    case 'sign':
      return { case: asked, value: create(SignResponseSchema, proof) };
  }
}
