/**
 * The reference model of a session's record: the fields that each change may change. Written from docs/signing-api.md and the
 * wire protocol; it shares no rule with coordinator/.
 *
 * Every counted item must have a source: a partial signature from its node or a caller, a verified share from its recipient, a
 * key from the confirmation of every node.
 */
import { createHash } from 'node:crypto';
import type { DkgRecord, SessionOf, SessionRecord, SigningRecord } from '../../coordinator/contract/record.ts';
import type { CloseKeyRequest } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import type { DkgRefused, DkgVerified } from '../../proto/gen/signmesh/wire/v1/dkg_pb.ts';
import type { PartialReply, VendorSettled } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { ReceiptState, type SignatureShareRequest } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireEnvelope } from '../../proto/wire.ts';
import {
  hexOf,
  isSigning,
  type SessionChange,
  type SigningSessionRecord,
  stateName,
} from '../cluster/invariants/sessions.ts';
import type { Checker, Observation } from '../cluster/observation.ts';
import { type History, holdersOf } from './history.ts';
import type { Refusals } from './refusals.ts';
import type { WaitingCalls } from './waiting-calls.ts';

const S = ReceiptState;
type DkgSession = SessionOf<DkgRecord>;

export interface RecordSources {
  readonly history: History;
  readonly refusals: Refusals;
  readonly waiting: WaitingCalls;
  readonly nodesWaitMs: number;
}

/** The reason of a session for a state, where there is only one. */
const reasonOf: Readonly<Partial<Record<ReceiptState, string>>> = {
  [S.RESUMED]: 'SESSION_RESUMED',
  [S.EXPIRED]: 'SESSION_EXPIRED',
  [S.REVOKED]: 'SESSION_REVOKED',
  [S.PENDING_HUMAN_APPROVAL]: 'HUMAN_APPROVAL_REQUIRED',
  [S.ACCEPTED]: 'SESSION_ACCEPTED',
};

