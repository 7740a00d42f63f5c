/** The requests and answers of change control. */
import type { JsonObject } from '@bufbuild/protobuf';
import Type from 'typebox';
import { Closed, Id, OneOf, PathId, secret, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { Actor, Votes, voteBody } from '../../custody/intents/public.ts';
import { Approver, policyLimits } from '../../policy/policies/public.ts';
import { proposalStatuses } from './states.ts';

const Quorum = (description: string) => Type.Integer({ minimum: 0, maximum: policyLimits.quorumMax, description });

export const ChangeControlBody = Closed(
  {
    quorum: Quorum('how many others approve a change; 0: none, change control is off'),
    approvers: Type.Optional(
      Type.Array(Approver, {
        maxItems: policyLimits.approversMax,
        description: 'permitted approvers; default: every caller with the scope `changes:approve`',
      }),
    ),
    timeout_s: Type.Optional(
      Type.Integer({
        minimum: policyLimits.timeoutMinS,
        maximum: policyLimits.timeoutMaxS,
        description: 'time for the votes; default 86400',
      }),
    ),
  },
  { title: 'PutChangeControl' },
);

export const ChangeControl = Closed(
  {
    quorum: Quorum('0: off'),
    approvers: Type.Array(Actor),
    timeout_s: Type.Integer(),
    version: Type.Integer({ minimum: 0, description: '0: never set' }),
  },
  { title: 'ChangeControl' },
);

const proposed = {
  params: Type.Optional(Closed({ id: PathId('id in its path, e.g. of a risk rule') })),
  body: Type.Optional(
    Type.Unsafe<JsonObject>({ type: 'object', maxProperties: 50, ...secret, description: 'its body' }),
  ),
} as const;

export function proposalBody(operations: readonly string[]) {
  return Closed(
    { operation: OneOf(operations, { description: 'the operation to propose' }), ...proposed },
    { title: 'CreateChangeProposal' },
  );
}

const Value = { description: 'null: it has none' };

const fields = {
  id: Id('chg'),
  status: OneOf(proposalStatuses),
  operation: Type.String(),
  resource: Closed(
    { type: Type.String(), id: Type.String(), version: Type.Integer() },
    { description: 'what it changes, as the change’s event will name it' },
  ),
  difference: Type.Array(Closed({ field: Type.String(), before: Type.Unknown(Value), after: Type.Unknown(Value) }), {
    description: 'the fields that the change makes different, as events show them',
  }),
  initiator: Actor,
  approvals: Votes,
  approvals_required: Type.Integer(),
  approvers: Type.Array(Actor, { description: 'empty: any with the scope' }),
  version: Type.Integer({ minimum: 1 }),
  created_at: Timestamp,
  updated_at: Timestamp,
  expires_at: Timestamp,
} as const;

export const ChangeProposal = Closed(fields, { title: 'ChangeProposal' });

export const ProposedChange = Closed(
  { ...fields, request: Closed(proposed, { description: 'what the operation gets' }) },
  { title: 'ProposedChange' },
);

export const VoteBody = voteBody('VoteOnChangeProposal');
