/** The rules of strategies and plans to their edges: defaults, filters, who executes, what is stale, and what a trigger makes. */

import { beforeAll, describe, expect, it, vi } from 'vitest';
import { silentLog } from '../../../../core/actors/live/ports.ts';
import { type ExecutionDeps, executePlan } from '../../../../wallets/companions/treasury/execution.ts';
import { type PlanRecord, planPrefix, planType } from '../../../../wallets/companions/treasury/plan-record.ts';
import { type PlanDeps, planRoutes } from '../../../../wallets/companions/treasury/plan-routes.ts';
import { positionRoutes } from '../../../../wallets/companions/treasury/position-routes.ts';
import {
  type StrategyRecord,
  strategyType,
  triggerPrefix,
} from '../../../../wallets/companions/treasury/strategy-record.ts';
import { strategyRoutes } from '../../../../wallets/companions/treasury/strategy-routes.ts';
import { lookAtStrategy } from '../../../../wallets/companions/treasury/triggers.ts';
import { walletFrom } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import { ProviderRejected, ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import { StoreUnavailable, type TenantStore } from '../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../support/ledger-entry.ts';
import { done, newTenant, startMemoryStore } from '../../../support/memory-store.ts';
import { type Caller, call, contextAt, eventTypes, frozenTenant, refusal, setFrozen } from '../support/handlers.ts';

const startMs = Date.UTC(2026, 5, 15, 12);
const dayMs = 86_400_000;
const usd = 10n ** 8n;
let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

// biome-ignore lint/suspicious/noExplicitAny: the service's own JSON
type Json = Record<string, any>;

/** A tenant with one wallet of 10 ETH and 10,000 USDC, and a market of its own. */
class Desk {
  readonly tenant = newTenant();
  nowMs = startMs;
  /** Of ETH; USDC is worth a dollar. */
  price: bigint | undefined = 3_000n * usd;
  asOfMs: number | undefined = undefined;
  quote: () => Promise<unknown> = async () => ({ fee: { asset: 'ETH', units: 42n * 10n ** 12n } });
  readonly deps = {
    prices: {
      quotes: async (_: string, assets: readonly string[], nowMs: number) =>
        assets.map((asset) => {
          const price = asset === 'ETH' ? this.price : usd;
          return price === undefined ? undefined : { asset, price, asOfMs: this.asOfMs ?? nowMs };
        }),
    },
    venue: { terms: { feeBps: 10, slippageBps: 20 } },
    adapters: new Map([['sandbox', { quote: () => this.quote() }]]),
    wake: () => {},
  } as unknown as PlanDeps;
  readonly #routes = [
    ...strategyRoutes({ policyExists: async () => true }),
    ...planRoutes(this.deps),
    ...positionRoutes(this.deps),
  ];

  async open(over: object = {}): Promise<Json> {
    const connection = { id: 'pcn_1', provider: 'sandbox', environment: 'sandbox' } as const;
    const made = { providerWalletId: 'p', publicKey: null, addresses: [{ address: '0x1' }], balances: [] };
    const order = { id: 'wal_1', name: 'w', connection, network: 'eip155:11155111', made, nowMs: startMs };
    const wallet = walletFrom({ ...order, signingApi: 'allowed' } as unknown as Parameters<typeof walletFrom>[0]);
    const ledger = [ledgerEntry('wal_1', 'ETH', 10n * 10n ** 18n), ledgerEntry('wal_1', 'USDC', 10_000n * 10n ** 6n)];
    await done(store, this.tenant, { puts: [create(walletType, wallet)], ledger });
    return this.strategy(over);
  }

  body(over: object = {}): object {
    const targets = ['ETH', 'USDC'].map((asset) => ({ asset, weight_bps: 5_000, band_bps: 100 }));
    return { name: 'half', wallet_ids: ['wal_1'], targets, autonomy: 'human_approval', ...over };
  }

  call(operation: string, input: object = {}, who: Omit<Caller, 'tenant'> = {}): Promise<Json> {
    return call(this.#routes, operation, contextAt(this.nowMs, store, { tenant: this.tenant, ...who }), input);
  }

  strategy(over: object = {}): Promise<Json> {
    return this.call('createStrategy', { body: this.body(over) });
  }

  plan({ id: strategy_id }: Json, over: object = {}): Promise<Json> {
    return this.call('rebalance', { body: { strategy_id, ...over } });
  }

  execute({ id }: Json, who: Omit<Caller, 'tenant'> = { actorId: 'tok_2', tokenId: 'tok_2' }): Promise<Json> {
    return this.call('executePlan', { params: { id } }, who);
  }

  /** The job of the strategy's trigger. */
  look(id: string, from = store): Promise<void> {
    const clock = { nowMs: () => this.nowMs };
    return lookAtStrategy({ ...this.deps, store: from, clock, log: silentLog }, this.tenant, `${triggerPrefix}${id}`);
  }

  async stale({ id }: Json): Promise<string[]> {
    const { stale } = await this.call('getPlan', { params: { id } });
    return stale.map(({ issue }: Json) => issue);
  }
}

const ids = (items: readonly Json[]) => items.map(({ id }) => id);

describe('a strategy', () => {
  it('has the documented constraints by default', async () => {
    const { constraints, trigger } = await new Desk().open();
    expect([constraints, trigger]).toEqual([
      {
        ...{ min_trade_usd: '10', max_trade_usd: null, max_trades: 10, max_cost_bps: 100, cash_floor: null },
        ...{ cooldown_s: 0, price_tolerance_bps: 100, price_age_max_s: 60, plan_ttl_s: 300, venue_deadline_s: 600 },
      },
      { kind: 'manual', every_s: 0 },
    ]);
  });

  it('takes a largest trade from the smallest one on', async () => {
    const desk = new Desk();
    await desk.open();
    const constraints = (max_trade_usd: string) => ({ constraints: { min_trade_usd: '25', max_trade_usd } });
    expect((await desk.strategy(constraints('25'))).constraints).toMatchObject({ max_trade_usd: '25' });
    await expect(desk.strategy(constraints('24.99999999'))).rejects.toEqual(
      refusal('invalidRequest', 'constraints.max_trade_usd', 'too_small'),
    );
  });

  it('has at most 100 versions', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    const before = (await store.read(desk.tenant, strategyType, id))!;
    const versions = Array.from({ length: 99 }, (_, index) => ({ ...before.versions[0]!, strategyVersion: index + 1 }));
    await done(store, desk.tenant, { puts: [update(strategyType, before, { ...before, version: 2, versions })] });
    const next = () => desk.call('putStrategyVersion', { params: { id }, body: desk.body() });
    expect(await next()).toMatchObject({ strategy_version: 100 });
    await expect(next()).rejects.toEqual(refusal('conflict', 'strategy_version', 'too_many'));
  });

  it('is read in the version that is asked for', async () => {
    const desk = new Desk();
    const { id } = await desk.open();
    await desk.call('putStrategyVersion', { params: { id }, body: desk.body({ name: 'second' }) });
    const read = (query: object) => desk.call('getStrategy', { params: { id }, query });
    expect(await read({ version: '1' })).toMatchObject({ strategy_version: 1, name: 'half' });
    for (const query of [{}, { version: '2' }]) {
      expect(await read(query)).toMatchObject({ strategy_version: 2, name: 'second' });
    }
    await expect(read({ version: '3' })).rejects.toEqual(refusal('notFound'));
  });

  it('and its plans are listed by their fields; only what is active has positions', async () => {
    const desk = new Desk();
    const one = await desk.open();
    const later = () => {
      desk.nowMs += 1;
    };
    later();
    const two = await desk.strategy();
    const plans: Json[] = [];
    for (const strategy of [one, two, one]) {
      later();
      plans.push(await desk.plan(strategy));
    }
    const [first, second, third] = plans as [Json, Json, Json];
    await desk.call('cancelPlan', { params: { id: third.id } });
    for (const [query, expected] of [
      [{}, [third, second, first]],
      [{ strategy_id: one.id }, [third, first]],
      [{ strategy_id: two.id }, [second]],
      [{ status: 'cancelled' }, [third]],
      [{ strategy_id: one.id, status: 'proposed' }, [first]],
    ] as const) {
      expect([query, ids((await desk.call('listPlans', { query })).plans)]).toEqual([query, ids(expected)]);
    }
    await desk.call('archiveStrategy', { params: { id: one.id } });
    const strategies = async (query: object) => ids((await desk.call('listStrategies', { query })).strategies);
    expect(await strategies({})).toEqual([two.id, one.id]);
    expect(await strategies({ status: 'active' })).toEqual([two.id]);
    expect(await strategies({ status: 'archived' })).toEqual([one.id]);
    const { positions } = await desk.call('listPositions');
    expect(positions.map(({ strategy_id }: Json) => strategy_id)).toEqual([two.id]);
  });
});

