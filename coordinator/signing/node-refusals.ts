/** A node's refusal to sign: what it means for the attempt, for the calls that wait for the node, and for the session. */
import { type PartialRefusal, PartialRefusalCode } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { answer, type CallAnswer } from '../contract/call-answer.ts';
import { clusterAddress, dkgAddress, keyRecordKey } from '../contract/messages.ts';
import { sessionOfShares } from '../contract/record.ts';
import { type Persisted, reply } from '../session/turn.ts';
import { type Attempt, bindsSigners } from './attempt.ts';
import { endLifetime, failRefused, failToken, whyRefusing } from './finalize.ts';
import {
  foundUnable,
  type Inability,
  type LastingRefusal,
  noncesForgotten,
  ordersForgiven,
  type TokenFault,
} from './nodes-seen.ts';
import { isOrderRefusal } from './order-relay.ts';
import { withoutSteps } from './queue.ts';
import { attemptAbandoned, nonceForgotten, notAskedAgain } from './round.ts';
import { isAtVendor, knownKey, participants, type SigningSessionStep } from './state.ts';

/** The session stops asking a node that forgot this many nonces in it. */
const forgottenMax = 2;
/** A node's permanent refusals, from its own records. */
const lastingRefusals: ReadonlyMap<PartialRefusalCode, LastingRefusal> = new Map([
  [PartialRefusalCode.KEYSTORE_MISMATCH, 'KEYSTORE_MISMATCH'],
  [PartialRefusalCode.INTENT_MESSAGE_CHANGED, 'INTENT_MESSAGE_CHANGED'],
]);
/** The reasons why the node's token or vendor did not sign. */
const tokenFaults: ReadonlyMap<PartialRefusalCode, TokenFault> = new Map([
  [PartialRefusalCode.HSM_UNCONFIGURED, 'KEYSTORE_UNAVAILABLE'],
  [PartialRefusalCode.HSM_SESSION_LOST, 'HSM_SESSION_LOST'],
  [PartialRefusalCode.HSM_PIN_REFUSED, 'HSM_PIN_REFUSED'],
  [PartialRefusalCode.HSM_TIMEOUT, 'HSM_TIMEOUT'],
  [PartialRefusalCode.HSM_TOKEN_ABSENT, 'HSM_TOKEN_ABSENT'],
  [PartialRefusalCode.HSM_FAILED, 'HSM_FAILED'],
  [PartialRefusalCode.VENDOR_UNCONFIGURED, 'KEYSTORE_UNAVAILABLE'],
  [PartialRefusalCode.VENDOR_UNAVAILABLE, 'VENDOR_UNAVAILABLE'],
  [PartialRefusalCode.VENDOR_REJECTED, 'VENDOR_REJECTED'],
  [PartialRefusalCode.VENDOR_CANCELLED, 'VENDOR_CANCELLED'],
  [PartialRefusalCode.VENDOR_SIGNATURE_INVALID, 'VENDOR_SIGNATURE_INVALID'],
]);
/**
 * When nodes that lacked their share are asked again, if the others are too few: nodes replace their shares within a few
 * milliseconds.
 */
const keylessAgainMs = 250;
/** The longest part of a node's own text in an event. */
const quotedCharsMax = 200;

/** `refusal`: undefined if the node's answer says nothing. */
export function nodeRefused(
  turn: SigningSessionStep,
  attempt: Attempt,
  nodeId: number,
  refusal: PartialRefusal | undefined,
): Persisted | undefined {
  const { work } = turn.state;
  report(turn, nodeId, refusal);
  if (refusal?.code === PartialRefusalCode.VENDOR_EXPIRED && isAtVendor(work)) return endLifetime(turn);
  const isForgiven = refusal?.code === PartialRefusalCode.NONCE_UNKNOWN && forgave(turn, attempt, nodeId);
  const written = isForgiven ? undefined : nodeUnable(turn, nodeId, inabilityOf(refusal));
  if (written) return written;
  // A node that restarted since it made its nonce: FROST begins again, mock ECDSA omits the node's part of the nonce.
  if (bindsSigners(attempt)) work.round = attemptAbandoned(work.round);
  else if (isForgiven) work.round = nonceForgotten(work.round, nodeId);
  return undefined;
}

/** The vendor's decision, if it did not sign: the session pauses, or ends with its order's lifetime. */
export function orderEnded(
  turn: SigningSessionStep,
  nodeId: number,
  { code, message }: PartialRefusal,
): Persisted | undefined {
  if (code === PartialRefusalCode.VENDOR_EXPIRED) return endLifetime(turn);
  const reason = tokenFaults.get(code);
  return reason && failToken(turn, nodeId, reason, message.slice(0, quotedCharsMax));
}

