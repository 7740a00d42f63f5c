/** Answers to the gateway: the response to each kind of request, or its error. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { participantsOf } from '../../core/crypto/participants.ts';
import { CallErrorCode, type CallReplySchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type CallFacts, type CoordinatorEffect, wire } from '../contract/messages.ts';
import type { SessionRecord } from '../contract/record.ts';
import type { Proof } from './receipts.ts';

/** The response to a call, or its error, as an actor writes it. */
export type ResponseOutcome = Extract<
  NonNullable<MessageInitShape<typeof CallReplySchema>['outcome']>,
  { readonly case: string }
>;

/** The fields of a step's response besides receipt and checkpoint. */
export interface StepResult {
  readonly verified?: boolean;
  readonly fullSignature?: Uint8Array;
  readonly recoveryId?: Uint8Array;
}

/** `changed`: see CallReply. */
export function replyEffect(
  call: CallFacts,
  proof: Proof,
  result: StepResult = {},
  changed = false,
): CoordinatorEffect {
  return outcomeEffect(call, responseTo(call.asked, proof, result), changed);
}

export function errorEffect(call: CallFacts, code: CallErrorCode, message: string): CoordinatorEffect {
  return outcomeEffect(call, { case: 'error', value: { code, message } });
}

/** The fate of the write is not known. A call may be repeated: its effect is detected, and happens once. */
export function unavailableEffect(call: CallFacts): CoordinatorEffect {
  const text = 'the session store does not answer; whether the call took effect is unknown: repeat it';
  return errorEffect(call, CallErrorCode.UNAVAILABLE, text);
}

export function outcomeEffect(call: CallFacts, outcome: ResponseOutcome, changedSession = false): CoordinatorEffect {
  const value = { callId: call.callId, changedSession, outcome };
  return { kind: 'send', to: call.gateway, message: wire({ tenant: call.tenant }, { case: 'callReply', value }) };
}

const none = new Uint8Array();

function responseTo(asked: CallFacts['asked'], proof: Proof, result: StepResult): ResponseOutcome {
  const { receipt, checkpoint, record } = proof;
  const { sessionId, state, epoch } = receipt;
  const { fullSignature = none, recoveryId = none } = result;
  switch (asked) {
    case 'initiateDkg':
      return { case: asked, value: { sessionId, state, epoch, receipt, checkpoint } };
    case 'resumeSession':
      return { case: asked, value: { sessionId, state, epoch, receipt, checkpoint } };
    case 'initiateSigning':
      return { case: asked, value: { signingSessionId: sessionId, state, epoch, receipt, checkpoint } };
    case 'exchangeDkgShares': {
      const verified = result.verified ?? false;
      const errorMessage = verified ? '' : receipt.message;
      return { case: asked, value: { sessionId, verified, errorMessage, receipt, checkpoint } };
    }
    case 'submitSignatureShare': {
      const isComplete = fullSignature.length > 0;
      const value = { signingSessionId: sessionId, isComplete, fullSignature, recoveryId, receipt, checkpoint };
      return { case: asked, value };
    }
    case 'makeKey':
      return { case: asked, value: { receipt, checkpoint, ...keyFacts(record) } };
    case 'refreshKey': {
      const threshold = record?.ceremony.kind === 'dkg' ? record.ceremony.threshold : 0;
      return { case: asked, value: { receipt, checkpoint, ...keyFacts(record), threshold } };
    }
    case 'sign': {
      const ceremony = record?.ceremony.kind === 'signing' ? record.ceremony : undefined;
      const signers = fullSignature.length > 0 ? [...(ceremony?.submitted ?? [])] : [];
      const culprits = [...(ceremony?.excluded ?? [])];
      return { case: asked, value: { receipt, checkpoint, signature: fullSignature, recoveryId, signers, culprits } };
    }
    case 'closeKey':
      throw new Error('a closed key has no session to report');
    case 'readSessions':
    case 'inspectSession':
    case 'previewPartial':
    case 'readNoncePools':
      throw new Error('reads have their own answers');
  }
}

function keyFacts(record: SessionRecord | undefined) {
  if (record?.ceremony.kind !== 'dkg') return {};
  const { publicKey, ownerKeys = [], chainCode = '', culprits = [], confirmation, attempt } = record.ceremony;
  const bytes = (hex: string) => Buffer.from(hex, 'hex');
  return {
    publicKey: bytes(publicKey),
    ownerKeys: ownerKeys.map(bytes),
    chainCode: bytes(chainCode),
    // The store has it before the key is made.
    ...(confirmation !== undefined &&
      record.state === ReceiptState.BACKEND_COMPLETED && {
        confirmation: {
          attempt,
          verificationShares: confirmation.verificationShares.map(bytes),
          transcriptDigest: bytes(confirmation.transcriptDigest),
          signatures: confirmation.signatures.map(bytes),
        },
      }),
    participants: [...participantsOf(record.ceremony)],
    culprits: [...culprits],
  };
}
