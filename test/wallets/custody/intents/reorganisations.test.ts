/** Blocks that are undone: the transactions in them are mined again as they were signed, and nothing final is undone. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect, test } from 'vitest';
import { bitcoinTestnetAddress, solanaAddress } from '../../../../wallets/networks/addresses.ts';
import { readSubmission } from '../../../../wallets/providers/self-hosted/progress.ts';
import { devnet, sepolia, testnet } from '../../providers/self-hosted/support.ts';
import { StuckDesk } from './support/stuck-desk.ts';

const bytes = new Uint8Array(32).fill(9);
const receivers = {
  BTC: bitcoinTestnetAddress(secp256k1.getPublicKey(bytes, true)),
  SOL: solanaAddress(bytes),
  USDC: `0x${'9'.repeat(40)}`,
};

test.each([
  [sepolia, 'USDC', '5'],
  [testnet, 'BTC', '0.35'],
  [devnet, 'SOL', '1'],
] as const)('on %s a transfer of %s is confirmed anew, and signed once', async (network, asset, amount) => {
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
