/** The order of the checks of a resume, the same for every kind of session. */
import { ReceiptState, type ResumeSessionRequest } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { opaqueBytesMax } from '../../proto/limits.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import type { SessionRecord } from '../contract/record.ts';
import { isResumable } from '../contract/transitions.ts';
import { readResumeToken } from './resume-token.ts';

/**
 * The fault of a resume: its form, then the token (already used, in any state), then the session's state, then the
 * token's validity. The ceremony checks the witness afterwards.
 */
export function resumeFault(
  record: SessionRecord,
  { resumeToken, humanApprovalWitness }: ResumeSessionRequest,
  resumeKey: Uint8Array,
): CallAnswer | undefined {
  if (resumeToken === '') return answer('INVALID_REQUEST', 'resume_token is missing');
  if (humanApprovalWitness.length > opaqueBytesMax) {
    return answer('INVALID_REQUEST', `human_approval_witness is longer than ${opaqueBytesMax} bytes`);
  }
  const read = readResumeToken(resumeKey, record, resumeToken);
  if (read && record.usedResumeEpochs.includes(read.epoch)) {
    return answer('RESUME_TOKEN_REUSED', `resume_token of epoch ${read.epoch} was used already`);
  }
  const { state, reasonCode } = record;
  if (!isResumable(state)) {
    if (state === ReceiptState.EXPIRED) return { state, reasonCode, message: record.message };
    const text = `the session is ${ReceiptState[state]} (${reasonCode}): there is nothing to resume`;
    return { ...answer('SESSION_NOT_RESUMABLE', text), state };
  }
  if (read?.epoch !== record.epoch || read.checkpointId !== record.checkpointId) {
    return answer('RESUME_TOKEN_INVALID', "resume_token is not that of the session's current checkpoint");
  }
  return undefined;
}
