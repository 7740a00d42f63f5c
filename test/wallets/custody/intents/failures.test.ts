/** An intent that its provider may have accepted is never given up. */
import { expect, test } from 'vitest';
import { mayBeSubmitted } from '../../../../wallets/custody/intents/failures.ts';
import type { IntentRecord } from '../../../../wallets/custody/intents/record.ts';

test('an intent may be submitted once its provider has given data or an id, or once it is past signing', () => {
  const untouched = { status: 'signing', submission: null, providerTxId: null };
  const isSubmitted = (over: object) => mayBeSubmitted({ ...untouched, ...over } as IntentRecord);
  expect(isSubmitted({})).toBe(false);
  expect(isSubmitted({ submission: {} })).toBe(true);
  expect(isSubmitted({ providerTxId: 'tx' })).toBe(true);
  expect(isSubmitted({ status: 'broadcasting' })).toBe(true);
});
