/**
 * The reference model of answers about keys: InitiateDkg, MakeKey, ExchangeDkgShares and CloseKey. answers.ts explains its basis.
 */
import type { DkgRecord, SessionOf } from '../../coordinator/contract/record.ts';
import { decodeShare } from '../../core/crypto/dkg-transcripts.ts';
import { verifyShare } from '../../core/crypto/vss.ts';
import type {
  CloseKeyRequest,
  CloseKeyResponse,
  MakeKeyResponse,
  RefreshKeyRequest,
} from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import {
  type DkgShareExchangeRequest,
  type InitiateDkgRequest,
  ReceiptState,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { refreshSessionId } from '../../proto/ids.ts';
import { hexOf, isSigning, stateName } from '../cluster/invariants/sessions.ts';
import {
  type AnsweredCall,
  type AnswerFacts,
  isHidden,
  isOpen,
  isPaused,
  notFound,
  type Promised,
} from './answer-facts.ts';
import { holdersOf } from './history.ts';
import { pairsOf } from './record-rules.ts';
import { dkgFault, givenShareFault } from './request-forms.ts';

export function dkgInitiated(
  { history, nodesTotal }: AnswerFacts,
  { call, reason, record, beganMs }: AnsweredCall,
): string | undefined {
  const { tenant, request, walletService, keyScheme, method } = call;
  const { sessionId, threshold, totalNodes } = request as InitiateDkgRequest;
  const about = { walletService, keyScheme: keyScheme !== undefined, isMaking: method === 'makeKey' };
  const fault = dkgFault(request as InitiateDkgRequest, about, nodesTotal);
  const isChecked = fault !== 'unchecked';
  const isRight = fault === undefined;
  if (isChecked && !isRight) return reason === fault ? undefined : `it hears ${reason}, expected ${fault}`;
  if (method === 'makeKey') return undefined;
  const [first] = history.versions(tenant, sessionId);
  if (reason === 'DUPLICATE_SESSION' && first === undefined)
    return 'it hears that its session exists, which it does not';
  if (reason === 'SESSION_ACCEPTED') {
    if (first === undefined || record?.epoch !== 1) return 'its session is not at its first epoch';
    if (first.fromMs < beganMs) return 'it begins a session that exists';
    const { ceremony } = record as { readonly ceremony: DkgRecord };
    if (isChecked && (ceremony.threshold !== threshold || ceremony.totalNodes !== totalNodes))
      return 'its session has another threshold or number of nodes';
  } else if (isChecked && isRight && reason !== 'DUPLICATE_SESSION') return `it hears ${reason}`;
  return undefined;
}

export function exchanged(
  { history, refusals }: AnswerFacts,
  { call, reason, record, beganMs }: AnsweredCall,
): string | undefined {
  const { tenant, request, response, walletService } = call;
  const asked = request as DkgShareExchangeRequest;
  const [first] = history.versions(tenant, asked.sessionId);
  if (!record) {
    const unknown = first === undefined || first.fromMs >= beganMs || isHidden(asked.sessionId, walletService);
    return notFound(asked.sessionId, unknown, reason);
  }
  if (isHidden(asked.sessionId, walletService)) return 'it tells a client of the key of a wallet';
  if (record.ceremony.kind !== 'dkg' || record.sessionId !== asked.sessionId) return 'it tells of another session';
  const { state, ceremony, reasonCode } = record;
  const { verified } = response as { readonly verified: boolean };
  const isGiven = asked.encryptedShare.length > 0 || asked.commitments.length > 0;
  const holders = holdersOf(ceremony);
  const [sender, recipient] = [asked.senderNodeId, asked.recipientNodeId];
  const isStranger = [sender, recipient].some((id) => id !== 0 && !holders.includes(id));
  // The nodes of a session may change while its call waits.
  if (isStranger && reason === 'SHARE_VERIFIED') return 'a node that takes no part has verified a share';
  if (!isStranger && reason === 'NODE_NOT_PARTICIPANT') return 'it hears that its nodes take no part';
  const versions = history.versions(tenant, asked.sessionId).filter(({ untilMs }) => untilMs >= beganMs);
  const tookPart = versions.some(({ record: { ceremony: then } }) =>
    [sender, recipient].every((id) => id === 0 || (then.kind === 'dkg' && holdersOf(then).includes(id))),
  );
  if (!tookPart && reason !== 'NODE_NOT_PARTICIPANT') return `its nodes take no part, and it hears ${reason}`;
  if (isGiven && !isStranger) {
    const isDisputed = refusals.disputes(tenant, asked.sessionId, recipient);
    const wrong = given(asked, record as SessionOf<DkgRecord>, reason, isDisputed);
    if (wrong) return wrong;
  }
  if (verified !== (reason === 'SHARE_VERIFIED' || reason === 'DKG_COMPLETED'))
    return `it hears ${reason}: ${verified}`;
  if (reason === 'SHARE_VERIFIED') {
    if (!isOpen(state)) return `a share verifies in state ${stateName(state)}`;
    const missing = (sender === 0 ? holders : [sender])
      .filter((dealer) => isGiven || ceremony.played[dealer] === undefined)
      .flatMap((dealer) => (recipient === 0 ? holders : [recipient]).map((to) => `${dealer}>${to}`))
      .find((pair) => !ceremony.verified.includes(pair));
    return missing && `it hears that its shares verified, and ${missing} is not durable`;
  }
  if (isGiven || reason === 'NODE_NOT_PARTICIPANT') return undefined;
  if (!isOpen(state)) return reason === reasonCode ? undefined : `it hears ${reason}, expected ${reasonCode}`;
  const isSupplied = sender !== 0 && recipient !== 0 && ceremony.played[sender] !== undefined;
  const expected = ['NODES_UNAVAILABLE', isSupplied ? 'INVALID_REQUEST' : ''];
  return expected.includes(reason) ? undefined : `it hears ${reason} in state ${stateName(state)}`;
}

/** A share that the caller supplies. `isDisputed`: its recipient has refused a share. */
function given(
  asked: DkgShareExchangeRequest,
  record: SessionOf<DkgRecord>,
  reason: string,
  isDisputed: boolean,
): string | undefined {
  const { ceremony, sessionId, state } = record;
  const { curve, scheme = '' } = ceremony;
  const expect = (...codes: readonly string[]) =>
    codes.includes(reason) ? undefined : `it hears ${reason}, expected ${codes.join(' or ')}`;
  if (givenShareFault(asked, ceremony)) return expect('INVALID_REQUEST');
  const isShared = scheme === '' || scheme === 'mock_ecdsa' || scheme.startsWith('frost_');
  if (/^(wal|vky)_/.test(sessionId) || !isShared)
    return reason === 'INVALID_REQUEST' ? undefined : expect('CLIENT_DEALERS_NOT_ALLOWED');
  // Commitments that are no points of a polynomial.
  if (reason === 'INVALID_REQUEST') return undefined;
  const { senderNodeId: sender, commitments } = asked;
  const known = ceremony.played[sender];
  const isReal = known === undefined && pairsOf(ceremony).some((pair) => pair.startsWith(`${sender}>`));
  const isSame = known === undefined || commitments.every((point, index) => hexOf(point) === known[index]);
  if (isReal || !isSame) return expect('COMMITMENT_MISMATCH');
  const share = decodeShare(curve, asked.encryptedShare);
  const isRight = share !== undefined && verifyShare(curve, share, asked.recipientNodeId, commitments);
  // A dealer that dealt in this attempt, and nothing of it is recorded yet.
  const unrecorded = known === undefined || isDisputed ? ['COMMITMENT_MISMATCH'] : [];
  // The last dealer of a key without real ones: the commitments may cancel out.
  const others = holdersOf(ceremony).filter((id) => id !== sender && ceremony.played[id] === undefined);
  if (!isRight || isDisputed || (known === undefined && others.length === 0))
    unrecorded.push('SHARE_VERIFICATION_FAILED');
  if (!isOpen(state)) {
    const isMade = state === ReceiptState.BACKEND_COMPLETED;
    return expect(...unrecorded, isMade && !isRight ? 'SHARE_VERIFICATION_FAILED' : record.reasonCode);
  }
  const verified = isRight && known !== undefined ? ['SHARE_VERIFIED'] : [];
  return expect(...verified, ...unrecorded, 'NODES_UNAVAILABLE', 'CLIENT_DEALERS_NOT_ALLOWED');
}

/** RefreshKey. Its session names the version that it makes; the public key is that of every version. */
export function refreshed(
  { history }: AnswerFacts,
  { call, reason, record, beganMs }: AnsweredCall,
): string | undefined {
  const { tenant, request, response } = call;
  const { keyId, version } = request as RefreshKeyRequest;
  const key = history.key(tenant, keyId);
  if (record === undefined) {
    const isMade = key !== undefined && history.keyMadeMs(tenant, keyId) < beganMs;
    if (reason === 'WALLET_KEY_NOT_FOUND') return isMade ? 'it hears that its key does not exist' : undefined;
    if (reason !== 'INVALID_REQUEST') return `it hears ${reason}, and has no session`;
    const { version: present = 1 } = key ?? {};
    const committedMs = history.versions(tenant, refreshSessionId(keyId, present)).at(-1)?.fromMs ?? 0;
    return version === present + 1 && committedMs < beganMs
      ? 'it asks for the next version, and is refused'
      : undefined;
  }
  if (record.sessionId !== refreshSessionId(keyId, version)) return 'it tells of another session';
  if ((reason === 'DKG_COMPLETED') !== (record.state === ReceiptState.BACKEND_COMPLETED))
    return `it hears ${reason} in state ${stateName(record.state)}`;
  if (reason !== 'DKG_COMPLETED') return undefined;
  if (key === undefined || (key.version ?? 1) < version)
    return `it hears of version ${version}, which is not committed`;
  const { publicKey } = response as MakeKeyResponse;
  return hexOf(publicKey) === key.publicKey ? undefined : `version ${version} has another public key`;
}

/** CloseKey. `sinceMs`: when the call left. */
export function closed(
  { history, held }: AnswerFacts,
  { tenant, request, response, atMs }: Promised,
  sinceMs: number,
): string | undefined {
  const { keyId, revokeOnly } = request as CloseKeyRequest;
  const { pendingNodes } = response as CloseKeyResponse;
  for (const versions of history.all()) {
    const { record, fromMs } = versions.at(-1)!;
    if (!isSigning(record) || record.tenant !== tenant || record.ceremony.facts.keyId !== keyId) continue;
    if (!isOpen(record.state) && !isPaused(record.state)) continue;
    if (revokeOnly && (record.ceremony.facts.walletService || versions[0]!.fromMs >= sinceMs)) continue;
    // Without a hold on the intent it never signs, and is not listed.
    if (!record.ceremony.guarded || record.ceremony.curve === '' || fromMs < 0) continue;
    if (history.isOverdue(record, atMs)) continue;
    return `the key ${keyId} is closed, and session ${record.sessionId} is ${stateName(record.state)}`;
  }
  // Nodes may hold a share of an unfinished key that no one asks for.
  if (revokeOnly || history.keyMadeMs(tenant, keyId) >= sinceMs) return undefined;
  const holder = [...held].find((one) => {
    const [node, name] = one.split(' ');
    return name === `${tenant}/${keyId}` && !pendingNodes.includes(Number(node!.split('/')[1]));
  });
  return holder && `the key ${keyId} is closed, and ${holder.split(' ')[0]} holds its share`;
}
