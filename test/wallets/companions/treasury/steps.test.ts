/** The steps of a trade, each from a stored plan: their effect on the trade, the venue account, the plan and its strategy. */

import { beforeAll, describe, expect, it } from 'vitest';
import { silentLog, systemRandom } from '../../../../core/actors/live/ports.ts';
import { exchangeRecordId, exchangeType } from '../../../../wallets/companions/treasury/exchange-record.ts';
import { type ExecutionDeps, executePlan } from '../../../../wallets/companions/treasury/execution.ts';
import {
  type PlanRecord,
  planPrefix,
  planType,
  type TradeRecord,
} from '../../../../wallets/companions/treasury/plan-record.ts';
import { type StrategyRecord, strategyType } from '../../../../wallets/companions/treasury/strategy-record.ts';
import { type ConnectionRecord, connectionType } from '../../../../wallets/custody/connections/record.ts';
import { type IntentRecord, intentType } from '../../../../wallets/custody/intents/record.ts';
import { walletFrom } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import type { NetworkId } from '../../../../wallets/networks/networks.ts';
import { ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { ledgerEntry } from '../../../support/ledger-entry.ts';
import { done, newTenant, startMemoryStore } from '../../../support/memory-store.ts';
import { eventTypes, setFrozen } from '../support/handlers.ts';

const startMs = Date.UTC(2026, 5, 15, 12);
const network: NetworkId = 'eip155:11155111';
const times = { createdAtMs: startMs, updatedAtMs: startMs };
const member = `${planPrefix}pln_1`;
let store: TenantStore;
beforeAll(async () => {
  store = await startMemoryStore().open({ nowMs: () => startMs });
});

/** A plan with one trade of 9 ETH units for USDC units, and a venue account that holds 9 and 20 of them. */
class Desk {
  readonly tenant = newTenant();
  /** What the venue was asked, in order. */
  readonly asked: unknown[] = [];
  trade: () => Promise<object> = silent;
  settle: () => Promise<void> = async () => {};
  quote: () => Promise<object> = silent;

  async open(trade: Partial<TradeRecord>, strategy: Partial<StrategyRecord> = {}): Promise<this> {
    const connection: ConnectionRecord = {
      ...{ id: 'pcn_v', version: 1, provider: 'sandbox', name: 'Venue', environment: 'sandbox', status: 'connected' },
      ...{ capabilities: [], credentials: '', credentialFingerprint: '', metadata: {}, lastSyncedAtMs: null, ...times },
    };
    const wallets = ['wal_v', 'wal_1'].map((id, index) => {
      const addresses = [{ network, address: `0x${String(index + 1).repeat(40)}` }];
      const made = { providerWalletId: `at-${id}`, publicKey: null, addresses, balances: [] };
      return walletFrom({ id, name: id, connection, network, made, nowMs: startMs, signingApi: 'allowed' });
    });
    const accounts = { id: 'venue-accounts', version: 1, connectionId: 'pcn_v', wallets: { [network]: 'wal_v' } };
    const actor = { tenant: this.tenant, environment: 'sandbox', tokenId: 'tok_1', actorId: 'tok_1' } as const;
    const plan = {
      ...{ id: 'pln_1', version: 1, strategyId: 'stg_1', strategyVersion: 1, status: 'executing', origin: 'request' },
      ...{
        asker: actor,
        executor: { ...actor, actorId: 'tok_2' },
        rationale: null,
        prices: [],
        holdings: [],
        positions: [],
        skipped: [],
      },
      ...{ totalValue: '0', withheld: null, expiresAtMs: startMs, ...times, trades: [{ ...planned, ...trade }] },
    } as PlanRecord;
    const held = { id: 'stg_1', version: 1, status: 'active', executingPlanId: 'pln_1', lastExecutedAtMs: startMs };
    const versions = [{ policy: null, constraints: {} }] as never;
    await done(store, this.tenant, {
      puts: [
        create(connectionType, connection),
        ...wallets.map((wallet) => create(walletType, wallet)),
        create({ name: 'venue_accounts', status: () => '', indices: () => [] }, accounts),
        create(strategyType, { ...held, versions, ...times, ...strategy } as StrategyRecord),
        create(planType, plan),
      ],
      ledger: [ledgerEntry('wal_1', 'ETH', 99n), ledgerEntry('wal_v', 'ETH', 9n), ledgerEntry('wal_v', 'USDC', 20n)],
      due: [{ member, atMs: startMs }],
    });
    return this;
  }

  async intent(id: string, status: string, subStatus: string | null = null): Promise<this> {
    const record = {
      id,
      version: 1,
      walletId: 'wal_1',
      connectionId: 'pcn_v',
      destination: {},
      metadata: {},
      status,
      subStatus,
    };
    await done(store, this.tenant, { puts: [create(intentType, record as unknown as IntentRecord)] });
    return this;
  }

  async run(): Promise<this> {
    const venue = {
      trade: (_: unknown, order: object) => {
        this.asked.push(order);
        return this.trade();
      },
      settle: (_: unknown, order: object) => {
        this.asked.push(order);
        return this.settle();
      },
    };
    const adapter = { quote: () => this.quote(), info: { capabilities: [] } };
    const adapters = new Map([['sandbox', adapter]]);
    const intents = { store, log: silentLog, random: systemRandom, clock: { nowMs: () => startMs + 1 } };
    const deps = {
      intents: { ...intents, adapters, evaluators },
      venue,
      accounts: { adapters },
      driver: { enqueue: () => {} },
    };
    await executePlan(deps as unknown as ExecutionDeps, this.tenant, member);
    return this;
  }

  async plan(): Promise<PlanRecord> {
    return (await store.read(this.tenant, planType, 'pln_1'))!;
  }

  /** Status of the plan, and status and reason of its trade. */
  async standing(): Promise<readonly unknown[]> {
    const { status, trades } = await this.plan();
    return [status, trades[0]!.status, trades[0]!.reason];
  }

  async account(): Promise<readonly unknown[]> {
    const { balances } = (await store.readWithBalances(this.tenant, walletType, 'wal_v'))!;
    return ['ETH', 'USDC'].map((asset) => balances.get(asset)?.available ?? 0n);
  }

  /** Milliseconds after the run until the plan is due again. */
  async dueIn(): Promise<number | undefined> {
    const { nextAtMs } = await store.takeDue(this.tenant, 0, 1, 10);
    return nextAtMs && nextAtMs - startMs - 1;
  }
}

const silent = async (): Promise<never> => {
  throw new ProviderUnavailable('silent');
};
const evaluators = {
  screen: async () => ({ result: { id: 'scr_1', decision: 'clear', riskScore: 0, matches: [] }, change: {} }),
  assess: async () => ({ result: { score: 0, level: 'low', action: 'allow', factors: [] }, change: {} }),
  decide: async () => ({ result: { id: 'dec_1', decision: 'allow', policy: { name: 'default' } }, change: {} }),
  receipt: () => '',
};
const planned: TradeRecord = {
  sell: { asset: 'ETH', walletId: 'wal_1', units: '9' },
  buy: { asset: 'USDC', walletId: 'wal_1', units: '30', unitsMin: '25' },
  ...{ value: '1', cost: '0', bound: 'sell_target', status: 'planned', reason: null, intentIds: [] },
  ...{ soldUnits: null, boughtUnits: null, refusal: null },
};
const paid = { intentIds: ['txi_pay'] };
const returning = { ...paid, status: 'returning', soldUnits: '9', boughtUnits: '30' } as const;

it('a plan of a frozen tenant stays where it is until it is unfrozen', async () => {
  const desk = await (await new Desk().open({ ...paid, status: 'paying' })).intent('txi_pay', 'completed');
  const before = await desk.plan();
  await setFrozen(store, desk.tenant);
  await desk.run();
  expect([await desk.plan(), await desk.dueIn(), desk.asked]).toEqual([before, 5_000, []]);
  await setFrozen(store, desk.tenant, 'unfreezeTenant');
  await desk.run();
  expect(desk.asked).not.toEqual([]);
});

describe('a payment', () => {
  it.each([
    ['approved', 'TOKEN_FROZEN', ['executing', 'paying', 'transfer_approved: TOKEN_FROZEN'], 500],
    ['confirming', null, ['executing', 'paying', 'transfer_confirming'], 500],
    ['completed', 'NOT_FINAL', ['executing', 'paying', 'transfer_completed: NOT_FINAL'], 500],
    ['completed', null, ['executing', 'exchanging', 'venue_unavailable'], 500],
    ['failed', 'NO', ['failed', 'failed', 'payment_failed'], undefined],
    ['denied', null, ['failed', 'failed', 'payment_denied'], undefined],
  ] as const)('that is %s %s leaves the trade %j', async (status, subStatus, standing, dueIn) => {
    const desk = await (await new Desk().open({ ...paid, status: 'paying' })).intent('txi_pay', status, subStatus);
    await desk.run();
    expect([await desk.standing(), await desk.dueIn()]).toEqual([standing, dueIn]);
    const { version } = await desk.plan();
    await desk.run();
    // A reason to wait is recorded once.
    expect((await desk.plan()).version).toBe(version);
  });

  it('waits for a provider that is silent, and no bug of ours ends the trade', async () => {
    const desk = await new Desk().open({});
    await desk.run();
    expect(await desk.standing()).toEqual(['executing', 'planned', 'provider_unavailable']);
    desk.quote = async () => {
      throw new TypeError('a bug');
    };
    await expect(desk.run()).rejects.toMatchObject({ kind: 'internalError' });
    expect(await desk.standing()).toEqual(['executing', 'planned', 'provider_unavailable']);
  });

  it('and a return are transfers in the name of the token that executes the plan', async () => {
    const fee = { asset: 'ETH', units: 1n };
    const back = { status: 'returning', soldUnits: '9', boughtUnits: '15' } as const;
    for (const [trade, intentIds, status, expected] of [
      [
        {},
        [],
        'paying',
        { walletId: 'wal_1', asset: 'ETH', units: '9', destination: { address: `0x${'1'.repeat(40)}` } },
      ],
      [
        back,
        ['txi_pay'],
        'returning',
        { walletId: 'wal_v', asset: 'USDC', units: '15', destination: { address: `0x${'2'.repeat(40)}` } },
      ],
    ] as const) {
      const desk = await new Desk().open({ ...trade, intentIds } as Partial<TradeRecord>);
      desk.quote = async () => ({ fee });
      await desk.run();
      expect(await desk.standing()).toEqual(['executing', status, 'transfer_approved']);
      const ids = (await desk.plan()).trades[0]!.intentIds;
      expect(ids.slice(0, -1)).toEqual(intentIds);
      const origin = { kind: 'treasury-plan', id: 'pln_1' };
      expect(await store.read(desk.tenant, intentType, ids.at(-1)!)).toMatchObject({
        ...{
          initiator: 'tok_2',
          origin,
          metadata: { trade: 0 },
          feeReserve: { asset: 'ETH', units: '1' },
          ...expected,
        },
      });
    }
  });

  it('is not made to a venue account that cannot pay back', async () => {
    const desk = await new Desk().open({});
    const before = (await store.read(desk.tenant, walletType, 'wal_v'))!;
    await done(store, desk.tenant, { puts: [update(walletType, before, { ...before, version: 2, status: 'frozen' })] });
    await desk.run();
    expect(await desk.standing()).toEqual(['failed', 'failed', 'venue_account_frozen']);
  });
});

describe('an exchange', () => {
  it('changes the venue account by what was filled, and is booked at the venue afterwards', async () => {
    const desk = await new Desk().open({ ...paid, status: 'exchanging' });
    desk.trade = async () => ({ kind: 'filled', soldUnits: 5n, boughtUnits: 17n });
    await desk.run();
    expect(await desk.account()).toEqual([4n, 37n]);
    const { trades } = await desk.plan();
    expect(trades[0]).toMatchObject({ status: 'returning', soldUnits: '5', boughtUnits: '17', refusal: null });
    const order = { sell: { asset: 'ETH', units: 9n }, buy: { asset: 'USDC', unitsMin: 25n } };
    const entries = [
      { wallet: 'at-wal_v', asset: 'ETH', units: -5n },
      { wallet: 'at-wal_v', asset: 'USDC', units: 17n },
    ];
    expect(desk.asked).toEqual([
      { id: 'pln_1/0', ...order },
      { id: 'pln_1/0', entries },
    ]);
    expect(await store.read(desk.tenant, exchangeType, exchangeRecordId('pln_1/0', 'wal_v'))).toMatchObject({
      walletId: 'wal_v',
      orderId: 'pln_1/0',
      effect: entries.map(({ asset, units }) => ({ asset, units: String(units) })),
    });
  });

  it('is not ended by a bug of ours', async () => {
    const desk = await new Desk().open({ ...paid, status: 'exchanging' });
    desk.trade = async () => {
      throw new TypeError('a bug');
    };
    await expect(desk.run()).rejects.toThrow('a bug');
    expect(await desk.standing()).toEqual(['executing', 'exchanging', null]);
  });

  it('fails where the venue account holds less than was sold', async () => {
    const desk = await new Desk().open({ ...paid, status: 'exchanging' });
    desk.trade = async () => ({ kind: 'filled', soldUnits: 10n, boughtUnits: 17n });
    await desk.run();
    expect([await desk.standing(), await desk.account()]).toEqual([
      ['failed', 'failed', 'venue_account_overdrawn'],
      [9n, 20n],
    ]);
  });

  it('that the venue refuses changes nothing, and is not booked there', async () => {
    const desk = await new Desk().open({ ...paid, status: 'exchanging' });
    desk.trade = async () => ({ kind: 'refused', reason: 'below_minimum' });
    await desk.run();
    expect((await desk.plan()).trades[0]).toMatchObject({
      ...{ status: 'returning', soldUnits: '0', boughtUnits: '0', refusal: 'below_minimum' },
      ...{ reason: 'provider_unavailable' },
    });
    expect([desk.asked.length, await desk.account()]).toEqual([1, [9n, 20n]]);
  });
});

describe('a return', () => {
  it('begins when the venue has booked the exchange, which it is asked for until the first transfer is opened', async () => {
    const desk = await new Desk().open(returning);
    desk.settle = silent;
    await desk.run();
    expect(await desk.standing()).toEqual(['executing', 'returning', 'venue_unavailable']);
    desk.settle = async () => {};
    await desk.run();
    expect([await desk.standing(), desk.asked.length]).toEqual([['executing', 'returning', 'provider_unavailable'], 2]);
    const other = await new Desk().open({ ...returning, intentIds: ['txi_pay', 'txi_1'] });
    await (await other.intent('txi_1', 'signing')).run();
    expect([await other.standing(), other.asked]).toEqual([['executing', 'returning', 'transfer_signing'], []]);
    const early = await new Desk().open({ ...returning, intentIds: ['txi_pay', 'txi_1'] });
    await (await early.intent('txi_1', 'completed', 'NOT_FINAL')).run();
    expect(await early.standing()).toEqual(['executing', 'returning', 'transfer_completed: NOT_FINAL']);
  });

  it.each([
    ['all', {}, ['completed'], ['completed', 'completed', null]],
    ['a part', { soldUnits: '5' }, ['completed', 'completed'], ['completed', 'completed', 'venue_filled_in_part']],
    [
      'nothing',
      { soldUnits: '0', boughtUnits: '0', refusal: 'no_price' },
      ['completed'],
      ['failed', 'failed', 'venue_no_price'],
    ],
    ['all', {}, ['cancelled'], ['failed', 'failed', 'return_cancelled']],
    ['a part', { soldUnits: '5' }, ['completed', 'failed'], ['failed', 'failed', 'return_failed']],
    ['a part', { soldUnits: '5' }, ['failed', 'confirming'], ['executing', 'returning', 'transfer_confirming']],
  ] as const)('of %s %j by transfers that are %j is %j', async (_, over, statuses, standing) => {
    const ids = statuses.map((_, index) => `txi_${index}`);
    const desk = await new Desk().open({
      ...returning,
      ...over,
      intentIds: ['txi_pay', ...ids],
    } as Partial<TradeRecord>);
    for (const [index, status] of statuses.entries()) await desk.intent(ids[index]!, status);
    await desk.run();
    expect(await desk.standing()).toEqual(standing);
  });

  it('goes to no wallet that is archived', async () => {
    const desk = await new Desk().open(returning);
    const before = (await store.read(desk.tenant, walletType, 'wal_1'))!;
    await done(store, desk.tenant, {
      puts: [update(walletType, before, { ...before, version: 2, status: 'archived' })],
    });
    await desk.run();
    expect(await desk.standing()).toEqual(['failed', 'failed', 'return_wallet_archived']);
  });
});

it('a plan ends with one event, is due no more, and frees the strategy that executes it, and no other', async () => {
  for (const [executingPlanId, left] of [
    ['pln_1', null],
    ['pln_2', 'pln_2'],
  ] as const) {
    const desk = await new Desk().open({ ...returning, intentIds: ['txi_pay', 'txi_1'] }, { executingPlanId });
    await (await desk.intent('txi_1', 'completed')).run();
    const types = await eventTypes(store, desk.tenant);
    expect(types).toEqual(['treasury.plan.updated', 'treasury.plan.completed']);
    expect([(await desk.plan()).version, await desk.dueIn()]).toEqual([3, undefined]);
    expect((await store.read(desk.tenant, strategyType, 'stg_1'))!.executingPlanId).toBe(left);
  }
});