export function recordRules({ history, refusals, waiting, nodesWaitMs }: RecordSources): Checker {
  let nowMs = 0;
  /** "tenant/session node": a partial signature came from the node, or from a caller in its place. */
  const fromNode = new Set<string>();
  const fromCaller = new Set<string>();
  /** "tenant/session attempt dealer>recipient" that a recipient reported; "tenant/session attempt node": its result; its confirmation. */
  const verified = new Set<string>();
  const finished = new Set<string>();
  const confirmed = new Set<string>();
  /** Keys that the wallet service asked to close, or with clients' sessions that it asked to end. */
  const ending = new Map<string, 'all' | 'clients'>();

  function heard({ from, message: { tenant, session, attempt, body } }: WireEnvelope): void {
    if (!from.startsWith('node/')) return;
    const node = Number(from.split('/')[1]);
    const about = `${tenant}/${session}`;
    switch (body.case) {
      case 'partialReply':
      case 'vendorSettled':
        if ((body.value as PartialReply | VendorSettled).outcome.case === 'partial') {
          fromNode.add(`${about} ${node}`);
          fromNode.add(`${about} ${attempt} ${node}`);
        }
        return;
      case 'dkgVerified': {
        const { verdicts, finished: result } = body.value as DkgVerified;
        for (const { dealer, verified: isRight } of verdicts) {
          if (isRight) verified.add(`${about} ${attempt} ${dealer}>${node}`);
        }
        if (result) finished.add(`${about} ${attempt} ${node}`);
        return;
      }
      case 'dkgConfirmed':
        confirmed.add(`${about} ${attempt} ${node}`);
        return;
      case 'dkgRefused':
        // A node with a final key proves the results of all.
        for (const { nodeId } of (body.value as Partial<DkgRefused>).results ?? []) {
          finished.add(`${about} ${attempt} ${nodeId}`);
        }
        return;
      default:
        return;
    }
  }

  function changed({ record, before, begins }: SessionChange): string | undefined {
    const said = begins || before === undefined ? begun(record) : advanced(record, before);
    const wrong = said ?? (isSigning(record) ? signing(record, before) : dkg(record as DkgSession, before));
    return wrong && `session ${record.sessionId} at epoch ${record.epoch} (${stateName(record.state)}): ${wrong}`;
  }

  function begun(record: SessionRecord): string | undefined {
    if (record.createdMs !== record.checkpointMs) return 'its first checkpoint is not of its beginning';
    if (record.usedResumeEpochs.length > 0) return 'it begins with used tokens';
    return undefined;
  }

  function advanced(record: SessionRecord, before: SessionRecord): string | undefined {
    for (const field of ['createdMs', 'correlationId', 'approvalMode'] as const) {
      if (record[field] !== before[field]) return `its ${field} has changed`;
    }
    if (record.state === before.state) {
      return record.reasonCode === before.reasonCode ? undefined : 'its reason has changed within a state';
    }
    const reason = reasonOf[record.state];
    if (reason && record.reasonCode !== reason) return `its reason is ${record.reasonCode}`;
    if (record.state !== S.RESUMED && record.usedResumeEpochs.length !== before.usedResumeEpochs.length)
      return 'a token counts as used, and nothing resumed';
    return undefined;
  }

  function signing(record: SigningSessionRecord, before: SessionRecord | undefined): string | undefined {
    const { ceremony, tenant, sessionId, state } = record;
    const { submitted, given, excluded, facts, signature, attempt } = ceremony;
    const known = before && isSigning(before) ? before.ceremony : undefined;
    const key = history.key(tenant, facts.keyId);
    const holders = key ? holdersOf(key) : [];
    const about = `${tenant}/${sessionId}`;
    for (const id of [...submitted, ...excluded]) if (!holders.includes(id)) return `node ${id} holds no share`;
    if (given.some((id) => !submitted.includes(id))) return 'a given partial is not among those that are in';
    if (submitted.some((id) => excluded.includes(id))) return 'the partial of an excluded node counts';
    const added = (list: readonly number[], earlier: readonly number[] = []) =>
      list.filter((id) => !earlier.includes(id));
    for (const id of added(given, known?.given)) {
      if (!fromCaller.has(`${about} ${id}`)) return `no caller gave the partial of node ${id}`;
    }
    // A vendor's decision is of no attempt.
    const isVendors = key?.scheme.startsWith('vendor');
    for (const id of submitted) {
      const from = state === S.BACKEND_COMPLETED && !isVendors ? `${about} ${attempt} ${id}` : `${about} ${id}`;
      if (!given.includes(id) && !fromNode.has(from)) return `node ${id} gave no partial that could count`;
    }
    for (const id of added(excluded, known?.excluded)) {
      if (!fromNode.has(`${about} ${id}`)) return `node ${id} is excluded, and gave no partial`;
    }
    if ((signature !== '') !== (state === S.BACKEND_COMPLETED))
      return 'it has a signature, or none, in the wrong state';
    if (state === S.BACKEND_COMPLETED && submitted.length !== key?.threshold)
      return `${submitted.length} partials make its signature`;
    if ((state === S.BACKEND_FAILED || state === S.RESUMED) && state !== before?.state && submitted.length > 0)
      return 'partials outlive their attempt';
    if (ceremony.witnessMissing && (state === S.ACCEPTED || state === S.RESUMED || state === S.BACKEND_COMPLETED))
      return 'it continues without the witness that it needs';
    if (known === undefined) return undefined;
    const same = (['intentId', 'keyId', 'derivationPath', 'walletService', 'approvalMode'] as const).every(
      (field) => known.facts[field] === facts[field],
    );
    if (!same || messageOf(known) !== messageOf(ceremony)) return 'what it was asked for has changed';
    if (known.guarded !== ceremony.guarded) return 'its hold of the intent has changed';
    if (known.excluded.some((id) => !excluded.includes(id))) return 'an excluded node is back';
    if (attempt < known.attempt) return `its attempt ${known.attempt} is ${attempt} again`;
    if (!known.witnessMissing && ceremony.witnessMissing) return 'its witness is lost';
    if (state === before?.state && attempt === known.attempt) {
      // A caller's partial is void with its attempt; the next attempt counts when it has a partial.
      const isLost = (id: number) => !submitted.includes(id) && !excluded.includes(id) && !known.given.includes(id);
      const lost = known.submitted.find(isLost);
      if (lost !== undefined) return `the partial of node ${lost} is lost within its attempt`;
    }
    if (state === S.REVOKED && before?.state !== S.REVOKED) return revoked(record);
    return state === S.BACKEND_FAILED && before?.state !== S.BACKEND_FAILED ? failed(record) : undefined;
  }

  /** A reason of nodes needs nodes that gave it, so many that no quorum is left. */
  function failed({ tenant, sessionId, reasonCode, ceremony: { facts, excluded } }: SigningSessionRecord) {
    const key = history.key(tenant, facts.keyId);
    if (!key) return undefined;
    if (reasonCode === 'QUORUM_UNAVAILABLE') {
      const waitedMs = waiting.waitedMs(tenant, sessionId, facts.intentId, nowMs) ?? nodesWaitMs;
      return waitedMs >= nodesWaitMs ? undefined : `it failed for want of nodes after ${waitedMs} ms`;
    }
    const named = refusals.nodesFor(tenant, sessionId, reasonCode);
    if (named.size === 0) return `it failed for ${reasonCode}, and no node said so`;
    const gone = new Set(reasonCode === 'ORDER_REFUSED' ? named : [...refusals.nodes(tenant, sessionId), ...excluded]);
    const left = holdersOf(key).filter((id) => !gone.has(id)).length;
    return left >= key.threshold ? `it failed for ${reasonCode}, and ${left} nodes can still sign` : undefined;
  }

  /** A wallet ended it, or a newer session of its intent, whose write contained this change. */
  function revoked({ tenant, ceremony: { facts, guarded } }: SigningSessionRecord): string | undefined {
    const why = ending.get(`${tenant}/${facts.keyId}`);
    if (why === 'all' || (why === 'clients' && !facts.walletService)) return undefined;
    const byNewer = guarded && history.changes.length > 1;
    return byNewer ? undefined : 'nothing revoked it';
  }

  function dkg(record: DkgSession, before: SessionRecord | undefined): string | undefined {
    const { ceremony, tenant, sessionId, state } = record;
    const holders = holdersOf(ceremony);
    const about = `${tenant}/${sessionId} ${ceremony.attempt}`;
    if (new Set(holders).size !== ceremony.totalNodes) return `${holders.length} nodes take part`;
    if (holders.some((id, index) => index > 0 && id <= holders[index - 1]!)) return 'its nodes are not ascending';
    const known = before?.ceremony.kind === 'dkg' ? before.ceremony : undefined;
    const isNew = known?.attempt !== ceremony.attempt;
    const had = new Set(isNew || !known ? [] : pairsOf(known));
    const pairs = pairsOf(ceremony);
    for (const pair of pairs) {
      const [dealer, recipient] = pair.split('>').map(Number);
      if (!holders.includes(dealer!) || !holders.includes(recipient!)) return `the pair ${pair} is of a stranger`;
      if (had.has(pair) || verified.has(`${about} ${pair}`) || finished.has(`${about} ${recipient}`)) continue;
      return `node ${recipient} did not say that it verified a share of ${dealer}`;
    }
    if (state === S.BACKEND_COMPLETED) {
      if (known?.mayBeFinal !== true) return 'its nodes were asked to confirm before that was durable';
      if (pairs.length !== ceremony.totalNodes ** 2) return `${pairs.length} pairs have verified`;
      // All have signed the result (below, before that was durable); a threshold of nodes must hold it, and the others are named.
      const silent = holders.filter((id) => !confirmed.has(`${about} ${id}`));
      if (ceremony.totalNodes - silent.length < ceremony.threshold) return `nodes ${silent.join(', ')} did not confirm`;
      const named = ceremony.stalledBy ?? [];
      if (silent.some((id) => !named.includes(id)))
        return `nodes ${silent.join(', ')} did not confirm; named are ${named.join(', ')}`;
    }
    if (ceremony.mayBeFinal && known?.mayBeFinal !== true) {
      const missing = holders.find((id) => !finished.has(`${about} ${id}`));
      if (missing !== undefined) return `node ${missing} reported no result`;
    }
    if (known === undefined) return undefined;
    for (const field of ['curve', 'threshold', 'totalNodes', 'scheme', 'networkId'] as const) {
      if (known[field] !== ceremony[field]) return `its ${field} has changed`;
    }
    if (isNew) {
      if (ceremony.attempt !== known.attempt + 1) return `attempt ${ceremony.attempt} follows ${known.attempt}`;
      if (known.mayBeFinal) return 'its key may be final, and another attempt replaces it';
      if (Object.keys(known.played).length > 0 && holders.join() !== holdersOf(known).join())
        return 'its nodes change, and a client has supplied shares for them';
      if (Object.keys(ceremony.played).length > 0) return 'a client-supplied dealer outlives its attempt';
      return undefined;
    }
    if (holders.join() !== holdersOf(known).join()) return 'its nodes change within an attempt';
    if (pairsOf(known).some((pair) => !pairs.includes(pair))) return 'a verified pair is lost';
    if (Object.keys(known.played).some((id) => ceremony.played[Number(id)] === undefined))
      return 'a client-supplied dealer is lost';
    if (known.mayBeFinal && !ceremony.mayBeFinal) return 'that its key may be final is lost';
    return undefined;
  }

  return {
    invariant: 'record-as-modelled',
    observe(observation: Observation) {
      switch (observation.kind) {
        case 'frame':
          heard(observation.envelope);
          return undefined;
        case 'called':
          if (observation.method === 'submitSignatureShare') {
            const { signingSessionId, nodeId, partialSignature } = observation.request as SignatureShareRequest;
            if (partialSignature.length > 0) fromCaller.add(`${observation.tenant}/${signingSessionId} ${nodeId}`);
          }
          if (observation.method === 'closeKey') {
            const { keyId, revokeOnly } = observation.request as CloseKeyRequest;
            const name = `${observation.tenant}/${keyId}`;
            if (!revokeOnly) ending.set(name, 'all');
            else if (!ending.has(name)) ending.set(name, 'clients');
          }
          return undefined;
        case 'written':
          nowMs = observation.atMs;
          for (const change of history.changes) {
            const wrong = changed(change);
            if (wrong) return wrong;
          }
          return undefined;
        default:
          return undefined;
      }
    },
  };
}

/** An ended session does not list its pairs if all have verified. */
export function pairsOf(ceremony: DkgRecord): readonly string[] {
  if (!ceremony.allVerified) return ceremony.verified;
  const holders = holdersOf(ceremony);
  return holders.flatMap((dealer) => holders.map((recipient) => `${dealer}>${recipient}`));
}

/** An ended session stores the SHA-256 of a longer message. */
export function messageOf({ facts: { messageHash, messageSha256 } }: SigningRecord): string {
  if (messageSha256 !== undefined) return messageSha256;
  return shortText(Buffer.from(messageHash, 'hex'));
}

/** A message as hex, or the SHA-256 of a message longer than 32 bytes. */
export function shortText(message: Uint8Array): string {
  return message.length <= 32 ? hexOf(message) : createHash('sha256').update(message).digest('hex');
}
