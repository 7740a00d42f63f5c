/**
 * Matches the answers of nodes with the requests to them.
 *
 * Every request has a unique number, which its answer repeats. So a message counts as an answer once, and only to the
 * coordinator that asked; a refusal, confirmation or verdict without an open request is ignored. A request that is repeated
 * gets a new number; a late answer to the earlier one counts too.
 */
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBody, WireBodyInit } from '../../proto/wire.ts';
import { nodeDkgAddress, wire } from '../contract/messages.ts';
import {
  type DkgSessionStep,
  type DkgWork,
  type Job,
  nodeIds,
  type RequestCase,
  signedResults,
  type UnansweredRequest,
} from './state.ts';

type RequestBody = Extract<WireBodyInit, { case: RequestCase }>;

const answers: Readonly<Record<RequestCase, WireBody['case']>> = {
  dkgOpen: 'dkgOpened',
  dkgSeal: 'dkgSealed',
  dkgVerify: 'dkgVerified',
  dkgConfirm: 'dkgConfirmed',
};

/** The most unanswered requests of one session; beyond it the oldest is dropped, and its answer ignored. */
const askedMax = 4096;

/** Sends one request, unless one of its kind to this node is open. */
export function ask(turn: DkgSessionStep, nodeId: number, body: RequestBody, job?: Job): void {
  const { record, work } = turn.state;
  const flight = `${nodeId}/${body.case}`;
  if (work.flights.has(flight) || work.ready?.has(nodeId) === false) return;
  work.flights.add(flight);
  const request = nextRequest(turn);
  const dealers = body.case === 'dkgVerify' ? (body.value.dealers ?? []).map(({ dealer }) => dealer ?? 0) : [];
  work.asked.set(request, { nodeId, kind: body.case, dealers, job });
  if (work.asked.size > askedMax) work.asked.delete(work.asked.keys().next().value!);
  const { tenant, sessionId, ceremony } = record;
  turn.effects.push({
    kind: 'send',
    to: nodeDkgAddress(nodeId, tenant, sessionId),
    message: wire({ tenant, session: sessionId, attempt: ceremony.attempt }, {
      ...body,
      value: { ...body.value, request },
    } as WireBodyInit),
  });
}

/**
 * A session of a completed key found that this node does not hold it: it stalled, or died, before it confirmed. It gets the
 * results that all nodes signed; no answer is awaited.
 */
export function confirmAgain(turn: DkgSessionStep, nodeId: number): void {
  const { record } = turn.state;
  const results = signedResults(record);
  const isMade = record.state === ReceiptState.BACKEND_COMPLETED || record.ceremony.refreshes !== undefined;
  if (!isMade || results.length === 0) return;
  if (nodeIds(record).includes(nodeId)) ask(turn, nodeId, { case: 'dkgConfirm', value: { results } });
}

/** The request that a node's message answers, once; undefined: none. */
export function takeAsked(work: DkgWork, nodeId: number, body: WireBody): UnansweredRequest | undefined {
  if (!('request' in body.value) || typeof body.value.request !== 'number') return undefined;
  const { request } = body.value;
  const asked = work.asked.get(request);
  if (asked?.nodeId !== nodeId) return undefined;
  if (body.case !== 'dkgRefused' && body.case !== answers[asked.kind]) return undefined;
  work.asked.delete(request);
  return asked;
}

/** The first number is random, so that an answer to a crashed actor does not match a request of its successor. */
function nextRequest({ state: { work }, context }: DkgSessionStep): number {
  if (work.lastRequest === 0) work.lastRequest = Buffer.from(context.random(4)).readUInt32BE();
  work.lastRequest = (work.lastRequest % 0xffff_ffff) + 1;
  return work.lastRequest;
}
