/** One transfer of each kind, from the wallet's making to the last confirmation, over a fake clock and a real Redis. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Chains, openChains } from '../../../../gateway/chain/chains.ts';
import { makeSelfHosted, type SelfHostedAdapter } from '../../../../gateway/providers/self-hosted/adapter.ts';
import { startRedis, type TestRedis } from '../../../support/redis.ts';
import {
  devnet,
  type FakeSigner,
  fakeSigner,
  intentOf,
  makeWallet,
  metaAt,
  sepolia,
  startMs,
  testnet,
} from './support.ts';

let server: TestRedis;
let redis: Redis;
let chains: Chains;
let signer: FakeSigner;
let adapter: SelfHostedAdapter;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  chains = openChains({ redis });
  signer = fakeSigner();
  adapter = makeSelfHosted({ signer, chains });
});

const kinds = [
  { network: sepolia, asset: 'ETH', amount: '1.25', number: 0, left: 10n ** 18n * 10n - 1_250_000_000_000_000_000n },
  { network: sepolia, asset: 'USDC', amount: '12.5', number: 0, left: 9_987_500_000n },
  { network: testnet, asset: 'BTC', amount: '0.25', number: undefined, left: 75_000_000n },
  { network: devnet, asset: 'SOL', amount: '1.5', number: undefined, left: 98_500_000_000n },
] as const;

describe.each(kinds)('a transfer of $asset', ({ network, asset, amount, number, left }) => {
  it('is signed, confirmed by time, and moves the money', async () => {
    const wallet = await makeWallet(adapter, 'wal_from', network);
    const receiver = await makeWallet(adapter, 'wal_to', network);
    const to = receiver.addresses[0]!.address;
    const from = wallet.addresses[0]!.address;
    const before = (await chains.of(network).balances(to)).get(asset)!;
    const intent = intentOf(wallet, { id: 'txi_1', asset, amount, to });
    const draft = { intentId: 'txi_1', wallet, asset, amount, units: BigInt(intent.units), toAddress: to };
    const { fee } = await adapter.quote(metaAt(startMs), draft);

    const first = await adapter.advance(metaAt(startMs), { intent, wallet, number });
    if (first.stage !== 'confirming') throw new Error(JSON.stringify(first));
    expect(first.providerTxId).not.toBeNull();
    expect(first.againAtMs).toBeGreaterThan(startMs);
    const again = { ...intent, submission: first.submission, providerTxId: first.providerTxId };
    const early = await adapter.advance(metaAt(first.againAtMs - 1), { intent: again, wallet, number });
    expect(early).toMatchObject({ stage: 'confirming', providerTxId: first.providerTxId });
    const last = await adapter.advance(metaAt(first.againAtMs), { intent: again, wallet, number });
    if (last.stage !== 'completed') throw new Error(JSON.stringify(last));
    expect(last.providerTxId).toBe(first.providerTxId);
    expect(last.feePaid.asset).toBe(fee.asset);
    expect(last.feePaid.units).toBeGreaterThan(0n);
    expect(last.feePaid.units).toBeLessThanOrEqual(fee.units);

    const balances = await chains.of(network).balances(from);
    expect(balances.get(asset)).toBe(asset === fee.asset ? left - last.feePaid.units : left);
    expect((await chains.of(network).balances(to)).get(asset)).toBe(before + BigInt(intent.units));
  });
});
