/**
 * SubmitSignatureShare and ResumeSession, for an existing session.
 *
 * The stepping rule: node id 0 means every node, and empty share bytes mean "let the node process produce it". Refused
 * calls change neither epoch nor token.
 */
import { participantsOf } from '../../core/crypto/participants.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { scalarBytes } from '../../proto/limits.ts';
import { answer, type CallAnswer, sessionAnswer } from '../contract/call-answer.ts';
import { advance, isRepeat } from '../contract/record.ts';
import { isOpen } from '../contract/transitions.ts';
import { keystoreFor, signingTask } from '../keystores/public.ts';
import { outsideOf } from '../session/message-text.ts';
import { resumeFault } from '../session/resume.ts';
import { commit, type Persisted, reply } from '../session/turn.ts';
import { advanceRound, noncePointFault, requestDraw } from './advance.ts';
import { expire } from './finalize.ts';
import { boundBy, keystoreOf } from './key-scheme.ts';
import { keysForgiven, ordersForgiven } from './nodes-seen.ts';
import { namedTwice, withWitness } from './order-relay.ts';
import { duplicateShare } from './partials.ts';
import { isAwaited, type SubmitCall, withStep } from './queue.ts';
import { attemptOf, roundResumed } from './round.ts';
import { keyFault, knownKey, type ResumeCall, type SigningSessionStep, signatureResult } from './state.ts';
import { evidenceSha256, requestFault, withKey } from './validation.ts';

/** Handles the calls in the inbox, oldest first, until one of them changes the session. The key is known. */
export function takeCalls(turn: SigningSessionStep): Persisted | undefined {
  const { work } = turn.state;
  for (;;) {
    const [call, ...inbox] = work.queue.inbox;
    if (!call) return advanceRound(turn);
    const written = expire(turn);
    if (written) return written;
    work.queue = { ...work.queue, inbox };
    if (call.fault) reply(turn, call, call.fault);
    else if (isRepeat(turn.state.record, call)) {
      reply(turn, call, sessionAnswer(turn.state.record), signatureResult(turn.state.record));
    } else if (call.method === 'resumeSession') {
      const resumed = resume(turn, call);
      if (resumed) return resumed;
    } else if (call.method === 'submitSignatureShare') submit(turn, call);
    else turn.effects.push(namedTwice(call));
  }
}

function submit(turn: SigningSessionStep, call: SubmitCall): void {
  const { record, work } = turn.state;
  const fault = submitFault(turn, call);
  if (fault) {
    reply(turn, call, fault);
    return;
  }
  work.nodes = keysForgiven(work.nodes);
  const { nodeId, partialSignature } = call.request;
  const isGiven = partialSignature.length > 0;
  if (!isOpen(record.state)) {
    const counted = isGiven && record.ceremony.submitted.includes(nodeId);
    const completed = record.state === ReceiptState.BACKEND_COMPLETED;
    reply(turn, call, completed && counted ? duplicateShare(nodeId) : sessionAnswer(record), signatureResult(record));
  } else if (nodeId === 0) {
    work.queue = { ...work.queue, gathers: [...work.queue.gathers, call] };
  } else if (isAwaited(work.queue, nodeId, call)) {
    work.queue = withStep(work.queue, nodeId, call);
  } else if (attemptOf(work.round)?.partials.has(nodeId) || work.round.history.askAgain.has(nodeId)) {
    reply(turn, call, duplicateShare(nodeId));
  } else if (isGiven) {
    work.queue = { ...work.queue, offers: [...work.queue.offers, { call, nodeId, partial: partialSignature }] };
  } else {
    work.queue = withStep(work.queue, nodeId, call);
  }
}

