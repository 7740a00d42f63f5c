/**
 * A test of your own HTTP client (payout-client.ts), with vitest, against the whole service: simulated, in this process and in
 * virtual time; the same listening on real ports; and as real processes over real sockets. The test is one;
 * `PAYOUTS_IN=simulated` runs it in one world.
 */
import { cluster, type TestCluster, type Webhook } from 'signmesh/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { PayoutClient } from './payout-client.ts';

const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const { PAYOUTS_IN: only = 'simulated,listening,live' } = process.env;
const tookMs: string[] = [];
afterAll(() => void process.stdout.write(`payouts: ${tookMs.join(', ')}\n`));

describe.each(only.split(','))('payouts, %s', (world) => {
  let beganMs: number;
  let custody: TestCluster;
  let payouts: PayoutClient;
  let walletId: string;
  let hook: Webhook;

  beforeAll(async () => {
    beganMs = performance.now();
    custody = await cluster({ live: world === 'live', listen: world === 'listening' });
    const { url, token, fetch } = custody;
    payouts = new PayoutClient({ baseUrl: url, token, fetch });
    const made = async (path: string, body: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
      return ((await response.json()) as { readonly id: string }).id;
    };
    const large = {
      id: 'large',
      effect: 'require_approval',
      when: 'tx.amount > 1000000000000000000',
      approvals: { quorum: 1 },
    };
    await made('/v1/policies', { name: 'payouts', rules: [large, { id: 'rest', effect: 'allow', when: 'true' }] });
    const connection = await made('/v1/provider-connections', {
      provider: 'self_hosted',
      name: 'own',
      credentials: {},
    });
    const wallet = {
      name: 'payouts',
      provider_connection_id: connection,
      network: 'eip155:11155111',
      policy: 'payouts',
    };
    walletId = await made('/v1/wallets', wallet);
    hook = await custody.webhooks.open({ events: ['transaction_intent.*'] });
  });
  afterEach(() => custody.heal());
  afterAll(async () => {
    tookMs.push(`${world} ${Math.round(performance.now() - beganMs)} ms`);
    await custody.stop();
  });

  test('are paid, and their webhook says so', async () => {
    const payout = await payouts.pay(walletId, `small-${world}`, '0.25', address);
    expect((await payouts.end(payout)).status).toBe('completed');

    const { event } = await hook.next('transaction_intent.completed', { of: payout });
    expect(event.data.object.amount).toBe('0.25');
  });

  test('are paid once when the gateway dies', async () => {
    await custody.crash('gateway', { restart_after_ms: 500 });
    const payout = await payouts.pay(walletId, `crash-${world}`, '0.5', address);
    const again = await payouts.pay(walletId, `crash-${world}`, '0.5', address);

    expect(again.id).toBe(payout.id);
    expect((await payouts.end(payout)).status).toBe('completed');
  });

  test('of much money wait for a second person', async () => {
    const payout = await payouts.pay(walletId, `large-${world}`, '1.5', address);
    expect(payout.status).toBe('pending_approval');
    await custody.approve(payout);

    expect((await custody.waitFor(payout)).status).toBe('completed');
  });
});
