/** Reconciliation of what other modules do: a treasury's exchanges and an issuer's tokens are no differences. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../../support/until.ts';
import { Issuer, type Json } from '../tokens/support/issuer.ts';
import { type ReconService, startReconService } from './support/service.ts';

let recon: ReconService;
beforeAll(async () => {
  recon = await startReconService();
});
afterAll(() => recon?.stop());

async function reconciled(caller: Issuer): Promise<Json[]> {
  for (const kind of ['balances', 'transactions']) {
    const { id } = await caller.post('/v1/recon/jobs', { kind, lag_s: 0 });
    let job: Json = {};
    await until(
      async () => {
        job = await caller.get(`/v1/recon/jobs/${id}`);
        return job.status === 'completed';
      },
      () => `the end of the job: ${JSON.stringify(job)}`,
    );
    expect(job.progress.wallets_done).toBeGreaterThan(0);
  }
  return (await caller.get('/v1/recon/exceptions')).exceptions;
}

describe('reconciliation', () => {
  it('finds nothing wrong after the venue has exchanged, in full and in part', async () => {
    const desk = new Issuer(recon.service);
    await desk.post('/v1/modules/treasury/access-requests');
    const wallet = await desk.addWallet('sandbox');
    const targets = ['ETH', 'USDC'].map((asset) => ({ asset, weight_bps: 5_000, band_bps: 100 }));
    const strategy = await desk.post('/v1/treasury/strategies', {
      ...{ name: 'half', wallet_ids: [wallet.id], targets, autonomy: 'within_policy' },
    });
    for (const [eth, mode] of [
      ['3000', 'normal'],
      ['9000', 'partial'],
    ]) {
      const prices = [
        { asset: 'ETH', price_usd: eth },
        { asset: 'USDC', price_usd: '1' },
      ];
      await desk.post('/v1/sandbox/market', { prices, venue: { mode, fill_bps: 4_000, slippage_bps: 0 } });
      const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: strategy.id, dry_run: false });
      await until(async () => {
        recon.service.clock.offsetMs += 500;
        return (await desk.get(`/v1/treasury/plans/${asked.id}`)).status === 'completed';
      }, 'the end of the plan');
    }
    expect(await reconciled(desk)).toEqual([]);
  });

  it('finds nothing wrong with a wallet that issues a token', async () => {
    const issuer = await new Issuer(recon.service).open();
    const gold = await issuer.issue();
    await issuer.orderAs(await issuer.mint(gold, '250'), 'completed');
    await issuer.orderAs(await issuer.redeem(gold, '20'), 'completed');
    expect(await reconciled(issuer)).toEqual([]);
  });
});