function report({ effects, state: { record } }: SigningSessionStep, node: number, refusal?: PartialRefusal): void {
  const code = PartialRefusalCode[refusal?.code ?? 0] ?? '';
  const message = (refusal?.message ?? '').slice(0, quotedCharsMax);
  const fields = { tenant: record.tenant, session: record.sessionId, node, code, message };
  effects.push({ kind: 'emit', event: { type: 'signing.node_refused', level: 'warn', fields } });
}

/** A node does not know its nonce: the cluster drops it. Returns whether the session asks the node again. */
function forgave({ effects, state: { work } }: SigningSessionStep, attempt: Attempt, nodeId: number): boolean {
  const nonce = attempt.nonces.find((drawn) => drawn.nodeId === nodeId);
  if (nonce) {
    const { nodeBoot, number } = nonce;
    const { scheme } = work.task!;
    effects.push({
      kind: 'send',
      to: clusterAddress,
      message: { kind: 'nonceForgotten', scheme, nodeId, nodeBoot, number },
    });
  }
  const times = (work.nodes.forgot.get(nodeId) ?? 0) + 1;
  if (times > forgottenMax) return false;
  work.nodes = noncesForgotten(work.nodes, nodeId, times);
  return true;
}

/** The node does not sign in this session: the calls that wait for it get their answer, and without a quorum the session fails. */
function nodeUnable(turn: SigningSessionStep, nodeId: number, why: Inability): Persisted | undefined {
  const { work, record } = turn.state;
  if (why.kind === 'keyless') {
    const { tenant } = record;
    const key = knownKey(work);
    const to = dkgAddress(tenant, sessionOfShares(key));
    turn.effects.push({ kind: 'send', to, message: { kind: 'keyUnknown', nodeId } });
    turn.effects.push({ kind: 'startTimer', name: 'keyless', afterMs: keylessAgainMs });
    // Perhaps the node has newer shares than this session knows of.
    turn.effects.push({ kind: 'load', key: keyRecordKey(tenant, key.keyId) });
  }
  work.nodes = foundUnable(work.nodes, nodeId, why);
  work.round = notAskedAgain(work.round, nodeId);
  const told = unableAnswer(nodeId, why);
  for (const call of work.queue.steps.get(nodeId) ?? []) reply(turn, call, told);
  work.queue = withoutSteps(work.queue, [nodeId]);
  if (participants(turn.state).length >= knownKey(work).threshold) return undefined;
  if (why.kind === 'lasting') return failRefused(turn, why.reason);
  if (why.kind !== 'token') return undefined;
  // The session pauses only if a call waits for the whole signature: a step changes nothing.
  if (work.queue.gathers.length > 0) return failToken(turn, nodeId, why.reason, why.message);
  work.nodes = ordersForgiven(work.nodes);
  return undefined;
}

function inabilityOf(refusal: PartialRefusal | undefined): Inability {
  if (refusal === undefined) return { kind: 'other' };
  const { code, message } = refusal;
  const token = tokenFaults.get(code);
  if (token) return { kind: 'token', reason: token, message: message.slice(0, quotedCharsMax) };
  if (code === PartialRefusalCode.KEY_UNKNOWN) return { kind: 'keyless' };
  if (isOrderRefusal(code)) return { kind: 'order', code: PartialRefusalCode[code]! };
  const reason = lastingRefusals.get(code);
  return reason ? { kind: 'lasting', reason } : { kind: 'other' };
}

/** The answer to a call that wants this node's partial. */
function unableAnswer(nodeId: number, why: Inability): CallAnswer {
  const node = `node ${nodeId}`;
  switch (why.kind) {
    case 'order':
      return answer('ORDER_REFUSED', `${node} refused the order of this session (${why.code})`);
    case 'token':
      return answer(why.reason, `${node}: ${why.message}; the session is unchanged`);
    case 'lasting':
      return answer(why.reason, `${node} ${whyRefusing[why.reason]}; the session is unchanged`);
    case 'keyless': {
      const remedy = 'if it died while the key was made, call again; the session is unchanged';
      return answer('NODES_UNAVAILABLE', `${node} cannot sign with this key, which it does not hold: ${remedy}`);
    }
    case 'other':
      return answer('NODES_UNAVAILABLE', `${node} cannot sign with this key; the session is unchanged`);
  }
}
