/** Jobs over the whole way: API, due work, BullMQ, a worker, the books of simulated custodians. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { providerKinds } from '../../../../wallets/providers/port/kinds.ts';
import { outside, type ReconService, startReconService, type View } from './support/service.ts';

let recon: ReconService;
beforeAll(async () => {
  recon = await startReconService();
});
afterAll(() => recon?.stop());

describe.each(providerKinds)('with %s', (provider) => {
  let connection: View;
  let wallet: View;
  beforeAll(async () => {
    connection = await recon.connect(provider);
    wallet = await recon.wallet(connection.id);
    const receiver = await recon.wallet(connection.id);
    const [paid, failed] = await Promise.all([
      recon.transfer(wallet.id, '0.5'),
      recon.transfer(wallet.id, '0.004410'),
      recon.transfer(wallet.id, '0.25', { destination: { address: receiver.addresses[0].address } }),
    ]);
    expect([paid.status, failed.status]).toEqual(['completed', 'failed']);
  });

  it.each(['transactions', 'balances'])('finds nothing wrong with %s', async (kind) => {
    const job = await recon.job({ kind, scope: { provider_connection_id: connection.id }, lag_s: 0 });
    expect(job).toMatchObject({ status: 'completed', error: null });
    expect(job.progress).toMatchObject({
      percent: 100,
      wallets_done: job.progress.wallets_total,
      wallets_unsettled: 0,
    });
    expect(job.progress.rows_internal).toBeGreaterThanOrEqual(4);
    expect(job.progress.rows_external).toBeGreaterThanOrEqual(4);
    expect(await recon.exceptions(`?provider_connection_id=${connection.id}`)).toEqual([]);
  });
});

describe('a transfer that the custodian executed and never answered', () => {
  it('fails after 30 h, is found, and is settled by a correction of the ledger', async () => {
    const connection = await recon.connect('fireblocks');
    const wallet = await recon.wallet(connection.id);
    const path = `/v1/wallets/${wallet.id}/transaction-intents`;
    const body = { asset: 'ETH', amount: '0.004404', destination: { address: outside } };
    const { id } = await recon.call('POST', path, body);
    recon.service.clock.offsetMs += 31 * 3_600_000;
    const failed = await recon.transfer(wallet.id, '0.1').then(() => settledIntent(`${path}/${id}`));
    expect(failed).toMatchObject({ status: 'failed', sub_status: 'PROVIDER_UNAVAILABLE' });

    const from = new Date(recon.deps.clock.nowMs() - 48 * 3_600_000).toISOString();
    const scope = { wallet_id: wallet.id };
    const job = await recon.job({ kind: 'transactions', scope, from, lag_s: 0 });
    expect(job.progress).toMatchObject({ exceptions_found: 1, exceptions_new: 1 });
    const [found] = await recon.exceptions(`?wallet_id=${wallet.id}`);
    expect(found).toMatchObject({
      type: 'status_mismatch',
      severity: 'critical',
      status: 'open',
      delta: '-0.004446',
      expected: { status: 'failed', amount: '0.004404' },
      actual: { status: 'completed', amount: '0.004404', fee: { asset: 'ETH', amount: '0.000042' } },
      sources: { internal: { kind: 'transaction_intent', id }, external: { reference: id, status: 'COMPLETED' } },
    });

    const before = await availableOf(wallet.id);
    const resolve = `/v1/recon/exceptions/${found!.id}/resolve`;
    const resolved = await recon.call('POST', resolve, { resolution: 'adjusted', note: 'confirmed by phone' });
    expect(resolved.resolution).toMatchObject({
      resolution: 'adjusted',
      corrections: [{ asset: 'ETH', amount: '-0.004446' }],
    });
    expect(Math.round((before - (await availableOf(wallet.id))) * 1e6)).toBe(4446);
    expect((await recon.status('POST', resolve, { resolution: 'matched' })).status).toBe(409);
    expect((await recon.call('GET', `${path}/${id}`)).status).toBe('failed');
    const { events } = await recon.call('GET', '/v1/events?type=wallet.balance_corrected');
    expect((events as View[])[0]!.data.object.correction).toEqual({
      cause: found!.id,
      note: 'confirmed by phone',
      entries: [{ asset: 'ETH', amount: '-0.004446' }],
    });

    // It is settled: later jobs, of either kind, say nothing of it.
    const again = await recon.job({ kind: 'transactions', scope, from, lag_s: 0 });
    expect(again.progress).toMatchObject({ exceptions_found: 1, exceptions_new: 0 });
    expect((await recon.job({ kind: 'balances', scope, lag_s: 0 })).progress.exceptions_found).toBe(0);
  });
});

async function settledIntent(path: string): Promise<View> {
  for (;;) {
    const intent = await recon.call('GET', path);
    if (/^(completed|failed)$/.test(intent.status as string)) return intent;
  }
}

async function availableOf(walletId: string): Promise<number> {
  const { assets } = await recon.call('GET', `/v1/wallets/${walletId}`);
  return Number((assets as { symbol: string; available: string }[]).find(({ symbol }) => symbol === 'ETH')!.available);
}
