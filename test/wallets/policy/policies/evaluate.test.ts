/** What a policy says: deny over approval over allow, whatever the order; and what cannot be evaluated is on the safe side. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultRules } from '../../../../wallets/policy/policies/default-policy.ts';
import { complianceRule, evaluatePolicy, strictest } from '../../../../wallets/policy/policies/evaluate.ts';
import type { PolicyEffect, PolicyRule } from '../../../../wallets/policy/policies/record.ts';
import { ruleInputOf } from '../../../../wallets/policy/risk/assess.ts';
import { facts, input, policyOf, risk, screening } from './support/facts.ts';

let made = 0;
function rule(effect: PolicyEffect, when: string, quorum = 1, approvers: readonly string[] = []): PolicyRule {
  made += 1;
  const approvals = effect === 'require_approval' ? { quorum, approvers, timeoutS: 600 } : null;
  return { id: `r${made}`, effect, when, approvals };
}

const decide = (rules: readonly PolicyRule[]) => evaluatePolicy(policyOf(rules), input(), 'clear');
const strength = { allow: 0, require_approval: 1, deny: 2 } as const;

const anyRule = fc
  .record({
    effect: fc.constantFrom<PolicyEffect>('allow', 'deny', 'require_approval'),
    when: fc.constantFrom(
      'true',
      'false',
      'tx.asset == "ETH"',
      'tx.asset == "BTC"',
      'tx.metadata.none == "x"',
      'risk.score < 50',
    ),
    quorum: fc.integer({ min: 1, max: 3 }),
    approvers: fc.constantFrom([], ['a', 'b', 'c'], ['b', 'c', 'd'], ['x', 'y', 'z']),
  })
  .map(({ effect, when, quorum, approvers }) => rule(effect, when, quorum, approvers));

describe('a policy', () => {
  it('denies what no rule allows', () => {
    expect(decide([rule('allow', 'tx.asset == "BTC"')])).toMatchObject({ decision: 'deny', matchedRules: [] });
    expect(decide([rule('deny', 'false')]).decision).toBe('deny');
  });

  it('decides the same in whatever order its rules are written', () => {
    fc.assert(
      fc.property(
        fc
          .array(anyRule, { minLength: 1, maxLength: 8 })
          .chain((rules) => fc.tuple(fc.constant(rules), fc.shuffledSubarray(rules, { minLength: rules.length }))),
        ([rules, shuffled]) => {
          const [one, other] = [decide(rules), decide(shuffled)];
          expect(other.decision).toBe(one.decision);
          expect([...other.matchedRules].sort()).toEqual([...one.matchedRules].sort());
          expect([...(other.approvals?.approvers ?? [])].sort()).toEqual([...(one.approvals?.approvers ?? [])].sort());
          expect(other.approvals?.quorum).toBe(one.approvals?.quorum);
        },
      ),
    );
  });

  it('is denied by any rule that denies, beside whatever else', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 8 }), (rules) => {
        const deny = rule('deny', 'tx.asset == "ETH"');
        expect(decide([...rules, deny])).toMatchObject({
          decision: 'deny',
          matchedRules: expect.arrayContaining([deny.id]),
        });
      }),
    );
  });

  it('never gets laxer with one more rule that denies or asks for approval, where something matched before', () => {
    const strict = anyRule.filter(({ effect }) => effect !== 'allow');
    fc.assert(
      fc.property(fc.array(anyRule, { minLength: 1, maxLength: 6 }), strict, (rules, added) => {
        const [before, after] = [decide(rules), decide([...rules, added])];
        fc.pre(before.matchedRules.length > 0);
        expect(strength[after.decision]).toBeGreaterThanOrEqual(strength[before.decision]);
        if (before.approvals !== undefined && after.approvals !== undefined) {
          expect(after.approvals.quorum).toBeGreaterThanOrEqual(before.approvals.quorum);
        }
      }),
    );
  });

  it('matches what cannot be evaluated if it denies or asks, and never if it allows; the trace says why', () => {
    const failing = 'tx.metadata.none == "x"';
    expect(decide([rule('allow', failing)]).decision).toBe('deny');
    const asked = decide([rule('allow', 'true'), rule('require_approval', failing)]);
    expect(asked.decision).toBe('require_approval');
    const denied = decide([rule('allow', 'true'), rule('deny', failing)]);
    expect(denied.decision).toBe('deny');
    expect(denied.trace[1]).toEqual({
      rule: denied.matchedRules[0],
      effect: 'deny',
      matched: true,
      result: 'error: No such key: none',
    });
  });

  it('denies what compliance blocks, whatever its rules allow', () => {
    const policy = policyOf([rule('allow', 'true')]);
    const verdict = evaluatePolicy(policy, ruleInputOf(facts(), screening('blocked'), risk(0)), 'blocked');
    expect(verdict).toMatchObject({ decision: 'deny', matchedRules: [complianceRule] });
    expect(verdict.trace).toHaveLength(2);
  });
});

describe('a kind that rules have to name', () => {
  const open = (when: string, effect: PolicyEffect = 'allow', more: readonly PolicyRule[] = []) => {
    const kind = { kind: 'message', message: { text: 'sign in', hash: '0x00' } } as const;
    const toName = { kind: 'message', ofNoKind: input({ ...kind, kind: '' as never }) };
    return evaluatePolicy(policyOf([rule(effect, when), ...more]), input(kind), 'clear', toName);
  };

  it.each([
    'tx.kind == "message"',
    '"message" == tx.kind',
    'tx.kind in ["transfer", "message"]',
    'tx.message == "sign in" && tx.kind == "message"',
    'tx.kind == "transfer" || (tx.kind == "message" && risk.score < 50)',
    'tx.kind == "message" ? true : tx.amount > units("9")',
  ])('is allowed by %s', (when) => {
    expect(open(when).decision).toBe('allow');
    expect(open(when, 'require_approval').decision).toBe('require_approval');
    expect(open(when, 'allow', [rule('require_approval', 'true')]).decision).toBe('require_approval');
    expect(open(when, 'allow', [rule('deny', 'tx.kind != "transfer"')]).decision).toBe('deny');
  });

  it.each([
    'true',
    'tx.kind != "transfer"',
    '!(tx.kind == "transfer")',
    'tx.kind == "transfer" || risk.score < 50',
    'tx.kind == "message" || true',
    'tx.kind == "message" || risk.score < 50',
    'tx.kind != "typed_data"',
    '!(tx.kind == "message" && tx.amount > units("1"))',
    'tx.kind != "message" || tx.amount == 0',
    '!(tx.kind in ["transfer", "message"] && risk.score > 99)',
    'tx.kind.startsWith("m")',
    'tx.kind.matches("message|none")',
    '["message"].exists(kind, kind == tx.kind)',
    'tx.message == "sign in"',
    'tx.kind > "a"',
  ])('is not allowed by %s', (when) => {
    expect(open(when)).toMatchObject({ decision: 'deny', matchedRules: [] });
    expect(open(when, 'require_approval').decision).toBe('deny');
    // A rule that names another kind, or one that denies it, opens nothing.
    expect(open(when, 'allow', [rule('allow', 'tx.kind == "typed_data"')]).decision).toBe('deny');
  });

  it('is not allowed by the default policy', () => {
    const kind = { kind: 'message', message: { text: 'x', hash: '0x00' } } as const;
    const toName = { kind: 'message', ofNoKind: input({ ...kind, kind: '' as never }) };
    expect(evaluatePolicy(policyOf(defaultRules), input(kind), 'clear', toName).decision).toBe('deny');
  });

  it('says in the trace why a rule that holds does not count', () => {
    expect(open('true')).toMatchObject({
      trace: [{ matched: false, result: 'true, but does not name the kind "message"' }],
      reason: 'no rule that matches names the kind "message", so the default is to deny',
    });
  });

  it('has a text that rules read up to 1,000 characters of', () => {
    const long = { kind: 'message', message: { text: 'x'.repeat(1_001), hash: '0x00' } } as const;
    const policy = policyOf([rule('allow', 'tx.kind == "message"'), rule('deny', 'tx.message.contains("pay")')]);
    const toName = { kind: 'message', ofNoKind: input({ ...long, kind: '' as never }) };
    expect(evaluatePolicy(policy, input(long), 'clear', toName).decision).toBe('deny');
  });
});

describe('approvals of several rules', () => {
  it('take the highest quorum, the shortest time and the approvers that all rules name', () => {
    const terms = [
      { quorum: 1, approvers: [], timeoutS: 900 },
      { quorum: 2, approvers: ['a', 'b', 'c'], timeoutS: 600 },
      { quorum: 1, approvers: ['c', 'b', 'z'], timeoutS: 700 },
    ];
    expect(strictest(terms)).toEqual({ quorum: 2, approvers: ['b', 'c'], timeoutS: 600 });
    expect(strictest([terms[0]!])).toEqual(terms[0]);
  });

  it('deny where no approver could satisfy them', () => {
    const verdict = decide([
      rule('require_approval', 'true', 2, ['a', 'b']),
      rule('require_approval', 'true', 1, ['b', 'c']),
    ]);
    expect(verdict).toMatchObject({
      decision: 'deny',
      approvals: undefined,
      reason: expect.stringContaining('no approvers'),
    });
  });
});

describe('the default policy', () => {
  const policy = policyOf(defaultRules);
  const decision = (score: number, screened: 'clear' | 'review' | 'blocked') =>
    evaluatePolicy(policy, ruleInputOf(facts(), screening(screened), risk(score)), screened);

  it('allows below 70 when compliance is clear, asks one approval from there on, denies what is blocked', () => {
    for (let score = 0; score <= 100; score += 1) {
      expect(decision(score, 'clear').decision).toBe(score < 70 ? 'allow' : 'require_approval');
      expect(decision(score, 'review').approvals).toEqual({ quorum: 1, approvers: [], timeoutS: 86_400 });
      expect(decision(score, 'blocked').decision).toBe('deny');
    }
  });

  it('is what receipts of version 1 say it is', () => {
    expect(defaultRules).toEqual([
      { id: 'blocked', effect: 'deny', when: 'compliance.decision == "blocked"', approvals: null },
      {
        id: 'review',
        effect: 'require_approval',
        when: 'compliance.decision == "review" || risk.score >= 70',
        approvals: { quorum: 1, approvers: [], timeoutS: 86_400 },
      },
      { id: 'clear', effect: 'allow', when: 'compliance.decision == "clear" && risk.score < 70', approvals: null },
    ]);
  });
});
