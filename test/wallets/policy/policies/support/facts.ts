/** Transactions and verdicts for tests of the judges. */

import type { RiskResult, ScreeningResult, TransactionFacts } from '../../../../../wallets/custody/intents/facts.ts';
import type { CompiledPolicy } from '../../../../../wallets/policy/policies/evaluate.ts';
import type { PolicyRule } from '../../../../../wallets/policy/policies/record.ts';
import { ruleInputOf } from '../../../../../wallets/policy/risk/assess.ts';
import type { RuleInput } from '../../../../../wallets/policy/rules/cel.ts';
import { compileRule } from '../../../../../wallets/policy/rules/rule.ts';

export const nowMs = Date.parse('2026-11-21T09:30:00.000Z');
export const intentId = 'txi_0193abcd-0000-7000-8000-000000000001';

/** 1.5 ETH of 100, to a destination that was used before. */
export function facts(over: Partial<TransactionFacts> = {}): TransactionFacts {
  return {
    id: intentId,
    walletId: 'wal_0193abcd-0000-7000-8000-000000000002',
    walletName: 'treasury',
    provider: 'sandbox',
    network: 'eip155:11155111',
    kind: 'transfer',
    asset: 'ETH',
    amount: '1.5',
    units: 1_500_000_000_000_000_000n,
    decimals: 18,
    fromAddress: '0x1111111111111111111111111111111111111111',
    toAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
    availableUnits: 100_000_000_000_000_000_000n,
    initiator: 'tok_1',
    metadata: { purpose: 'payroll' },
    history: { intentsLastHour: 1, intentsLastDay: 2, intentsToDestination: 3 },
    nowMs,
    ...over,
  };
}

export function screening(decision: ScreeningResult['decision'] = 'clear'): ScreeningResult {
  const riskScore = { clear: 0, review: 60, blocked: 100 }[decision];
  return { id: 'scr_1', decision, riskScore, matches: [], reportId: 'rep_1', listVersions: {} };
}

export function risk(score = 10): RiskResult {
  const level = score >= 90 ? 'critical' : score >= 70 ? 'high' : score >= 40 ? 'medium' : 'low';
  const action = score >= 90 ? 'deny' : score >= 70 ? 'review' : 'allow';
  return { txId: intentId, score, level, action, ruleActions: [], factors: [], rulesVersion: 1 };
}

export function input(over: Partial<TransactionFacts> = {}): RuleInput {
  return ruleInputOf(facts(over), screening(), risk());
}

export function policyOf(rules: readonly PolicyRule[]): CompiledPolicy {
  return {
    record: {
      id: 'pol_1.v1',
      version: 1,
      policyId: 'pol_1',
      policyVersion: 1,
      name: 'test',
      mode: 'enforce',
      rules,
      warnings: [],
      createdAtMs: nowMs,
    },
    rules: rules.map((rule) => ({ rule, condition: compileRule(rule.when, 'policy', 'when') })),
  };
}
