/** The treasury through its door: strategies, plans, and trades that move both balances through transfers under policy. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Scope } from '../../../../gateway/api/scopes.ts';
import type { JsonAnswer } from '../../../support/gateway.ts';
import { until } from '../../../support/until.ts';
import { startWalletService, type WalletService } from '../../../support/wallet-service.ts';

const sepolia = 'eip155:11155111';

let service: WalletService;
beforeAll(async () => {
  service = await startWalletService();
});
afterAll(() => service?.stop());

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON
type Json = Record<string, any>;

/** A caller of a tenant of its own, which has a wallet that a strategy pays from. */
class Desk {
  readonly token = `svc_sk_test_${randomBytes(12).toString('hex')}`;
  readonly tenant: string;
  wallet: Json = {};

  constructor(tenant = `tn_${randomBytes(6).toString('hex')}`, scopes?: readonly Scope[]) {
    this.tenant = tenant;
    service.tokens.put(this.token, { tenant, id: `tok_${randomBytes(4).toString('hex')}`, ...(scopes && { scopes }) });
  }

  call(method: string, url: string, body?: object): Promise<JsonAnswer> {
    return service.call(method, url, { token: this.token, ...(body && { body }) });
  }

  async get(url: string): Promise<Json> {
    return (await this.call('GET', url)).body;
  }

