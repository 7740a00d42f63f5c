/** A state that is put back: nothing that a gateway remembers of the other one counts any more. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock, systemTimers } from '../../../core/actors/live/ports.ts';
import { Authenticator } from '../../../gateway/auth/authenticator.ts';
import { MemoryTokens, tokenKey } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { startWalletService, type WalletService, walletToken } from '../../support/wallet-service.ts';

interface Wallet {
  readonly id: string;
  readonly network: string;
  readonly addresses: readonly { readonly address: string }[];
  readonly assets: readonly { readonly symbol: string; readonly available: string }[];
}

let service: WalletService;
let wallet: Wallet;
let transfer: { asset: string; amount: string; destination: { address: string } };

beforeAll(async () => {
  service = await startWalletService();
  service.tokens.put(walletToken, { tenant: 'tn_restored', id: 'tok_restored' });
  const connection = { type: 'sandbox', name: 'mock', credentials: {} };
  const { id } = await made('POST', '/v1/providers/connect', connection);
  const { body } = await service.call('GET', `/v1/wallets?provider_connection_id=${id}`);
  const isFunded = ({ network, assets }: Wallet) =>
    network === 'eip155:11155111' && assets.some(({ available }) => Number(available) > 1);
  wallet = (body.wallets as Wallet[]).find(isFunded)!;
  const { symbol: asset } = wallet.assets[0]!;
  transfer = { asset, amount: '0.01', destination: { address: wallet.addresses[0]!.address } };
});
afterAll(() => service?.stop());

/** Everything in Redis, as it is now; the function puts it back. */
async function snapshot(): Promise<() => Promise<void>> {
  const { redis } = service;
  const keys = await redis.keys('*');
  const dumps = await Promise.all(keys.map(async (key) => [key, await redis.dumpBuffer(key)] as const));
  return async () => {
    await redis.flushdb();
    for (const [key, dump] of dumps) if (dump !== null) await redis.restore(key, 0, dump);
    await service.api.restored();
  };
}

async function made(method: string, url: string, body: object): Promise<Record<string, string>> {
  const answer = await service.call(method, url, { body });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
}

it('a policy’s next version is what it is now, not what it was before', async () => {
  const policy = (rule: object) => ({ name: 'mine', rules: [{ id: 'r', when: 'true', ...rule }] });
  const { id } = await made('POST', '/v1/policies', policy({ effect: 'allow' }));
  const asked = { transaction: { wallet_id: wallet.id, ...transfer } };
  const decide = async () => (await made('POST', `/v1/policies/${id}/evaluate`, asked)).decision;
  const back = await snapshot();
  await made('POST', '/v1/policies', policy({ effect: 'deny' }));
  const before = await decide();
  await back();
  await made('POST', '/v1/policies', policy({ effect: 'require_approval', approvals: { quorum: 1, timeout_s: 60 } }));
  expect([before, await decide()]).toEqual(['deny', 'require_approval']);
});

it('a transfer that was in hand is taken up at once, and new ones end as ever', async () => {
  const path = `/v1/wallets/${wallet.id}/transaction-intents`;
  const statusOf = async (id: string) => (await service.call('GET', `${path}/${id}`)).body.status;
  const reaches = (id: string) => until(async () => (await statusOf(id)) === 'completed', `intent ${id}`);
  const first = (await made('POST', path, transfer)).id!;
  const back = await snapshot();
  await reaches(first);
  await back();
  expect(await statusOf(first)).not.toBe('completed');
  await reaches(first);
  await reaches((await made('POST', path, transfer)).id!);
});

it('event streams end, and begin anew where the log is now', async () => {
  await service.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = service.http.server.address() as { port: number };
  const headers = { authorization: `Bearer ${walletToken}` };
  const follow = (query = '') => fetch(`http://127.0.0.1:${port}/v1/events/stream${query}`, { headers });
  const ended = (await follow()).text();
  await service.api.restored();
  expect(await ended).toContain('heartbeat');
  const reader = (await follow('?after_sequence=0')).body!.getReader();
  let seen = '';
  while (!seen.includes('id: 1\n')) seen += Buffer.from((await reader.read()).value!).toString();
  await reader.cancel();
});

it('a token is looked up again', async () => {
  const store = new MemoryTokens();
  const authenticator = new Authenticator({
    environment: 'sandbox',
    acceptAnyTestToken: true,
    tokenKey,
    store,
    clock: systemClock,
    timers: systemTimers,
  });
  const tenant = async () => ((await authenticator.authenticate(`Bearer ${walletToken}`)) as { tenant: string }).tenant;
  store.put(walletToken, { tenant: 'tn_before' });
  expect(await tenant()).toBe('tn_before');
  store.put(walletToken, { tenant: 'tn_after' });
  expect(await tenant()).toBe('tn_before');
  authenticator.clearCache();
  expect(await tenant()).toBe('tn_after');
  // A lookup that was under way when the store was put back is not remembered.
  authenticator.clearCache();
  const underWay = tenant();
  authenticator.clearCache();
  await underWay;
  store.put(walletToken, { tenant: 'tn_last' });
  expect(await tenant()).toBe('tn_last');
});
