/**
 * One intent, one effect: at most one session of an intent is live or completed at any moment, and an intent never gets two
 * signatures, from any of its sessions.
 */
import { ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Checker, Observation } from '../observation.ts';
import { signatureIn } from './answer-parts.ts';
import { DurableSessions, hexOf, isSigning, type SigningSessionRecord, stateName } from './sessions.ts';

const standing: readonly ReceiptState[] = [
  ReceiptState.ACCEPTED,
  ReceiptState.PENDING_HUMAN_APPROVAL,
  ReceiptState.RESUMED,
  ReceiptState.BACKEND_COMPLETED,
];

export function oneIntentOneEffect(): Checker {
  const sessions = new DurableSessions();
  /** Guarded sessions of an intent that are live or completed. */
  const holders = new Map<string, Set<string>>();
  const signatures = new Map<string, string>();

  function changed(record: SigningSessionRecord): string | undefined {
    if (!record.ceremony.guarded) {
      const signs = record.state === ReceiptState.RESUMED || record.state === ReceiptState.BACKEND_COMPLETED;
      return signs ? `session ${record.sessionId} continues without holding its intent` : undefined;
    }
    const intent = intentOf(record);
    const held = holders.get(intent) ?? new Set();
    holders.set(intent, held);
    if (!standing.includes(record.state)) {
      held.delete(record.sessionId);
      return undefined;
    }
    held.add(record.sessionId);
    if (held.size === 1) return undefined;
    const others = [...held].filter((id) => id !== record.sessionId);
    return `sessions ${record.sessionId} (${stateName(record.state)}) and ${others.join(', ')} hold one intent at the same time`;
  }

  function released(tenant: string, sessionId: string, signature: Uint8Array): string | undefined {
    const record = sessions.get(tenant, sessionId);
    if (!record || !isSigning(record)) return undefined;
    const intent = intentOf(record);
    const hex = hexOf(signature);
    const first = signatures.get(intent);
    signatures.set(intent, first ?? hex);
    return first === undefined || first === hex ? undefined : `the intent of session ${sessionId} has two signatures`;
  }

  return {
    invariant: 'one-intent-one-effect',
    observe(observation: Observation) {
      if (observation.kind === 'promised') {
        const signed = signatureIn(observation.response);
        return signed && released(observation.tenant, signed.sessionId, signed.signature);
      }
      for (const { record } of sessions.take(observation)) {
        const wrong = isSigning(record) ? changed(record) : undefined;
        if (wrong) return wrong;
      }
      return undefined;
    },
  };
}

function intentOf({ tenant, ceremony: { facts } }: SigningSessionRecord): string {
  return `${tenant} ${facts.walletService ? 'order' : 'intent'} ${facts.intentId}`;
}