it('a token that is limited to connections makes no strategy and sees none', async () => {
  const desk = new Desk();
  const strategy = await desk.open();
  const { id } = await desk.plan(strategy);
  const limited = { providerConnectionIds: ['pcn_1'] };
  await expect(desk.call('createStrategy', { body: desk.body() }, limited)).rejects.toEqual(
    refusal('insufficientScope'),
  );
  await expect(desk.call('getStrategy', { params: { id: strategy.id } }, limited)).rejects.toEqual(refusal('notFound'));
  await expect(desk.call('getPlan', { params: { id } }, limited)).rejects.toEqual(refusal('notFound'));
  for (const [operation, list] of [
    ['listStrategies', 'strategies'],
    ['listPlans', 'plans'],
    ['listPositions', 'positions'],
  ] as const) {
    expect(await desk.call(operation, {}, limited)).toMatchObject({ [list]: [], has_more: false });
  }
});

describe('a plan', () => {
  it('leaves out an asset that its provider transfers for no fee, and is not made while the provider is silent', async () => {
    const desk = new Desk();
    const strategy = await desk.open();
    desk.quote = async () => {
      throw new ProviderRejected('no', { issue: 'unsupported_asset', providerCode: 'NO' });
    };
    expect(await desk.plan(strategy)).toMatchObject({
      trades: [],
      skipped: [{ asset: 'ETH', constraint: 'not_quoted' }],
    });
    desk.quote = async () => {
      throw new ProviderUnavailable('silent');
    };
    await expect(desk.plan(strategy)).rejects.toEqual(refusal('unavailable'));
    desk.quote = async () => ({ fee: { asset: 'ETH', units: 10n * 10n ** 18n } });
    expect((await desk.plan(strategy)).skipped).toEqual([{ asset: 'ETH', constraint: 'network_fee' }]);
  });

  it('takes proposed trades of its targets, in amounts of their assets', async () => {
    const desk = new Desk();
    const strategy = await desk.open();
    const propose = (...trades: readonly object[]) => desk.plan(strategy, { proposal: { trades, rationale: 'r' } });
    const trade = { sell: 'ETH', buy: 'USDC', amount: '1' };
    expect(await propose(trade)).toMatchObject({
      origin: 'proposal',
      rationale: 'r',
      trades: [{ constraint: 'proposal' }],
    });
    for (const [over, field, issue] of [
      [{ sell: 'DOGE' }, 'sell', 'unknown_asset'],
      [{ buy: 'BTC' }, 'buy', 'unknown_asset'],
      [{ amount: '0' }, 'amount', 'must_be_positive'],
      [{ amount: '1.0000000000000000001' }, 'amount', 'too_many_decimals'],
    ] as const) {
      await expect(propose(trade, { ...trade, ...over })).rejects.toEqual(
        refusal('invalidRequest', `proposal.trades[1].${field}`, issue),
      );
    }
    await expect(propose({ ...trade, sell: 'USDC', buy: 'ETH' })).rejects.toEqual(
      refusal('providerRejected', 'proposal.trades[0]', 'wrong_side'),
    );
  });

  it('shows the least that the venue must give, and a cost with the network’s fee', async () => {
    const desk = new Desk();
    const { trades, expires_at } = await desk.plan(await desk.open());
    // 10,000 dollars of ETH; 30 bps for the venue are 30 dollars, and 0.000042 ETH are 0.126.
    expect(trades).toMatchObject([
      {
        sell: { asset: 'ETH', amount: '3.333333333333333333' },
        buy: { asset: 'USDC', amount: '9969.999999', amount_min: '9870.299999' },
        ...{ value_usd: '9999.99999999', cost_usd: '30.12599999' },
      },
    ]);
    expect(expires_at).toBe(new Date(startMs + 300_000).toISOString());
  });

  it('is made with a price of exactly the highest age, and with no older one', async () => {
    const desk = new Desk();
    const strategy = await desk.open();
    desk.asOfMs = startMs - 60_000;
    expect((await desk.plan(strategy)).trades).toHaveLength(1);
    desk.asOfMs -= 1;
    await expect(desk.plan(strategy)).rejects.toEqual(refusal('conflict', 'prices.ETH', 'price_stale'));
    desk.price = undefined;
    await expect(desk.plan(strategy)).rejects.toEqual(refusal('conflict', 'prices.ETH', 'price_missing'));
  });

  it('is stale when a price has moved by more than the tolerance, and from its end on', async () => {
    const desk = new Desk();
    const plan = await desk.plan(await desk.open());
    const moved = async (price: bigint) => {
      desk.price = price;
      return desk.stale(plan);
    };
    expect(await moved(3_030n * usd)).toEqual([]);
    expect(await moved(2_970n * usd)).toEqual([]);
    expect(await moved(3_030n * usd + 1n)).toEqual(['price_moved']);
    expect(await moved(2_970n * usd - 1n)).toEqual(['price_moved']);
    desk.price = undefined;
    expect(await desk.stale(plan)).toEqual(['price_missing']);
    desk.price = 3_000n * usd;
    desk.nowMs = startMs + 299_999;
    expect(await desk.stale(plan)).toEqual([]);
    desk.nowMs += 1;
    expect(await desk.stale(plan)).toEqual(['expired']);
    await expect(desk.execute(plan)).rejects.toEqual(refusal('conflict', 'expires_at', 'expired'));
  });

  it('under human approval needs another person with the scope to approve', async () => {
    const desk = new Desk();
    const plan = await desk.plan(await desk.open(), { dry_run: false });
    expect(plan.status).toBe('pending_approval');
    desk.price = 3_100n * usd;
    expect(await desk.stale(plan)).toEqual(['price_moved']);
    desk.price = 3_000n * usd;
    const scopes = new Set(['treasury:write'] as const);
    await expect(desk.execute(plan, { actorId: 'tok_2', scopes })).rejects.toEqual(refusal('insufficientScope'));
    for (const own of [{}, { actorId: 'tok_1', tokenId: 'its token after a rotation' }]) {
      await expect(desk.execute(plan, own)).rejects.toEqual(refusal('conflict', 'plan.asked_by', 'own_plan'));
    }
    expect(await desk.execute(plan)).toMatchObject({ status: 'executing', asked_by: 'tok_1', executed_by: 'tok_2' });
    expect((await eventTypes(store, desk.tenant)).slice(1)).toEqual(
      ['proposed', 'pending_approval', 'executing'].map((happening) => `treasury.plan.${happening}`),
    );
  });

  it('of a frozen tenant is not executed', async () => {
    const desk = new Desk();
    const plan = await desk.plan(await desk.open(), { dry_run: false });
    await setFrozen(store, desk.tenant);
    await expect(desk.execute(plan)).rejects.toEqual(frozenTenant());
    await setFrozen(store, desk.tenant, 'unfreezeTenant');
    const commit = vi.spyOn(store, 'commit').mockImplementationOnce(async (...change) => {
      await setFrozen(store, desk.tenant);
      return store.commit(...change);
    });
    await expect(desk.execute(plan)).rejects.toThrow('refused');
    commit.mockRestore();
    await setFrozen(store, desk.tenant, 'unfreezeTenant');
    expect((await desk.execute(plan)).status).toBe('executing');
  });

  it('counts nothing in a wallet that is frozen, and is stale when one is', async () => {
    const desk = new Desk();
    const strategy = await desk.open();
    const plan = await desk.plan(strategy);
    const before = (await store.read(desk.tenant, walletType, 'wal_1'))!;
    await done(store, desk.tenant, { puts: [update(walletType, before, { ...before, version: 2, status: 'frozen' })] });
    expect(await desk.stale(plan)).toEqual(['balance_moved', 'balance_moved']);
    expect([plan, await desk.plan(strategy)]).toMatchObject([
      { total_value_usd: '40000' },
      { total_value_usd: '0', trades: [] },
    ]);
  });

  it('is not executed while the strategy cools down, which takes exactly as long as it says', async () => {
    const desk = new Desk();
    const strategy = await desk.open({ constraints: { cooldown_s: 100 } });
    const plan = await desk.plan(strategy);
    const before = (await store.read(desk.tenant, strategyType, strategy.id))!;
    const after = { ...before, version: 2, lastExecutedAtMs: startMs };
    await done(store, desk.tenant, { puts: [update(strategyType, before, after)] });
    desk.nowMs = startMs + 99_999;
    await expect(desk.execute(plan)).rejects.toEqual(refusal('conflict', 'strategy', 'cooldown'));
    expect(await desk.plan(strategy)).toMatchObject({ trades: [], withheld: 'cooldown' });
    desk.nowMs += 1;
    expect((await desk.plan(strategy)).withheld).toBeNull();
    expect((await desk.execute(plan)).status).toBe('executing');
  });

  it('is called off once, with an event, and then not executed', async () => {
    const desk = new Desk();
    const plan = await desk.plan(await desk.open());
    const cancel = () => desk.call('cancelPlan', { params: { id: plan.id } });
    const cancelled = await cancel();
    expect(cancelled.status).toBe('cancelled');
    expect(await cancel()).toEqual(cancelled);
    const types = await eventTypes(store, desk.tenant);
    expect(types.filter((type) => type === 'treasury.plan.cancelled')).toHaveLength(1);
    await expect(desk.execute(plan)).rejects.toEqual(refusal('conflict', 'plan.status', 'cancelled'));
  });
});

