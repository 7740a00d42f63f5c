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
