/**
 * A resume token works once. After the write that resumes a session with it, its epoch stays among the used ones, no second call
 * gets an answer that it resumed with it, and every later call with it learns that it was used already.
 */
import { ReceiptState, type ResumeSessionRequest } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Checker, Observation } from '../observation.ts';
import { proofIn } from './answer-parts.ts';
import { DurableSessions, type SessionChange } from './sessions.ts';

/** Other answers that a call with a used token may get: the call itself is invalid, or its session cannot be read. */
const faultsOfTheCall = new Set(['INVALID_REQUEST', 'CONTRACT_VERSION_UNSUPPORTED', 'STORE_TAMPERED']);

export function tokenUsedOnce(): Checker {
  const sessions = new DurableSessions();
  /** Tokens, to session and epoch: secret, and never in a text. */
  const issued = new Map<string, string>();
  /** Session and epoch of used tokens. */
  const used = new Set<string>();
  const resumedBy = new Set<string>();

  function changed({ record, before }: SessionChange): string | undefined {
    const { tenant, sessionId, usedResumeEpochs } = record;
    const earlier = before?.usedResumeEpochs ?? [];
    if (earlier.some((epoch) => !usedResumeEpochs.includes(epoch)))
      return `session ${sessionId} forgets a used resume token`;
    const resumes =
      record.state === ReceiptState.RESUMED && before !== undefined && before.state !== ReceiptState.RESUMED;
    if (!resumes) return undefined;
    used.add(`${tenant}/${sessionId}/${before.epoch}`);
    if (usedResumeEpochs.includes(before.epoch) && !earlier.includes(before.epoch)) return undefined;
    return `session ${sessionId} resumes at epoch ${before.epoch} and does not keep that its token was used`;
  }

  function promised(tenant: string, request: unknown, response: unknown): string | undefined {
    const { receipt, checkpoint } = proofIn(response) ?? {};
    if (!receipt || !checkpoint) return undefined;
    if (checkpoint.resumeToken !== '')
      issued.set(checkpoint.resumeToken, `${tenant}/${receipt.sessionId}/${checkpoint.epoch}`);
    if ((request as { $typeName?: string }).$typeName !== 'svc.mesh.v1.ResumeSessionRequest') return undefined;
    const { resumeToken, sessionId } = request as ResumeSessionRequest;
    const epoch = issued.get(resumeToken);
    if (!epoch?.startsWith(`${tenant}/${sessionId}/`)) return undefined;
    const { reasonCode } = receipt;
    if (reasonCode === 'SESSION_RESUMED') {
      if (resumedBy.has(epoch)) return `session ${sessionId} resumed twice by one token`;
      resumedBy.add(epoch);
      return undefined;
    }
    if (!used.has(epoch) || reasonCode === 'RESUME_TOKEN_REUSED' || faultsOfTheCall.has(reasonCode)) return undefined;
    return `session ${sessionId} answers ${reasonCode} to a resume token that was used already`;
  }

  return {
    invariant: 'token-used-once',
    observe(observation: Observation) {
      if (observation.kind === 'promised')
        return promised(observation.tenant, observation.request, observation.response);
      for (const change of sessions.take(observation)) {
        const wrong = changed(change);
        if (wrong) return wrong;
      }
      return undefined;
    },
  };
}
