/** What a sandbox's gateway is told of a session, and of a partial that is not submitted. Nothing here changes anything. */
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  InspectSessionResponseSchema,
  PreviewPartialResponseSchema,
} from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { CallFacts, CoordinatorEffect, InspectCall, PreviewCall } from '../messages.ts';
import type { Answer } from './answers.ts';
import type { SessionRecord } from './record.ts';
import { encodedReplyEffect } from './replies.ts';

/** What the session's actor knows better than its record, or the record does not have. */
export type InHand = Pick<
  MessageInitShape<typeof InspectSessionResponseSchema>,
  | 'attempt'
  | 'culprits'
  | 'submitted'
  | 'given'
  | 'verifiedPairs'
  | 'playedDealers'
  | 'publicKey'
  | 'keySession'
  | 'threshold'
  | 'totalNodes'
  | 'participants'
  | 'curve'
  | 'keyScheme'
  | 'keyExposed'
>;

export function inspectionReply(call: InspectCall, record: SessionRecord, inHand: InHand): CoordinatorEffect {
  const { state, reasonCode, message, epoch, createdMs, expiresMs, ceremony } = record;
  return inspected(call, {
    found: true,
    kind: ceremony.kind,
    state,
    reasonCode,
    message,
    epoch: BigInt(epoch),
    createdAtEpochMs: BigInt(createdMs),
    expiresAtEpochMs: BigInt(expiresMs),
    ...inHand,
  });
}

/** The same for a session that does not exist, and for another tenant's. */
export function nothingToInspect(call: InspectCall): CoordinatorEffect {
  return inspected(call, { found: false });
}

function inspected(call: CallFacts, init: MessageInitShape<typeof InspectSessionResponseSchema>): CoordinatorEffect {
  return encodedReplyEffect(call, toBinary(InspectSessionResponseSchema, create(InspectSessionResponseSchema, init)));
}

export interface PreviewedPartial {
  readonly partial: Uint8Array;
  readonly noncePoint: Uint8Array;
  readonly attempt: number;
}

export function previewReply(call: PreviewCall, made: PreviewedPartial): CoordinatorEffect {
  return encodedReplyEffect(call, toBinary(PreviewPartialResponseSchema, create(PreviewPartialResponseSchema, made)));
}

/** There is no partial. */
export function noPreviewReply(call: PreviewCall, { reasonCode, message }: Omit<Answer, 'state'>): CoordinatorEffect {
  const init = { reasonCode, message };
  return encodedReplyEffect(call, toBinary(PreviewPartialResponseSchema, create(PreviewPartialResponseSchema, init)));
}
