/**
 * Transfers between wallets of every kind of provider: what the ledger says of a wallet of our own cluster, its chain
 * says too, for every payer.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import { newId } from '../../../../proto/ids.ts';
import type { IntentDependencies } from '../../../../wallets/custody/intents/dependencies.ts';
import { initialLedger } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { type WalletRecord, walletType } from '../../../../wallets/custody/wallets/record.ts';
import { formatAmount } from '../../../../wallets/networks/amounts.ts';
import { assetOf } from '../../../../wallets/networks/assets.ts';
import type { NetworkId } from '../../../../wallets/networks/networks.ts';
import { providerAdapters } from '../../../../wallets/providers/adapters.ts';
import { custodianBooks } from '../../../../wallets/providers/books.ts';
import { type Chains, openChains } from '../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../wallets/providers/chains/redis-ledgers.ts';
import { rentExempt } from '../../../../wallets/providers/chains/solana-transaction.ts';
import { type Arrival, arrivals } from '../../../../wallets/providers/incoming-transfers.ts';
import { type ProviderKind, providerKinds } from '../../../../wallets/providers/port/kinds.ts';
import { type ProviderAdapter, ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { makeSelfHosted } from '../../../../wallets/providers/self-hosted/adapter.ts';
import { RedisCustodianBooks } from '../../../../wallets/providers/simulated/redis-custodian-books.ts';
import { RedisCustodianRecords } from '../../../../wallets/providers/simulated/redis-custodian-records.ts';
import { create } from '../../../../wallets/store/changes.ts';
import { StoreUnavailable } from '../../../../wallets/store/contract.ts';
import { runs } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { devnet, fakeSigner, makeWallet, sepolia, testnet } from '../../providers/self-hosted/support.ts';
import { startWorld, type World } from './support/world.ts';

interface Owned {
  readonly tenant: string;
  readonly wallet: WalletRecord;
}

const assetsOn: Readonly<Record<string, readonly string[]>> = {
  [sepolia]: ['ETH', 'USDC'],
  [testnet]: ['BTC'],
  [devnet]: ['SOL'],
};
const feeOf: Readonly<Record<string, string>> = { [sepolia]: 'ETH', [testnet]: 'BTC', [devnet]: 'SOL' };

let world: World;
let chains: Chains;
let adapters: ReadonlyMap<ProviderKind, ProviderAdapter>;
let deps: Partial<IntentDependencies>;

beforeEach(async () => {
  world = await startWorld({ pace: 20 });
  chains = openChains({ ledgers: redisLedgers(world.redis.redis), blockMs: 20 });
  const selfHosted = makeSelfHosted({ signer: fakeSigner(), chains });
  adapters = providerAdapters({
    selfHosted,
    records: (kind) => new RedisCustodianRecords(world.redis.redis, kind),
    books: (kind) => new RedisCustodianBooks(world.redis.redis, kind),
    sleep: async () => {},
  });
  deps = {
    adapters,
    fillGap: selfHosted.fillGap,
    arrive: arrivals({ chains, books: custodianBooks((kind) => new RedisCustodianBooks(world.redis.redis, kind)) }),
  };
});
afterEach(() => world.stop());

async function open(kind: ProviderKind, network: NetworkId): Promise<Owned> {
  const tenant = `tn_${kind}`;
  const made = await makeWallet(adapters.get(kind)!, newId('wal', world.clock.nowMs(), systemRandom), network);
  const wallet = { ...made, provider: kind };
  await world.addressBook.register(network, wallet.addresses[0]!.address, { tenant, walletId: wallet.id });
  const units = { ETH: 10n ** 19n, USDC: 10n ** 10n, BTC: 10n ** 8n, SOL: 10n ** 11n } as Record<string, bigint>;
  const balances = assetsOn[network]!.map((asset) => ({ asset, units: units[asset]! }));
  await world.store.commit(tenant, { puts: [create(walletType, wallet)], ledger: initialLedger(wallet.id, balances) });
  return { tenant, wallet };
}

async function send(from: Owned, to: Owned, asset: string, units: bigint): Promise<() => Promise<unknown>> {
  const { network } = from.wallet;
  const { id } = await world.intent(from.tenant, from.wallet, {
    asset,
    amount: formatAmount(units, assetOf(asset)!.decimals),
    units: String(units),
    destination: { address: to.wallet.addresses[0]!.address },
    feeReserve: { asset: feeOf[network]!, units: network === sepolia ? String(10n ** 16n) : '20000' },
  });
  return () => world.reach(from.tenant, id, 'completed');
}

async function checkBooks(owned: readonly Owned[]): Promise<void> {
  for (const { tenant, wallet } of owned) {
    if (wallet.provider !== 'self_hosted') continue;
    for (const [asset, units] of await chains.of(wallet.network).balances(wallet.addresses[0]!.address)) {
      expect(await world.balance(tenant, wallet.id, asset), asset).toEqual({ available: units, reserved: 0n });
    }
  }
}

test('over random transfers between all kinds of providers, on every network, ledger and chain agree', async () => {
  world.driver(deps).start();
  const step = fc.record({ from: fc.nat(4), to: fc.nat(4), asset: fc.nat(1), units: fc.bigInt(1_000n, 400_000n) });
  const networks = fc.constantFrom(sepolia, testnet, devnet);
  await fc.assert(
    fc.asyncProperty(networks, fc.array(step, { minLength: 1, maxLength: 12 }), async (network, steps) => {
      const kinds = providerKinds.filter((kind) => adapters.get(kind)!.info.networks.includes(network));
      const owned = await Promise.all([...kinds, 'self_hosted' as const].map((kind) => open(kind, network)));
      const at = (index: number): Owned => owned[index % owned.length]!;
      const assets = assetsOn[network]!;
      // On Solana no account holds less than its rent demands.
      const least = network === devnet ? rentExempt : 0n;
      const ends = await Promise.all(
        steps.map(({ from, to, asset, units }) =>
          send(at(from), at(to), assets[asset % assets.length]!, least + units),
        ),
      );
      for (const end of ends) {
        // Custodians take seconds, by the clock.
        world.clock.offsetMs += 5_000;
        await end();
      }
      await checkBooks(owned);
    }),
    { numRuns: runs(3, 6) },
  );
});

test.each(['sandbox', 'fireblocks'] as const)(
  'what came from %s can be spent: the receiver pays out more than it began with',
  async (kind) => {
    world.driver(deps).start();
    const [from, mine, end] = [
      await open(kind, sepolia),
      await open('self_hosted', sepolia),
      await open('self_hosted', sepolia),
    ];
    await (await send(from, mine, 'ETH', 5n * 10n ** 18n))();
    await (await send(mine, end, 'ETH', 14n * 10n ** 18n))();
    await checkBooks([mine, end]);
  },
);

test('a chain that is away, and a gateway that dies behind it, bring the money once', async () => {
  const [from, mine] = [await open('sandbox', sepolia), await open('self_hosted', sepolia)];
  const seen: Arrival[] = [];
  const arrive = async (arrival: Arrival): Promise<void> => {
    seen.push(arrival);
    if (seen.length === 1) throw new StoreUnavailable('the chain is away');
    await deps.arrive!(arrival);
    if (seen.length === 2) throw new StoreUnavailable('the answer is lost');
  };
  world.driver({ ...deps, arrive }).start();
  await (await send(from, mine, 'USDC', 7n))();
  // A sweep of a busy machine may take the step once more: the chain knows the transfer by its id.
  expect(seen.length).toBeGreaterThanOrEqual(3);
  expect(new Set(seen.map(({ transferId }) => transferId)).size).toBe(1);
  await checkBooks([mine]);
});

test('coins held for a transfer that will never be submitted are free again', async () => {
  const mine = await open('self_hosted', testnet);
  const { address } = mine.wallet.addresses[0]!;
  const signer = fakeSigner();
  let tries = 0;
  signer.sign = () => {
    tries += 1;
    return Promise.reject(new ProviderUnavailable('no quorum', 1));
  };
  const away = makeSelfHosted({ signer, chains });
  const { id } = await world.intent(mine.tenant, mine.wallet, {
    asset: 'BTC',
    amount: '0.95',
    units: '95000000',
    destination: { address },
    feeReserve: { asset: 'BTC', units: '20000' },
  });
  const payment = { to: address, sats: 95_000_000n };
  const driver = world.driver({ ...deps, adapters: new Map([['self_hosted', away]]) });
  driver.start();
  const held = () => chains.bitcoin.hold('other', address, payment, 2n, world.clock.nowMs());
  await until(async () => (await world.read(mine.tenant, id)).attempts > 0, 'the coins being held');
  expect(await held()).toEqual({ kind: 'wait' });
  world.clock.offsetMs += 23 * 3_600_000;
  const triedBefore = tries;
  await until(() => tries > triedBefore, 'another try, which holds them again');
  world.clock.offsetMs += 8 * 3_600_000;
  await world.reach(mine.tenant, id, 'failed');
  expect((await held()).kind).toBe('held');
});
