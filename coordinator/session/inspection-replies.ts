/** A sandbox gateway's view of a session, and of a partial that is not submitted. Nothing here changes state. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { InspectSessionResponseSchema } from '../../proto/gen/signmesh/wire/v1/sandbox_pb.ts';
import type { CallAnswer } from '../contract/call-answer.ts';
import type { CoordinatorEffect, InspectCall, PreviewCall } from '../contract/messages.ts';
import type { SessionRecord } from '../contract/record.ts';
import { isResumable } from '../contract/transitions.ts';
import { outcomeEffect } from './replies.ts';
import { resumeToken } from './resume-token.ts';
import { isOfWalletService } from './view.ts';

/** The fields that the session's actor knows better than its record, or that the record lacks. */
export type InHand = Pick<
  MessageInitShape<typeof InspectSessionResponseSchema>,
  | 'cluster'
  | 'attempt'
  | 'culprits'
  | 'submitted'
  | 'given'
  | 'verifiedPairs'
  | 'clientSuppliedDealers'
  | 'publicKey'
  | 'chainCode'
  | 'keySession'
  | 'threshold'
  | 'totalNodes'
  | 'participants'
  | 'curve'
  | 'keyScheme'
  | 'keyExposed'
  | 'keyVersion'
>;

export function inspectionReply(
  call: InspectCall,
  record: SessionRecord,
  inHand: InHand,
  resumeKey: Uint8Array,
): CoordinatorEffect {
  const { state, reasonCode, message, epoch, createdMs, expiresMs, ceremony } = record;
  const value = {
    found: true,
    kind: ceremony.kind,
    state,
    reasonCode,
    message,
    epoch: BigInt(epoch),
    createdAtEpochMs: BigInt(createdMs),
    expiresAtEpochMs: BigInt(expiresMs),
    resumeToken: isResumable(state) ? resumeToken(resumeKey, record) : '',
    walletService: isOfWalletService(record),
    ...inHand,
  };
  return outcomeEffect(call, { case: 'inspectSession', value });
}

/** The same for a session that does not exist, and for another tenant's. */
export function nothingToInspect(call: InspectCall): CoordinatorEffect {
  return outcomeEffect(call, { case: 'inspectSession', value: { found: false } });
}

export interface PreviewedPartial {
  readonly partial: Uint8Array;
  readonly noncePoint: Uint8Array;
  readonly attempt: number;
}

export function previewReply(call: PreviewCall, made: PreviewedPartial): CoordinatorEffect {
  return outcomeEffect(call, { case: 'previewPartial', value: made });
}

/** The reply without a partial. */
export function noPreviewReply(
  call: PreviewCall,
  { reasonCode, message }: Omit<CallAnswer, 'state'>,
): CoordinatorEffect {
  return outcomeEffect(call, { case: 'previewPartial', value: { reasonCode, message } });
}
