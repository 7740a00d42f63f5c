/**
 * SubmitSignatureShare and ResumeSession, at a session that exists.
 *
 * The stepping rule: node id 0 means every node, and empty share bytes mean "let the node process produce it". Refused
 * calls change neither epoch nor token.
 */
import { Method } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { opaqueBytesMax, resumeTokenCharsMax, scalarBytes } from '../../proto/limits.ts';
import { type Answer, answer, sessionAnswer } from '../session/receipts.ts';
import { advance } from '../session/record.ts';
import { resumeFault } from '../session/resume.ts';
import { isOpen } from '../session/transitions.ts';
import { isNoncePoint, signingTask } from './attempt.ts';
import { effectiveKeystore } from './initiation.ts';
import { conclude, pump, requestDraw } from './round.ts';
import { commit, type ResumeCall, reply, type SubmitCall, signatureResult, type Turn } from './state.ts';
import { requestFault, withKey } from './validation.ts';

/** Looks at the calls in the inbox, oldest first, until one of them changes the session. The key is known. */
export function takeCalls(turn: Turn): void {
  while (!turn.persisted) {
    const { work } = turn.state;
    const call = work.inbox[0];
    if (!call) break;
    if (expire(turn)) return;
    if (call.method === Method.RESUME_SESSION && resume(turn, call)) return;
    work.inbox.shift();
    if (call.method === Method.SUBMIT_SIGNATURE_SHARE) submit(turn, call);
  }
  pump(turn);
}

/** Ends a session whose lifetime is over. Every call that waits in its round is answered; the inbox is looked at after. */
export function expire(turn: Turn): boolean {
  const { record } = turn.state;
  const lives =
    isOpen(record.state) ||
    record.state === ReceiptState.PENDING_HUMAN_APPROVAL ||
    record.state === ReceiptState.BACKEND_FAILED;
  if (!lives || turn.context.nowMs < record.expiresMs || turn.persisted) return false;
  const over = answer('SESSION_EXPIRED');
  conclude(turn, advance(record, { ...over, state: ReceiptState.EXPIRED }, turn.context));
  return true;
}

function submit(turn: Turn, call: SubmitCall): void {
  const { record, work } = turn.state;
  const fault = submitFault(turn, call);
  if (fault) {
    reply(turn, call, fault);
    return;
  }
  const { nodeId, partialSignature } = call.request;
  if (!isOpen(record.state)) {
    const counted = partialSignature.length > 0 && record.ceremony.submitted.includes(nodeId);
    const completed = record.state === ReceiptState.BACKEND_COMPLETED;
    const given =
      completed && counted
        ? answer('DUPLICATE_SHARE', `the partial signature of node ${nodeId} is already in`)
        : sessionAnswer(record);
    reply(turn, call, given, signatureResult(record));
    return;
  }
  if (nodeId === 0) {
    work.gathers.push(call);
  } else if (work.attempt?.partials.has(nodeId) || work.askAgain.has(nodeId)) {
    reply(turn, call, answer('DUPLICATE_SHARE', `the partial signature of node ${nodeId} is already in`));
  } else if (partialSignature.length > 0) {
    work.offers.push({ call, nodeId, partial: partialSignature });
  } else {
    work.steps.set(nodeId, [...(work.steps.get(nodeId) ?? []), call]);
  }
}

/** What is wrong with the call itself. */
function submitFault(turn: Turn, { request }: SubmitCall): Answer | undefined {
  const { record, work } = turn.state;
  const { nodeId, partialSignature, ephemeralPublicKey } = request;
  const total = work.key?.totalNodes;
  if (nodeId !== 0 && (nodeId < 0 || (total !== undefined && nodeId > total))) {
    return answer('NODE_NOT_PARTICIPANT', `node_id ${nodeId} is outside 1..${total ?? 'n'}`);
  }
  if (record.ceremony.excluded.includes(nodeId)) {
    return answer('NODE_NOT_PARTICIPANT', `node ${nodeId} is excluded from this session: its partial did not verify`);
  }
  if (nodeId === 0 && partialSignature.length > 0) {
    return answer('INVALID_REQUEST', 'partial_signature needs the node_id that it stands for');
  }
  if (partialSignature.length > 0 && partialSignature.length !== scalarBytes) {
    return answer(
      'INVALID_REQUEST',
      `partial_signature has ${partialSignature.length} bytes: it is a scalar of ${scalarBytes}`,
    );
  }
  if (ephemeralPublicKey.length === 0) return undefined;
  if (ephemeralPublicKey.length !== 33 && ephemeralPublicKey.length !== 32) {
    return answer(
      'INVALID_REQUEST',
      `ephemeral_public_key has ${ephemeralPublicKey.length} bytes: it is a point of 33 or 32`,
    );
  }
  if (work.attempt && !isNoncePoint(work.attempt, ephemeralPublicKey)) {
    return answer('INVALID_REQUEST', "ephemeral_public_key is not this attempt's nonce point R");
  }
  return undefined;
}

/** Returns whether the session changed. */
function resume(turn: Turn, call: ResumeCall): boolean {
  const { record, work } = turn.state;
  const { request } = call;
  const { ceremony } = record;
  let fault = resumeShapeFault(call) ?? resumeFault(record, request.resumeToken, turn.config.resumeKey);
  if (!fault && ceremony.witnessMissing && request.humanApprovalWitness.length === 0) fault = answer('WITNESS_MISSING');

  // What a mock directive skipped is made up for here; then it is a call like any other.
  const facts = { ...ceremony.facts, messageHash: Buffer.from(ceremony.facts.messageHash, 'hex') };
  const checked = fault ? undefined : validate();
  if (checked && 'fault' in checked) fault = checked.fault;
  if (fault) {
    reply(turn, call, fault, signatureResult(record));
    return false;
  }
  const { path } = checked as { path: readonly number[] };
  const resumed = answer('SESSION_RESUMED');
  const next = {
    ...advance(record, { ...resumed, state: ReceiptState.RESUMED }, turn.context, {
      witnessMissing: false,
      curve: work.key!.curve,
      submitted: [],
    }),
    expiresMs: turn.context.nowMs + turn.config.lifetimes.signingMs,
    usedResumeEpochs: [...record.usedResumeEpochs, record.epoch],
  };
  const task = signingTask(work.key!, effectiveKeystore(facts.keystoreType), path, facts.messageHash);
  commit(turn, next, { ...work, inbox: work.inbox.slice(1), task });
  reply(turn, call, sessionAnswer(next));
  requestDraw(turn);
  return true;

  function validate(): ReturnType<typeof withKey> {
    const unfit = requestFault(facts);
    return unfit ? { fault: unfit } : withKey(facts, work.key ?? undefined);
  }
}

function resumeShapeFault({ request }: ResumeCall): Answer | undefined {
  if (request.resumeToken === '') return answer('INVALID_REQUEST', 'resume_token is missing');
  if (request.resumeToken.length > resumeTokenCharsMax) {
    return answer('RESUME_TOKEN_INVALID', `resume_token is longer than ${resumeTokenCharsMax} characters`);
  }
  if (request.humanApprovalWitness.length > opaqueBytesMax) {
    return answer('INVALID_REQUEST', `human_approval_witness is longer than ${opaqueBytesMax} bytes`);
  }
  return undefined;
}
