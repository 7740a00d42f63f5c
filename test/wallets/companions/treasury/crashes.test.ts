/**
 * A process that executes a plan dies at each of its calls of a port that have an effect, before the effect and after it. Another
 * process finishes the plan: the same transfers, one exchange, and two books that agree at every death.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLog, systemPorts, systemRandom } from '../../../../core/actors/live/ports.ts';
import { newId } from '../../../../proto/ids.ts';
import { balanceStep } from '../../../../wallets/companions/recon/balance-step.ts';
import type { ComparisonFinding } from '../../../../wallets/companions/recon/exception-record.ts';
import { WalletSources } from '../../../../wallets/companions/recon/sources.ts';
import { transactionStep } from '../../../../wallets/companions/recon/wallet-steps.ts';
import { exchangeRecordId, exchangeType } from '../../../../wallets/companions/treasury/exchange-record.ts';
import { executePlan } from '../../../../wallets/companions/treasury/execution.ts';
import { type PlanRecord, planPrefix, planType } from '../../../../wallets/companions/treasury/plan-record.ts';
import { type StrategyRecord, strategyType } from '../../../../wallets/companions/treasury/strategy-record.ts';
import { connectionType } from '../../../../wallets/custody/connections/record.ts';
import type { IntentDependencies } from '../../../../wallets/custody/intents/dependencies.ts';
import { type IntentRecord, intentType, ofWalletIndex } from '../../../../wallets/custody/intents/record.ts';
import { IntentSteps } from '../../../../wallets/custody/intents/steps.ts';
import { VoteSeal } from '../../../../wallets/custody/intents/votes.ts';
import { initialLedger, walletFrom } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { type WalletRecord, walletType } from '../../../../wallets/custody/wallets/record.ts';
import { formatAmount } from '../../../../wallets/networks/amounts.ts';
import type { NetworkId } from '../../../../wallets/networks/networks.ts';
import { makeEvaluators } from '../../../../wallets/policy/policies/public.ts';
import { receiptSigner } from '../../../../wallets/policy/receipts/public.ts';
import { providerAdapters } from '../../../../wallets/providers/adapters.ts';
import { custodianBooks } from '../../../../wallets/providers/books.ts';
import { type Chains, openChains } from '../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../wallets/providers/chains/redis-ledgers.ts';
import { arrivals } from '../../../../wallets/providers/incoming-transfers.ts';
import { marketConditionsType, noConditions } from '../../../../wallets/providers/market/conditions.ts';
import { simulatedPrices } from '../../../../wallets/providers/market/prices.ts';
import { simulatedVenue } from '../../../../wallets/providers/market/venue.ts';
import { makeSelfHosted } from '../../../../wallets/providers/self-hosted/adapter.ts';
import { RedisCustodianBooks } from '../../../../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../../../../wallets/providers/simulated/redis-custodian-records.ts';
import { providerStatements } from '../../../../wallets/providers/statements.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { RedisAddressBook } from '../../../../wallets/store/redis-address-book.ts';
import { type StoreUnderTest, startStore } from '../../../support/store.ts';
import { isThorough, runs } from '../../../support/thorough.ts';
import { devnet, fakeSigner, sepolia } from '../../providers/self-hosted/support.ts';

const clock = { atMs: Date.UTC(2026, 0, 1), nowMs: () => clock.atMs };
let redis: StoreUnderTest;
let store: TenantStore;
let chains: Chains;

beforeAll(async () => {
  redis = await startStore();
  store = await redis.open(clock);
  chains = openChains({ ledgers: redisLedgers(redis.redis), blockMs: 20 });
});
afterAll(() => redis?.stop());

/** Ends a process at its n-th call with an effect, counted from 1: no later one takes effect. */
class Death {
  calls = 0;
  isDead = false;

  constructor(
    readonly at: number,
    readonly side: 'before' | 'after',
  ) {}

  /** The port; the methods that are named have effects. */
  of<T extends object>(port: T, methods: readonly (keyof T)[]): T {
    return new Proxy(port, {
      get: (target, name) => {
        const value = target[name as keyof T];
        if (typeof value !== 'function') return value;
        if (!methods.includes(name as keyof T)) return value.bind(target);
        return async (...args: unknown[]) => {
          if (this.isDead) throw new Error('the process died');
          this.calls += 1;
          this.isDead = this.calls === this.at;
          if (this.isDead && this.side === 'before') throw new Error('the process died');
          const result: unknown = await value.apply(target, args);
          if (this.isDead) throw new Error('the process died');
          return result;
        };
      },
    });
  }
}

