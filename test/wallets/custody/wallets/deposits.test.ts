/** Deposits: each transaction credits a wallet once, however often and from wherever it is reported. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { creditDeposit, type Deposit } from '../../../../wallets/custody/wallets/deposits.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import type { TenantStore } from '../../../../wallets/store/contract.ts';
import { evm, fresh, startWorld, type Tenant, type World } from './support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

function deposit(tenant: Tenant, walletId: string, over: Partial<Deposit> = {}): Deposit {
  return {
    tenant: tenant.id,
    walletId,
    asset: 'ETH',
    units: 500_000_000_000_000_000n,
    txId: '0xabc',
    fromAddress: '0xfeed',
    nowMs: Date.now(),
    newId: fresh,
    ...over,
  };
}

async function depositsIn(tenant: Tenant) {
  const { events } = await world.store.events(tenant.id, {
    afterSequence: 0,
    limit: 100,
    types: ['wallet.deposit_received'],
  });
  return events;
}

test('a deposit raises the balance and says so in an event', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  expect(await creditDeposit(world.store, deposit(tenant, wallet.id))).toBe('credited');
  const after = (await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body;
  expect(after).toEqual({
    ...wallet,
    assets: [{ symbol: 'ETH', balance: '2', available: '2', pending: '0', network: evm, decimals: 18, contract: null }],
  });
  expect(await depositsIn(tenant)).toMatchObject([
    {
      correlationId: '0xabc',
      connectionId: wallet.provider_connection_id,
      resource: { type: 'wallet', id: wallet.id, version: 1 },
      object: { ...after, deposit: { asset: 'ETH', amount: '0.5', tx_id: '0xabc', from_address: '0xfeed' } },
    },
  ]);
});

test('reported thirty times at once, also from two gateways, it is credited once', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const second = await world.backend.open();
  const outcomes = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      creditDeposit(index % 2 === 0 ? world.store : second, deposit(tenant, wallet.id)),
    ),
  );
  expect(outcomes.filter((outcome) => outcome === 'credited')).toHaveLength(1);
  expect(outcomes.filter((outcome) => outcome === 'credited_before')).toHaveLength(29);
  expect((await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body.assets[0].balance).toBe('2');
  expect(await depositsIn(tenant)).toHaveLength(1);
});

test('many deposits of an asset that was not listed add up, and it is listed once', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const outcomes = await Promise.all(
    Array.from({ length: 25 }, (_, index) =>
      creditDeposit(world.store, deposit(tenant, wallet.id, { asset: 'USDC', units: 1_000_001n, txId: `0x${index}` })),
    ),
  );
  expect(outcomes).toEqual(outcomes.map(() => 'credited'));
  const after = (await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body;
  expect(after.version).toBe(2);
  expect(after.assets.map(({ symbol, balance }: Record<string, string>) => [symbol, balance])).toEqual([
    ['ETH', '1.5'],
    ['USDC', '25.000025'],
  ]);
  expect((await tenant.call('GET', '/v1/wallets?asset=USDC')).body.wallets).toEqual([after]);
});

test('a deposit of a tenant’s token brings the token’s terms into the wallet, once', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const token = {
    ...{ symbol: 'GOLD', name: 'Gold', network: evm, decimals: 2, supplyCap: '1000' },
    contract: '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
  } as const;
  await creditDeposit(world.store, deposit(tenant, wallet.id, { asset: 'USDC', units: 1n, txId: '0x0' }));
  for (const txId of ['0x1', '0x2']) {
    await creditDeposit(world.store, deposit(tenant, wallet.id, { asset: 'GOLD', token, units: 150n, txId }));
  }
  const record = await world.store.read(tenant.id, walletType, wallet.id);
  expect(record).toMatchObject({ assets: ['ETH', 'USDC', 'GOLD'], tokens: [token], version: 3 });
  const { assets } = (await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body;
  expect(assets.at(-1)).toMatchObject({ symbol: 'GOLD', balance: '3', decimals: 2, contract: token.contract });
});

test('one transaction may credit two wallets', async () => {
  const tenant = world.tenant();
  const connection = await tenant.connection();
  const [first, second] = [await tenant.wallet(connection), await tenant.wallet(connection)];
  expect(await creditDeposit(world.store, deposit(tenant, first.id))).toBe('credited');
  expect(await creditDeposit(world.store, deposit(tenant, second.id))).toBe('credited');
});

test('a frozen and an archived wallet are credited too; one that does not exist is not', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  for (const verb of ['freeze', 'archive']) {
    await tenant.call('POST', `/v1/wallets/${wallet.id}/${verb}`);
    expect(await creditDeposit(world.store, deposit(tenant, wallet.id, { txId: verb }))).toBe('credited');
  }
  expect(await creditDeposit(world.store, deposit(tenant, fresh('wal')))).toBe('no_such_wallet');
});

test('the event shows a wallet that is frozen while the deposit is credited as frozen', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const store: Pick<TenantStore, 'readWithBalances' | 'commit'> = {
    readWithBalances: (...asked) => world.store.readWithBalances(...asked),
    commit: async (...asked) => {
      await tenant.call('POST', `/v1/wallets/${wallet.id}/freeze`);
      return world.store.commit(...asked);
    },
  };
  expect(await creditDeposit(store as TenantStore, deposit(tenant, wallet.id))).toBe('credited');
  expect(await depositsIn(tenant)).toMatchObject([{ object: { status: 'frozen' }, resource: { version: 2 } }]);
});

test('whatever is reported in whatever order, the balance is the sum over the transactions', async () => {
  const tenant = world.tenant();
  const connection = await tenant.connection();
  const reports = fc.array(fc.record({ tx: fc.nat(5), asset: fc.constantFrom('ETH', 'USDC') }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(reports, async (list) => {
      const wallet = await tenant.wallet(connection);
      const unitsOf = (tx: number) => 10n ** 18n + BigInt(tx);
      await Promise.all(
        list.map(({ tx, asset }) =>
          creditDeposit(world.store, deposit(tenant, wallet.id, { asset, units: unitsOf(tx), txId: `${asset}-${tx}` })),
        ),
      );
      const found = await world.store.readWithBalances(tenant.id, walletType, wallet.id);
      for (const asset of ['ETH', 'USDC']) {
        const seen = new Set(list.filter((report) => report.asset === asset).map(({ tx }) => tx));
        const start = asset === 'ETH' ? 1_500_000_000_000_000_000n : 0n;
        const sum = [...seen].reduce((total, tx) => total + unitsOf(tx), start);
        expect(found?.balances.get(asset)?.available ?? 0n).toBe(sum);
      }
    }),
    { numRuns: 20 },
  );
});

test('nothing, less than nothing, and an unknown asset are our own mistakes', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  for (const over of [{ units: 0n }, { units: -1n }, { asset: 'DOGE' }]) {
    await expect(creditDeposit(world.store, deposit(tenant, wallet.id, over))).rejects.toThrow(Error);
  }
  expect((await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body).toEqual(wallet);
});
