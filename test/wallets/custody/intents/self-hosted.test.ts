/**
 * The whole way of intents on the self-hosted provider: real judges, real chains, keys of a signer in this process. What
 * the store says of money is what the chain says of it.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemRandom } from '../../../../core/actors/live/ports.ts';
import { newId } from '../../../../proto/ids.ts';
import { connectionType } from '../../../../wallets/custody/connections/record.ts';
import type { IntentDependencies } from '../../../../wallets/custody/intents/dependencies.ts';
import type { IntentDriver } from '../../../../wallets/custody/intents/driver.ts';
import { intentType } from '../../../../wallets/custody/intents/record.ts';
import { initialLedger } from '../../../../wallets/custody/wallets/new-wallet.ts';
import { type WalletRecord, walletType } from '../../../../wallets/custody/wallets/record.ts';
import { makeEvaluators } from '../../../../wallets/policy/policies/evaluators.ts';
import { receiptSigner } from '../../../../wallets/policy/receipts/signer.ts';
import { custodianBooks } from '../../../../wallets/providers/books.ts';
import { type Chains, openChains } from '../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../wallets/providers/chains/redis-ledgers.ts';
import { chainStatements } from '../../../../wallets/providers/chains/statements.ts';
import { arrivals } from '../../../../wallets/providers/incoming-transfers.ts';
import { ProviderRejected } from '../../../../wallets/providers/port/port.ts';
import { effectOf } from '../../../../wallets/providers/port/statement.ts';
import { makeSelfHosted, type SelfHostedAdapter } from '../../../../wallets/providers/self-hosted/adapter.ts';
import { RedisCustodianBooks } from '../../../../wallets/providers/simulated/redis-custodian-books.ts';
import { create } from '../../../../wallets/store/changes.ts';
import { until } from '../../../support/until.ts';
import { connection, type FakeSigner, fakeSigner, makeWallet, sepolia } from '../../providers/self-hosted/support.ts';
import { type Door, openDoor, tenant } from './support/door.ts';
import { Process, storeCalls } from './support/mortal.ts';
import { startWorld, type World } from './support/world.ts';

const connectionId = newId('pcn', 0, systemRandom);
let world: World;
let door: Door;
let chains: Chains;
let signer: FakeSigner;
let adapter: SelfHostedAdapter;
let deps: Partial<IntentDependencies>;
let driver: IntentDriver;
let wallets: WalletRecord[];

beforeEach(async () => {
  world = await startWorld();
  chains = openChains({ ledgers: redisLedgers(world.redis.redis), blockMs: 20 });
  signer = fakeSigner();
  adapter = makeSelfHosted({ signer, chains });
  deps = {
    adapters: new Map([['self_hosted', adapter]]),
    evaluators: makeEvaluators({ signer: receiptSigner(new Uint8Array(32).fill(3)) }),
    fillGap: adapter.fillGap,
    arrive: arrivals({ chains, books: custodianBooks((kind) => new RedisCustodianBooks(world.redis.redis, kind)) }),
  };
  driver = world.driver(deps);
  driver.start();
  door = await openDoor({ ...world, dependencies: () => world.dependencies(deps) }, driver);
  await world.store.commit(tenant, { puts: [create(connectionType, { ...connection(), id: connectionId })] });
  wallets = [await newWallet(), await newWallet()];
});

afterEach(async () => {
  await door.app.close();
  await world.stop();
});

async function newWallet(): Promise<WalletRecord> {
  const made = await makeWallet(adapter, newId('wal', world.clock.nowMs(), systemRandom), sepolia);
  const wallet = { ...made, connectionId };
  const { address } = wallet.addresses[0]!;
  await world.addressBook.register(sepolia, address, { tenant, walletId: wallet.id });
  const balances = [...(await chains.evm.balances(address))].map(([asset, units]) => ({ asset, units }));
  await world.store.commit(tenant, { puts: [create(walletType, wallet)], ledger: initialLedger(wallet.id, balances) });
  return wallet;
}

async function send(from: WalletRecord, to: WalletRecord, asset: string, amount: string): Promise<string> {
  const { status, body } = await door.post(`${from.id}/transaction-intents`, {
    asset,
    amount,
    destination: { address: to.addresses[0]!.address },
  });
  if (status !== 201) throw new Error(JSON.stringify([body, door.lines]));
  return body.id;
}

async function allEnded(): Promise<void> {
  await until(async () => {
    for (const { id } of wallets) {
      if ((await world.store.count(tenant, `intents:open:${id}`)) > 0) return false;
    }
    return true;
  }, 'the end of all intents');
}

/** To the smallest unit, with nothing reserved. */
async function checkBooks(): Promise<void> {
  for (const { id, addresses } of wallets) {
    for (const [asset, units] of await chains.evm.balances(addresses[0]!.address)) {
      expect(await world.balance(tenant, id, asset), asset).toEqual({ available: units, reserved: 0n });
    }
  }
  for (const wallet of wallets) {
    const meta = { tenant, nowMs: world.clock.nowMs(), correlationId: '', traceparent: '' };
    const query = { fromMs: 0, toMs: meta.nowMs + 60_000, limit: 1_000 };
    const { movements } = await chainStatements(chains).page(meta, wallet, query);
    const ours = (await world.store.movements(tenant, wallet.id, 100)).filter(({ txId }) => txId !== null);
    expect(moved(ours.map(({ txId, asset, units }) => [txId!, asset, units]))).toEqual(
      moved(movements.flatMap((one) => effectOf(one).map(({ asset, units }) => [one.key, asset, units] as const))),
    );
  }
}

