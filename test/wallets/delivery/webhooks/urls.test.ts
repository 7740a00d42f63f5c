/** The values of a webhook's query are secrets of its receiver: no key of Redis holds them in clear. */
import { expect, test } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import type { WebhookRecord } from '../../../../wallets/delivery/webhooks/record.ts';
import { storedUrl, urlOf } from '../../../../wallets/delivery/webhooks/urls.ts';
import { answerSeal } from '../../../../wallets/store/secrets/answer-seal.ts';

const key = { id: '1', key: new Uint8Array(32).fill(5) };
const seal = answerSeal({ random: systemRandom, current: () => key, find: () => key });
const stored = (url: string) => ({ id: 'whk_1', ...storedUrl({ seal }, 't', 'whk_1', url) }) as WebhookRecord;

test.each([
  ['https://example.com/hooks', 'https://example.com/hooks'],
  ['https://example.com/hooks?token=s3cret&room=s3cret%3D1', 'https://example.com/hooks?token=***&room=***'],
  ['https://example.com/?s3cret', 'https://example.com/?***'],
  ['https://example.com/?a=s3cret=2&&b=', 'https://example.com/?a=***&&b=***'],
  ['https://example.com/?', 'https://example.com/?'],
])('%s is stored as %s, and called as it is', (url, shown) => {
  const record = stored(url);
  expect(record.url).toBe(shown);
  expect(JSON.stringify(record)).not.toContain('s3cret');
  expect(urlOf({ seal }, 't', record)).toBe(url);
});

test('a URL that was moved to another webhook, or changed, does not open', () => {
  const record = stored('https://example.com/?a=1');
  expect(() => urlOf({ seal }, 't', { ...record, id: 'whk_2' })).toThrow('does not open');
  expect(() => urlOf({ seal }, 'other', record)).toThrow('does not open');
});
