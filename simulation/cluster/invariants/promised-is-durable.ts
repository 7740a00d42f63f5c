/**
 * Promises are durable: when an answer leaves the coordinator, the store holds the session's epoch, checkpoint and state from the
 * answer, and the signature that it releases. And when a node's message leaves it, its store holds the content: the opening that
 * it deals with, the shares that it verified, the key that it confirmed.
 */
import type { DkgOpened, DkgVerified } from '../../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { Checker, Observation } from '../observation.ts';
import { proofIn, signatureIn } from './answer-parts.ts';
import { type DkgRecordJson, dkgRecordsIn } from './node-records.ts';
import { DurableSessions, hexOf, isSigning, stateName } from './sessions.ts';

/** @param isOneOfMany whether answers may name another cluster's session, only as holder of an intent */
export function promisedIsDurable(isOneOfMany: boolean): Checker {
  const sessions = new DurableSessions();
  /** Every epoch of every session that became durable: "tenant/session/epoch", to checkpoint and state. */
  const durable = new Map<string, string>();
  /** The records that nodes stored: "node/2 tenant/session". */
  const dkgs = new Map<string, DkgRecordJson>();

  function promised(tenant: string, response: unknown): string | undefined {
    const { receipt, checkpoint } = proofIn(response) ?? {};
    if (!receipt || !checkpoint || receipt.sessionId === '') return undefined;
    const { sessionId, reasonCode } = receipt;
    const { epoch, checkpointId, state } = checkpoint;
    if (isOneOfMany && reasonCode === 'DUPLICATE_INTENT' && epoch === 0n) return undefined;
    const stored = durable.get(`${tenant}/${sessionId}/${epoch}`);
    if (stored !== `${checkpointId} ${state}`) {
      return `an answer leaves with session ${sessionId} at epoch ${epoch} (${stateName(state)}), and that is not in the store`;
    }
    const signed = signatureIn(response);
    if (!signed) return undefined;
    const record = sessions.get(tenant, sessionId);
    const kept = record && isSigning(record) ? record.ceremony.signature : '';
    return kept === hexOf(signed.signature)
      ? undefined
      : `a signature of session ${sessionId} leaves that is not in the store`;
  }

  function nodeSays({ from, message }: WireEnvelope): string | undefined {
    const { body, tenant, session, attempt } = message;
    if (body.case !== 'dkgOpened' && body.case !== 'dkgVerified' && body.case !== 'dkgConfirmed') return undefined;
    const node = from.split('/').slice(0, 2).join('/');
    const stored = dkgs.get(`${node} ${tenant}/${session}`);
    const missing = (what: string) => `${node} says of the key ${session} ${what}, and that is not in its store`;
    if ((stored?.attempt ?? stored?.terms?.attempt) !== attempt) return missing('something of another attempt');
    switch (body.case) {
      case 'dkgOpened': {
        const { opening } = body.value as DkgOpened;
        const kept = (stored?.dealing?.opening ?? stored?.opening)?.signature;
        return kept === hexOf(opening!.signature) ? undefined : missing('how it opens');
      }
      case 'dkgVerified': {
        // Of a broken attempt the node stores the complaint, and no usable secret.
        if (stored?.phase === 'broken') return undefined;
        const known = new Set(stored?.dealers?.map(({ dealer }) => dealer));
        const { verdicts, finished } = body.value as DkgVerified;
        if (verdicts.some(({ verified, dealer }) => verified && !known.has(dealer)))
          return missing('that a share verified');
        const done = stored?.phase === 'provisional' || stored?.phase === 'final';
        return finished && !done ? missing('its result') : undefined;
      }
      case 'dkgConfirmed':
        return stored?.phase === 'final' ? undefined : missing('that it is final');
    }
  }

  return {
    invariant: 'promised-is-durable',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'promised':
          return promised(observation.tenant, observation.response);
        case 'frame':
          if (observation.touched || !observation.envelope.from.startsWith('node/')) return undefined;
          return nodeSays(observation.envelope);
        case 'written':
          if (observation.process === 'coordinator') {
            for (const { record } of sessions.take(observation)) {
              const { tenant, sessionId, epoch, checkpointId, state } = record;
              durable.set(`${tenant}/${sessionId}/${epoch}`, `${checkpointId} ${state}`);
            }
          } else if (observation.outcome === 'written') {
            for (const { name, dkg } of dkgRecordsIn(observation.write))
              dkgs.set(`${observation.process} ${name}`, dkg);
          }
          return undefined;
        default:
          return undefined;
      }
    },
  };
}