/** What each transaction moved of each asset. */
function moved(rows: readonly (readonly [txId: string, asset: string, units: bigint])[]): Record<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const [txId, asset, units] of rows) sums.set(`${txId} ${asset}`, (sums.get(`${txId} ${asset}`) ?? 0n) + units);
  return Object.fromEntries([...sums].filter(([, units]) => units !== 0n).sort());
}

test('an intent becomes a signed transaction whose hash it shows, and the receiver has the money', async () => {
  const [from, to] = wallets as [WalletRecord, WalletRecord];
  const id = await send(from, to, 'USDC', '12.5');
  const done = await world.reach(tenant, id, 'completed');
  expect(done.providerTxId).toMatch(/^0x[0-9a-f]{64}$/);
  expect(await chains.evm.transaction(done.providerTxId!, world.clock.nowMs())).toMatchObject({ units: 12_500_000n });
  expect(signer.orders.map(({ purpose }) => purpose)).toEqual([id]);
  await checkBooks();
});

test('a record that changes between the check of its receipt and its bytes fails by name, and nothing of it is signed', async () => {
  const [from, to] = wallets as [WalletRecord, WalletRecord];
  const { advance } = adapter;
  const thief = '0x2222222222222222222222222222222222222222';
  const late = vi.spyOn(adapter, 'advance').mockImplementation((meta, transfer) => {
    return advance(meta, { ...transfer, intent: { ...transfer.intent, destination: { address: thief } } });
  });
  const id = await send(from, to, 'USDC', '12.5');
  const failed = await world.reach(tenant, id, 'failed');
  expect(failed).toMatchObject({ subStatus: 'RECORD_TAMPERED', providerTxId: null });
  expect(signer.orders.filter(({ purpose }) => purpose === id)).toEqual([]);
  late.mockRestore();
  await checkBooks();
  await world.reach(tenant, await send(from, to, 'ETH', '0.5'), 'completed');
});

test('many at once, to and fro, some of which fail in every way there is: the books are right', async () => {
  const [one, other] = wallets as [WalletRecord, WalletRecord];
  // Refused by the cluster, away three times, failed on the chain, and plain ones.
  const amounts = ['0.004421', '0.004403', '0.00441', '0.01', '0.02', '0.03'];
  const made = await Promise.all(
    Array.from({ length: 48 }, (_, index) =>
      send(
        index % 2 === 0 ? one : other,
        index % 2 === 0 ? other : one,
        index % 3 === 0 ? 'USDC' : 'ETH',
        amounts[index % amounts.length]!,
      ),
    ),
  );
  await allEnded();
  const records = await world.store.readMany(tenant, intentType, made);
  const ends = records.map((record) => `${record?.status} ${record?.subStatus}`);
  const count = (end: string): number => ends.filter((other) => other === end).length;
  expect(count('completed null')).toBe(32);
  expect(count('failed REJECTED_BY_PROVIDER')).toBe(8);
  expect(count('failed FAILED_ON_CHAIN')).toBe(8);
  await checkBooks();
  for (const wallet of wallets) {
    const next = await send(wallet, wallet, 'ETH', '0.5');
    await world.reach(tenant, next, 'completed');
  }
  await checkBooks();
});

test('a signature that the cluster refuses leaves no later transfer waiting', async () => {
  const [from, to] = wallets as [WalletRecord, WalletRecord];
  signer.failures.push(new ProviderRejected('no', { issue: 'rejected', providerCode: 'POLICY' }));
  const ids = await Promise.all(Array.from({ length: 6 }, () => send(from, to, 'ETH', '0.1')));
  await allEnded();
  const records = await world.store.readMany(tenant, intentType, ids);
  expect(records.map((record) => record?.status).sort()).toEqual([...Array(5).fill('completed'), 'failed']);
  await checkBooks();
});

test('gateways that die in the middle of everything leave the books right, and sign nothing twice', async () => {
  const [one, other] = wallets as [WalletRecord, WalletRecord];
  const amounts = ['0.01', '0.004421', '0.02', '0.00441', '0.03'];
  const quiet = await openDoor({ ...world, dependencies: () => world.dependencies(deps) });
  for (let round = 0; round < 3; round += 1) {
    await driver.stop();
    const made = await Promise.all(
      amounts.map((amount, index) => {
        const [from, to] = index % 2 === 0 ? [one, other] : [other, one];
        const destination = { address: to.addresses[0]!.address };
        return quiet.post(`${from.id}/transaction-intents`, { asset: 'ETH', amount, destination });
      }),
    );
    expect(made.every(({ status }) => status === 201)).toBe(true);
    for (let life = 0; life < 8; life += 1) {
      world.clock.offsetMs += 60_000;
      const process = new Process({ atCall: 3 + ((round * 17 + life * 11) % 29), tookEffect: life % 2 === 0 });
      const mortal = makeSelfHosted({
        signer: process.wrap(signer, ['sign']),
        chains: { ...chains, evm: process.wrap(chains.evm, ['submit', 'transaction']) },
      });
      const doomed = world.driver({
        ...deps,
        store: process.wrap(world.store, storeCalls),
        addressBook: process.wrap(world.addressBook, ['ownerOf']),
        adapters: new Map([['self_hosted', mortal]]),
        fillGap: mortal.fillGap,
      });
      doomed.start();
      await until(() => process.isDead, 'the end of a gateway');
      await doomed.stop(0);
    }
    world.clock.offsetMs += 60_000;
    driver = world.driver(deps);
    driver.start();
    await allEnded();
    await checkBooks();
  }
  const purposes = signer.orders.map(({ purpose }) => purpose);
  expect(new Set(purposes).size).toBe(purposes.length);
  await quiet.app.close();
});
