/** /v1/change-control and /v1/change-proposals. */
import Type from 'typebox';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, OneOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { controlView, readControl, setControl } from './control.ts';
import {
  type ChangeDeps,
  cancelProposal,
  findProposal,
  pendingMax,
  propose,
  voteOnProposal,
  withRequest,
} from './decide.ts';
import { ofStatusIndex, proposalsIndex, proposalType } from './record.ts';
import { ChangeControl, ChangeControlBody, ChangeProposal, ProposedChange, proposalBody, VoteBody } from './schemas.ts';
import { proposalStates, proposalStatuses } from './states.ts';
import { underControl } from './under-control.ts';
import { proposalView } from './view.ts';

const tag = 'Change control';
const params = Closed({ id: PathId('id of the proposal') });

/** The other routes of the tenant under its change control, and those of the control itself. */
export function withChangeControl(others: readonly Route[], deps: Omit<ChangeDeps, 'routes'>): readonly Route[] {
  const routes = [...others, ...controlRoutes()];
  const controlled = routes.filter((each) => each.controlled !== undefined);
  const byOperation = new Map(controlled.map((each) => [each.operationId, each]));
  return [...routes.map(underControl), ...proposalRoutes({ ...deps, routes: byOperation })];
}

function controlRoutes(): readonly Route[] {
  return [
    route({
      tag,
      method: 'GET',
      path: '/v1/change-control',
      operationId: 'getChangeControl',
      clientName: 'changeControl.get',
      summary: 'Show how many others approve a change of the tenant’s rules',
      scope: 'changes:read',
      responses: { 200: { schema: ChangeControl, description: 'the change control' } },
      handle: async (context) => ({ status: 200, body: controlView(await readControl(context)) }),
    }),
    route({
      tag,
      method: 'POST',
      path: '/v1/change-control',
      operationId: 'putChangeControl',
      clientName: 'changeControl.put',
      example: { quorum: 0 },
      summary: 'Set how many others approve a change of the tenant’s rules',
      description:
        'Proposals that are pending under the earlier terms can no longer be approved. While it is on, it takes a proposal itself.',
      scope: 'changes:write',
      body: ChangeControlBody,
      responses: { 200: { schema: ChangeControl, description: 'the change control' } },
      errors: [409],
      controlled: async (context) => controlView(await readControl(context)),
      handle: (context, { body }) => setControl(context, body),
    }),
  ];
}

function proposalRoutes(deps: ChangeDeps): readonly Route[] {
  return [
    route({
      tag,
      method: 'POST',
      path: '/v1/change-proposals',
      operationId: 'createChangeProposal',
      clientName: 'changeProposals.create',
      example: { operation: 'putChangeControl', body: { quorum: 0 } },
      summary: 'Propose a change that the tenant’s change control stops',
      description: `The caller needs the scope of the operation too. Faults name fields as the operation does. At most ${pendingMax} wait at a time.`,
      scope: 'changes:write',
      body: proposalBody([...deps.routes.keys()]),
      responses: { 201: { schema: ProposedChange, description: 'the proposal, with what would differ' } },
      errors: [404, 409],
      handle: (context, { body }) => propose(deps, context, body),
    }),
    route({
      tag,
      method: 'GET',
      path: '/v1/change-proposals',
      operationId: 'listChangeProposals',
      clientName: 'changeProposals.list',
      summary: 'List proposed changes, newest first',
      scope: 'changes:read',
      query: Closed({ ...pageQuery, status: Type.Optional(OneOf(proposalStatuses)) }),
      responses: { 200: { schema: ListOf('change_proposals', ChangeProposal), description: 'a page' } },
      handle: async (context, { query }) => {
        const request = readPage(context, 'change_proposals', query);
        const index = query.status === undefined ? proposalsIndex : ofStatusIndex(query.status);
        const asked = { indices: [index], order: 'newest', ...request.query } as const;
        const page = await context.store.list(context.tenant, proposalType, asked);
        return { status: 200, body: listBody('change_proposals', page, proposalView, request) };
      },
    }),
    route({
      tag,
      method: 'GET',
      path: '/v1/change-proposals/:id',
      operationId: 'getChangeProposal',
      clientName: 'changeProposals.get',
      summary: 'Read a proposed change, with its request',
      scope: 'changes:read',
      params,
      responses: { 200: { schema: ProposedChange, description: 'the proposal' } },
      errors: [404],
      handle: async (context, { params: { id } }) => {
        return { status: 200, body: withRequest(deps, context.tenant, await findProposal(context, id)) };
      },
    }),
    route({
      tag,
      method: 'POST',
      path: '/v1/change-proposals/:id/approve',
      operationId: 'approveChangeProposal',
      clientName: 'changeProposals.approve',
      example: { decision: 'approve', comment: 'as agreed' },
      summary: 'Approve or reject a proposed change',
      description:
        'The last approval makes the change in the same commit; one rejection ends the proposal. The initiator has no vote, nor has a token of its line. A repeated vote changes nothing. 409 `version_conflict`: what it changes, or the change control, is no longer as it was.',
      scope: 'changes:approve',
      params,
      body: VoteBody,
      bodyOptional: true,
      responses: { 200: { schema: ChangeProposal, description: 'the proposal after the vote' } },
      errors: [404, 409],
      states: proposalStates.vote,
      handle: (context, { params: { id }, body }) => voteOnProposal(deps, context, id, body),
    }),
    route({
      tag,
      method: 'POST',
      path: '/v1/change-proposals/:id/cancel',
      operationId: 'cancelChangeProposal',
      clientName: 'changeProposals.cancel',
      summary: 'Cancel a proposed change',
      scope: 'changes:write',
      params,
      responses: { 200: { schema: ChangeProposal, description: 'the proposal, cancelled' } },
      errors: [404, 409],
      states: proposalStates.cancel,
      handle: (context, { params: { id } }) => cancelProposal(context, id),
    }),
  ];
}
