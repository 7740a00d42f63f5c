/** Test credentials and test amounts: which effect each has, and from when on. */
import { expect, test } from 'vitest';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { testAmounts, testCredential, testOutcome } from '../../../../wallets/providers/port/test-triggers.ts';
import { timeToken } from '../../../../wallets/store/query-arguments.ts';

const madeAtMs = 1_790_000_000_000;
const connectionId = `pcn_${timeToken(madeAtMs)}-7000-8000-000000000000`;

test('credentials have their effect at once, or in tests from exactly a second after the connection was made', () => {
  const effects = (apiKey: string, isTest = true) =>
    [0, 999, 1_000, 86_400_000].map((afterMs) =>
      testCredential({ api_key: apiKey, secret: 'flaky' }, connectionId, madeAtMs + afterMs, isTest),
    );
  const always = <T>(outcome: T) => [outcome, outcome, outcome, outcome];
  for (const isTest of [true, false]) {
    expect(effects('key-invalid-1', isTest)).toEqual(always('rejected'));
    expect(effects('unavailable', isTest)).toEqual(always('unavailable'));
    expect(effects('good', isTest)).toEqual(always(undefined));
  }
  expect(effects('a-lapsing-key')).toEqual([undefined, undefined, 'rejected', 'rejected']);
  expect(effects('flaky')).toEqual([undefined, undefined, 'unavailable', 'unavailable']);
  for (const word of ['lapsing', 'flaky']) expect(effects(word, false)).toEqual(always(undefined));
  expect(testCredential({}, connectionId, madeAtMs, true)).toBeUndefined();
});

test('amounts have their outcome in a sandbox alone, written without trailing zeros', () => {
  for (const { amount, outcome } of testAmounts) {
    const written = amount.replace(/0+$/, '');
    expect(testOutcome('sandbox', written)).toBe(outcome);
    expect(testOutcome('production', written)).toBeUndefined();
    expect(testOutcome('sandbox', `1${written}`)).toBeUndefined();
  }
});

test('a provider that is unavailable asks for a second, and its request had no effect unless it says so', () => {
  expect(new ProviderUnavailable('away')).toMatchObject({ retryAfterMs: 1_000, outcomeUnknown: false });
  expect(new ProviderUnavailable('late', 5_000, true)).toMatchObject({ retryAfterMs: 5_000, outcomeUnknown: true });
});
