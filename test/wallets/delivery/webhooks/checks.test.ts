/** What a webhook's URL and event types may be, and each fault by its field. */
import { expect, test } from 'vitest';
import { ServiceError } from '../../../../gateway/api/errors/service-error.ts';
import { checkWebhook } from '../../../../wallets/delivery/webhooks/checks.ts';

function faults(input: { readonly url?: string; readonly events?: readonly string[] }): readonly string[] {
  try {
    checkWebhook(input, 'production');
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.details!.map(({ field, issue }) => `${field} ${issue}`);
  }
}

test('every fault is named, and fields that are absent have none', () => {
  expect(faults({})).toEqual([]);
  expect(faults({ url: 'https://example.com/', events: ['*'] })).toEqual([]);
  expect(faults({ events: ['wallet.*', 'transaction_intent.completed'] })).toEqual([]);
  expect(faults({ url: 'http://example.com/', events: ['wallet.*', 'no', '*.x'] })).toEqual([
    'url scheme_not_allowed',
    'events[1] not_allowed_value',
    'events[2] not_allowed_value',
  ]);
  expect(faults({ events: ['*', 'wallet.*'] })).toEqual(['events not_allowed_value']);
  expect(faults({ events: ['*', '*'] })).toEqual(['events not_allowed_value']);
});

test('the URL becomes the one that is called, and must not be too long then either', () => {
  const input = { url: 'https:\\\\EXAMPLE.com/\ta b', events: ['*'] };
  expect(checkWebhook(input, 'production')).toEqual({ ...input, url: 'https://example.com/a%20b' });
  expect(checkWebhook({ events: ['*'] }, 'production')).toEqual({ events: ['*'] });
  expect(faults({ url: `https://example.com/${' '.repeat(1_000)}x` })).toEqual(['url too_long']);
});