  async post(url: string, body: object = {}): Promise<Json> {
    const answer = await this.call('POST', url, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  }

  async refused(url: string, body: object = {}): Promise<Json> {
    const answer = await this.call('POST', url, body);
    return { status: answer.status, ...answer.body.error };
  }

  async addWallet(provider = 'sandbox', network = sepolia): Promise<Json> {
    const { id } = await this.post('/v1/providers/connect', { type: provider, name: provider, credentials: {} });
    return this.post('/v1/wallets', { name: 'treasury', provider_connection_id: id, network });
  }

  /** Half and half, where ETH at 3,000 dollars makes up three quarters: 3⅓ ETH are too many. */
  async open(over: object = {}, provider?: string): Promise<Json> {
    await this.post('/v1/modules/treasury/access-requests');
    this.wallet = await this.addWallet(provider);
    await this.market();
    return this.post('/v1/treasury/strategies', this.body(over));
  }

  body(over: object = {}): Json {
    return {
      name: 'half and half',
      wallet_ids: [this.wallet.id],
      targets: [
        { asset: 'ETH', weight_bps: 5_000, band_bps: 100 },
        { asset: 'USDC', weight_bps: 5_000, band_bps: 100 },
      ],
      autonomy: 'within_policy',
      ...over,
    };
  }

  market(venue: object = {}, eth = '3000'): Promise<Json> {
    const prices = [
      { asset: 'ETH', price_usd: eth },
      { asset: 'USDC', price_usd: '1' },
    ];
    return this.post('/v1/sandbox/market', { prices, venue: { mode: 'normal', slippage_bps: 0, ...venue } });
  }

  async balances(): Promise<Record<string, number>> {
    const { assets } = await this.get(`/v1/wallets/${this.wallet.id}`);
    return Object.fromEntries((assets as Json[]).map(({ symbol, available }) => [symbol, Number(available)]));
  }

  /** All that the tenant has of an asset, wherever it lies. */
  async total(asset: string): Promise<number> {
    const { wallets } = await this.get('/v1/wallets?limit=100');
    const held = (wallets as Json[]).flatMap(({ assets }) =>
      (assets as Json[]).filter(({ symbol }) => symbol === asset),
    );
    return held.reduce((sum, { balance }) => sum + Number(balance), 0);
  }

  async after(planId: string): Promise<Json> {
    let plan: Json = {};
    return until(
      async () => {
        service.clock.offsetMs += 1_000;
        plan = await this.get(`/v1/treasury/plans/${planId}`);
        return plan.status !== 'executing' && plan;
      },
      () => `the end of the plan: ${JSON.stringify(plan.trades)}`,
    );
  }

  /** A plan whose payment is at the venue, which does not answer. */
  async paid(over: object = {}): Promise<Json> {
    const { id } = await this.open(over);
    await this.market({ mode: 'silent' });
    const asked = await this.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    return until(async () => {
      service.clock.offsetMs += 1_000;
      const plan = await this.get(`/v1/treasury/plans/${asked.id}`);
      return plan.trades[0].reason === 'venue_unavailable' && plan;
    }, 'the plan waiting for the venue');
  }

  async venueWallet(): Promise<Json> {
    const { wallets } = await this.get('/v1/wallets?limit=100');
    return (wallets as Json[]).find(({ name }) => name === 'Venue Ethereum Sepolia')!;
  }

  async types(planId: string): Promise<string[]> {
    const { events } = await this.get(`/v1/events?resource_id=${planId}&limit=100`);
    return (events as Json[]).map(({ type }) => type);
  }
}

describe('a strategy', () => {
  it('has versions that never change, and ends', async () => {
    const desk = new Desk();
    const one = await desk.open();
    expect(one).toMatchObject({ strategy_version: 1, status: 'active', autonomy: 'within_policy' });
    const path = `/v1/treasury/strategies/${one.id}`;
    const two = await desk.post(`${path}/versions`, desk.body({ autonomy: 'advisory' }));
    expect(two).toMatchObject({ id: one.id, strategy_version: 2, autonomy: 'advisory' });
    expect(await desk.get(`${path}?version=1`)).toMatchObject({ strategy_version: 1, autonomy: 'within_policy' });
    expect((await desk.call('GET', `${path}?version=3`)).status).toBe(404);
    expect((await desk.get('/v1/treasury/strategies')).strategies).toEqual([two]);
    expect(await desk.post(`${path}/archive`)).toMatchObject({ status: 'archived' });
    expect(await desk.refused('/v1/treasury/rebalance', { strategy_id: one.id })).toMatchObject({ status: 409 });
    expect(await desk.refused(`${path}/versions`, desk.body())).toMatchObject({ status: 409 });
    expect(await desk.types(one.id)).toEqual(
      ['created', 'updated', 'archived'].map((happening) => `treasury.strategy.${happening}`),
    );
  });

  it.each([
    ['targets', { targets: [{ asset: 'ETH', weight_bps: 9_999, band_bps: 0 }] }, 'weights_sum'],
    ['targets[0].asset', { targets: [{ asset: 'DOGE', weight_bps: 10_000, band_bps: 0 }] }, 'unknown_asset'],
    ['targets[0].asset', { targets: [{ asset: 'BTC', weight_bps: 10_000, band_bps: 0 }] }, 'not_allowed_value'],
    ['trigger.every_s', { trigger: { kind: 'interval' } }, 'missing_required'],
    ['policy', { policy: 'none-of-mine' }, 'unknown_policy'],
    ['constraints.max_trade_usd', { constraints: { max_trade_usd: '1' } }, 'too_small'],
    [
      'constraints.cash_floor.asset',
      { constraints: { cash_floor: { asset: 'SOL', amount: '1' } } },
      'not_allowed_value',
    ],
    ['wallet_ids[0]', { wallet_ids: ['wal_none'] }, 'not_found'],
  ])('names what is wrong: %s', async (field, over, issue) => {
    const desk = new Desk();
    await desk.open();
    const error = await desk.refused('/v1/treasury/strategies', desk.body(over));
    expect([error.status, error.details[0].field, error.details[0].issue]).toEqual([400, field, issue]);
  });

  it('executes its plans by itself only by leave of an approver', async () => {
    const desk = new Desk();
    const { id } = await desk.open({ autonomy: 'human_approval' });
    const writer = new Desk(desk.tenant, ['treasury:write']);
    for (const url of ['/v1/treasury/strategies', `/v1/treasury/strategies/${id}/versions`]) {
      const error = await writer.refused(url, desk.body({ autonomy: 'within_policy' }));
      expect([error.status, error.details[0]]).toMatchObject([403, { field: 'autonomy', issue: 'insufficient_scope' }]);
      expect((await writer.call('POST', url, desk.body({ autonomy: 'human_approval' }))).status).toBe(201);
    }
    const approver = new Desk(desk.tenant, ['treasury:write', 'intents:approve']);
    const next = await approver.post(`/v1/treasury/strategies/${id}/versions`, desk.body());
    expect(next).toMatchObject({ autonomy: 'within_policy', strategy_version: 3 });
  });

  it('is nothing to other tenants, nor are its plans', async () => {
    const [desk, other] = [new Desk(), new Desk()];
    const { id } = await desk.open();
    const plan = await desk.post('/v1/treasury/rebalance', { strategy_id: id });
    await other.open();
    for (const path of [`strategies/${id}`, `plans/${plan.id}`, `positions?strategy_id=${id}`]) {
      expect((await other.call('GET', `/v1/treasury/${path}`)).status, path).toBe(404);
    }
    expect((await other.get('/v1/treasury/plans')).plans).toEqual([]);
    expect((await other.refused('/v1/treasury/rebalance', { strategy_id: id })).status).toBe(404);
    expect((await other.refused('/v1/treasury/strategies', desk.body())).status).toBe(400);
    expect((await other.refused(`/v1/treasury/plans/${plan.id}/execute`)).status).toBe(404);
  });
});

describe('a position', () => {
  it('shows drift at the present prices', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    const { positions } = await desk.get(`/v1/treasury/positions?strategy_id=${id}`);
    expect(positions).toHaveLength(1);
    expect(positions[0]).toMatchObject({ strategy_id: id, total_value_usd: '40000', unpriced: null });
    expect(positions[0].assets).toMatchObject([
      { asset: 'ETH', amount: '10', value_usd: '30000', weight_bps: 7_500, drift_bps: 2_500, in_band: false },
      { asset: 'USDC', amount: '10000', value_usd: '10000', weight_bps: 2_500, drift_bps: -2_500, in_band: false },
    ]);
  });

  it('says why it has no values', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    await desk.post('/v1/sandbox/market', { prices: [{ asset: 'ETH', condition: 'missing' }] });
    const { positions } = await desk.get('/v1/treasury/positions');
    expect(positions[0]).toMatchObject({ total_value_usd: null, assets: [], unpriced: 'there is no price of ETH' });
    await desk.post('/v1/sandbox/market', { prices: [{ asset: 'ETH', condition: 'stale', stale_s: 90 }] });
    const error = await desk.refused('/v1/treasury/rebalance', { strategy_id: id });
    expect([error.status, error.details[0].issue]).toEqual([409, 'price_stale']);
  });
});

