/** Blocks that are undone: the transactions in them are mined again as they were signed, and nothing final is undone. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, test } from 'vitest';
import { historyOf } from '../../../../wallets/custody/intents/history.ts';
import { creditDeposit } from '../../../../wallets/custody/wallets/deposits.ts';
import { walletType } from '../../../../wallets/custody/wallets/record.ts';
import { bitcoinTestnetAddress, solanaAddress } from '../../../../wallets/networks/addresses.ts';
import { testAmounts } from '../../../../wallets/providers/port/test-triggers.ts';
import { readSubmission } from '../../../../wallets/providers/self-hosted/progress.ts';
import { create } from '../../../../wallets/store/changes.ts';
import type { Change, TenantStore } from '../../../../wallets/store/contract.ts';
import { devnet, sepolia, testnet } from '../../providers/self-hosted/support.ts';
import { StuckDesk } from './support/stuck-desk.ts';

const bytes = new Uint8Array(32).fill(9);
const receivers = {
  BTC: bitcoinTestnetAddress(secp256k1.getPublicKey(bytes, true)),
  SOL: solanaAddress(bytes),
  USDC: `0x${'9'.repeat(40)}`,
};

const transfers = [
  [sepolia, 'USDC', '5'],
  [testnet, 'BTC', '0.35'],
  [devnet, 'SOL', '1'],
] as const;

test.each(transfers)('on %s a transfer of %s is confirmed anew, and signed once', async (network, asset, amount) => {
  const desk = await StuckDesk.start(network);
  const { chain } = desk;
  await chain.setDepths({ confirmations: 6, finality: 6 });
  const { id } = await desk.transfer({ asset, amount, destination: { address: receivers[asset] } });
  await desk.run(5);
  const before = await desk.intent(id);
  expect(before).toMatchObject({ status: 'confirming', subStatus: null });
  const { hash, rawTransaction } = readSubmission(before.submission)!;
  const mined = await chain.transaction(hash, desk.nowMs);
  expect(mined!.confirmations).toBeGreaterThan(2);
  const shown = async () => ({
    balances: await chain.balances(desk.address),
    received: await chain.balances(receivers[asset]),
    nonce: network === sepolia ? await desk.chains.evm.nonce(desk.address) : 0,
  });
  const held = await shown();

  // A block less than those since its own leaves it alone.
  const depth = mined!.confirmations;
  expect(await chain.reorganize(depth - 1, desk.nowMs)).toEqual({ kind: 'done', transactions: 0 });
  expect(await chain.reorganize(depth, desk.nowMs)).toEqual({ kind: 'done', transactions: 1 });
  const undone = await chain.transaction(hash, desk.nowMs);
  expect(undone).toMatchObject({ confirmations: 0, state: 'pending', block: chain.head(desk.nowMs) + 1 });
  expect(await shown()).toEqual(held);
  for (const address of [desk.address, receivers[asset]]) {
    const query = { fromMs: 0, toMs: desk.nowMs * 2, limit: 9 };
    const movements = await chain.movements(address, query, desk.nowMs);
    expect(movements.map(({ transaction }) => transaction.minedAtMs)).toEqual([undone!.minedAtMs]);
  }

  await desk.run(2);
  expect(await desk.intent(id)).toMatchObject({ status: 'confirming', subStatus: 'REORGED' });
  await desk.run(6);
  const after = await desk.intent(id);
  expect(after).toMatchObject({ status: 'completed', subStatus: null });
  expect(readSubmission(after.submission)).toMatchObject({ hash, rawTransaction });
  expect(new Set(desk.signer.orders.map(({ purpose }) => purpose)).size).toBe(desk.signer.orders.length);
  expect(await desk.balance(asset)).toEqual(await desk.onChain(asset));

  const { confirmations } = (await chain.transaction(hash, desk.nowMs))!;
  await chain.setDepths({ confirmations: 60, finality: 60 });
  expect(await chain.reorganize(confirmations, desk.nowMs)).toEqual({ kind: 'final', depth: confirmations - 1 });
  expect(await chain.reorganize(confirmations - 1, desk.nowMs)).toEqual({ kind: 'done', transactions: 0 });
  expect((await chain.transaction(hash, desk.nowMs))!.state).toBe('confirmed');
});

test.each(transfers)(
  'on %s a transfer of %s completes before it is final, is undone, and completes anew',
  async (...of) => {
    const [network, asset, amount] = of;
    const desk = await StuckDesk.start(network);
    const { chain, store, tenant } = desk;
    await chain.setDepths({ confirmations: 1, finality: 6 });
    const began = await desk.balance(asset);
    const { id } = await desk.transfer({ asset, amount, destination: { address: receivers[asset] } });
    await desk.run(3);
    const first = await desk.intent(id);
    expect(first).toMatchObject({ status: 'completed', subStatus: 'NOT_FINAL' });
    const { hash, rawTransaction } = readSubmission(first.submission)!;
    const nonce = () => (network === sepolia ? desk.chains.evm.nonce(desk.address) : undefined);
    const [paid, orders, number] = [await desk.balance(asset), desk.signer.orders.length, await nonce()];
    expect(paid).toEqual(await desk.onChain(asset));

    for (let undone = 1; undone <= 3; undone += 1) {
      const { confirmations } = (await chain.transaction(hash, desk.nowMs))!;
      const both = [chain.reorganize(confirmations, desk.nowMs), chain.reorganize(confirmations, desk.nowMs)];
      expect((await Promise.all(both)).map((reorg) => 'transactions' in reorg && reorg.transactions)).toEqual([1, 0]);
      // Two gateways look at once, each as if it had just started.
      await Promise.all([desk.run(1), desk.run(1)]);
      const seen = await desk.intent(id);
      expect(seen.statusHistory.filter(({ subStatus }) => subStatus === 'REORGED')).toHaveLength(undone);
      if (undone === 1) {
        const { available, reserved } = await desk.balance(asset);
        expect([seen.status, available, available + reserved]).toEqual(['confirming', paid.available, began.available]);
      }
      await desk.run(3);
      const again = await desk.intent(id);
      expect(again).toMatchObject({ status: 'completed', subStatus: 'NOT_FINAL', feePaid: first.feePaid });
      expect(await desk.balance(asset)).toEqual(paid);
    }

    expect((await store.takeDue(tenant, desk.nowMs + 1e6, 0, 9)).members).toEqual([`intent/${id}`]);
    await desk.run(7);
    const last = await desk.intent(id);
    expect(last).toMatchObject({ status: 'completed', subStatus: null, providerTxId: hash });
    expect(readSubmission(last.submission)).toMatchObject({ hash, rawTransaction, reorganizations: 3 });
    expect([desk.signer.orders.length, await nonce()]).toEqual([orders, number]);
    expect((await store.takeDue(tenant, desk.nowMs + 1e6, 0, 9)).members).toEqual([]);
    expect(await chain.reorganize(5, desk.nowMs)).toEqual({ kind: 'done', transactions: 0 });
    // It counts once for the rules, and each of its ends has one event.
    expect(await historyOf({ store, tenant, nowMs: desk.nowMs }, 'wal_1', receivers[asset])).toEqual({
      ...{ intentsLastHour: 1, intentsLastDay: 1, intentsToDestination: 1 },
    });
    const { events } = await store.events(tenant, { afterSequence: 0, limit: 99, types: [], resourceId: id });
    const ends = events.map(({ type }) => type.slice('transaction_intent.'.length));
    expect(ends.slice(ends.indexOf('completed')).filter((type) => type !== 'updated')).toEqual([
      'completed',
      ...[1, 2, 3].flatMap(() => ['reorged', 'completed']),
    ]);
    const movements = await store.movements(tenant, 'wal_1', 99);
    for (const of of [asset, first.feeReserve.asset]) {
      const { available } = await desk.balance(of);
      expect(movements.filter((each) => each.asset === of).reduce((sum, { units }) => sum + units, 0n)).toBe(available);
    }
    expect(movements.filter(({ kind }) => kind === 'reorg')).toHaveLength(6);
  },
);

test.each(transfers)(
  'on %s a deposit of %s is undone with its transfer, and available when it is final',
  async (...of) => {
    const [network, asset, amount] = of;
    const owner = { tenant: '', walletId: 'wal_2' };
    const ownerOf = async (_: string, address: string) => (address === receivers[asset] ? owner : undefined);
    const desk = await StuckDesk.start(network, { addressBook: { ownerOf } as never });
    const { chain, store, tenant } = desk;
    owner.tenant = tenant;
    const sender = (await store.read(tenant, walletType, 'wal_1'))!;
    const addresses = [{ network, address: receivers[asset] }];
    await store.commit(tenant, { puts: [create(walletType, { ...sender, id: 'wal_2', version: 1, addresses })] });
    const held = async () => (await store.readWithBalances(tenant, walletType, 'wal_2'))!.balances.get(asset);
    const kinds = async () => (await store.movements(tenant, 'wal_2', 99)).map(({ kind }) => kind).reverse();

    await chain.setDepths({ confirmations: 1, finality: 6 });
    const { id } = await desk.transfer({ asset, amount, destination: { address: receivers[asset] } });
    await desk.run(3);
    const { units, providerTxId } = await desk.intent(id);
    const pending = { available: 0n, reserved: BigInt(units) };
    expect(await held()).toEqual(pending);
    const undo = async () => {
      const { confirmations } = (await chain.transaction(providerTxId!, desk.nowMs))!;
      expect(await chain.reorganize(confirmations, desk.nowMs)).toMatchObject({ transactions: 1 });
    };
    await undo();
    await Promise.all([desk.run(1), desk.run(1)]);
    expect(await kinds()).toEqual(['deposit', 'reorg', 'deposit'].slice(0, (await held())!.reserved === 0n ? 2 : 3));
    await desk.run(3);
    expect([await held(), await kinds()]).toEqual([pending, ['deposit', 'reorg', 'deposit']]);
    // The process ends between the deposit and the intent.
    await undo();
    const failing = { ...desk.deps, store: withoutCommitsOf(store, id) };
    await expect(desk.run(1, failing)).rejects.toThrow('the process is gone');
    expect(await held()).toEqual({ available: 0n, reserved: 0n });
    await desk.run(4);
    expect(await held()).toEqual(pending);
    // What a gateway says that has not seen this is out of date.
    const late = { tenant, walletId: 'wal_2', asset, units: BigInt(units), txId: providerTxId!, fromAddress: null };
    const told = {
      ...late,
      nowMs: desk.nowMs,
      newId: () => 'evt_late',
      standing: 'reverted',
      transferVersion: 1,
    } as const;
    expect(await creditDeposit(store, told)).toBe('credited_before');
    await desk.run(7);
    expect(await held()).toEqual({ available: BigInt(units), reserved: 0n });
    expect(await kinds()).toEqual(['deposit', 'reorg', 'deposit', 'reorg', 'deposit']);
    const movements = await store.movements(tenant, 'wal_2', 99);
    expect(movements.reduce((sum, each) => sum + each.units, 0n)).toBe(BigInt(units));
    const { events } = await store.events(tenant, {
      afterSequence: 0,
      limit: 99,
      types: ['wallet.*'],
      resourceId: 'wal_2',
    });
    expect(events.map(({ type }) => type)).toEqual([
      ...[1, 2].flatMap(() => ['wallet.deposit_received', 'wallet.deposit_reverted']),
      ...['wallet.deposit_received', 'wallet.deposit_finalized'],
    ]);
    // It is booked, and a final one is never taken back.
    expect(await creditDeposit(store, { ...told, transferVersion: 99 })).toBe('credited_before');
  },
);

test('what was mined without effect fails when it is final, and not before', async () => {
  const desk = await StuckDesk.start(sepolia);
  await desk.chain.setDepths({ confirmations: 1, finality: 6 });
  const { amount } = testAmounts.find(({ outcome }) => outcome === 'fails_on_chain')!;
  const { id } = await desk.transfer({ asset: 'USDC', amount, destination: { address: receivers.USDC } });
  await desk.run(4);
  const sent = await desk.intent(id);
  expect(sent).toMatchObject({ status: 'confirming', subStatus: null });
  const { confirmations } = (await desk.chain.transaction(sent.providerTxId!, desk.nowMs))!;
  expect(await desk.chain.reorganize(confirmations, desk.nowMs)).toMatchObject({ transactions: 1 });
  await desk.run(5);
  expect(await desk.intent(id)).toMatchObject({ status: 'confirming', subStatus: 'REORGED' });
  await desk.run(4);
  expect(await desk.intent(id)).toMatchObject({ status: 'failed', subStatus: 'FAILED_ON_CHAIN' });
});

test('by default only the newest block of EVM can be undone, since nothing in it is final', async () => {
  const desk = await StuckDesk.start(sepolia);
  const { bitcoin, evm, solana } = desk.chains;
  const depths = await Promise.all([evm, bitcoin, solana].map((chain) => chain.depths()));
  expect(depths).toEqual([2, 1, 1].map((blocks) => ({ confirmations: blocks, finality: blocks })));
  expect(await evm.reorganize(1, desk.nowMs)).toEqual({ kind: 'done', transactions: 0 });
  expect(await evm.reorganize(2, desk.nowMs)).toEqual({ kind: 'final', depth: 1 });
  for (const chain of [bitcoin, solana]) {
    expect(await chain.reorganize(1, desk.nowMs)).toEqual({ kind: 'final', depth: 0 });
  }
});

/** A store whose process ends before it writes this record. */
function withoutCommitsOf(store: TenantStore, id: string): TenantStore {
  const commit = (tenant: string, change: Change): ReturnType<TenantStore['commit']> => {
    if (change.puts?.some(({ after }) => after.id === id)) throw new Error('the process is gone');
    return store.commit(tenant, change);
  };
  return new Proxy(store, {
    get: (target, name) => {
      const value = name === 'commit' ? commit : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
