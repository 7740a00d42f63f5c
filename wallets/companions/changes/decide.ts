/**
 * Proposing a change, and deciding about it. The route of the operation makes the change, as it does without control: once when it
 * is proposed, for what would differ, and again with the votes. Nothing of the first time is stored but the request. Ids in both are
 * the same, so a proposal names what it will make.
 */
import { createHash } from 'node:crypto';
import { contextOf } from '../../../gateway/api/context.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { assertVersion } from '../../../gateway/api/failures.ts';
import { inputReader } from '../../../gateway/api/input.ts';
import { previewOfTag } from '../../../gateway/api/modules.ts';
import { actorOf, type Principal } from '../../../gateway/api/principal.ts';
import type { Answer, RequestContext, Route } from '../../../gateway/api/route.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { noSuch } from '../../../gateway/api/visibility.ts';
import { idTimeMs } from '../../../proto/ids.ts';
import {
  approversOf,
  ballotOf,
  checkVoter,
  hasVoted,
  type VoteRequest,
  type VoteSeal,
} from '../../custody/intents/public.ts';
import { merge } from '../../store/changes.ts';
import { type Guard, type NewEvent, shownRecord } from '../../store/contract.ts';
import { readControl, unchangedControl } from './control.ts';
import { nextProposal, openProposal, type ProposalStep } from './machine.ts';
import {
  type Difference,
  ofStatusIndex,
  type ProposalRecord,
  type ProposedRequest,
  proposalType,
  votedOn,
} from './record.ts';
import { proposalStates } from './states.ts';
import { proposalView } from './view.ts';

export interface ChangeDeps {
  /** Those that are controlled, by their operation's id, as they are without control. */
  readonly routes: ReadonlyMap<string, Route>;
  readonly votes: VoteSeal;
  readonly seal: { seal(plain: string, about: string): string; open(sealed: string, about: string): string };
}

/** Of a tenant. */
export const pendingMax = 100;

export async function propose(
  deps: ChangeDeps,
  context: RequestContext,
  { operation, ...request }: ProposedRequest & { readonly operation: string },
): Promise<Answer> {
  const { tenant, principal, nowMs } = context;
  const route = routeOf(deps, operation);
  needRights(principal, route);
  const control = await readControl(context);
  if (control.quorum === 0) {
    throw conflict('state_conflict', 'the tenant has no change control', 'make the change itself');
  }
  const id = context.newId('chg');
  const initiator = actorOf(principal);
  const { event, before } = await make(route, asProposed(context, { id, initiator }), request);
  const { quorum, approvers, version: controlVersion, timeoutS } = control;
  const step = openProposal(context, {
    id,
    version: 1,
    status: 'pending',
    operation,
    request: deps.seal.seal(JSON.stringify(request), aboutOf(tenant, id)),
    resource: event.resource,
    difference: differenceOf(before, route.method === 'DELETE' ? undefined : event.object),
    ...{ initiator, controlVersion, quorum, approvers, approvals: [] },
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    expiresAtMs: nowMs + timeoutS * 1000,
  });
  const guards = [unchangedControl(control), await roomForOne(context)];
  return {
    ...answerOf(step, 201),
    body: withRequest(deps, tenant, step.after),
    change: merge(step.change, { guards }),
  };
}

export async function voteOnProposal(
  deps: ChangeDeps,
  context: RequestContext,
  id: string,
  asked: VoteRequest,
): Promise<Answer> {
  const ballot = ballotOf(context, asked);
  const record = await findProposal(context, id);
  const vote = deps.votes.seal(context.tenant, votedOn(record), ballot);
  if (hasVoted(record, vote.by, vote.decision)) return { status: 200, body: proposalView(record) };
  checkVoter(record, vote.by);
  checkOpen(record, context.nowMs);
  assertVersion('the proposal', record, asked.expected_version);
  const approvals = [...record.approvals, vote];
  if (vote.decision === 'reject') return answerOf(nextProposal(context, record, 'rejected', approvals));
  const control = await readControl(context);
  if (control.version !== record.controlVersion) throw outdated('change control');
  const made = await make(
    routeOf(deps, record.operation),
    asProposed(context, record),
    requestOf(deps, context.tenant, record),
  );
  if (JSON.stringify(made.event.resource) !== JSON.stringify(record.resource)) throw outdated(record.resource.type);
  if (countOf(deps, context.tenant, { ...record, approvals }) < record.quorum) {
    return answerOf(nextProposal(context, record, 'pending', approvals));
  }
  const { afterCommit, change = {} } = made.answer;
  const applied = answerOf(nextProposal(context, record, 'applied', approvals));
  return {
    ...applied,
    change: merge(change, applied.change!, { guards: [unchangedControl(control)] }),
    ...(afterCommit === undefined ? {} : { afterCommit }),
  };
}

export async function cancelProposal(context: RequestContext, id: string): Promise<Answer> {
  const record = await findProposal(context, id);
  checkOpen(record, context.nowMs);
  return answerOf(nextProposal(context, record, 'cancelled'));
}

/** With the request. Throws StoreTampered. */
export function withRequest(deps: ChangeDeps, tenant: string, record: ProposalRecord): object {
  return { ...proposalView(record), request: requestOf(deps, tenant, record) };
}