/** The fault of the call itself. */
function submitFault(turn: SigningSessionStep, call: SubmitCall): CallAnswer | undefined {
  const { record, work } = turn.state;
  const { request } = call;
  const { nodeId, partialSignature, ephemeralPublicKey } = request;
  const key = work.key.kind === 'known' ? work.key.record : undefined;
  if (!key && isOpen(record.state)) return keyFault(work, record.ceremony.facts.keyId);
  // A session that a mock directive failed may name a key that does not exist.
  const sharing = key ?? { totalNodes: turn.config.roster.nodes.length };
  if (nodeId !== 0 && !participantsOf(sharing).includes(nodeId)) {
    return answer('NODE_NOT_PARTICIPANT', `node_id ${nodeId} is ${outsideOf(sharing)}`);
  }
  if (record.ceremony.excluded.includes(nodeId)) {
    return answer('NODE_NOT_PARTICIPANT', `node ${nodeId} is excluded from this session: its partial did not verify`);
  }
  if (nodeId === 0 && partialSignature.length > 0) {
    return answer('INVALID_REQUEST', 'partial_signature needs the node_id that it stands for');
  }
  const keystore = work.task && keystoreFor(work.task.scheme);
  const { partialBytes, sharesNonce } = keystore ?? { partialBytes: scalarBytes, sharesNonce: true };
  if (partialSignature.length > 0 && partialSignature.length !== partialBytes) {
    const is = partialBytes === scalarBytes ? `a scalar of ${scalarBytes}` : `r, s and v, ${partialBytes}`;
    return answer('INVALID_REQUEST', `partial_signature has ${partialSignature.length} bytes: it is ${is}`);
  }
  if (ephemeralPublicKey.length === 0) return undefined;
  if (!sharesNonce) {
    return answer(
      'INVALID_REQUEST',
      'ephemeral_public_key: signers with keys of their own share no nonce: leave it empty',
    );
  }
  if (ephemeralPublicKey.length !== 33 && ephemeralPublicKey.length !== 32) {
    return answer(
      'INVALID_REQUEST',
      `ephemeral_public_key has ${ephemeralPublicKey.length} bytes: it is a point of 33 or 32`,
    );
  }
  const attempt = attemptOf(work.round);
  return attempt && noncePointFault(attempt, call);
}

function resume(turn: SigningSessionStep, call: ResumeCall): Persisted | undefined {
  const { record, work } = turn.state;
  const { request } = call;
  const { ceremony } = record;
  let fault = resumeFault(record, request, turn.config.resumeKey);
  if (!fault && ceremony.witnessMissing && request.humanApprovalWitness.length === 0) fault = answer('WITNESS_MISSING');

  // Runs the checks that a mock directive skipped; then it is an ordinary call.
  const facts = { ...ceremony.facts, messageHash: Buffer.from(ceremony.facts.messageHash, 'hex') };
  fault ??= requestFault(facts);
  if (work.key.kind === 'tampered') fault ??= keyFault(work, facts.keyId);
  const checked = fault ? { fault } : withKey(facts, work.key.kind === 'known' ? work.key.record : undefined);
  if ('fault' in checked) {
    reply(turn, call, checked.fault, signatureResult(record));
    return undefined;
  }
  if (!ceremony.guarded) {
    reply(turn, call, answer('DUPLICATE_INTENT', 'another session held this transaction intent when this one began'));
    return undefined;
  }
  const key = knownKey(work);
  const resumed = answer('SESSION_RESUMED');
  const { humanApprovalWitness } = request;
  const changes = {
    witnessMissing: false,
    order: withWitness(ceremony.order, call),
    ...(humanApprovalWitness.length > 0 && { witnessSha256: evidenceSha256(humanApprovalWitness) }),
    curve: key.curve,
    submitted: [],
    given: [],
  };
  const { scheme } = checked;
  const next = {
    ...advance(record, { ...resumed, state: ReceiptState.RESUMED }, turn.context, changes),
    keystoreType: keystoreOf(scheme, facts.keystoreType),
    expiresMs: turn.context.nowMs + turn.config.lifetimes.signingMs,
    usedResumeEpochs: [...record.usedResumeEpochs, record.epoch],
  };
  const binds = boundBy(key, scheme, true);
  work.task = signingTask(key, scheme, checked.path, facts.messageHash);
  work.key = { kind: 'known', record: binds ?? key };
  work.nodes = ordersForgiven(work.nodes);
  work.round = roundResumed(work.round);
  const written = commit(turn, next, work, { binds, cause: call, answers: [call] });
  reply(turn, call, sessionAnswer(next));
  requestDraw(turn);
  return written;
}
