/** Rules that can make no difference are pointed out, and only those. */
import { describe, expect, it } from 'vitest';
import { defaultRules } from '../../../../wallets/policy/policies/default-policy.ts';
import type { ApprovalTerms, PolicyEffect, PolicyRule } from '../../../../wallets/policy/policies/record.ts';
import { warningsOf } from '../../../../wallets/policy/policies/warnings.ts';
import { policyOf } from './support/facts.ts';

type Line = readonly [id: string, effect: PolicyEffect, when: string, terms?: Partial<ApprovalTerms>];

function warned(...lines: readonly Line[]): readonly string[] {
  const rules = lines.map(([id, effect, when, terms]): PolicyRule => {
    const approvals = effect === 'require_approval' ? { quorum: 1, approvers: [], timeoutS: 600, ...terms } : null;
    return { id, effect, when, approvals };
  });
  return warningsOf(policyOf(rules).rules).map(({ rule, code }) => `${rule}:${code}`);
}

describe('warnings of a policy', () => {
  it('say nothing of the default policy, nor of rules that each matter', () => {
    expect(warningsOf(policyOf(defaultRules).rules)).toEqual([]);
    expect(warned(['a', 'allow', 'true'], ['b', 'deny', 'tx.asset == "ETH"'])).toEqual([]);
    expect(warned(['a', 'allow', 'risk.score < 80'], ['b', 'require_approval', 'risk.score >= 70'])).toEqual([]);
  });

  it('point out a condition that never holds', () => {
    expect(warned(['a', 'allow', 'true'], ['b', 'deny', '1 > 2'])).toEqual(['b:never_matches']);
  });

  it('point out what a stronger rule always covers, in whatever order', () => {
    expect(
      warned(
        ['a', 'deny', 'tx.asset == "ETH"'],
        ['b', 'allow', 'tx.asset == "ETH" && risk.score < 5'],
        ['c', 'allow', 'true'],
      ),
    ).toContain('b:unreachable');
    expect(warned(['b', 'allow', 'risk.score >= 90'], ['a', 'require_approval', 'risk.score >= 70'])).toEqual([
      'b:unreachable',
    ]);
    expect(warned(['a', 'deny', 'true'], ['b', 'allow', 'tx.asset == "ETH"'])).toEqual([
      'b:unreachable',
      ':denies_everything',
    ]);
  });

  it('point out the later one of two that say the same, and the one whose terms add nothing', () => {
    expect(warned(['a', 'allow', 'tx.asset == "ETH"'], ['b', 'allow', '(tx.asset == "ETH")'])).toEqual([
      'b:unreachable',
    ]);
    expect(warned(['a', 'require_approval', 'true', { quorum: 2 }], ['b', 'require_approval', 'true'])).toEqual([
      'b:unreachable',
    ]);
    expect(
      warned(['a', 'require_approval', 'true'], ['b', 'require_approval', 'risk.score > 9', { quorum: 2 }]),
    ).toEqual([]);
    expect(
      warned(
        ['a', 'require_approval', 'true', { approvers: ['x'] }],
        ['b', 'require_approval', 'true', { timeoutS: 60 }],
      ),
    ).toEqual([]);
  });

  it('point out a policy that can only deny', () => {
    expect(warned(['a', 'deny', 'tx.asset == "ETH"'])).toEqual([':denies_everything']);
  });
});