describe('a plan', () => {
  it('names its trades and what set their size, and moves nothing', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    const before = await desk.balances();
    const plan = await desk.post('/v1/treasury/rebalance', { strategy_id: id });
    expect(plan).toMatchObject({ status: 'proposed', origin: 'request', stale: [], withheld: null });
    expect(plan.trades).toMatchObject([
      { sell: { asset: 'ETH', amount: '3.333333333333333333' }, constraint: 'sell_target', status: 'planned' },
    ]);
    const again = await desk.post('/v1/treasury/rebalance', { strategy_id: id });
    expect({ ...again, ...timesOf(plan), id: plan.id }).toEqual(plan);
    expect(await desk.balances()).toEqual(before);
  });

  it.each(['sandbox', 'self_hosted'])(
    'really moves both balances of a %s wallet, through two transfers',
    async (provider) => {
      const desk = new Desk();
      const { id } = await desk.open({}, provider);
      const [eth, usdc] = [await desk.total('ETH'), await desk.total('USDC')];
      const before = await desk.balances();
      const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
      expect(asked.status).toBe('executing');
      const plan = await desk.after(asked.id);
      expect(plan.status, JSON.stringify(plan.trades)).toBe('completed');
      const [trade] = plan.trades;
      expect(trade).toMatchObject({ status: 'completed', reason: null, sold: trade.sell.amount });
      expect(trade.transaction_intent_ids).toHaveLength(2);
      const after = await desk.balances();
      expect(after.USDC).toBeCloseTo(before.USDC! + Number(trade.bought), 6);
      // The transfer's fee is paid beside what was sold.
      expect(before.ETH! - after.ETH! - Number(trade.sold)).toBeGreaterThan(0);
      expect(before.ETH! - after.ETH! - Number(trade.sold)).toBeLessThan(0.01);
      // The venue took ETH and gave USDC, within the tenant's own account there: 10 ETH and 10,000 USDC to begin with.
      expect((await desk.total('ETH')) - eth).toBeCloseTo(10 - Number(trade.sold), 1);
      expect((await desk.total('USDC')) - usdc).toBeCloseTo(10_000 + Number(trade.bought), 4);
      expect((await desk.types(plan.id)).slice(0, 2)).toEqual(['treasury.plan.proposed', 'treasury.plan.executing']);
      expect((await desk.types(plan.id)).at(-1)).toBe('treasury.plan.completed');
      const then = await desk.post('/v1/treasury/rebalance', { strategy_id: id });
      expect(then.trades).toEqual([]);
    },
  );

  it('leaves a wallet the fee that its provider asks for', async () => {
    const desk = new Desk();
    const { id } = await desk.open(
      {
        targets: [
          { asset: 'ETH', weight_bps: 0, band_bps: 100 },
          { asset: 'USDC', weight_bps: 10_000, band_bps: 100 },
        ],
      },
      'self_hosted',
    );
    const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    expect(asked.trades[0].constraint).toBe('network_fee');
    const plan = await desk.after(asked.id);
    expect([plan.status, plan.trades[0].reason]).toEqual(['completed', null]);
  });

  it('is carried out once by two gateways, one of which stops in the middle', async () => {
    const other = await service.another();
    const desk = new Desk();
    const { id } = await desk.open();
    const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    await until(async () => {
      service.clock.offsetMs += 1_000;
      const { trades } = await desk.get(`/v1/treasury/plans/${asked.id}`);
      return trades[0].status !== 'planned' && trades[0].status !== 'paying';
    }, 'the payment');
    await other.stop();
    const plan = await desk.after(asked.id);
    expect(plan.status).toBe('completed');
    const { transaction_intents: made } = await desk.get(`/v1/wallets/${desk.wallet.id}/transaction-intents`);
    expect((made as Json[]).map(({ id: intent, origin }) => [intent, origin])).toEqual([
      [plan.trades[0].transaction_intent_ids[0], { kind: 'treasury-plan', id: plan.id }],
    ]);
    expect((await desk.balances()).USDC).toBeCloseTo(10_000 + Number(plan.trades[0].bought), 6);
  });

  it('brings back what the venue did not sell', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    await desk.market({ mode: 'partial', fill_bps: 4_000 });
    const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    const plan = await desk.after(asked.id);
    const [trade] = plan.trades;
    expect([plan.status, trade.reason]).toEqual(['completed', 'venue_filled_in_part']);
    expect(trade.transaction_intent_ids).toHaveLength(3);
    expect(Number(trade.sold)).toBeCloseTo(0.4 * Number(trade.sell.amount), 6);
    expect((await desk.balances()).ETH).toBeCloseTo(10 - Number(trade.sold), 2);
  });

  it('fails when the venue refuses, with all of the money back', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    await desk.market({ mode: 'refuse' });
    const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    const plan = await desk.after(asked.id);
    expect([plan.status, plan.trades[0].status, plan.trades[0].reason]).toEqual(['failed', 'failed', 'venue_refused']);
    expect((await desk.balances()).ETH).toBeCloseTo(10, 2);
    expect((await desk.balances()).USDC).toBe(10_000);
  });

  it('waits for a venue that does not answer', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    await desk.market({ mode: 'silent' });
    const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    await until(async () => {
      service.clock.offsetMs += 1_000;
      return (await desk.get(`/v1/treasury/plans/${asked.id}`)).trades[0].reason === 'venue_unavailable';
    }, 'the plan waiting for the venue');
    const busy = await desk.refused('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    expect([busy.status, busy.details[0].issue]).toEqual([409, 'plan_executing']);
    await desk.market();
    expect((await desk.after(asked.id)).status).toBe('completed');
  });

  it('ends without a venue that is silent beyond its deadline, and brings back what comes late', async () => {
    const desk = new Desk();
    const plan = await desk.paid({ constraints: { venue_deadline_s: 20 } });
    const failed = await desk.after(plan.id);
    expect([failed.status, failed.trades[0].status, failed.trades[0].reason]).toEqual([
      ...['failed', 'exchanging', 'venue_silent'],
    ]);
    expect((await desk.types(plan.id)).at(-1)).toBe('treasury.plan.failed');
    const strategy = await desk.get(`/v1/treasury/strategies/${plan.strategy_id}`);
    expect([strategy.executing_plan_id, strategy.constraints.venue_deadline_s]).toEqual([null, 20]);
    const before = await desk.balances();
    // It holds no other plan: one can be made, and executed once the venue answers.
    const next = await desk.post('/v1/treasury/rebalance', { strategy_id: plan.strategy_id });
    expect(next.status).toBe('proposed');

    await desk.market();
    const late = await until(async () => {
      service.clock.offsetMs += 10_000;
      const { status, trades } = await desk.get(`/v1/treasury/plans/${plan.id}`);
      return trades[0].status !== 'exchanging' && trades[0].status !== 'returning' && { status, ...trades[0] };
    }, 'the late exchange');
    expect([late.status, late.reason, late.transaction_intent_ids.length]).toEqual(['completed', null, 2]);
    expect((await desk.get(`/v1/treasury/plans/${plan.id}`)).status).toBe('failed');
    expect((await desk.balances()).USDC).toBeCloseTo(before.USDC! + Number(late.bought), 6);
    expect((await desk.types(plan.id)).at(-1)).toBe('treasury.plan.updated');
  });

  it('fails when what it was to sell has left the venue account', async () => {
    const desk = new Desk();
    const plan = await desk.paid();
    const venue = await desk.venueWallet();
    await desk.post(`/v1/wallets/${venue.id}/transaction-intents`, {
      asset: 'ETH',
      amount: '13.3',
      destination: { address: desk.wallet.addresses[0].address },
    });
    await desk.market();
    const ended = await desk.after(plan.id);
    expect([ended.status, ended.trades[0].reason]).toEqual(['failed', 'venue_account_overdrawn']);
    expect(ended.trades[0]).toMatchObject({ sold: null, bought: null });
    expect((await desk.get(`/v1/treasury/strategies/${plan.strategy_id}`)).executing_plan_id).toBeNull();
  });

  it('pays nothing to a venue account that cannot pay it back', async () => {
    const desk = new Desk();
    const { id: first, strategy_id } = await desk.paid();
    await desk.market();
    await desk.after(first);
    const venue = await desk.venueWallet();
    const ended = async (eth: string): Promise<[unknown, unknown]> => {
      await desk.market({}, eth);
      const { ETH } = await desk.balances();
      const asked = await desk.post('/v1/treasury/rebalance', { strategy_id, dry_run: false });
      const { status, trades } = await desk.after(asked.id);
      expect((await desk.balances()).ETH).toBe(ETH);
      return [status, trades[0].reason];
    };
    const connection = `/v1/provider-connections/${venue.provider_connection_id}`;
    await desk.call('POST', `/v1/wallets/${venue.id}/freeze`);
    expect(await ended('5000')).toEqual(['failed', 'venue_account_frozen']);
    await desk.call('POST', `/v1/wallets/${venue.id}/unfreeze`);
    expect((await desk.call('POST', `${connection}/disconnect`)).status).toBe(200);
    expect(await ended('6000')).toEqual(['failed', 'payment_refused: connection_disconnected']);
    await desk.call('POST', `/v1/wallets/${venue.id}/archive`);
    expect(await ended('7000')).toEqual(['failed', 'venue_account_archived']);
  });

  it('leaves in the venue account what an archived wallet would have got', async () => {
    const desk = new Desk();
    const { id } = await desk.paid();
    await desk.call('POST', `/v1/wallets/${desk.wallet.id}/archive`);
    await desk.market();
    const plan = await desk.after(id);
    expect([plan.status, plan.trades[0].reason]).toEqual(['failed', 'return_wallet_archived']);
    expect((await desk.balances()).USDC).toBe(10_000);
    const { assets } = await desk.venueWallet();
    expect(Number(assets[1].available)).toBeCloseTo(10_000 + Number(plan.trades[0].bought), 6);
  });

  it('takes no wallet of the venue account for the strategy’s own', async () => {
    const desk = new Desk();
    const { id } = await desk.paid();
    await desk.market();
    await desk.after(id);
    const { id: venue } = await desk.venueWallet();
    const error = await desk.refused('/v1/treasury/strategies', desk.body({ wallet_ids: [desk.wallet.id, venue] }));
    expect([error.status, error.details[0]]).toMatchObject([
      400,
      { field: 'wallet_ids[1]', issue: 'not_allowed_value' },
    ]);
  });

  it('fails a trade whose transfer the policies deny', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    await desk.post('/v1/policies', {
      name: 'default',
      rules: [{ id: 'no', effect: 'deny', when: 'tx.asset == "ETH"' }],
    });
    const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    const plan = await desk.after(asked.id);
    expect([plan.status, plan.trades[0].reason]).toEqual(['failed', 'payment_denied']);
    expect((await desk.balances()).ETH).toBe(10);
  });

  it('goes stale when prices, balances or the strategy move, and by time', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    const plan = async (): Promise<Json> => desk.post('/v1/treasury/rebalance', { strategy_id: id });
    const staleOf = async ({ id: planId }: Json): Promise<string[]> => {
      const error = await desk.refused(`/v1/treasury/plans/${planId}/execute`);
      expect(error.status, JSON.stringify(error)).toBe(409);
      const shown = await desk.get(`/v1/treasury/plans/${planId}`);
      expect(shown.stale).toEqual(error.details);
      return (error.details as Json[]).map(({ issue }) => issue);
    };
    const one = await plan();
    await desk.market({}, '3031');
    expect(await staleOf(one)).toEqual(['price_moved']);
    const two = await plan();
    const { addresses } = await desk.addWallet();
    await desk.post(`/v1/wallets/${desk.wallet.id}/transaction-intents`, {
      asset: 'USDC',
      amount: '5',
      destination: { address: addresses[0].address },
    });
    expect(new Set(await staleOf(two))).toEqual(new Set(['balance_moved']));
    const three = await plan();
    await desk.post(`/v1/treasury/strategies/${id}/versions`, desk.body());
    expect(await staleOf(three)).toContain('strategy_changed');
    const four = await plan();
    service.clock.offsetMs += 301_000;
    expect(await staleOf(four)).toContain('expired');
  });

  it('of an advisory strategy is never executed', async () => {
    const desk = new Desk();
    const { id } = await desk.open({ autonomy: 'advisory' });
    const plan = await desk.post('/v1/treasury/rebalance', { strategy_id: id });
    for (const [url, body] of [
      [`/v1/treasury/plans/${plan.id}/execute`, {}],
      ['/v1/treasury/rebalance', { strategy_id: id, dry_run: false }],
    ] as const) {
      const error = await desk.refused(url, body);
      expect([error.status, error.details[0].issue]).toEqual([409, 'advisory']);
    }
  });

  it('under human approval is executed by another person, once', async () => {
    const desk = new Desk();
    const { id } = await desk.open({ autonomy: 'human_approval' });
    const plan = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false });
    expect(plan.status).toBe('pending_approval');
    const path = `/v1/treasury/plans/${plan.id}`;
    expect((await desk.refused(`${path}/execute`)).details[0].issue).toBe('own_plan');
    const other = new Desk(desk.tenant);
    expect(await other.post(`${path}/execute`)).toMatchObject({ status: 'executing' });
    expect(await other.post(`${path}/execute`)).toMatchObject({ status: 'executing' });
    expect((await desk.refused(`${path}/cancel`)).status).toBe(409);
    expect((await desk.after(plan.id)).status).toBe('completed');
  });

  it('is called off, and withheld while the strategy cools down', async () => {
    const desk = new Desk();
    const { id } = await desk.open({ constraints: { cooldown_s: 86_400 } });
    const plan = await desk.post('/v1/treasury/rebalance', { strategy_id: id });
    const kept = await desk.post('/v1/treasury/rebalance', { strategy_id: id });
    expect(await desk.post(`/v1/treasury/plans/${plan.id}/cancel`)).toMatchObject({ status: 'cancelled' });
    expect((await desk.refused(`/v1/treasury/plans/${plan.id}/execute`)).status).toBe(409);
    await desk.post(`/v1/treasury/plans/${kept.id}/execute`);
    await desk.after(kept.id);
    await desk.market({}, '6000');
    expect(await desk.post('/v1/treasury/rebalance', { strategy_id: id })).toMatchObject({
      trades: [],
      withheld: 'cooldown',
    });
  });
});

