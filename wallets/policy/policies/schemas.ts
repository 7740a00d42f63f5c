/** What the policy routes take and give. docs/wallet-api.md shows the same. */
import Type from 'typebox';
import { Closed, Id, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { Expression, subjectOfEvaluation, Warning } from '../risk/public.ts';
import { ControlName } from '../rules/control-name.ts';
import { approvalTimeoutDefaultS } from './default-policy.ts';
import { policyEffects, policyModes } from './record.ts';

/** Of one policy; the limits of its conditions are in ../rules/cel.ts. */
export const policyLimits = {
  rulesMax: 100,
  quorumMax: 20,
  approversMax: 50,
  timeoutMinS: 60,
  timeoutMaxS: 2_592_000,
} as const;

const Effect = OneOf(policyEffects);
const RuleId = Type.String({
  pattern: '^[A-Za-z0-9_.-]{1,64}$',
  description: '1 to 64 characters of A-Z a-z 0-9 _ . -',
  examples: ['large_transfers'],
});
export const Approver = Type.String({
  pattern: '^[\\x21-\\x7e]{1,128}$',
  description: 'a token’s id, `tok_…`; for a rotated token the id of its first token',
});

const Approvals = Closed({
  quorum: Type.Integer({ minimum: 1, maximum: policyLimits.quorumMax, description: 'how many must approve' }),
  approvers: Type.Optional(
    Type.Array(Approver, {
      maxItems: policyLimits.approversMax,
      description: 'permitted approvers; default: every caller with the scope `intents:approve`',
    }),
  ),
  timeout_s: Type.Optional(
    Type.Integer({
      minimum: policyLimits.timeoutMinS,
      maximum: policyLimits.timeoutMaxS,
      description: `default ${approvalTimeoutDefaultS}`,
    }),
  ),
});

export const PolicyBody = Closed(
  {
    name: ControlName,
    rules: Type.Array(
      Closed({
        id: RuleId,
        effect: Effect,
        when: Expression,
        approvals: Type.Optional(Approvals),
      }),
      { minItems: 1, maxItems: policyLimits.rulesMax },
    ),
    mode: Type.Optional(OneOf(policyModes, { description: 'default `enforce`' })),
  },
  { title: 'PutPolicy' },
);

export const Policy = Closed(
  {
    id: Id('pol'),
    name: Type.String(),
    version: Type.Integer({ minimum: 1 }),
    enforced_version: Nullable(
      Type.Integer({ description: 'the newest version in mode `enforce`; null: `default` applies instead' }),
    ),
    mode: OneOf(policyModes),
    rules: Type.Array(
      Closed({
        id: Type.String(),
        effect: Effect,
        when: Type.String(),
        approvals: Type.Optional(
          Closed({ quorum: Type.Integer(), approvers: Type.Array(Type.String()), timeout_s: Type.Integer() }),
        ),
      }),
    ),
    warnings: Type.Array(Warning),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'Policy' },
);

export const EvaluateBody = Closed(subjectOfEvaluation);

const Trace = Type.Array(
  Closed({
    rule: Type.String(),
    effect: Effect,
    matched: Type.Boolean(),
    result: Type.String({ description: '`true`, `false`, or the reason why it could not be evaluated' }),
  }),
);

const PolicyName = Closed({ name: Type.String(), id: Id('pol'), version: Type.Integer() });

const decisionFields = {
  id: Id('dec'),
  tx_id: Type.String({ description: 'the intent’s id, or `dec_` and a UUID' }),
  decision: Effect,
  policy: PolicyName,
  policy_version: Type.Integer({ minimum: 1 }),
  also_policies: Type.Array(PolicyName, { description: 'further policies that decided: the strictest wins' }),
  mode: OneOf(policyModes),
  matched_rules: Type.Array(Type.String()),
  trace: Trace,
  approvals: Nullable(
    Closed({ quorum: Type.Integer(), approvers: Type.Array(Type.String()), timeout_s: Type.Integer() }),
  ),
  reason: Type.String(),
  compliance: Closed({ decision: Type.String(), risk_score: Type.Integer(), report_id: Type.String() }),
  risk: Closed({ score: Type.Integer(), level: Type.String(), action: Type.String() }),
  dry_run: Nullable(
    Closed({ policy: PolicyName, decision: Effect, matched_rules: Type.Array(Type.String()), trace: Trace }),
  ),
  transaction: Nullable(
    Closed({
      wallet_id: Type.String(),
      asset: Type.String(),
      amount: Type.String(),
      network: Type.String(),
      to: Type.String(),
    }),
  ),
  created_at: Timestamp,
} as const;

export const Decision = Closed(decisionFields, { title: 'PolicyDecision' });

export const Evaluation = Closed(
  {
    ...decisionFields,
    policy_receipt: Type.String({
      description: 'a compact JWS of purpose `evaluation`: it does not authorise a transfer',
    }),
  },
  { title: 'PolicyEvaluation' },
);
