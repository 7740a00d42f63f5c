/** What rules read of the state that other transactions change, and how far it may move before they say something else. */
import { describe, expect, test } from 'vitest';
import { ofWalletIndex, toDestinationIndex } from '../../../../wallets/custody/intents/record.ts';
import { compileRule } from '../../../../wallets/policy/rules/rule.ts';
import { stateGuards } from '../../../../wallets/policy/rules/state-guards.ts';
import { rangeAround, readsOf, stateFields } from '../../../../wallets/policy/rules/state-reads.ts';
import { facts } from '../policies/support/facts.ts';

const reads = (when: string) => Object.fromEntries(readsOf(compileRule(when, 'policy', 'when').root));

describe('the reads of a rule', () => {
  test('are none where it looks at the transaction alone', () => {
    expect(reads('tx.amount > units("1") && tx.to == "0x52908400098527886E0F7030069857D2E4169EE7"')).toEqual({});
    expect(reads('compliance.decision == "clear" || tx.metadata.exists(k, k == "history")')).toEqual({});
  });

  test('of a comparison with a whole number are where it turns, from either side', () => {
    expect(reads('history.intents_last_hour >= 3')).toEqual({ 'history.intents_last_hour': [3n] });
    expect(reads('3 > history.intents_last_hour')).toEqual({ 'history.intents_last_hour': [3n] });
    expect(reads('history.intents_last_day > 3 || history.intents_last_day < 1')).toEqual({
      'history.intents_last_day': [4n, 1n],
    });
    expect(reads('!(history.intents_to_destination == 0)')).toEqual({ 'history.intents_to_destination': [0n, 1n] });
    expect(reads('tx.available < 1000 ? true : risk.score != 7')).toEqual({
      'tx.available': [1000n],
      'risk.score': [7n, 8n],
    });
  });

  test('are the value itself in every other use', () => {
    expect(reads('tx.amount > tx.available / 2')).toEqual({ 'tx.available': 'exactly' });
    expect(reads('history.intents_last_hour + 1 > 3 && history.intents_last_hour < 9')).toEqual({
      'history.intents_last_hour': 'exactly',
    });
    expect(reads('int(string(history.intents_last_day)) > 3')).toEqual({ 'history.intents_last_day': 'exactly' });
    expect(reads('[history.intents_last_hour].all(n, n < 3)')).toEqual({ 'history.intents_last_hour': 'exactly' });
    expect(reads('risk.level == "high" || risk.action == "deny"')).toEqual({
      'risk.level': 'exactly',
      'risk.action': 'exactly',
    });
  });

  test('of a whole variable are all of its fields', () => {
    expect(reads('size([history]) == 1')).toEqual(
      Object.fromEntries(
        stateFields.filter((field) => field.startsWith('history.')).map((field) => [field, 'exactly']),
      ),
    );
  });
});

test('a value may move between the breaks around it, and not at all where it is read exactly', () => {
  expect(rangeAround(0n, [3n])).toEqual({ min: 0n, max: 2n });
  expect(rangeAround(3n, [3n])).toEqual({ min: 3n, max: undefined });
  expect(rangeAround(5n, [9n, 3n, 6n, 4n])).toEqual({ min: 4n, max: 5n });
  expect(rangeAround(5n, [])).toEqual({ min: 0n, max: undefined });
  expect(rangeAround(5n, 'exactly')).toEqual({ min: 5n, max: 5n });
});

test('a decision is committed while what its rules read is within these breaks, in the hour and the day before it', () => {
  const given = facts({ history: { intentsLastHour: 1, intentsLastDay: 7, intentsToDestination: 0 } });
  const { walletId, toAddress } = given;
  const guards = (condition: string) => stateGuards(given, compileRule(condition, 'policy', 'when').reads);
  const ofWallet = { kind: 'count', index: ofWalletIndex(walletId) };
  const hourMs = 3_600_000;
  expect(guards('history.intents_last_hour >= 3')).toEqual([
    { ...ofWallet, min: 0, max: 2, createdAfterMs: given.nowMs - hourMs },
  ]);
  expect(guards('history.intents_last_day > 5')).toEqual([
    { ...ofWallet, min: 6, max: undefined, createdAfterMs: given.nowMs - 24 * hourMs },
  ]);
  expect(guards('history.intents_to_destination == 0')).toEqual([
    { kind: 'count', index: toDestinationIndex(walletId, toAddress), min: 0, max: 0 },
  ]);
  expect(guards('tx.available < 2000')).toEqual([
    { kind: 'available', walletId, asset: 'ETH', min: 2_000n, max: undefined },
  ]);
  expect(guards('risk.score > 3 && tx.asset == "ETH"')).toEqual([]);
});