const books = (kind: ConstructorParameters<typeof RedisCustodianBooks>[1]) =>
  new RedisCustodianBooks(redis.redis, kind);

/** What a process is handed. */
function processOf(death: Death) {
  const selfHosted = makeSelfHosted({ signer: fakeSigner(), chains });
  const plain = providerAdapters({
    selfHosted,
    books,
    records: (kind) => new RedisCustodianRecords(redis.redis, kind),
    sleep: async () => {},
  });
  const adapters = new Map([...plain].map(([kind, each]) => [kind, death.of(each, ['createWallet'])]));
  const mortalStore = death.of(store, ['commit']);
  const addressBook = death.of(new RedisAddressBook(redis.redis), ['register']);
  const holders = custodianBooks(books);
  const intents: IntentDependencies = {
    ...systemPorts,
    ...{ clock, adapters, addressBook, store: mortalStore, log: silentLog, environment: 'sandbox' },
    evaluators: makeEvaluators({ signer: receiptSigner(new Uint8Array(32).fill(9)) }),
    votes: new VoteSeal(new Uint8Array(32).fill(9)),
    fillGap: selfHosted.fillGap,
    arrive: arrivals({ chains, books: holders }),
  };
  const prices = simulatedPrices(store, 'crashes');
  const venue = simulatedVenue(new RedisCustodianRecords(redis.redis, 'sandbox'), prices, {
    exchange: (...args) => exchanging.exchange(...args),
  });
  const exchanging = death.of(holders.sandbox, ['exchange']);
  return {
    intents,
    driver: { enqueue: () => {} },
    venue: death.of(venue, ['trade', 'settle']),
    accounts: { adapters, addressBook },
  };
}

const immortal = () => processOf(new Death(0, 'before'));

const lagMs = 60_000;

interface Scene {
  readonly tenant: string;
  readonly plan: PlanRecord;
  readonly wallets: readonly WalletRecord[];
}

/** A plan of one trade, ETH for SOL, of which the venue fills a part: three transfers, and an exchange in two wallets. */
async function scene(name: string): Promise<Scene> {
  const tenant = `tn_${name}`;
  const id = (prefix: 'pcn' | 'wal' | 'stg' | 'pln') => newId(prefix, clock.nowMs(), systemRandom);
  const nowMs = clock.nowMs();
  const times = { createdAtMs: nowMs, updatedAtMs: nowMs };
  const { intents } = immortal();
  const sandbox = intents.adapters.get('sandbox')!;
  const connection = { id: id('pcn'), provider: 'sandbox', environment: 'sandbox' } as const;
  const record = { ...connection, ...times, version: 1, name, status: 'connected', capabilities: [] } as const;
  const rest = { credentials: '', credentialFingerprint: '', metadata: {}, lastSyncedAtMs: null } as const;
  await store.commit(tenant, { puts: [create(connectionType, { ...record, ...rest })] });
  const meta = { tenant, nowMs, correlationId: '', traceparent: '' };
  const walletOn = async (network: NetworkId): Promise<WalletRecord> => {
    const walletId = id('wal');
    const made = await sandbox.createWallet(meta, connection, { walletId, name, network });
    const wallet = walletFrom({ id: walletId, name, connection, network, made, nowMs, signingApi: 'allowed' });
    const ledger = initialLedger(walletId, made.balances);
    await new RedisAddressBook(redis.redis).register(network, wallet.addresses[0]!.address, { tenant, walletId });
    await store.commit(tenant, { puts: [create(walletType, wallet)], ledger });
    return wallet;
  };
  const wallets = [await walletOn(sepolia), await walletOn(devnet)] as const;
  const venue = { mode: 'partial', fillBps: 4_000, slippageBps: 0 } as const;
  const prices = { ETH: { kind: 'set', price: '300000000000' }, SOL: { kind: 'set', price: '15000000000' } } as const;
  const actor = { tenant, environment: 'sandbox', tokenId: 'tok_1', actorId: 'tok_1' } as const;
  const strategy = {
    ...{ id: id('stg'), version: 1, status: 'active', lastExecutedAtMs: nowMs, ...times },
    versions: [{ policy: null }],
  } as unknown as StrategyRecord;
  const plan = {
    ...{ id: id('pln'), version: 1, strategyId: strategy.id, strategyVersion: 1, status: 'executing', ...times },
    ...{ origin: 'request', rationale: null, asker: actor, executor: actor, expiresAtMs: nowMs + 1 },
    ...{ prices: [], holdings: [], positions: [], skipped: [], withheld: null, totalValue: '0' },
    trades: [
      {
        sell: { asset: 'ETH', walletId: wallets[0].id, units: '1000000000000000000' },
        buy: { asset: 'SOL', walletId: wallets[1].id, units: '1', unitsMin: '1' },
        ...{ value: '1', cost: '0', bound: 'sell_target', status: 'planned', reason: null, intentIds: [] },
        ...{ soldUnits: null, boughtUnits: null, refusal: null },
      },
    ],
  } as PlanRecord;
  const puts = [
    create(strategyType, { ...strategy, executingPlanId: plan.id }),
    create(planType, plan),
    create(marketConditionsType, { ...noConditions, version: 1, venue, prices }),
  ];
  await store.commit(tenant, { puts });
  return { tenant, plan, wallets };
}

