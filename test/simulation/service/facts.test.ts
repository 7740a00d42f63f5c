/** What the calls of a scenario say of policies and risk rules: the terms that a search drew are read from its requests again. */
import { expect, test } from 'vitest';
import { Draw } from '../../../simulation/cluster/draw.ts';
import { randomStream } from '../../../simulation/cluster/random.ts';
import { drawTerms, policyBody, termsOf } from '../../../simulation/search/wallets/policies.ts';
import { drawRule, ruleOf } from '../../../simulation/search/wallets/risk.ts';

const draw = new Draw(randomStream('facts', 'terms'));

test('the terms of a drawn policy follow from its body', () => {
  for (let count = 0; count < 500; count += 1) {
    const terms = drawTerms(draw, ['tok_a', 'tok_b', 'tok_c'], count % 2 === 0);
    expect(termsOf(policyBody('default', terms) as Parameters<typeof termsOf>[0])).toEqual(terms);
  }
});

test('a policy of another form has none', () => {
  const rest = { id: 'rest', effect: 'allow', when: 'true' };
  expect(termsOf({ name: 'default', rules: [rest] })).toBeUndefined();
  const body = policyBody('default', drawTerms(draw, [], false)) as Parameters<typeof termsOf>[0];
  const other = { id: 'other', effect: 'deny', when: 'tx.amount >= units("9")' };
  expect(termsOf({ ...body, rules: [other, ...body.rules] })).toBeUndefined();
});

test('the condition of a risk rule follows from its text', () => {
  const facts = { kind: 'transfer', listing: 'clear', intentsToDestination: 2, available: 0n } as const;
  const holds = (when: string, amount: string, intentsLastHour: number) =>
    ruleOf(when, undefined)?.holds({ ...facts, amount, intentsLastHour });
  expect(holds('tx.amount >= units("0.35")', '0.35', 0)).toBe(true);
  expect(holds('tx.amount >= units("0.35")', '0.34', 0)).toBe(false);
  expect(holds('history.intents_last_hour < 3', '1', 2)).toBe(true);
  expect(holds('history.intents_last_hour < 3', '1', 3)).toBe(false);
  expect(holds('history.intents_to_destination >= 2', '1', 0)).toBe(true);
  expect(holds('true', '1', 0)).toBe(true);
  expect(holds('tx.amount > units("7")', '9', 0)).toBeUndefined();
  for (let count = 0; count < 100; count += 1) {
    const { body, terms } = drawRule(draw, false);
    expect(body).toMatchObject({ when: terms.when });
  }
});
