/**
 * Calls of a sandbox's gateway. About any session of its tenant, InspectSession shows the session's state, PreviewPartial what a node
 * would submit to it now; ReadNoncePools shows how many nonces wait. None changes anything. Coordinators outside a sandbox refuse them.
 */
import { CallErrorCode } from '../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { sessionIdPattern } from '../proto/limits.ts';
import type { CallRequest } from '../proto/wire.ts';
import { answer } from './contract/call-answer.ts';
import {
  type CallFacts,
  type CoordinatorEffect,
  clusterAddress,
  sessionAddress,
  signingAddress,
} from './contract/messages.ts';
import { noPreviewReply, nothingToInspect } from './session/inspection-replies.ts';
import { errorEffect } from './session/replies.ts';

type SandboxRequest = Extract<CallRequest, { case: 'inspectSession' | 'previewPartial' | 'readNoncePools' }>;

/** To the session's actor, or to the cluster's. */
export function routeSandboxCall(facts: CallFacts, request: SandboxRequest, isSandbox: boolean): CoordinatorEffect {
  if (!isSandbox) {
    const text = 'only the coordinator of a sandbox shows what is in a session';
    return errorEffect(facts, CallErrorCode.MALFORMED, text);
  }
  if (request.case === 'readNoncePools')
    return { kind: 'send', to: clusterAddress, message: { kind: 'poolsCall', call: facts } };
  const { tenant } = facts;
  const { sessionId } = request.value;
  if (request.case === 'inspectSession') {
    const call = { ...facts, sessionId };
    if (!sessionIdPattern.test(sessionId)) return nothingToInspect(call);
    return { kind: 'send', to: sessionAddress(tenant, sessionId), message: { kind: 'inspectCall', call } };
  }
  const call = { ...facts, sessionId, nodeId: request.value.nodeId };
  const isSigning = sessionIdPattern.test(sessionId) && sessionId.startsWith('sig_');
  if (!isSigning) return noPreviewReply(call, answer('SESSION_NOT_FOUND'));
  return { kind: 'send', to: signingAddress(tenant, sessionId), message: { kind: 'previewCall', call } };
}