/** Every transfer of the tenant's wallets comes to its end. */
async function settleTransfers({ tenant }: Scene): Promise<void> {
  const { intents } = immortal();
  const steps = new IntentSteps(intents);
  for (const { id } of await transfersOf(tenant)) {
    for (;;) {
      const task = { tenant, id, record: undefined, wallet: undefined, number: null, dueAtMs: 0 } as const;
      const next = await steps.run(task, () => false);
      if (next === undefined) break;
      clock.atMs = Math.max(clock.atMs, next.atMs);
    }
  }
}

async function transfersOf(tenant: string): Promise<IntentRecord[]> {
  const wallets = await walletsOf(tenant);
  const pages = await Promise.all(
    wallets.map(({ id }) => store.list(tenant, intentType, { ...oldest, indices: [ofWalletIndex(id)] })),
  );
  return pages.flatMap(({ items }) => items);
}

const oldest = { order: 'oldest', limit: 100 } as const;

async function walletsOf(tenant: string): Promise<readonly WalletRecord[]> {
  return (await store.list(tenant, walletType, { ...oldest, indices: ['wallets'] })).items;
}

/** What jobs of both kinds would find now. */
async function differences({ tenant }: Scene): Promise<Array<ComparisonFinding | string>> {
  const nowMs = clock.nowMs();
  const terms = {
    nowMs,
    lagMs,
    tolerance: { absolute: '0', bps: 0 },
    asset: null,
    window: { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER },
  };
  const statements = providerStatements({ books, chains }).get('sandbox')!;
  const found: Array<ComparisonFinding | string> = [];
  for (const wallet of await walletsOf(tenant)) {
    const meta = { tenant, nowMs, correlationId: '', traceparent: '' };
    const sources = new WalletSources(store, statements, () => meta, wallet);
    const balances = async () => (await store.readWithBalances(tenant, walletType, wallet.id))!.balances;
    const { findings, isUnsettled } = await balanceStep(sources, balances, terms);
    found.push(...findings, ...(isUnsettled ? [`${wallet.id} is unsettled`] : []));
    let place: Awaited<ReturnType<typeof transactionStep>>['next'] = { phase: 'transfers', after: null };
    while (place !== undefined && place.phase !== 'balances') {
      const step: Awaited<ReturnType<typeof transactionStep>> = await transactionStep(
        sources,
        place.phase,
        place.after,
        terms,
      );
      found.push(...step.findings);
      place = step.next;
    }
  }
  return found;
}

async function holdings({ tenant }: Scene): Promise<Record<string, bigint>> {
  const sums: Record<string, bigint> = {};
  for (const { id, name } of await walletsOf(tenant)) {
    const { balances } = (await store.readWithBalances(tenant, walletType, id))!;
    for (const [asset, { available, reserved }] of balances)
      sums[`${name.startsWith('Venue') ? name : 'own'} ${asset}`] = available + reserved;
  }
  return sums;
}

