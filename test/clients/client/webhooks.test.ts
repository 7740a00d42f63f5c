/** What `verifyWebhook` believes: every delivery that the service signs, and nothing else. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type VerifyOptions, verifyWebhook, type WebhookHeaders } from '../../../clients/client/index.ts';
import type { MachineMs } from '../../../core/actors/contract.ts';
import { signDelivery } from '../../../wallets/delivery/deliveries/webhook-signature.ts';

const makeSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const [secret, old, foreign] = [makeSecret(), makeSecret(), makeSecret()];
const nowMs = Date.parse('2026-11-22T10:00:00Z');
const body = Buffer.from('{"id":"evt_1","type":"wallet.created","text":"é"}');
const signed = (secrets = [secret], atMs = nowMs, bytes = body): Record<string, string> => ({
  ...signDelivery(secrets, 'evt_1', atMs as MachineMs, bytes),
});
const verify = (headers: WebhookHeaders, bytes: Buffer | string = body, options: VerifyOptions = {}) =>
  verifyWebhook(bytes, headers, secret, { nowMs, ...options });

describe('a genuine request', () => {
  test.each<[string, WebhookHeaders]>([
    ['headers of Node.js', signed()],
    [
      'headers in other letters',
      Object.fromEntries(Object.entries(signed()).map(([name, v]) => [name.toUpperCase(), v])),
    ],
    ['a Headers object', new Headers(signed())],
    ['a list of one value', Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name, [value]]))],
  ])('is believed with %s, and its event given', async (_, headers) => {
    expect(await verify(headers)).toMatchObject({ id: 'evt_1', type: 'wallet.created' });
    expect(await verify(headers, body.toString())).toMatchObject({ id: 'evt_1' });
  });

  test('is believed on either side of a rotation', async () => {
    expect(await verify(signed([foreign, secret]))).toBeDefined();
    expect(await verifyWebhook(body, signed([old]), [secret, old], { nowMs })).toBeDefined();
  });

  test('that carries X-Svc-Signature alone is believed where the caller allows it', async () => {
    const name = Object.keys(signed()).find((each) => each.toLowerCase() === 'x-svc-signature')!;
    const untimed = { [name]: signed()[name] };
    expect(await verify(untimed, body, { allowUntimed: true })).toBeDefined();
    await expect(verify(untimed)).rejects.toMatchObject({ code: 'webhook_header_missing' });
    const wrong = { [name]: 'a'.repeat(64) };
    await expect(verify(wrong, body, { allowUntimed: true })).rejects.toMatchObject({
      code: 'webhook_signature_mismatch',
    });
  });
});

describe('another request', () => {
  test.each<[string, string, () => Promise<unknown>]>([
    ['of another secret', 'webhook_signature_mismatch', () => verify(signed([foreign]))],
    ['without headers', 'webhook_header_missing', () => verify({})],
    ['without its id', 'webhook_header_missing', () => verify({ ...signed(), 'webhook-id': undefined })],
    ['with a time that is none', 'webhook_header_malformed', () => verify({ ...signed(), 'webhook-timestamp': '1e9' })],
    [
      'with a signature of another version',
      'webhook_header_malformed',
      () => verify({ ...signed(), 'webhook-signature': 'v2,AAAA' }),
    ],
    ['with another id', 'webhook_signature_mismatch', () => verify({ ...signed(), 'webhook-id': 'evt_2' })],
    [
      'with two signature headers',
      'webhook_header_missing',
      () => verify({ ...signed(), 'Webhook-Signature': 'v1,x' }),
    ],
    ['that is 301 s old', 'webhook_too_old', () => verify(signed([secret], nowMs - 301_000))],
    ['that is 301 s ahead', 'webhook_too_new', () => verify(signed([secret], nowMs + 301_000))],
    [
      'with a new date on an old signature',
      'webhook_signature_mismatch',
      () => verify({ ...signed([secret], nowMs - 400_000), 'webhook-timestamp': String(nowMs / 1000) }),
    ],
  ])('%s is refused', async (_, code, call) => {
    await expect(call()).rejects.toMatchObject({ name: 'WebhookVerificationError', code });
  });

  test('whose time is at the edge of the tolerance is believed', async () => {
    expect(await verify(signed([secret], nowMs - 300_000))).toBeDefined();
    expect(await verify(signed([secret], nowMs - 10_000), body, { toleranceS: 10 })).toBeDefined();
  });

  test.each([
    { toleranceS: Number.NaN },
    { toleranceS: -1 },
    { toleranceS: '10' as unknown as number, nowMs: Number.NaN },
  ])('is not judged by a time that is none: %o', async (options) => {
    await expect(verify(signed([secret], nowMs - 301_000), body, options)).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  test('with any byte of body or signature changed is refused', async () => {
    const headers = signed();
    await fc.assert(
      fc.asyncProperty(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const other = Buffer.from(body);
        other[at] = other[at]! ^ change;
        await expect(verify(headers, other)).rejects.toMatchObject({ code: 'webhook_signature_mismatch' });
        const tag = Buffer.from(headers['webhook-signature']!.slice(3), 'base64');
        tag[at % tag.length] = tag[at % tag.length]! ^ change;
        const forged = { ...headers, 'webhook-signature': `v1,${tag.toString('base64')}` };
        await expect(verify(forged)).rejects.toMatchObject({ code: 'webhook_signature_mismatch' });
      }),
      { numRuns: 40 },
    );
  });
});

test('more signatures than a rotation can leave are refused before any is computed', async () => {
  const signature = signed()['webhook-signature']!;
  const times = (count: number) => ({ ...signed(), 'webhook-signature': Array(count).fill(signature).join(' ') });
  expect(await verify(times(10))).toBeDefined();
  await expect(verify(times(11))).rejects.toMatchObject({ code: 'webhook_header_malformed' });
});

test('without any secret nothing is believed', async () => {
  const none = verifyWebhook(body, signed(), [], { nowMs });
  await expect(none).rejects.toMatchObject({ code: 'invalid_option', field: 'secrets' });
});

test.each([['', 'whsec_', 'sk_live', 'whsec_a b']])(
  'a secret that is none is named and not quoted: %j',
  async (none) => {
    const error = await verifyWebhook(body, signed(), [secret, none]).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'invalid_option', field: 'secrets' });
    expect(error.message).not.toContain(secret);
  },
);
