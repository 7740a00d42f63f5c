/** The risk score: factors add up, rules too, and what is not known is never a relief. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TransactionFacts } from '../../../../wallets/custody/intents/facts.ts';
import { ruleInputOf } from '../../../../wallets/policy/risk/assess.ts';
import { decisiveHabits } from '../../../../wallets/policy/risk/decisive-factors.ts';
import { builtInFactors } from '../../../../wallets/policy/risk/factors.ts';
import type { RiskRuleRecord } from '../../../../wallets/policy/risk/rule-record.ts';
import { riskLevels, scoreOf } from '../../../../wallets/policy/risk/score.ts';
import { compileRule } from '../../../../wallets/policy/rules/rule.ts';
import { readsOf, type StateReads } from '../../../../wallets/policy/rules/state-reads.ts';
import { testAmounts, testOutcome } from '../../../../wallets/providers/port/test-triggers.ts';
import { facts, screening } from '../policies/support/facts.ts';

let made = 0;
function rule(over: Partial<RiskRuleRecord>): RiskRuleRecord {
  made += 1;
  return {
    id: `rul_${made}.v1`,
    version: 1,
    ruleId: `rul_${made}`,
    ruleVersion: 1,
    name: `r${made}`,
    when: 'true',
    points: 5,
    action: null,
    priority: 100,
    mode: 'enforce',
    createdAtMs: 0,
    updatedAtMs: 0,
    ...over,
  };
}

function score(
  over: Partial<TransactionFacts> = {},
  rules: readonly RiskRuleRecord[] = [],
  decision: 'clear' | 'review' | 'blocked' = 'clear',
  environment: 'sandbox' | 'production' = 'sandbox',
) {
  const given = facts(over);
  const screened = screening(decision);
  const trigger = testOutcome(environment, given.amount);
  const compiled = rules.map((record) => ({ record, rule: compileRule(record.when, 'risk', 'when') }));
  return scoreOf(
    { facts: given, screening: screened, trigger },
    [ruleInputOf(given, screened, undefined)],
    compiled,
    7,
  );
}

const codes = (result: ReturnType<typeof score>) => result.factors.map(({ code }) => code);

describe('built-in factors', () => {
  it('find nothing in a small transfer to a known destination', () => {
    expect(score()).toEqual({
      txId: facts().id,
      score: 0,
      level: 'low',
      action: 'allow',
      ruleActions: [],
      factors: [],
      rulesVersion: 7,
    });
  });

  it('count the share of the balance from exactly a half and from exactly 90 percent', () => {
    const share = (units: bigint) => codes(score({ units, availableUnits: 1_000n }));
    expect(share(499n)).toEqual([]);
    expect(share(500n)).toEqual(['balance_share_half']);
    expect(share(899n)).toEqual(['balance_share_half']);
    expect(share(900n)).toEqual(['balance_share_half', 'balance_share_nearly_all']);
    expect(codes(score({ units: 10n ** 40n, availableUnits: 10n ** 40n }))).toHaveLength(2);
    expect(codes(score({ availableUnits: 0n }))).toEqual([]);
    // New units are taken from no balance.
    expect(codes(score({ kind: 'mint', units: 900n, availableUnits: 1_000n }))).toEqual([]);
  });

  it('count a first transfer and velocity', () => {
    const history = { intentsLastHour: 0, intentsLastDay: 0, intentsToDestination: 1 };
    expect(codes(score({ history: { ...history, intentsToDestination: 0 } }))).toEqual(['first_transfer']);
    expect(codes(score({ history: { ...history, intentsLastHour: 30, intentsLastDay: 200 } }))).toEqual([]);
    expect(codes(score({ history: { ...history, intentsLastHour: 31, intentsLastDay: 201 } }))).toEqual([
      'velocity_hour',
      'velocity_day',
    ]);
  });

  it('stay below 70 together, for what a wallet does by itself', () => {
    const worst = {
      units: 10n,
      availableUnits: 10n,
      history: { intentsLastHour: 1e6, intentsLastDay: 1e6, intentsToDestination: 0 },
    };
    expect(score(worst).score).toBeLessThan(70);
    expect(score(worst, [], 'review').score).toBeGreaterThanOrEqual(70);
  });

  it('make compliance count, and what is blocked critical', () => {
    expect(score({}, [], 'review')).toMatchObject({ score: 40, level: 'medium' });
    expect(score({}, [], 'blocked')).toMatchObject({ score: 100, level: 'critical', action: 'deny' });
  });

  it('do as the test amounts say, in a sandbox alone', () => {
    const amountOf = (outcome: string) =>
      testAmounts.find((trigger) => trigger.outcome === outcome)!.amount.replace(/0+$/, '');
    expect(score({ amount: amountOf('risk_high') })).toMatchObject({ level: 'high', action: 'review' });
    expect(score({ amount: amountOf('risk_critical') }).score).toBe(100);
    for (const outcome of ['risk_high', 'risk_critical']) {
      expect(score({ amount: amountOf(outcome) }, [], 'clear', 'production').factors).toEqual([]);
    }
  });

  it('have codes of their own, and rules cannot take them', () => {
    expect(new Set(builtInFactors.map(({ code }) => code)).size).toBe(builtInFactors.length);
    expect(codes(score({}, [rule({ name: 'first_transfer' })]))).toEqual(['rule:first_transfer']);
  });
});

describe('risk rules', () => {
  it('add and take points, within 0 and 100', () => {
    const points = fc.array(fc.integer({ min: -100, max: 100 }), { maxLength: 10 });
    fc.assert(
      fc.property(points, (given) => {
        const sum = given.reduce((total, one) => total + one, 0);
        const result = score(
          {},
          given.map((one) => rule({ points: one })),
        );
        expect(result.score).toBe(Math.max(0, Math.min(100, sum)));
        const level = riskLevels.find(({ from }) => result.score >= from)!;
        expect(result).toMatchObject({ level: level.level, action: level.action });
      }),
    );
  });

  it('show in shadow what they would add, and count nothing, whatever their action', () => {
    const result = score({}, [rule({ name: 'trial', points: 90, action: 'deny', mode: 'shadow' })]);
    expect(result).toMatchObject({ score: 0, action: 'allow', ruleActions: [] });
    expect(result.factors).toEqual([{ code: 'rule:trial', contribution: 0, evidence: 'shadow, would add 90: true' }]);
  });

  it('name the action of each that matches, by priority, and show the strictest with the level’s', () => {
    const deny = rule({ name: 'deny', points: 0, action: 'deny', priority: 5 });
    const allow = rule({ points: 0, action: 'allow', priority: 4 });
    const review = rule({ name: 'review', points: 0, action: 'review', priority: 4 });
    const other = rule({ points: 0, action: 'deny', when: 'tx.asset == "none"' });
    const asked = score({}, [other, deny, allow, review]);
    expect(asked).toMatchObject({ score: 0, level: 'low', action: 'deny' });
    expect(asked.ruleActions).toEqual([
      { rule: 'review', action: 'review', result: 'true' },
      { rule: 'deny', action: 'deny', result: 'true' },
    ]);
    expect(score({}, [allow, review]).action).toBe('review');
    expect(score({}, [rule({ points: 95, action: 'allow' })])).toMatchObject({
      ...{ level: 'critical', action: 'deny', ruleActions: [] },
    });
  });

  it('that cannot be evaluated count against the transaction, and never for it', () => {
    const when = 'tx.metadata["none"] == "x"';
    expect(score({}, [rule({ when, points: 30 })])).toMatchObject({
      score: 30,
      factors: [{ evidence: expect.stringContaining('could not be evaluated') }],
    });
    expect(score({}, [rule({ when: 'true', points: 50 }), rule({ when, points: -30 })]).score).toBe(50);
    const unknown = score({}, [
      rule({ when, points: 0, action: 'allow', priority: 0 }),
      rule({ when, name: 'unknown', points: -9, action: 'deny', priority: 9 }),
    ]);
    expect(unknown).toMatchObject({ action: 'deny', ruleActions: [{ rule: 'unknown', action: 'deny' }] });
    expect(unknown.ruleActions[0]!.result).toMatch(/^error: /);
  });
});

it('is of a message the tenant’s rules alone', () => {
  expect(codes(score({ kind: 'message', units: 0n, availableUnits: 0n }))).toEqual([]);
  const first = { intentsLastHour: 0, intentsLastDay: 0, intentsToDestination: 0 };
  expect(codes(score({ kind: 'message', history: first }, [rule({ name: 'all' })]))).toEqual(['rule:all']);
});

describe('the state that the factors read', () => {
  const calm = { units: 1n, availableUnits: 1_000n };
  const worst = {
    units: 10n,
    availableUnits: 10n,
    history: { intentsLastHour: 1e6, intentsLastDay: 1e6, intentsToDestination: 0 },
  };
  const fields = (read: StateReads, risk: ReturnType<typeof score>) => [...decisiveHabits(facts(), risk, read).keys()];
  const readOf = (when: string) => readsOf(compileRule(when, 'policy', 'when').root);
  const all = [
    'tx.available',
    'history.intents_to_destination',
    'history.intents_last_hour',
    'history.intents_last_day',
  ];

  it('decides exactly where a threshold lies between the lowest and the highest score, whatever the score is now', () => {
    for (const points of [-100, -20, 0, 30, 60, 100]) {
      const [low, high] = [score(calm, [rule({ points })]), score(worst, [rule({ points })])];
      for (let threshold = 0; threshold <= 101; threshold += 1) {
        const read: StateReads = new Map([['risk.score', [BigInt(threshold)]]]);
        const expected = low.score >= threshold === high.score >= threshold ? [] : all;
        for (const now of [low, high]) expect(fields(read, now), `${points} ${threshold}`).toEqual(expected);
      }
      expect(fields(readOf('risk.score % 2 == 0'), low)).toEqual(low.score === high.score ? [] : all);
    }
  });

  it('decides a level where one begins within reach, and never a rule that reads no score', () => {
    for (const [points, expected] of [
      [0, all],
      [40, all],
      [91, []],
      [-56, []],
    ] as const) {
      const now = score(calm, [rule({ points })]);
      for (const when of ['risk.level == "high"', 'risk.action == "deny"']) {
        expect(fields(readOf(when), now), `${points} ${when}`).toEqual(expected);
      }
    }
    expect(fields(readOf('tx.asset == "ETH"'), score(calm))).toEqual([]);
    expect(fields(readOf('risk.score >= 0'), score(calm))).toEqual([]);
  });

  it('names where each factor begins or ends to count', () => {
    expect(Object.fromEntries(decisiveHabits(facts({ units: 45n }), score(), readOf('risk.score >= 40')))).toEqual({
      'tx.available': [1n, 91n, 51n],
      'history.intents_to_destination': [1n],
      'history.intents_last_hour': [31n],
      'history.intents_last_day': [201n],
    });
  });
});