describe('a proposal', () => {
  it('is executed as any plan, when it holds to the constraints', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    const proposal = { trades: [{ sell: 'ETH', buy: 'USDC', amount: '1.5' }], rationale: 'a model says so' };
    const asked = await desk.post('/v1/treasury/rebalance', { strategy_id: id, dry_run: false, proposal });
    expect(asked).toMatchObject({ origin: 'proposal', rationale: 'a model says so' });
    expect(asked.trades).toMatchObject([{ sell: { amount: '1.5' }, constraint: 'proposal' }]);
    expect((await desk.after(asked.id)).status).toBe('completed');
  });

  it('beyond the constraints is refused, trade by trade', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    const trades = [
      { sell: 'ETH', buy: 'USDC', amount: '4' },
      { sell: 'USDC', buy: 'ETH', amount: '100' },
    ];
    const error = await desk.refused('/v1/treasury/rebalance', { strategy_id: id, proposal: { trades } });
    expect(error.status).toBe(422);
    expect(error.details).toMatchObject([
      { field: 'proposal.trades[0]', issue: 'sell_target', message: 'at most 3.333333333333333333 ETH' },
      { field: 'proposal.trades[1]', issue: 'wrong_side' },
    ]);
    const unknown = { trades: [{ sell: 'BTC', buy: 'USDC', amount: '1' }] };
    expect((await desk.refused('/v1/treasury/rebalance', { strategy_id: id, proposal: unknown })).status).toBe(400);
  });
});

describe('a trigger', () => {
  it('plans by itself when an asset leaves its band, and executes within policy', async () => {
    const desk = new Desk();
    const { id } = await desk.open({ trigger: { kind: 'drift', every_s: 60 } });
    const [plan] = await until(async () => {
      service.clock.offsetMs += 61_000;
      const { plans } = await desk.get(`/v1/treasury/plans?strategy_id=${id}`);
      return plans.length > 0 && (plans as Json[]);
    }, 'a plan of the trigger');
    expect(plan).toMatchObject({ origin: 'trigger' });
    expect((await desk.after(plan!.id)).status).toBe('completed');
    service.clock.offsetMs += 120_000;
    expect((await desk.get(`/v1/treasury/plans?strategy_id=${id}`)).plans).toHaveLength(1);
  });
});

function timesOf({ created_at, updated_at, expires_at, prices }: Json): Json {
  return { created_at, updated_at, expires_at, prices };
}