/** Executes the plan to its end, dying once; says whether it came to die. */
async function run(each: Scene, death: Death): Promise<boolean> {
  const { tenant, plan } = each;
  const member = `${planPrefix}${plan.id}`;
  const mortal = processOf(death);
  for (let round = 0; round < 20; round += 1) {
    const hadDied = death.isDead;
    try {
      await executePlan(hadDied ? immortal() : mortal, tenant, member);
    } catch (error) {
      if (hadDied || !death.isDead) throw error;
    }
    expect(await differences(each), `after ${death.side} ${death.at}`).toEqual([]);
    if ((await store.read(tenant, planType, plan.id))?.status !== 'executing') return death.isDead;
    await settleTransfers(each);
    clock.atMs += 500;
  }
  throw new Error('the plan does not end');
}

it('a plan ends the same wherever its executor dies, and no job of reconciliation finds a difference', async () => {
  const whole = await scene('whole');
  const death = new Death(0, 'before');
  await run(whole, death);
  const expected = await holdings(whole);
  expect(expected['Venue Solana Devnet SOL']).toBeGreaterThan(0n);
  for (let at = 1; at <= death.calls; at += runs(2, 1)) {
    // What a death after a call leaves stored is what a death before the next call leaves.
    for (const side of isThorough || at === 1 ? (['before', 'after'] as const) : (['after'] as const)) {
      const name = `${side}-${at}`;
      const each = await scene(name);
      expect(await run(each, new Death(at, side)), name).toBe(true);
      const plan = (await store.read(each.tenant, planType, each.plan.id))!;
      expect(plan.trades[0], name).toMatchObject({ status: 'completed', reason: 'venue_filled_in_part' });
      expect(await transfersOf(each.tenant), name).toHaveLength(3);
      expect(await holdings(each), name).toEqual(expected);
      clock.atMs += lagMs;
      expect(await differences(each), `${name}, when nothing is set aside any more`).toEqual([]);
    }
  }
});

it('a transactions job finds an exchange that one side has booked alone, or otherwise', async () => {
  const each = await scene('planted');
  await run(each, new Death(0, 'before'));
  clock.atMs += lagMs;
  expect(await differences(each)).toEqual([]);
  const { tenant, plan } = each;
  const venue = (await walletsOf(tenant)).find(({ name }) => name === 'Venue Ethereum Sepolia')!;
  const movements = async () => {
    const all = (await differences(each)).filter((found) => typeof found !== 'string');
    return all
      .filter(({ subject }) => subject === 'movement')
      .map(({ type, asset, delta, internal, external }) => [type, asset, delta, internal?.kind, external?.reference]);
  };
  // The venue exchanges what we know nothing of.
  const { sandbox } = custodianBooks(books);
  const effect = [{ asset: 'ETH', units: -5n * 10n ** 17n }];
  await sandbox.exchange(tenant, { wallet: venue.providerWalletId, id: 'of-its-own', effect, atMs: clock.nowMs() });
  clock.atMs += lagMs;
  const foreign = ['missing_internal', 'ETH', '-0.5', undefined, 'exchange/of-its-own/ETH'];
  expect(await movements()).toEqual([foreign]);
  // Our ledger has an exchange that the venue never made, and one of another amount.
  const ofPlan = `${plan.id}/0`;
  const known = (await store.read(tenant, exchangeType, exchangeRecordId(ofPlan, venue.id)))!;
  const [{ asset, units }] = known.effect as [{ asset: string; units: string }];
  const other = { ...known, version: 2, effect: [{ asset, units: String(BigInt(units) - 10n ** 17n) }] };
  const imagined = { ...known, id: exchangeRecordId('imagined', venue.id), orderId: 'imagined', version: 1 };
  await store.commit(tenant, { puts: [update(exchangeType, known, other), create(exchangeType, imagined)] });
  const sold = formatAmount(-BigInt(units), 18);
  expect((await movements()).sort()).toEqual([
    ['amount_mismatch', 'ETH', '0.1', 'exchange', `exchange/${ofPlan}/ETH`],
    ['missing_external', 'ETH', sold, 'exchange', undefined],
    foreign,
  ]);
});
