/** Options that do not exist: every function of the client refuses them by name, before it sends anything. */
import { expect, test } from 'vitest';
import { createClient, InvalidOptionError, verifyWebhook } from '../../../clients/client/index.ts';
import { json } from './support.ts';

const baseUrl = 'http://gateway.test';
const createTakes =
  'baseUrl, token, fetch, deadlineMs, attemptTimeoutMs, attemptsMax, clientName, clientVersion, ports';

/** As a JavaScript program passes it: no compiler checks the names. */
const unchecked = (options: unknown) => options as never;

async function refusalOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

test.each([
  {
    options: { baseURL: baseUrl },
    field: 'baseURL',
    message: `baseURL is no option of createClient: it takes ${createTakes}`,
  },
  {
    options: { baseUrl, bearerToken: 'svc_sk_test_secret' },
    field: 'bearerToken',
    message: `bearerToken is no option of createClient: it takes ${createTakes}`,
  },
  {
    options: { baseUrl, ports: { now: Date.now } },
    field: 'now',
    message: 'now is no option of ports: it takes fetch, nowMs, startTimer, random, uuid',
  },
  { options: baseUrl, field: 'options', message: `options of createClient must be an object with ${createTakes}` },
  { options: undefined, field: 'options', message: `options of createClient must be an object with ${createTakes}` },
])('createClient refuses $field', async ({ options, field, message }) => {
  const error = await refusalOf(() => createClient(unchecked(options)));
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({ code: 'invalid_option', field, message });
});

test('a call and its helpers refuse options that do not exist, and send nothing', async () => {
  const sent: string[] = [];
  const fetch = async (url: unknown) => {
    sent.push(String(url));
    return json(200, {});
  };
  const client = createClient({ baseUrl, fetch: fetch as typeof globalThis.fetch });
  const options = unchecked({ timeout: 1 });
  const intent = { id: 'txi_1', wallet_id: 'wlt_1' };
  const calls: Record<string, () => unknown> = {
    getWallet: () => client.wallets.get('wlt_1', options),
    listWallets: () => client.wallets.list({}, options).first(),
    'keys.create': () => client.keys.create(options),
    'keys.sign': () => client.keys.sign(options),
    'events.follow': () => client.events.follow(options)[Symbol.asyncIterator]().next(),
    waitFor: () => client.waitFor(intent, options),
    waitUntil: () => client.waitUntil(async () => true, Boolean, options),
    verifyWebhook: () => verifyWebhook('{}', {}, 'whsec_AAAA', options),
  };
  for (const [name, call] of Object.entries(calls)) {
    const error = await refusalOf(call);
    expect(error, name).toBeInstanceOf(InvalidOptionError);
    expect((error as Error).message).toContain(`timeout is no option of ${name}: it takes `);
  }
  expect(sent).toEqual([]);
});

test('options that exist may be undefined', async () => {
  const fetch = async () => json(200, { id: 'wlt_1' });
  const client = createClient({ baseUrl, fetch, token: undefined, ports: undefined } as never);
  expect(await client.wallets.get('wlt_1', { signal: undefined } as never)).toEqual({ id: 'wlt_1' });
});
