/** Transfers in the simulated world, end to end: the control plane's own code in virtual time. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';
import { withoutAmbient } from './support/ambient-trap.ts';
import { openTenant, pay, settledFaults } from './support/payments.ts';

test('transfers go from wallets made by key generation to their webhook, by no clock or chance of the process', async () => {
  const used = await withoutAmbient(async () => {
    const world = new CustodyWorld({ seed: 'transfer' });
    const tenant = await openTenant(world);
    expect(await world.run(pay(tenant, 'small', '0.1'))).toBe('completed');
    // Needs an approval of another person.
    expect(await world.run(pay(tenant, 'large', '0.2'))).toBe('completed');
    expect(await settledFaults(world, tenant)).toEqual([]);
    // Its worker, once it knows that the tenant has a webhook, hears of each event at once: by itself it looks once a second.
    const [first, ...received] = world.receivers.received;
    const times = received.map(({ atMs, body }) => ({ atMs, eventMs: Date.parse(JSON.parse(body).timestamp) }));
    const later = times.filter(({ eventMs }) => eventMs > first!.atMs);
    expect(later.length).toBeGreaterThan(10);
    expect(Math.max(...later.map(({ atMs, eventMs }) => atMs - eventMs))).toBeLessThan(100);
  });
  expect(used).toEqual([]);
});

test.each([
  ['bip122:000000000933ea01ad0ee984209779ba', 'BTC', '0.01'],
  ['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', 'SOL', '0.1'],
])('the model of cryptography signs what the chain %s takes', async (network, asset, amount) => {
  const world = new CustodyWorld({ seed: 'transfer' });
  const { client } = await openTenant(world);
  const { provider_connections: connections } = (await world.run(client.call('GET', '/v1/provider-connections'))).body;
  const made = async () => {
    const body = { name: asset, provider_connection_id: connections[0].id, network };
    return (await world.run(client.call('POST', '/v1/wallets', body))).body;
  };
  const [from, to] = [await made(), await made()];
  const destination = { address: to.addresses[0].address };
  const path = `/v1/wallets/${from.id}/transaction-intents`;
  const { id } = (await world.run(client.call('POST', path, { asset, amount, destination }))).body;
  const end = await world.run(
    client.until(`${path}/${id}`, ({ body }) => ['completed', 'failed', 'denied'].includes(body.status)),
  );
  expect(end.body).toMatchObject({ status: 'completed' });
});

test('a Bitcoin wallet receives at further addresses, and the children of its key spend what came there', async () => {
  const world = new CustodyWorld({ seed: 'addresses' });
  const { client } = await openTenant(world);
  const call = async (method: string, path: string, body?: object) => world.run(client.call(method, path, body));
  await call('POST', '/v1/policies', { name: 'default', rules: [{ id: 'all', effect: 'allow', when: 'true' }] });
  const { provider_connections: connections } = (await call('GET', '/v1/provider-connections')).body;
  const made = async (network: string) =>
    (await call('POST', '/v1/wallets', { name: 'w', provider_connection_id: connections[0].id, network })).body;
  const bitcoin = 'bip122:000000000933ea01ad0ee984209779ba';
  const [from, to] = [await made(bitcoin), await made(bitcoin)];
  const addresses = `/v1/wallets/${to.id}/addresses`;
  const [first, second] = [await call('POST', addresses), await call('POST', addresses)].map(({ body }) => body);
  expect([first, second]).toMatchObject([
    { index: 0, path: 'm/0/0', used: false },
    { index: 1, path: 'm/0/1', used: false },
  ]);
  const paid = async (wallet: { id: string }, address: string, amount: string) => {
    const path = `/v1/wallets/${wallet.id}/transaction-intents`;
    const { body } = await call('POST', path, { asset: 'BTC', amount, destination: { address } });
    const isOver = ({ body: { status } }: { body: { status: string } }) => ['completed', 'failed'].includes(status);
    return (await world.run(client.until(`${path}/${body.id}`, isOver))).body;
  };
  expect(await paid(from, second.address, '0.5')).toMatchObject({ status: 'completed' });
  const hasMore = ({ body }: { body: { assets: { balance: string }[] } }) => body.assets[0]!.balance === '1.5';
  await world.run(client.until(`/v1/wallets/${to.id}`, hasMore));
  expect((await call('GET', addresses)).body.addresses).toEqual([first, { ...second, used: true }]);
  // Its largest coin lies at the second address.
  expect(await paid(to, from.addresses[0].address, '0.45')).toMatchObject({ status: 'completed' });
  const { movements } = (await call('GET', `/v1/wallets/${to.id}/movements`)).body;
  expect(movements.map(({ kind }: { kind: string }) => kind)).toEqual(['fee', 'transfer', 'deposit', 'opening']);
  const page = async (query: string, of = to.id) => (await call('GET', `/v1/wallets/${of}/movements?${query}`)).body;
  const newer = await page('limit=2');
  const older = await page(`limit=2&cursor=${newer.next_cursor}`);
  expect([...newer.movements, ...older.movements]).toEqual(movements);
  expect([newer.has_more, older.has_more, older.next_cursor]).toEqual([true, false, null]);
  const ether = await made('eip155:11155111');
  expect((await page(`cursor=${newer.next_cursor}`, ether.id)).error.details[0].field).toBe('cursor');
  const refused = await call('POST', `/v1/wallets/${ether.id}/addresses`);
  expect([refused.status, refused.body.error.details[0].issue]).toEqual([422, 'not_supported']);
});

test('the trap notes what reads the clock, a timer or chance of the process', async () => {
  for (const use of [
    () => Date.now(),
    () => new Date(),
    () => Math.random(),
    () => randomUUID(),
    () => setTimeout(() => undefined, 1),
  ]) {
    const used = await withoutAmbient(async () => {
      await Promise.resolve();
      expect(use).toThrow('is not simulated');
    });
    expect(used).toHaveLength(1);
  }
  expect(await withoutAmbient(async () => undefined)).toEqual([]);
});
