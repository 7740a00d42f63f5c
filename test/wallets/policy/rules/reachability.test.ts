/** Which conditions certainly follow from which: nothing that is claimed may be wrong. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ruleInputOf } from '../../../../wallets/policy/risk/assess.ts';
import { follows } from '../../../../wallets/policy/rules/reachability.ts';
import { compileRule, compileStored } from '../../../../wallets/policy/rules/rule.ts';
import { facts, risk, screening } from '../policies/support/facts.ts';

const rule = (text: string) => compileRule(text, 'policy', 'when');
const implies = (stronger: string, weaker: string): boolean => follows(rule(stronger), rule(weaker));

it('claims that no rule follows from a stored one that the language no longer accepts', () => {
  const stored = compileStored('no_longer.there', 'policy');
  expect(follows(rule('true && tx.asset == "ETH"'), stored)).toBe(false);
});

describe('a condition that follows from another', () => {
  it.each([
    ['tx.asset == "ETH"', '(tx.asset=="ETH")'],
    ['tx.asset == "ETH" && risk.score > 5', 'tx.asset == "ETH"'],
    ['tx.asset == "ETH"', 'tx.asset == "ETH" || tx.asset == "BTC"'],
    ['risk.score >= 80', 'risk.score >= 70'],
    ['risk.score > 69', 'risk.score >= 70'],
    ['70 <= risk.score', 'risk.score > 60'],
    ['risk.score == 3', 'risk.score < 5'],
    ['tx.amount > 1000000000000000000000000000001', 'tx.amount > 1000000000000000000000000000000'],
    ['tx.asset == "ETH"', 'true'],
    ['tx.asset == "ETH"', '1 < 2'],
    ['tx.asset == "ETH"', 'true || tx.asset == "BTC"'],
    ['1 > 2', 'tx.asset == "ETH"'],
    ['(tx.asset == "A" || tx.asset == "B") && risk.score > 9', 'tx.asset == "B" || tx.asset == "A"'],
  ])('finds that %j is followed by %j', (stronger, weaker) => {
    expect(implies(stronger, weaker)).toBe(true);
  });

  it.each([
    ['tx.asset == "ETH"', 'tx.asset == "ETH" && risk.score > 5'],
    ['tx.asset == "ETH" || tx.asset == "BTC"', 'tx.asset == "ETH"'],
    ['risk.score >= 70', 'risk.score >= 80'],
    ['risk.score < 5', 'risk.score == 3'],
    ['tx.amount > 1000000000000000000000000000000', 'tx.amount > 1000000000000000000000000000001'],
    ['risk.score > 70', 'compliance.risk_score > 60'],
    ['tx.asset == "ETH"', 'tx.asset == "eth"'],
  ])('does not claim it of %j and %j', (stronger, weaker) => {
    expect(implies(stronger, weaker)).toBe(false);
  });

  it('never claims what one transaction refutes', () => {
    const term = fc.oneof(
      fc
        .tuple(fc.constantFrom('<', '<=', '>', '>=', '=='), fc.integer({ min: 0, max: 6 }))
        .map(([op, n]) => `risk.score ${op} ${n}`),
      fc.tuple(fc.integer({ min: 0, max: 6 }), fc.constantFrom('<', '>=')).map(([n, op]) => `${n} ${op} risk.score`),
      fc.constantFrom('tx.asset == "ETH"', 'tx.asset == "BTC"', 'compliance.decision == "review"', 'true', 'false'),
    );
    const { expression } = fc.letrec<{ expression: string }>((tie) => ({
      expression: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        term,
        fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(${a} && ${b})`),
        fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(${a} || ${b})`),
      ),
    }));
    const worlds = [0, 1, 2, 3, 4, 5, 6].flatMap((score) =>
      ['ETH', 'BTC', 'SOL'].flatMap((asset) =>
        (['clear', 'review'] as const).map((decision) =>
          ruleInputOf(facts({ asset }), screening(decision), risk(score)),
        ),
      ),
    );
    let claimed = 0;
    fc.assert(
      fc.property(expression, expression, (one, two) => {
        const [stronger, weaker] = [rule(one), rule(two)];
        if (!follows(stronger, weaker)) return;
        claimed += 1;
        for (const world of worlds) {
          if (stronger.evaluate(world) === true) expect(weaker.evaluate(world), `${one} → ${two}`).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
    expect(claimed).toBeGreaterThan(10);
  });
});
