/** Wallets and their intents over the same door: what one of them does, the other must see, at whatever moment. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { intentRoutes } from '../../../../wallets/custody/intents/routes.ts';
import { openIntentsIndex } from '../../../../wallets/custody/wallets/record.ts';
import { walletRoutes } from '../../../../wallets/custody/wallets/routes.ts';
import { type RestApp, restApp } from '../../../support/rest-app.ts';
import { oneEth, somewhere, startWorld, type World } from '../intents/support/world.ts';

const tenant = 'tn_race';
const token = 'svc_sk_test_race000000000000';

let world: World;
let door: RestApp;
beforeAll(async () => {
  world = await startWorld();
  const { adapters } = world.dependencies();
  const routes = [
    ...walletRoutes({ adapters, addressBook: world.addressBook, policyExists: async () => true }),
    ...intentRoutes(world.dependencies(), { enqueue: () => undefined }),
  ];
  door = await restApp({ routes, store: world.store });
  door.tokens.put(token, { tenant });
});
afterAll(async () => {
  await door?.app.close();
  await world?.stop();
});

async function call(method: 'GET' | 'POST', url: string, payload?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await door.app.inject({ method, url, headers, ...(payload !== undefined && { payload }) });
  return { status: response.statusCode, body: response.json() };
}

const transfer = { asset: 'ETH', amount: '1', destination: { address: somewhere } };

test('of an archiving and a new intent at the same moment one wins, never both', async () => {
  for (let round = 0; round < 30; round += 1) {
    const wallet = await world.wallet(tenant, { ETH: 10n * oneEth });
    const archive = () => call('POST', `/v1/wallets/${wallet.id}/archive`, {});
    const intend = () => call('POST', `/v1/wallets/${wallet.id}/transaction-intents`, transfer);
    const answers = await Promise.all(round % 2 === 0 ? [archive(), intend()] : [intend(), archive()]);
    const [archived, intended] = round % 2 === 0 ? answers : answers.toReversed();
    expect([archived!.status, intended!.status]).toEqual(archived!.status === 200 ? [200, 409] : [409, 201]);
    const { status, assets } = (await call('GET', `/v1/wallets/${wallet.id}`)).body;
    expect(status).toBe(archived!.status === 200 ? 'archived' : 'active');
    // What a refused intent had set aside is not set aside.
    expect(assets[0].pending === '0').toBe(archived!.status === 200);
    expect(await world.store.count(tenant, openIntentsIndex(wallet.id))).toBe(archived!.status === 200 ? 0 : 1);
  }
});

test('what an open intent has set aside is pending, and comes back when it is cancelled; then the wallet can go', async () => {
  const wallet = await world.wallet(tenant, { ETH: 10n * oneEth });
  const path = `/v1/wallets/${wallet.id}`;
  const intent = (await call('POST', `${path}/transaction-intents`, transfer)).body;
  const [held] = (await call('GET', path)).body.assets;
  expect(held.balance).toBe('10');
  expect(Number(held.available)).toBeLessThan(9);
  expect(Number(held.pending)).toBeGreaterThan(1);
  const refused = await call('POST', `${path}/archive`, {});
  expect(refused).toMatchObject({ status: 409, body: { error: { details: [{ issue: 'open_intents' }] } } });
  expect((await call('POST', `${path}/transaction-intents/${intent.id}/cancel`, {})).status).toBe(200);
  expect((await call('POST', `${path}/archive`, {})).body).toMatchObject({
    status: 'archived',
    assets: [{ symbol: 'ETH', balance: '10', available: '10', pending: '0' }, { symbol: 'USDC' }],
  });
});

test('an intent names the policy that its wallet has now', async () => {
  const wallet = await world.wallet(tenant, { ETH: 10n * oneEth });
  const path = `/v1/wallets/${wallet.id}`;
  const patched = await door.app.inject({
    method: 'PATCH',
    url: path,
    headers: { authorization: `Bearer ${token}` },
    payload: { policy: 'strict' },
  });
  expect(patched.statusCode).toBe(200);
  expect((await call('POST', `${path}/transaction-intents`, transfer)).body.policy.name).toBe('strict');
});