describe('a trigger', () => {
  const inBand = {
    targets: [
      { asset: 'ETH', weight_bps: 7_500, band_bps: 1 },
      { asset: 'USDC', weight_bps: 2_500, band_bps: 1 },
    ],
  };
  const every = (kind: string) => ({ trigger: { kind, every_s: 60 } });

  it.each([
    ['interval', inBand, 1],
    ['interval', {}, 1],
    ['drift', inBand, 0],
    ['drift', {}, 1],
    ['manual', {}, 0],
  ] as const)('%s with the targets %j makes %i plans', async (kind, over, count) => {
    const desk = new Desk();
    const { id } = await desk.open({ ...over, ...every(kind) });
    desk.nowMs = startMs + 60_000;
    await desk.look(id);
    const { plans } = await desk.call('listPlans');
    expect(plans).toHaveLength(count);
    expect(plans.map(({ origin, asked_by }: Json) => [origin, asked_by])).toEqual(
      Array(count).fill(['trigger', 'tok_1']),
    );
    const { nextAtMs } = await store.takeDue(desk.tenant, 0, 1, 10);
    expect(nextAtMs).toBe(kind === 'manual' ? undefined : startMs + 120_000);
  });

  it('without prices makes no plan until the next time; while the store is silent it stays due', async () => {
    const desk = new Desk();
    const { id } = await desk.open(every('interval'));
    desk.nowMs = startMs + 60_000;
    const dueMs = async () => (await store.takeDue(desk.tenant, 0, 1, 10)).nextAtMs;
    const silent = {
      read: store.read.bind(store),
      commit: store.commit.bind(store),
      readWithBalances: () => Promise.reject(new StoreUnavailable('silent')),
    } as unknown as TenantStore;
    await expect(desk.look(id, silent)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await dueMs()).toBe(startMs + 60_000);
    desk.price = undefined;
    await desk.look(id);
    expect(await dueMs()).toBe(startMs + 120_000);
    expect((await desk.call('listPlans')).plans).toEqual([]);
  });

  it('makes no plan of a strategy that changes meanwhile', async () => {
    const desk = new Desk();
    const { id } = await desk.open(every('interval'));
    desk.quote = async () => {
      desk.quote = async () => ({ fee: { asset: 'ETH', units: 1n } });
      await desk.call('putStrategyVersion', { params: { id }, body: desk.body(every('interval')) });
      return desk.quote();
    };
    await desk.look(id);
    expect((await desk.call('listPlans')).plans).toEqual([]);
    await desk.look(id);
    expect((await desk.call('listPlans')).plans).toMatchObject([{ strategy_version: 2 }]);
  });
});

