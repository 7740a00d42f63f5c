/** What the risk routes take and give. docs/wallet-api.md shows the same. */
import Type from 'typebox';
import { Closed, Id, Nullable, OneOf, Timestamp } from '../../../gateway/api/schema-kit.ts';
import { ruleLimits } from '../rules/cel.ts';
import { ControlName } from '../rules/control-name.ts';
import { riskActions, riskRuleModes } from './rule-record.ts';
import { subjectOfEvaluation } from './transaction.ts';

export const EvaluateBody = Closed(subjectOfEvaluation);

const Action = OneOf(riskActions);

export const RiskScore = Closed(
  {
    tx_id: Type.String({ description: 'the intent’s id, or `rsk_` and a UUID' }),
    score: Type.Integer({ minimum: 0, maximum: 100 }),
    level: OneOf(['low', 'medium', 'high', 'critical']),
    action: OneOf(riskActions, {
      description:
        'the strictest of the level’s and the matching rules’ actions; the level’s decides nothing by itself',
    }),
    factors: Type.Array(
      Closed({
        code: Type.String({ description: 'a built-in factor, or `rule:` and the name of a rule' }),
        contribution: Type.Integer({ description: 'points; 0 for a rule in shadow' }),
        evidence: Type.String(),
      }),
    ),
    rules_version: Type.Integer({ minimum: 1 }),
    created_at: Timestamp,
  },
  { title: 'RiskScore' },
);

/** A rule's expression, in any module. */
export const Expression = Type.String({
  minLength: 1,
  maxLength: ruleLimits.charsMax,
  description: 'a CEL expression of type bool',
  examples: ['tx.asset == "ETH" && tx.amount > units("10")'],
});

const Points = Type.Integer({ minimum: -100, maximum: 100, description: 'added to the score' });
const Priority = Type.Integer({
  minimum: 0,
  maximum: 1000,
  description: 'matching rules are listed in this order, the lowest first; it decides nothing',
});

export const RiskRuleBody = Closed(
  {
    name: ControlName,
    when: Expression,
    points: Points,
    action: Type.Optional(
      OneOf(riskActions, {
        description:
          'of a rule that matches: `deny` denies, `review` asks for an approval, `allow` softens nothing; default: none',
      }),
    ),
    priority: Type.Optional(Priority),
    mode: Type.Optional(OneOf(['enforce', 'shadow'], { description: 'default `enforce`' })),
  },
  { title: 'PutRiskRule' },
);

export const RiskRulePatch = Closed(
  {
    mode: Type.Optional(OneOf(riskRuleModes)),
    points: Type.Optional(Points),
    priority: Type.Optional(Priority),
  },
  { minProperties: 1 },
);

export const Warning = Closed(
  {
    rule: Type.String({ description: 'id or name of the rule; empty: all of them' }),
    code: OneOf(['never_matches', 'always_matches', 'unreachable', 'denies_everything']),
    message: Type.String(),
  },
  { title: 'RuleWarning' },
);

export const RiskRule = Closed(
  {
    id: Id('rul'),
    name: Type.String(),
    when: Type.String(),
    points: Type.Integer(),
    action: Nullable(Action),
    priority: Type.Integer(),
    mode: OneOf(riskRuleModes),
    version: Type.Integer({ minimum: 1 }),
    warnings: Type.Array(Warning),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'RiskRule' },
);