/** Throws ServiceError 404. */
export async function findProposal({ store, tenant }: RequestContext, id: string): Promise<ProposalRecord> {
  const record = await store.read(tenant, proposalType, id);
  if (record === undefined) throw noSuch('change proposal');
  return record;
}

function answerOf({ after, change }: ProposalStep, status = 200): Answer {
  return { status, body: proposalView(after), change };
}

function routeOf({ routes }: ChangeDeps, operation: string): Route {
  const route = routes.get(operation);
  if (route === undefined) throw new Error(`the operation ${operation} is not under change control`);
  return route;
}

/** Those of the operation itself. Throws ServiceError 403. */
function needRights({ scopes, environment }: Principal, { scope, tag }: Route): void {
  const preview = environment === 'production' ? previewOfTag(tag) : undefined;
  const needed = [scope, ...(preview === undefined ? [] : [`preview:${preview}` as const])];
  const missing = needed.filter((each) => each !== undefined && each !== 'any' && !scopes.has(each));
  if (missing.length === 0) return;
  const message = `the operation needs the scope ${missing.join(' and ')}`;
  throw new ServiceError('insufficientScope', message, {
    details: [{ field: 'operation', issue: 'insufficient_scope', message }],
  });
}

/**
 * The context in which the change is made: by its initiator, and with ids that follow from the proposal's. Events are made when they
 * are committed.
 */
function asProposed(
  context: RequestContext,
  { id, initiator }: Pick<ProposalRecord, 'id' | 'initiator'>,
): RequestContext {
  const seed = createHash('sha256').update(id).digest();
  const { newId, ...rest } = contextOf(context, { seed: () => seed, startedMs: idTimeMs(id)! }, context.nowMs);
  return {
    ...rest,
    principal: { ...context.principal, actorId: initiator },
    newId: (prefix) => (prefix === 'evt' ? context.newId(prefix) : newId(prefix)),
  };
}

interface Made {
  readonly before: object | undefined;
  readonly answer: Answer;
  readonly event: NewEvent;
}

/** Throws ServiceError as the operation does, and 409 when it would change nothing. */
async function make(route: Route, context: RequestContext, { params, body }: ProposedRequest): Promise<Made> {
  const given = body === undefined ? undefined : { value: structuredClone(body), hasSurrogateEscapes: false };
  const input = inputReader(route)({ params: params ?? {}, query: {}, headers: {}, body: given });
  const before = await route.controlled!(context, { ...input, idempotencyKey: undefined });
  const answer = await route.handle(context, { ...input, idempotencyKey: undefined });
  const [event] = answer.change?.events ?? [];
  if (event === undefined) throw conflict('state_conflict', 'the operation would change nothing', 'it is so already');
  return { before, answer, event };
}

function differenceOf(before: object = {}, after: object = {}): readonly Difference[] {
  const [was, is] = [before, after] as readonly Readonly<Record<string, unknown>>[];
  const fields = [...new Set([...Object.keys(was!), ...Object.keys(is!)])];
  return fields
    .map((field) => ({ field, before: was![field] ?? null, after: is![field] ?? null }))
    .filter((each) => JSON.stringify(each.before) !== JSON.stringify(each.after));
}

/** The approvers whose votes a gateway took on this very proposal. */
function countOf({ votes }: ChangeDeps, tenant: string, record: ProposalRecord): number {
  const approvals = record.approvals.filter((vote) => votes.holds(tenant, votedOn(record), vote));
  return approversOf({ approvals }).size;
}

function requestOf({ seal }: ChangeDeps, tenant: string, { id, request }: ProposalRecord): ProposedRequest {
  return shownRecord(id, () => JSON.parse(seal.open(request, aboutOf(tenant, id))) as ProposedRequest);
}

function aboutOf(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}

/** Throws ServiceError 409 when too many wait. */
async function roomForOne({ store, tenant }: RequestContext): Promise<Guard> {
  const index = ofStatusIndex('pending');
  if ((await store.count(tenant, index)) >= pendingMax) {
    throw conflict('too_many', `a tenant has at most ${pendingMax} pending proposals`, 'decide or cancel one first');
  }
  return { kind: 'count', index, min: 0, max: pendingMax - 1 };
}

/** One past its time counts as expired, even before a scan has marked it. */
function checkOpen({ status, expiresAtMs }: ProposalRecord, nowMs: number): void {
  const isOpen = isAllowedIn(proposalStates.cancel, status);
  if (isOpen && nowMs < expiresAtMs) return;
  const shown = isOpen ? 'expired' : status;
  throw conflict(shown, `the proposal is ${shown}`, 'the status of the proposal must be pending', 'status');
}

function outdated(what: string): ServiceError {
  const remedy = 'read it, and propose the change again';
  return conflict(
    'version_conflict',
    `the ${what.replaceAll('_', ' ')} has changed since the proposal`,
    remedy,
    'resource',
  );
}

function conflict(issue: string, what: string, remedy: string, field = ''): ServiceError {
  return new ServiceError('conflict', what, { details: [{ field, issue, message: remedy }] });
}
