/**
 * No signature below the threshold, after the session's lifetime, or without a required approval. The checker counts received
 * data: partials of distinct nodes in one attempt, and partials that a caller gave in a node's place. The transition table checks
 * that a session does not complete after a written denial, revocation or expiry.
 */
import type { KeyRecord } from '../../../coordinator/contract/record.ts';
import type { PartialReply, VendorSettled } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import {
  ApprovalMode,
  type InitiateSigningRequest,
  ReceiptState,
  type ResumeSessionRequest,
  type SignatureShareRequest,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Checker, Observation } from '../observation.ts';
import { DurableSessions, isSigning, nodeIn, type SessionChange, type SigningSessionRecord } from './sessions.ts';

export function quorumSigned(): Checker {
  const sessions = new DurableSessions();
  const keys = new Map<string, KeyRecord>();
  /** Nodes that answered, by session and by the tag of the attempt. */
  const answered = new Map<string, Map<bigint, Set<number>>>();
  const supplied = new Map<string, Set<number>>();
  /** Intents and sessions for which a client gave a witness. */
  const witnessed = new Set<string>();

  function called(tenant: string, request: unknown): void {
    switch ((request as { $typeName?: string }).$typeName) {
      case 'svc.mesh.v1.InitiateSigningRequest': {
        const { humanApprovalWitness, transactionIntentId } = request as InitiateSigningRequest;
        if (humanApprovalWitness.length > 0) witnessed.add(`${tenant} intent ${transactionIntentId}`);
        return;
      }
      case 'svc.mesh.v1.ResumeSessionRequest': {
        const { humanApprovalWitness, sessionId } = request as ResumeSessionRequest;
        if (humanApprovalWitness.length > 0) witnessed.add(`${tenant} session ${sessionId}`);
        return;
      }
      case 'svc.mesh.v1.SignatureShareRequest': {
        const { signingSessionId, nodeId, partialSignature } = request as SignatureShareRequest;
        if (partialSignature.length === 0) return;
        const name = `${tenant}/${signingSessionId}`;
        supplied.set(name, (supplied.get(name) ?? new Set()).add(nodeId));
      }
    }
  }

  /** A vendor's signature belongs to no attempt: tag 0. */
  function replied(
    tenant: string,
    session: string,
    nodeId: number,
    { outcome }: PartialReply | VendorSettled,
    attemptTag = 0n,
  ): void {
    if (outcome.case !== 'partial') return;
    const name = `${tenant}/${session}`;
    const byTag = answered.get(name) ?? new Map<bigint, Set<number>>();
    answered.set(name, byTag);
    byTag.set(attemptTag, (byTag.get(attemptTag) ?? new Set()).add(nodeId));
  }

  function completed(
    { tenant, sessionId, ceremony, checkpointMs, approvalMode }: SigningSessionRecord,
    change: SessionChange,
  ) {
    const key = keys.get(`${tenant} ${ceremony.facts.keyId}`);
    if (!key) return `session ${sessionId} is complete, and its key was never made`;
    const name = `${tenant}/${sessionId}`;
    const given = supplied.get(name) ?? new Set<number>();
    const counts = [...(answered.get(name)?.values() ?? [new Set<number>()])].map(
      (nodes) => new Set([...nodes, ...given]).size,
    );
    const most = Math.max(0, ...counts);
    if (most < key.threshold) {
      return `session ${sessionId} is complete with the partials of ${most} nodes in one attempt; the threshold is ${key.threshold}`;
    }
    if (new Set(ceremony.submitted).size < key.threshold) {
      return `session ${sessionId} is complete and counts ${new Set(ceremony.submitted).size} nodes; the threshold is ${key.threshold}`;
    }
    if (change.before && checkpointMs >= change.before.expiresMs) {
      return `session ${sessionId} completed ${checkpointMs - change.before.expiresMs} ms after the end of its lifetime`;
    }
    const approved =
      approvalMode !== ApprovalMode.HUMAN_REQUIRED ||
      witnessed.has(`${tenant} intent ${ceremony.facts.intentId}`) ||
      witnessed.has(`${tenant} session ${sessionId}`);
    return approved ? undefined : `session ${sessionId} needs a human's approval, and no client gave a witness`;
  }

  return {
    invariant: 'quorum-signed',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'called':
          called(observation.tenant, observation.request);
          return undefined;
        case 'frame': {
          const { message, from } = observation.envelope;
          const { tenant, session, body } = message;
          if (!from.startsWith('node/')) return undefined;
          const nodeId = nodeIn(from);
          if (body.case === 'vendorSettled') replied(tenant, session, nodeId, body.value as VendorSettled);
          if (body.case !== 'partialReply') return undefined;
          const reply = body.value as PartialReply;
          replied(tenant, session, nodeId, reply, reply.attemptTag);
          return undefined;
        }
        case 'written':
          for (const change of sessions.take(observation)) {
            const { record, key } = change;
            if (key) keys.set(`${key.tenant} ${key.keyId}`, key);
            if (!isSigning(record) || record.state !== ReceiptState.BACKEND_COMPLETED) continue;
            const wrong = completed(record, change);
            if (wrong) return wrong;
          }
          return undefined;
        default:
          return undefined;
      }
    },
  };
}
