/** What can go otherwise: crashes between any two steps, refusals, gaps, test amounts, and many transfers at once. */
import { Transaction } from 'ethers';
import type { Redis } from 'ioredis';
import { describe, expect, it, vi } from 'vitest';
import { advanceIntent, failIntent, lastOf, type Move } from '../../../../wallets/custody/intents/machine.ts';
import { intentView } from '../../../../wallets/custody/intents/view.ts';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import { solanaAddress } from '../../../../wallets/networks/addresses.ts';
import { networkOf, networks } from '../../../../wallets/networks/networks.ts';
import { ChainRejected, ChainUnavailable } from '../../../../wallets/providers/chains/chain.ts';
import { type Chains, openChains } from '../../../../wallets/providers/chains/chains.ts';
import { redisLedgers } from '../../../../wallets/providers/chains/redis-ledgers.ts';
import {
  ProviderRejected,
  ProviderUnavailable,
  type TransferProgress,
} from '../../../../wallets/providers/port/port.ts';
import { testAmounts } from '../../../../wallets/providers/port/test-triggers.ts';
import { makeSelfHosted, type SelfHostedAdapter } from '../../../../wallets/providers/self-hosted/adapter.ts';
import type { Submission } from '../../../../wallets/providers/self-hosted/progress.ts';
import { useDatabase } from '../../../support/redis-database.ts';
import {
  type ApprovedIntent,
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

let redis: Redis;
let chains: Chains;
let signer: FakeSigner;
let adapter: SelfHostedAdapter;
useDatabase((opened) => {
  redis = opened;
  chains = openChains({ ledgers: redisLedgers(redis) });
  signer = fakeSigner();
  adapter = makeSelfHosted({ signer, chains });
});

const all = networks.map(({ id }) => id);
const addressOf = (wallet: WalletRecord) => wallet.addresses[0]!.address;
const numberFor = (wallet: WalletRecord, number = 0) =>
  adapter.sequenceCounter(wallet) === undefined ? undefined : number;
const held = async (wallet: WalletRecord, asset = networkOf(wallet.network).nativeAsset) =>
  (await chains.of(wallet.network).balances(addressOf(wallet))).get(asset)!;
const outcomeAmount = (outcome: string) =>
  testAmounts.find((trigger) => trigger.outcome === outcome)!.amount.replace(/0+$/, '');

/** Repeats until it is over or the time is up, as the driver does. */
async function drive(
  wallet: WalletRecord,
  intent: ApprovedIntent,
  number: number | undefined,
  untilMs = startMs + 60_000,
) {
  let current = intent;
  let nowMs = startMs;
  const seen: TransferProgress[] = [];
  for (;;) {
    let progress: TransferProgress;
    try {
      progress = await adapter.advance(metaAt(nowMs), { intent: current, wallet, number });
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      current = { ...current, attempts: current.attempts + 1 };
      nowMs += error.retryAfterMs;
      continue;
    }
    seen.push(progress);
    if (progress.stage === 'completed' || progress.stage === 'failed') return { last: progress, seen, nowMs, current };
    current = { ...current, submission: JSON.parse(JSON.stringify(progress.submission)), attempts: 0 };
    nowMs = Math.max(nowMs, progress.againAtMs);
    if (nowMs > untilMs) return { last: progress, seen, nowMs, current };
    // Gives others their turn: a transfer that waits does not spin.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function pair(network: (typeof all)[number], environment: 'sandbox' | 'production' = 'sandbox') {
  return [
    await makeWallet(adapter, 'wal_from', network, environment),
    await makeWallet(adapter, 'wal_to', network, environment),
  ] as const;
}

function transfer(from: WalletRecord, to: WalletRecord, amount: string, id = 'txi_1') {
  return intentOf(from, { id, asset: networkOf(from.network).nativeAsset, amount, to: addressOf(to) });
}

describe.each(all)('on %s', (network) => {
  it('the first step may be repeated after a crash: one signature, one transaction', async () => {
    const [from, to] = await pair(network);
    const before = await held(to);
    const intent = transfer(from, to, '0.5');
    const step = () => adapter.advance(metaAt(startMs), { intent, wallet: from, number: numberFor(from) });
    const first = await step();
    const orders = signer.orders.length;
    const again = await Promise.all([step(), step(), step()]);
    for (const progress of again) expect(progress).toEqual(first);
    expect(signer.orders).toHaveLength(orders);
    expect(await held(to)).toBe(before + BigInt(intent.units));
  });

  it('the first step repeated when all is over says what was signed, as the first would have', async () => {
    const [from, to] = await pair(network);
    for (const [amount, stage] of [
      ['0.5', 'completed'],
      [outcomeAmount('fails_on_chain'), 'failed'],
    ] as const) {
      const intent = transfer(from, to, amount, `txi_${stage}`);
      const number = numberFor(from, stage === 'completed' ? 0 : 1);
      const step = (nowMs: number) => adapter.advance(metaAt(nowMs), { intent, wallet: from, number });
      const first = await step(startMs);
      if (first.stage !== 'confirming') throw new Error(first.stage);
      // Its answer was lost, and the store was away until long after.
      const late = await step(startMs + 3_600_000);
      expect(late).toMatchObject({ stage, submission: first.submission });
      const over =
        late.stage === 'completed'
          ? advanceIntent({ ...intent, status: 'signing' }, late, startMs)
          : late.stage === 'failed' && failIntent({ ...intent, status: 'signing' }, late, late.feePaid, startMs);
      expect(intentView(lastOf(over as Move)).provider_details).toMatchObject({
        raw_transaction: (first.submission as Submission).rawTransaction,
        signing_session_ids: (first.submission as Submission).signingSessionIds,
      });
    }
  });

  it('a chain that is away after the signature gets the very same transaction later', async () => {
    const [from, to] = await pair(network);
    const intent = transfer(from, to, '0.5');
    const submit = vi.spyOn(chains.of(network), 'submit').mockRejectedValueOnce(new ChainUnavailable('away'));
    const step = () => adapter.advance(metaAt(startMs), { intent, wallet: from, number: numberFor(from) });
    await expect(step()).rejects.toBeInstanceOf(ProviderUnavailable);
    expect(await step()).toMatchObject({ stage: 'confirming' });
    const [first, second] = submit.mock.calls.map(([raw]) => Buffer.from(raw).toString('hex'));
    expect(second).toBe(first);
  });

  it('a cluster without a quorum is asked again; nothing is lost', async () => {
    const [from, to] = await pair(network);
    const intent = transfer(from, to, '0.5');
    signer.failures.push(new ProviderUnavailable('no quorum'));
    const step = () => adapter.advance(metaAt(startMs), { intent, wallet: from, number: numberFor(from) });
    await expect(step()).rejects.toThrow('no quorum');
    expect((await drive(from, intent, numberFor(from))).last.stage).toBe('completed');
  });

  it('a wrong signature neither moves money nor fails the transfer; the next attempt sends the right one', async () => {
    const [from, to] = await pair(network);
    const intent = transfer(from, to, '0.5');
    const step = () => adapter.advance(metaAt(startMs), { intent, wallet: from, number: numberFor(from) });
    vi.spyOn(signer, 'sign').mockImplementationOnce((meta, order) =>
      signer.sign(meta, { ...order, walletId: to.id, purpose: 'x' }),
    );
    await expect(step()).rejects.toThrow('that the key does not verify');
    expect(await step()).toMatchObject({ stage: 'confirming' });
  });

  it('a cluster that refuses fails the transfer: nothing is spent, the number is free, the money can be used', async () => {
    const [from, to] = await pair(network);
    signer.failures.push(
      new ProviderRejected('the key is closed', { issue: 'session_revoked', providerCode: 'SESSION_REVOKED' }),
    );
    const { last } = await drive(from, transfer(from, to, '0.8'), numberFor(from));
    expect(last).toMatchObject({
      stage: 'failed',
      providerTxId: null,
      subStatus: 'REJECTED_BY_PROVIDER',
      error: { code: 'SESSION_REVOKED', message: 'the key is closed' },
      feePaid: { units: 0n },
      numberUsed: false,
    });
    expect((await drive(from, transfer(from, to, '0.8', 'txi_2'), numberFor(from))).last.stage).toBe('completed');
  });

  it('more than the wallet holds fails, and costs nothing', async () => {
    const [from, to] = await pair(network);
    const { last } = await drive(from, transfer(from, to, '1000'), numberFor(from));
    expect(last).toMatchObject({ stage: 'failed', error: { code: 'INSUFFICIENT_FUNDS' }, numberUsed: false });
    expect(last.stage === 'failed' && last.feePaid.units).toBe(0n);
  });

  it('a transaction that its chain has forgotten is neither sent again nor called failed', async () => {
    const [from, to] = await pair(network);
    const intent = transfer(from, to, '0.5');
    const first = await adapter.advance(metaAt(startMs), { intent, wallet: from, number: numberFor(from) });
    if (first.stage !== 'confirming') throw new Error(first.stage);
    await redis.del(`sm:{chain:${network}}:tx:${first.providerTxId}`);
    const submit = vi.spyOn(chains.of(network), 'submit');
    const later = await adapter.advance(metaAt(startMs), {
      intent: { ...intent, submission: first.submission },
      wallet: from,
      number: numberFor(from),
    });
    expect(later).toMatchObject({
      stage: 'confirming',
      subStatus: 'NOT_FOUND_ON_CHAIN',
      providerTxId: first.providerTxId,
    });
    expect(submit).not.toHaveBeenCalled();
  });

  it('a bug is not swallowed', async () => {
    const [from, to] = await pair(network);
    signer.failures.push(new Error('broken'));
    await expect(drive(from, transfer(from, to, '0.5'), numberFor(from))).rejects.toThrow('broken');
  });

  describe('test amounts in a sandbox', () => {
    const quoted = async (outcome: string, environment: 'sandbox' | 'production' = 'sandbox') => {
      const [from, to] = await pair(network, environment);
      const amount = outcomeAmount(outcome);
      const { units, asset } = transfer(from, to, amount);
      const draft = {
        intentId: 'txi_1',
        kind: 'transfer' as const,
        wallet: from,
        asset,
        amount,
        units: BigInt(units),
        toAddress: addressOf(to),
      };
      return adapter.quote(metaAt(startMs), draft);
    };
    const driven = async (outcome: string, untilMs?: number) => {
      const [from, to] = await pair(network);
      const before = await Promise.all([held(from), held(to)]);
      const intent = transfer(from, to, outcomeAmount(outcome));
      const run = await drive(from, intent, numberFor(from), untilMs);
      const moved = [before[0] - (await held(from)), (await held(to)) - before[1]] as const;
      return { ...run, moved, units: BigInt(intent.units) };
    };

    it('refuse at the quote', async () => {
      await expect(quoted('quote_rejected')).rejects.toMatchObject({
        name: 'ProviderRejected',
        issue: 'rejected_by_provider',
      });
      await expect(quoted('quote_insufficient')).rejects.toMatchObject({
        issue: 'insufficient_funds',
        field: 'amount',
      });
      await expect(quoted('quote_unavailable')).rejects.toBeInstanceOf(ProviderUnavailable);
    });

    it('mean nothing in production', async () => {
      expect((await quoted('quote_rejected', 'production')).fee.units).toBeGreaterThan(0n);
      const [from, to] = await pair(network, 'production');
      const { last } = await drive(from, transfer(from, to, outcomeAmount('fails_on_chain')), numberFor(from));
      expect(last.stage).toBe('completed');
    });

    it('fail before anything is signed', async () => {
      const { last, moved } = await driven('submit_rejected');
      expect(last).toMatchObject({ stage: 'failed', providerTxId: null, numberUsed: false });
      expect(signer.orders).toEqual([]);
      expect(moved).toEqual([0n, 0n]);
    });

    it('are away three times', async () => {
      const { last, nowMs, units, moved } = await driven('submit_unavailable_thrice');
      expect(last.stage).toBe('completed');
      expect(nowMs).toBeGreaterThan(startMs + 3_000);
      expect(moved[1]).toBe(units);
    });

    it('wait ten seconds in the queue', async () => {
      const { last, seen, nowMs } = await driven('slow_queue');
      expect(seen[0]).toMatchObject({ stage: 'signing', subStatus: 'QUEUED_AT_PROVIDER', againAtMs: startMs + 10_000 });
      expect(seen[0]!.stage === 'signing' && seen[0]!.providerTxId).toBeNull();
      expect(last.stage).toBe('completed');
      expect(nowMs).toBeGreaterThanOrEqual(startMs + 10_000);
    });

    it('stay confirming', async () => {
      const { last, seen } = await driven('stuck_confirming', startMs + 600_000);
      expect(last).toMatchObject({ stage: 'confirming', providerStatus: 'CONFIRMING' });
      expect(seen.length).toBeLessThan(15);
    });

    it('are mined and fail: the fee is gone', async () => {
      const { last, moved } = await driven('fails_on_chain');
      if (last.stage !== 'failed') throw new Error(last.stage);
      expect(last).toMatchObject({ subStatus: 'FAILED_ON_CHAIN', numberUsed: true });
      expect(last.providerTxId).not.toBeNull();
      expect(last.feePaid.units).toBeGreaterThan(0n);
      expect(moved).toEqual([last.feePaid.units, 0n]);
    });
  });
});

describe('EVM numbers', () => {
  it('are counted for each wallet, and only there', async () => {
    const counters = await Promise.all(all.map(async (network) => adapter.sequenceCounter((await pair(network))[0])));
    expect(counters).toEqual(['nonce:wal_from', undefined, undefined]);
  });

  it('wait for earlier ones and go on when the gap is filled', async () => {
    const [from, to] = await pair(sepolia);
    const before = await held(from);
    const late = transfer(from, to, '1', 'txi_late');
    const first = await adapter.advance(metaAt(startMs), { intent: late, wallet: from, number: 2 });
    if (first.stage !== 'broadcasting') throw new Error(first.stage);
    expect(first).toMatchObject({ subStatus: 'AWAITING_EARLIER_TRANSACTION', againAtMs: startMs + 100 });
    expect(first.providerTxId).toMatch(/^0x[0-9a-f]{64}$/);
    const filled = await Promise.all([0, 1, 0, 1].map((number) => adapter.fillGap(metaAt(startMs), from, number)));
    const fees = filled.map(({ fee }) => fee);
    expect(fees.every(({ asset, units }) => asset === 'ETH' && units === fees[0]!.units && units > 0n)).toBe(true);
    expect(filled[2]).toEqual(filled[0]);
    for (const [number, { transaction }] of filled.slice(0, 2).entries()) {
      const found = await chains.evm.transaction(transaction!.id, startMs);
      expect(found).toMatchObject({ feeUnits: fees[0]!.units });
      expect(transaction).toMatchObject({
        rawTransaction: expect.stringMatching(/^0x02/),
        signingSessionIds: [expect.any(String)],
      });
      expect(Transaction.from(transaction!.rawTransaction)).toMatchObject({ nonce: number, hash: transaction!.id });
    }
    expect(signer.orders.map(({ purpose }) => purpose).sort()).toEqual([
      'txi_late',
      'wal_from:fill:0',
      'wal_from:fill:1',
    ]);
    const { last } = await drive(from, { ...late, submission: first.submission }, 2);
    if (last.stage !== 'completed') throw new Error(last.stage);
    expect(before - (await held(from))).toBe(10n ** 18n + last.feePaid.units + 2n * fees[0]!.units);
    expect(await chains.evm.nonce(addressOf(from))).toBe(3);
  });

  it('that are used already need no filling', async () => {
    const [from, to] = await pair(sepolia);
    await drive(from, transfer(from, to, '1'), 0);
    expect(await adapter.fillGap(metaAt(startMs), from, 0)).toEqual({
      fee: { asset: 'ETH', units: 0n },
      transaction: undefined,
    });
  });

  it('cost less to fill than any transfer has set aside', async () => {
    const [from, to] = await pair(sepolia);
    const { fee: fill } = await adapter.fillGap(metaAt(startMs), from, 0);
    for (const asset of ['ETH', 'USDC']) {
      const draft = {
        intentId: 'x',
        kind: 'transfer' as const,
        wallet: from,
        asset,
        amount: '1',
        units: 1n,
        toAddress: addressOf(to),
      };
      expect((await adapter.quote(metaAt(startMs), draft)).fee.units).toBeGreaterThanOrEqual(fill.units);
    }
  });

  it('are not filled when the wallet cannot pay or sign', async () => {
    const [from] = await pair(sepolia);
    vi.spyOn(chains.evm, 'submit').mockRejectedValueOnce(new ChainRejected('insufficient_funds', 'no money'));
    await expect(adapter.fillGap(metaAt(startMs), from, 0)).rejects.toMatchObject({ name: 'ProviderRejected' });
    signer.failures.push(new ProviderUnavailable('no quorum'));
    await expect(adapter.fillGap(metaAt(startMs), from, 1)).rejects.toBeInstanceOf(ProviderUnavailable);
  });

  it('that another transfer has used fail the transfer, and say so', async () => {
    const [from, to] = await pair(sepolia);
    await drive(from, transfer(from, to, '1', 'txi_1'), 0);
    const { last } = await drive(from, transfer(from, to, '2', 'txi_2'), 0);
    expect(last).toMatchObject({ stage: 'failed', error: { code: 'NONCE_TOO_LOW' }, numberUsed: true });
  });

  it('stay in order when thirty transfers go at once', async () => {
    const [from, to] = await pair(sepolia);
    const before = await held(to);
    const numbers = Array.from({ length: 30 }, (_, index) => (index * 7) % 30);
    const runs = await Promise.all(
      numbers.map((number) => drive(from, transfer(from, to, '0.1', `txi_${number}`), number, startMs + 600_000)),
    );
    expect(runs.map(({ last }) => last.stage)).toEqual(numbers.map(() => 'completed'));
    expect(await held(to)).toBe(before + 3n * 10n ** 18n);
    expect(await chains.evm.nonce(addressOf(from))).toBe(30);
  });
});

it.each([
  [sepolia, 'ETH', '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238'],
  [sepolia, 'USDC', '0x1c7d4b196cb0c7b01d743fbc6116a902379c7238'],
  [devnet, 'SOL', '1'.repeat(32)],
] as const)('on %s %s does not go to %s, where it would be lost', async (network, asset, toAddress) => {
  const [from] = await pair(network);
  const draft = { intentId: 'x', kind: 'transfer' as const, wallet: from, asset, amount: '1', units: 1n, toAddress };
  await expect(adapter.quote(metaAt(startMs), draft)).rejects.toMatchObject({
    name: 'ProviderRejected',
    field: 'destination.address',
    issue: 'unsupported_destination',
  });
});

describe('Bitcoin', () => {
  it('refuses an amount that no node would relay', async () => {
    const [from, to] = await pair(testnet);
    const draft = {
      intentId: 'x',
      kind: 'transfer' as const,
      wallet: from,
      asset: 'BTC',
      amount: '0.00000293',
      units: 293n,
      toAddress: addressOf(to),
    };
    await expect(adapter.quote(metaAt(startMs), draft)).rejects.toMatchObject({
      issue: 'amount_too_small',
      field: 'amount',
    });
    expect((await adapter.quote(metaAt(startMs), { ...draft, units: 294n })).fee.asset).toBe('BTC');
  });

  it('never spends an output twice when more transfers go at once than there are outputs', async () => {
    const [from, to] = await pair(testnet);
    const before = await Promise.all([held(from), held(to)]);
    const ids = Array.from({ length: 14 }, (_, index) => `txi_${index}`);
    const runs = await Promise.all(
      ids.map((id) => drive(from, transfer(from, to, '0.06', id), undefined, startMs + 600_000)),
    );
    expect(runs.map(({ last }) => last.stage)).toEqual(ids.map(() => 'completed'));
    expect(runs.some(({ seen }) => seen.some((progress) => progress.stage === 'signing'))).toBe(true);
    const fees = runs.reduce((sum, { last }) => sum + (last.stage === 'completed' ? last.feePaid.units : 0n), 0n);
    expect(await held(to)).toBe(before[1] + 84_000_000n);
    expect(await held(from)).toBe(before[0] - 84_000_000n - fees);
  });
});

describe('Solana', () => {
  it('refuses what would leave an account neither empty nor exempt from rent', async () => {
    const [from, to] = await pair(devnet);
    const quote = (units: bigint, toAddress: string) =>
      adapter.quote(metaAt(startMs), {
        ...{ intentId: 'x', kind: 'transfer', wallet: from, asset: 'SOL', amount: '1', units, toAddress },
      });
    const stranger = solanaAddress(new Uint8Array(32).fill(7));
    const all = (await held(from)) - 5_000n;
    await expect(quote(890_879n, stranger)).rejects.toMatchObject({ field: 'amount', issue: 'amount_too_small' });
    for (const units of [all - 1n, all - 890_879n]) {
      await expect(quote(units, stranger)).rejects.toMatchObject({ field: 'amount', issue: 'leaves_too_little' });
    }
    for (const [units, address] of [
      [890_880n, stranger],
      [1n, addressOf(to)],
      [1n, addressOf(from)],
      [all, stranger],
      [all - 890_880n, stranger],
    ] as const) {
      expect((await quote(units, address)).fee).toEqual({ asset: 'SOL', units: 5_000n });
    }
  });

  it('takes two equal transfers for two', async () => {
    const [from, to] = await pair(devnet);
    const before = await held(to);
    const [one, two] = await Promise.all(
      ['txi_1', 'txi_2'].map((id) => drive(from, transfer(from, to, '1', id), undefined)),
    );
    expect(one!.last).toMatchObject({ stage: 'completed' });
    expect(one!.last.providerTxId).not.toBe(two!.last.providerTxId);
    expect(await held(to)).toBe(before + 2_000_000_000n);
  });
});

describe('a Bitcoin amount that lies in many outputs', () => {
  it('is refused at the quote where sixteen of them do not carry it, also while others hold them', async () => {
    const [from, to] = await pair(testnet);
    const address = addressOf(from);
    // Beside the faucet's ten of 0.1 BTC.
    for (let k = 0; k < 20; k += 1) await chains.bitcoin.fund(`small ${k}`, address, 'BTC', 900_000n);
    const quote = (units: bigint) =>
      adapter.quote(metaAt(startMs), {
        intentId: 'txi_1',
        kind: 'transfer' as const,
        wallet: from,
        asset: 'BTC',
        amount: '1',
        units,
        toAddress: addressOf(to),
      });
    // Ten of 10,000,000 sat and six of 900,000 sat.
    const most = 105_400_000n;
    for (let held = 0; held < 2; held += 1) {
      await expect(quote(110_000_000n)).rejects.toMatchObject({
        name: 'ProviderRejected',
        field: 'amount',
        issue: 'too_many_inputs',
      });
      await expect(quote(most)).rejects.toMatchObject({ issue: 'too_many_inputs' });
      expect((await quote(most - 3_000n)).fee.units).toBeGreaterThan(0n);
      await chains.bitcoin.hold('another', address, { to: addressOf(to), sats: 50_000_000n }, 2n, startMs);
    }
    const { last } = await drive(from, transfer(from, to, '0.4'), undefined);
    expect(last.stage).toBe('completed');
  });

  it('is not refused for lack of money: that is the ledger’s to say', async () => {
    const [from, to] = await pair(testnet);
    const draft = {
      intentId: 'x',
      kind: 'transfer' as const,
      wallet: from,
      asset: 'BTC',
      amount: '5',
      units: 5n * 10n ** 8n,
      toAddress: addressOf(to),
    };
    expect((await adapter.quote(metaAt(startMs), draft)).fee.units).toBeGreaterThan(0n);
  });
});