describe('a venue that stays silent', () => {
  /** The trade after one look at the venue, that much later than the trade's deadline. */
  async function tradeAfter(lateMs: number, over: object): Promise<Json> {
    const tenant = newTenant();
    const actor = { tenant, environment: 'sandbox', tokenId: 'tok_1', actorId: 'tok_1' } as const;
    const times = { createdAtMs: startMs, updatedAtMs: startMs };
    const strategy = { id: 'stg_1', version: 1, status: 'active', executingPlanId: 'pln_1', versions: [{}], ...times };
    const trade = {
      ...{
        sell: { asset: 'ETH', walletId: 'w', units: '1' },
        buy: { asset: 'USDC', walletId: 'w', units: '1', unitsMin: '1' },
      },
      ...{
        value: '1',
        cost: '0',
        bound: 'sell_target',
        status: 'exchanging',
        reason: 'venue_unavailable',
        intentIds: [],
      },
      ...{ soldUnits: null, boughtUnits: null, refusal: null, venueDeadlineMs: startMs, ...over },
    };
    const plan = {
      ...{ id: 'pln_1', version: 1, strategyId: 'stg_1', status: 'overdue' in over ? 'failed' : 'executing', ...times },
      ...{ asker: actor, executor: actor, prices: [], holdings: [], positions: [], skipped: [], totalValue: '0' },
      ...{ expiresAtMs: startMs, trades: [trade] },
    } as unknown as PlanRecord;
    const member = `${planPrefix}pln_1`;
    const puts = [create(strategyType, strategy as unknown as StrategyRecord), create(planType, plan)];
    await done(store, tenant, { puts, due: [{ member, atMs: startMs }] });
    const silent = async () => {
      throw new ProviderUnavailable('silent');
    };
    const intents = { store, log: silentLog, clock: { nowMs: () => startMs + lateMs } };
    await executePlan({ intents, venue: { trade: silent } } as unknown as ExecutionDeps, tenant, member);
    const { status, trades } = (await store.read(tenant, planType, 'pln_1'))!;
    const { nextAtMs } = await store.takeDue(tenant, 0, 1, 10);
    return [status, trades[0]!.status, trades[0]!.reason, nextAtMs === undefined ? null : nextAtMs - startMs - lateMs];
  }

  it('holds the plan until its deadline, and is asked every minute for four weeks after it', async () => {
    expect(await tradeAfter(-1, {})).toEqual(['executing', 'exchanging', 'venue_unavailable', 500]);
    expect(await tradeAfter(0, {})).toEqual(['failed', 'exchanging', 'venue_silent', 60_000]);
    const overdue = { overdue: true, reason: 'venue_silent' };
    expect(await tradeAfter(28 * dayMs - 1, overdue)).toEqual(['failed', 'exchanging', 'venue_silent', 60_000]);
    expect(await tradeAfter(28 * dayMs, overdue)).toEqual(['failed', 'failed', 'venue_silent', null]);
  });
});
