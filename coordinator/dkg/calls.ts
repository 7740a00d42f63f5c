/**
 * ExchangeDkgShares, ResumeSession and MakeKey, for an existing DKG session.
 *
 * The stepping rule: node id 0 means every node, and empty share bytes mean "let the node process deal". Calls without
 * bytes run side by side and join each other's round; a call that supplies a dealer's share runs alone, because its outcome decides
 * what that dealer is.
 */
import { create } from '@bufbuild/protobuf';
import { decodeShare } from '../../core/crypto/dkg-transcripts.ts';
import { CryptoError } from '../../core/crypto/errors.ts';
import { publicKeyPackage } from '../../core/crypto/key-package.ts';
import { validateCommitments, verifyShare } from '../../core/crypto/vss.ts';
import { DkgShareExchangeRequestSchema, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { isSharedKey } from '../../proto/key-schemes.ts';
import { isWalletKey, scalarBytes } from '../../proto/limits.ts';
import { answer, type CallAnswer, sessionAnswer } from '../contract/call-answer.ts';
import type { ClientCall } from '../contract/messages.ts';
import { advance, isRepeat } from '../contract/record.ts';
import { isOpen, isResumable } from '../contract/transitions.ts';
import { outsideOf } from '../session/message-text.ts';
import { resumeFault } from '../session/resume.ts';
import { commit, type Persisted, reply } from '../session/turn.ts';
import { expireDkg } from './finalize.ts';
import { checkTerms, duplicate } from './initiation.ts';
import { orderOf } from './refreshing.ts';
import { advanceDkg } from './round.ts';
import {
  type DkgSession,
  type DkgSessionStep,
  type ExchangeCall,
  type InitiateDkgCall,
  isClientSupplied,
  type Job,
  noDkgWork,
  nodeIds,
  pair,
  type RefreshCall,
} from './state.ts';

/** Handles the calls in the inbox, oldest first, until one changes the session or has to wait. */
export function takeDkgCalls(turn: DkgSessionStep): Persisted | undefined {
  const { work } = turn.state;
  for (let call = work.inbox[0]; call; call = work.inbox[0]) {
    const expired = expireDkg(turn);
    if (expired) return expired;
    if (mustWait(turn, call)) break;
    work.inbox.shift();
    const written = takeCall(turn, call);
    if (written) return written;
  }
  return advanceDkg(turn);
}

function takeCall(turn: DkgSessionStep, call: ClientCall): Persisted | undefined {
  if (call.fault) reply(turn, call, call.fault);
  else if (call.method === 'resumeSession') return resumeDkg(turn, call);
  else if (call.method === 'exchangeDkgShares') exchange(turn, call);
  else if (call.method === 'makeKey') return makeKey(turn, call);
  else if (call.method === 'refreshKey') return wholeRound(turn, call);
  else if (call.method === 'initiateDkg') {
    turn.effects.push(duplicate(call, turn.state.record, turn.context, turn.config));
  }
  return undefined;
}

function mustWait(turn: DkgSessionStep, call: ClientCall): boolean {
  const { jobs } = turn.state.work;
  if (call.fault || call.method !== 'exchangeDkgShares' || jobs.length === 0) return false;
  return suppliesShare(call) || jobs.some((job) => job.offer !== undefined);
}

function suppliesShare({ request }: ExchangeCall): boolean {
  return request.encryptedShare.length > 0 || request.commitments.length > 0;
}

function exchange(turn: DkgSessionStep, call: ExchangeCall): void {
  const { record, work } = turn.state;
  const fault = shapeFault(turn, call) ?? (suppliesShare(call) ? offerFault(turn, call) : undefined);
  if (fault) {
    reply(turn, call, fault);
    return;
  }
  if (!isOpen(record.state)) {
    const completed = record.state === ReceiptState.BACKEND_COMPLETED;
    const late = completed && suppliesShare(call) ? lateShareFault(turn, call) : undefined;
    reply(turn, call, late ?? sessionAnswer(record), { verified: completed && !late });
    return;
  }
  const { senderNodeId: sender, recipientNodeId: recipient } = call.request;
  if (suppliesShare(call)) {
    work.jobs.push({ call, pairs: [], single: true, offer: { dealer: sender, recipient } });
    return;
  }
  const single = sender !== 0 && recipient !== 0;
  if (single && isClientSupplied(record, sender) && !work.verified.has(pair(sender, recipient))) {
    const text = `encrypted_share and commitments are missing: the client supplies dealer ${sender}`;
    reply(turn, call, answer('INVALID_REQUEST', text));
    return;
  }
  const ids = nodeIds(record);
  const dealers = (sender === 0 ? ids : [sender]).filter((id) => !isClientSupplied(record, id));
  const recipients = recipient === 0 ? ids : [recipient];
  const pairs: Job['pairs'] = dealers.flatMap((dealer) => recipients.map((to) => [dealer, to] as const));
  work.jobs.push({ call, pairs, single, offer: undefined });
}

/** The fault of the call itself. */
function shapeFault(turn: DkgSessionStep, { request }: ExchangeCall): CallAnswer | undefined {
  const { record } = turn.state;
  const { threshold, curve } = record.ceremony;
  const ids = [
    ['sender_node_id', request.senderNodeId],
    ['recipient_node_id', request.recipientNodeId],
  ] as const;
  for (const [field, id] of ids) {
    if (id !== 0 && !nodeIds(record).includes(id)) {
      return answer('NODE_NOT_PARTICIPANT', `${field} ${id} is ${outsideOf(record.ceremony)}`);
    }
  }
  const { encryptedShare, commitments } = request;
  if (encryptedShare.length === 0 && commitments.length === 0) return undefined;
  for (const [field, id] of ids) {
    if (id === 0) return answer('INVALID_REQUEST', `${field} is missing: a given share stands for one pair of nodes`);
  }
  if (encryptedShare.length === 0)
    return answer('INVALID_REQUEST', 'encrypted_share is missing: commitments were given');
  if (encryptedShare.length !== scalarBytes) {
    return answer(
      'INVALID_REQUEST',
      `encrypted_share has ${encryptedShare.length} bytes: in mock mode it is a scalar of ${scalarBytes}`,
    );
  }
  if (commitments.length !== threshold) {
    return answer('INVALID_REQUEST', `commitments has ${commitments.length} points: the threshold is ${threshold}`);
  }
  try {
    validateCommitments(curve, commitments, threshold);
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    return answer('INVALID_REQUEST', `commitments: ${error.message}`);
  }
  return undefined;
}

/** A dealer is client-supplied or real from its first verified exchange, and always with the same commitments. */
function offerFault(turn: DkgSessionStep, { request }: ExchangeCall): CallAnswer | undefined {
  const { record, work } = turn.state;
  if (isWalletKey(record.sessionId)) {
    return answer('CLIENT_DEALERS_NOT_ALLOWED', 'encrypted_share: the key of a wallet takes no client-supplied shares');
  }
  if (!isSharedKey(record.ceremony.scheme ?? '')) {
    return answer(
      'CLIENT_DEALERS_NOT_ALLOWED',
      'encrypted_share: every node makes a key of its own, and shares nothing',
    );
  }
  const { senderNodeId: dealer } = request;
  const known = record.ceremony.played[dealer];
  if (!known) {
    const isReal = work.dealt.has(dealer) || nodeIds(record).some((id) => work.verified.has(pair(dealer, id)));
    if (isReal) return answer('COMMITMENT_MISMATCH', `dealer ${dealer} is the node process in this session`);
    return sumFault(record, dealer, request.commitments);
  }
  const same = request.commitments.every((point, index) => Buffer.from(point).toString('hex') === known[index]);
  return same ? undefined : answer('COMMITMENT_MISMATCH', `commitments of dealer ${dealer} are not those given before`);
}

/** If all dealers are client-supplied, nothing proves possession, and their sum may be no valid key. */
function sumFault(record: DkgSession, dealer: number, commitments: readonly Uint8Array[]): CallAnswer | undefined {
  const { curve, threshold, totalNodes, participants, played } = record.ceremony;
  const commitmentsByDealer = nodeIds(record).map((id) =>
    id === dealer ? commitments : played[id]?.map((point) => Buffer.from(point, 'hex')),
  );
  if (!commitmentsByDealer.every((known) => known !== undefined)) return undefined;
  try {
    publicKeyPackage({ curve, threshold, totalNodes, participants, commitmentsByDealer });
    return undefined;
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    return answer('SHARE_VERIFICATION_FAILED', 'commitments: with the other dealers they do not add up to a key');
  }
}

/** The share of a pair in a session that no longer accepts shares: checked here, by the same equation. */
function lateShareFault(turn: DkgSessionStep, { request }: ExchangeCall): CallAnswer | undefined {
  const { curve } = turn.state.record.ceremony;
  const share = decodeShare(curve, request.encryptedShare);
  if (share !== undefined && verifyShare(curve, share, request.recipientNodeId, request.commitments)) return undefined;
  const text = `encrypted_share does not verify against commitments for node ${request.recipientNodeId}`;
  return answer('SHARE_VERIFICATION_FAILED', text);
}

/** The whole round as one call, which resumes a failed session. Only the wallet service makes it, so it needs no token. */
function makeKey(turn: DkgSessionStep, call: InitiateDkgCall): Persisted | undefined {
  const checked = checkTerms(call, turn.config);
  if (!('fault' in checked)) return wholeRound(turn, call);
  reply(turn, call, checked.fault);
  return undefined;
}

function wholeRound(turn: DkgSessionStep, call: InitiateDkgCall | RefreshCall): Persisted | undefined {
  const { record, work } = turn.state;
  if (isResumable(record.state)) {
    // It stays in the inbox, and finds the session open after the write.
    work.inbox.unshift(call);
    return goOn(turn, call);
  }
  const request = create(DkgShareExchangeRequestSchema, { sessionId: record.sessionId });
  exchange(turn, { ...call, method: 'exchangeDkgShares', request });
  return undefined;
}

function resumeDkg(
  turn: DkgSessionStep,
  call: Extract<ClientCall, { method: 'resumeSession' }>,
): Persisted | undefined {
  const { record } = turn.state;
  const fault = isRepeat(record, call)
    ? sessionAnswer(record)
    : resumeFault(record, call.request, turn.config.resumeKey);
  if (fault) {
    reply(turn, call, fault);
    return undefined;
  }
  const written = goOn(turn, call);
  reply(turn, call, sessionAnswer(turn.state.record));
  return written;
}

/** A failed session becomes RESUMED. */
function goOn(turn: DkgSessionStep, call: ClientCall): Persisted {
  const { record, work } = turn.state;
  const { refreshes } = record.ceremony;
  const next = {
    ...advance(record, { ...answer('SESSION_RESUMED'), state: ReceiptState.RESUMED }, turn.context, {
      fresh: false,
      culprits: [],
      // The newest order is the one that lasts longest.
      ...(refreshes && { refreshes: { ...refreshes, order: orderOf(call.order) } }),
    }),
    expiresMs: refreshes ? record.expiresMs : turn.context.nowMs + turn.config.lifetimes.dkgMs,
    usedResumeEpochs: [...record.usedResumeEpochs, record.epoch],
  };
  return commit(
    turn,
    next,
    { ...noDkgWork(next, record.ceremony.fresh), inbox: work.inbox },
    { cause: call, answers: [call] },
  );
}
