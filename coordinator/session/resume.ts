/** The order in which a resume is checked, the same for every kind of session. */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type Answer, answer } from './receipts.ts';
import type { SessionRecord } from './record.ts';
import { readResumeToken } from './resume-token.ts';
import { isResumable } from './transitions.ts';

/** Already used (in any state), then the session's state, then validity. The witness is the ceremony's matter. */
export function resumeFault(record: SessionRecord, token: string, resumeKey: Uint8Array): Answer | undefined {
  const read = readResumeToken(resumeKey, record, token);
  if (read && record.usedResumeEpochs.includes(read.epoch)) {
    return answer('RESUME_TOKEN_REUSED', `resume_token of epoch ${read.epoch} was used already`);
  }
  if (!isResumable(record.state)) {
    if (record.state === ReceiptState.EXPIRED) return { ...answer('SESSION_EXPIRED'), state: record.state };
    return {
      ...answer(
        'SESSION_NOT_RESUMABLE',
        `the session is ${ReceiptState[record.state]} (${record.reasonCode}): there is nothing to resume`,
      ),
      state: record.state,
    };
  }
  if (read?.epoch !== record.epoch || read.checkpointId !== record.checkpointId) {
    return answer('RESUME_TOKEN_INVALID', "resume_token is not that of the session's current checkpoint");
  }
  return undefined;
}
