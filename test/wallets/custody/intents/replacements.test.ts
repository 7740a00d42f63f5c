/** Transactions below the market: they wait, and others take their place. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { Transaction as BitcoinTransaction } from 'bitcoinjs-lib';
import { Transaction } from 'ethers';
import { describe, expect, test } from 'vitest';
import { bitcoinTestnetAddress } from '../../../../wallets/networks/addresses.ts';
import { formatAmount } from '../../../../wallets/networks/amounts.ts';
import { makeSelfHosted } from '../../../../wallets/providers/self-hosted/adapter.ts';
import { isThorough } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { devnet, testnet } from '../../providers/self-hosted/support.ts';
import { somewhere } from './support/desk.ts';
import { type Death, Process, storeCalls } from './support/mortal.ts';
import { gwei, StuckDesk } from './support/stuck-desk.ts';

const oneEth = 10n ** 18n;
const ether = (units: bigint) => formatAmount(units, 18);

/** A transfer that waits: it was signed at a low fee, and then the market rose. */
async function stuck(desk: StuckDesk, body: object = {}) {
  const { id } = await desk.transfer({ asset: 'ETH', amount: '1', fee_level: 'low', ...body });
  await desk.chain.moveMarket(20n * gwei);
  await desk.run(2);
  expect(await desk.intent(id)).toMatchObject({ status: 'broadcasting', subStatus: 'BELOW_MARKET_FEE' });
  return id as string;
}

const replace = (desk: StuckDesk, txId: string, body: object, by = 'tok_1') =>
  desk.call('replaceTransactionIntent', { params: { id: 'wal_1', txId }, body }, by);

const statusOf = async (desk: StuckDesk, id: string) => {
  const { status, subStatus } = await desk.intent(id);
  return subStatus === null ? status : `${status} ${subStatus}`;
};

describe('on EVM', () => {
  test('a transaction below the market waits, and is mined when the market falls, at the fee of then', async () => {
    const desk = await StuckDesk.start();
    const id = await stuck(desk);
    expect(await desk.chain.balances(desk.address)).toEqual(
      new Map([
        ['ETH', 10n * oneEth],
        ['USDC', 10_000_000_000n],
      ]),
    );
    await desk.chain.moveMarket(gwei / 2n);
    await desk.run();
    expect(await desk.intent(id)).toMatchObject({ status: 'completed', feePaid: { units: String(21_000n * gwei) } });
    expect(await desk.balance('ETH')).toEqual(await desk.onChain('ETH'));
  });

  test('speed up: the replacement has the same nonce and effect, is mined, and the first fails as REPLACED', async () => {
    const desk = await StuckDesk.start();
    const first = await stuck(desk);
    const before = await desk.balance('ETH');
    const second = await replace(desk, first, { kind: 'speed_up' });
    expect(second).toMatchObject({ kind: 'speed_up', status: 'approved', replaces: first, amount: '1', approvals: [] });
    expect((await desk.intent(first)).replacedBy).toBe(second.id);
    // What both move is set aside once: only the higher fee is added.
    const { available, reserved } = await desk.balance('ETH');
    const more = 21_000n * (41n * gwei - (3n * gwei) / 2n);
    expect({ available, reserved }).toEqual({ available: before.available - more, reserved: before.reserved + more });
    await desk.run();
    expect([await statusOf(desk, first), await statusOf(desk, second.id)]).toEqual(['failed REPLACED', 'completed']);
    expect(await desk.balance('ETH')).toEqual(await desk.onChain('ETH'));
    const [old, made] = await Promise.all(
      [first, second.id].map(async (id) => {
        const { submission } = await desk.intent(id);
        return Transaction.from((submission as { rawTransaction: string }).rawTransaction);
      }),
    );
    expect(made).toMatchObject({ nonce: old!.nonce, to: old!.to, value: old!.value, from: desk.address });
    expect(made!.maxFeePerGas! * 10n).toBeGreaterThanOrEqual(old!.maxFeePerGas! * 11n);
    expect(desk.signer.orders.map(({ purpose }) => purpose)).toEqual([first, second.id]);
    expect(await desk.chains.evm.nonce(desk.address)).toBe(1);
    // The pair has used one number: the next transfer has the number after it.
    const { id: next } = await desk.transfer({ asset: 'ETH', amount: '1' });
    await desk.run();
    expect(await statusOf(desk, next)).toBe('completed');
  });

  test('cancel: the wallet sends itself nothing, and pays the fee alone', async () => {
    const desk = await StuckDesk.start();
    const first = await stuck(desk, { asset: 'USDC', amount: '5' });
    const { id } = await replace(desk, first, { kind: 'cancel', fee_level: 'high' });
    await desk.run();
    expect([await statusOf(desk, first), await statusOf(desk, id)]).toEqual(['failed REPLACED', 'completed']);
    const { submission, destination } = await desk.intent(id);
    const made = Transaction.from((submission as { rawTransaction: string }).rawTransaction);
    expect(made).toMatchObject({ nonce: 0, to: desk.address, value: 0n, data: '0x' });
    expect(destination).toEqual({ address: desk.address });
    for (const asset of ['ETH', 'USDC']) expect(await desk.balance(asset)).toEqual(await desk.onChain(asset));
  });

  test('the first is mined before its replacement is signed: the replacement fails as REPLACED', async () => {
    const desk = await StuckDesk.start();
    const first = await stuck(desk);
    desk.decision = { decision: 'require_approval', approvals: { quorum: 1, approvers: [], timeoutS: 60 } };
    const { id } = await replace(desk, first, { kind: 'speed_up' });
    await desk.chain.moveMarket(gwei);
    await desk.run();
    expect([await statusOf(desk, first), await statusOf(desk, id)]).toEqual(['completed', 'failed REPLACED']);
    expect(await desk.balance('ETH')).toEqual(await desk.onChain('ETH'));
    expect(desk.signer.orders).toHaveLength(1);
  });

  test('votes on the first do not count for its replacement, whose initiator has no vote', async () => {
    const desk = await StuckDesk.start();
    desk.decision = { decision: 'require_approval', approvals: { quorum: 1, approvers: [], timeoutS: 60 } };
    const { id: first } = await desk.transfer({ asset: 'ETH', amount: '1', fee_level: 'low' });
    const vote = (txId: string, by: string) =>
      desk.call('approveTransactionIntent', { params: { id: 'wal_1', txId } }, by);
    await vote(first, 'tok_2');
    await desk.chain.moveMarket(20n * gwei);
    await desk.run(2);
    const second = await replace(desk, first, { kind: 'speed_up' }, 'tok_2');
    expect(second).toMatchObject({ status: 'pending_approval', approvals: [], initiator: 'tok_2' });
    await expect(vote(second.id, 'tok_2')).rejects.toMatchObject({ kind: 'insufficientScope' });
    await vote(second.id, 'tok_1');
    await desk.run();
    expect([await statusOf(desk, first), await statusOf(desk, second.id)]).toEqual(['failed REPLACED', 'completed']);
  });

  test('a replacement that is taken back sets nothing aside any more, and another one may follow; a second at once is 409', async () => {
    const desk = await StuckDesk.start();
    const first = await stuck(desk);
    const before = await desk.balance('ETH');
    desk.decision = { decision: 'require_approval', approvals: { quorum: 1, approvers: [], timeoutS: 60 } };
    const { id } = await replace(desk, first, { kind: 'cancel' });
    await expect(replace(desk, first, { kind: 'speed_up' })).rejects.toMatchObject({
      kind: 'conflict',
      details: [{ field: 'replaced_by', issue: 'replacement_open' }],
    });
    await desk.call('cancelTransactionIntent', { params: { id: 'wal_1', txId: id }, body: {} });
    expect(await desk.balance('ETH')).toEqual(before);
    desk.decision = {};
    const next = await replace(desk, first, { kind: 'speed_up' });
    await desk.run();
    expect(await Promise.all([first, id, next.id].map((each) => statusOf(desk, each)))).toEqual([
      'failed REPLACED',
      'cancelled',
      'completed',
    ]);
    expect(await desk.balance('ETH')).toEqual(await desk.onChain('ETH'));
  });

  test('a replacement that waits is replaced in turn; when the last is mined, all others fail', async () => {
    const desk = await StuckDesk.start();
    const first = await stuck(desk);
    const second = await replace(desk, first, { kind: 'speed_up' });
    await desk.chain.moveMarket(100n * gwei);
    await desk.run(2);
    expect(await statusOf(desk, first)).toBe('broadcasting BEING_REPLACED');
    const before = await desk.balance('ETH');
    const third = await replace(desk, second.id, { kind: 'cancel' });
    // The first two have set aside more than it may cost.
    expect(await desk.balance('ETH')).toEqual(before);
    await desk.run();
    expect(await Promise.all([first, second.id, third.id].map((each) => statusOf(desk, each)))).toEqual([
      'failed REPLACED',
      'failed REPLACED',
      'completed',
    ]);
    expect(await desk.balance('ETH')).toEqual(await desk.onChain('ETH'));
    expect(await desk.chains.evm.nonce(desk.address)).toBe(1);
  });

  test('those behind a stuck one are mined with its replacement, and nonces have no gap', async () => {
    const desk = await StuckDesk.start();
    const first = await stuck(desk);
    const { id: behind } = await desk.transfer({ asset: 'ETH', amount: '2' });
    await desk.run(2);
    expect(await statusOf(desk, behind)).toBe('broadcasting AWAITING_EARLIER_TRANSACTION');
    const { id } = await replace(desk, first, { kind: 'cancel' });
    await desk.run();
    expect(await Promise.all([first, id, behind].map((each) => statusOf(desk, each)))).toEqual([
      'failed REPLACED',
      'completed',
      'completed',
    ]);
    expect(await desk.chains.evm.nonce(desk.address)).toBe(2);
    expect(await desk.balance('ETH')).toEqual(await desk.onChain('ETH'));
  });

  test.each<[string, object, string, string]>([
    ['a level beside terms', { fee_level: 'low', max_fee_per_gas: '2000000000' }, 'max_fee_per_gas', 'duplicate_field'],
    ['a tip alone', { max_priority_fee_per_gas: '1' }, 'max_fee_per_gas', 'missing_required'],
    ['a fee that is not relayed', { max_fee_per_gas: '99999999' }, 'max_fee_per_gas', 'fee_too_low'],
    ['a mistake', { max_fee_per_gas: '10000000000001' }, 'max_fee_per_gas', 'fee_too_high'],
    [
      'a tip above the fee',
      { max_fee_per_gas: '2000000000', max_priority_fee_per_gas: '2000000001' },
      'max_priority_fee_per_gas',
      'fee_too_high',
    ],
    ['a rate of Bitcoin', { sats_per_vbyte: '2' }, 'sats_per_vbyte', 'not_applicable'],
    ['a gas limit below what nodes take', { gas_limit: '20999' }, 'gas_limit', 'gas_limit_too_low'],
    ['a gas limit above what nodes take', { gas_limit: '16777217' }, 'gas_limit', 'gas_limit_too_high'],
  ])('refuses %s, and names the field', async (_, fees, field, issue) => {
    const desk = await StuckDesk.start();
    await expect(desk.transfer({ asset: 'ETH', amount: '1', ...fees })).rejects.toSatisfy(
      (error: { field?: string; issue?: string; details?: readonly { field: string; issue: string }[] }) => {
        const { field: named, issue: why } = error.details?.[0] ?? error;
        return named === field && why === issue;
      },
    );
  });

  test.each([
    ['its own need', undefined, 65_000n, 65_000n],
    ['the highest limit', '16777216', 16_777_216n, 65_000n],
    ['too little', '64999', 64_999n, 64_999n],
    ['the least that nodes take', '21596', 21_596n, 21_596n],
  ])('a transfer with %s reserves its limit and pays what it uses', async (_, gas_limit, limit, used) => {
    const desk = await StuckDesk.start();
    const [coin, tokens] = [await desk.balance('ETH'), await desk.balance('USDC')];
    const body = {
      asset: 'USDC',
      amount: '1',
      fee_level: 'low',
      destination: { address: `0x${'11'.repeat(20)}` },
      gas_limit,
    };
    const estimate = await desk.call('estimateTransactionIntent', { body });
    const made = await desk.transfer(body);
    expect(estimate.fee).toMatchObject({ reserved: made.fee.reserved, terms: made.fee.terms });
    expect(made.fee).toMatchObject({
      reserved: ether(1_500_000_000n * limit),
      terms: { gas_limit: gas_limit ?? null },
    });
    await desk.run();
    const { status, sub_status, fee, provider_error, provider_details } = await desk.call('getTransactionIntent', {
      params: { id: 'wal_1', txId: made.id },
    });
    const failed = ['failed', 'OUT_OF_GAS', 'OUT_OF_GAS'];
    expect([status, sub_status, provider_error?.code]).toEqual(
      used < 65_000n ? failed : ['completed', null, undefined],
    );
    expect(fee.paid).toBe(ether(1_500_000_000n * used));
    expect(Transaction.from(provider_details.raw_transaction).gasLimit).toBe(limit);
    expect(await desk.balance('ETH')).toEqual({ available: coin.available - 1_500_000_000n * used, reserved: 0n });
    const moved = used < 65_000n ? 0n : 1_000_000n;
    expect(await desk.balance('USDC')).toEqual({ available: tokens.available - moved, reserved: 0n });
    for (const asset of ['ETH', 'USDC']) expect(await desk.balance(asset)).toEqual(await desk.onChain(asset));
  });

  test('a fee that rises by less than a tenth is refused, and the message says the least', async () => {
    const desk = await StuckDesk.start();
    const first = await stuck(desk, {
      fee_level: undefined,
      max_fee_per_gas: '2000000000',
      max_priority_fee_per_gas: '1000000000',
    });
    const fees = { max_fee_per_gas: '2199999999', max_priority_fee_per_gas: '1100000000' };
    await expect(replace(desk, first, { kind: 'speed_up', ...fees })).rejects.toMatchObject({
      field: 'max_fee_per_gas',
      issue: 'replacement_fee_too_low',
      message: expect.stringContaining('2200000000'),
    });
    const least = { max_fee_per_gas: '2200000000', max_priority_fee_per_gas: '1100000000' };
    expect((await replace(desk, first, { kind: 'speed_up', ...least })).fee.terms).toMatchObject(least);
  });

  test('an estimate and a dry run answer alike, and the levels rise', async () => {
    const desk = await StuckDesk.start();
    const fees: bigint[] = [];
    for (const fee_level of ['low', 'medium', 'high']) {
      const body = { asset: 'ETH', amount: '1', destination: { address: somewhere }, fee_level };
      const [{ risk: _, ...estimate }, { risk: __, ...dryRun }] = [
        await desk.call('estimateTransactionIntent', { body }),
        await desk.transfer(body, { dry_run: 'true' }),
      ];
      expect(estimate).toEqual(dryRun);
      fees.push(BigInt(estimate.fee.terms.max_fee_per_gas));
    }
    expect(fees).toEqual([1_500_000_000n, 3_000_000_000n, 5_000_000_000n]);
    const plain = await desk.transfer({ asset: 'ETH', amount: '1' }, { dry_run: 'true' });
    expect(plain.fee).toMatchObject({ reserved: '0.000063', terms: { fee_level: 'medium' } });
  });
});

describe('on Bitcoin', () => {
  const receiver = bitcoinTestnetAddress(secp256k1.getPublicKey(new Uint8Array(32).fill(9), true));

  /** It offers 2 satoshi a virtual byte, and the market takes 5. */
  async function waiting(body: object = {}) {
    const desk = await StuckDesk.start(testnet);
    await desk.chain.moveMarket(5n);
    const asked = { asset: 'BTC', amount: '0.35', destination: { address: receiver }, sats_per_vbyte: '2', ...body };
    const { id } = await desk.transfer(asked);
    await desk.run(2);
    expect(await statusOf(desk, id)).toBe('broadcasting BELOW_MARKET_FEE');
    return { desk, first: id as string };
  }

  const made = async (desk: StuckDesk, id: string) => {
    const { submission } = await desk.intent(id);
    return BitcoinTransaction.fromHex((submission as { rawTransaction: string }).rawTransaction);
  };
  const inputs = (transaction: BitcoinTransaction) =>
    transaction.ins.map(({ hash, index }) => `${Buffer.from(hash).toString('hex')}:${index}`);

  test('a transaction below the market waits: its coins stay unspent and are no one else\u2019s; it is mined when the market falls', async () => {
    const { desk, first } = await waiting();
    expect(await desk.onChain('BTC')).toEqual({ available: 100_000_000n, reserved: 0n });
    const { id } = await desk.transfer({ asset: 'BTC', amount: '0.4', destination: { address: receiver } });
    await desk.run();
    expect(await statusOf(desk, id)).toBe('completed');
    await desk.chain.moveMarket(2n);
    await desk.run();
    expect(await statusOf(desk, first)).toBe('completed');
    expect(await desk.balance('BTC')).toEqual(await desk.onChain('BTC'));
  });

  test.each(['speed_up', 'cancel'])('%s spends the same coins, and pays enough more', async (kind) => {
    const { desk, first } = await waiting();
    const before = await desk.balance('BTC');
    const second = await replace(desk, first, { kind });
    expect(second).toMatchObject({ kind, status: 'approved', replaces: first });
    // The first has set aside the amount, and a fee for sixteen inputs at 2 satoshi; the new fee of four at 10 is 3,450.
    const { reserved } = await desk.balance('BTC');
    expect(reserved).toBe(kind === 'cancel' ? before.reserved : 35_003_450n);
    await desk.run();
    expect([await statusOf(desk, first), await statusOf(desk, second.id)]).toEqual(['failed REPLACED', 'completed']);
    expect(await desk.balance('BTC')).toEqual(await desk.onChain('BTC'));
    const [old, next] = [await made(desk, first), await made(desk, second.id)];
    expect(inputs(next)).toEqual(inputs(old));
    const spent = 10_000_000n * BigInt(old.ins.length);
    const fees = [old, next].map(({ outs }) => spent - outs.reduce((sum, { value }) => sum + value, 0n));
    expect(fees[1]).toBeGreaterThanOrEqual(fees[0]! + BigInt(next.virtualSize()));
    expect(fees[1]).toBe(BigInt((await desk.intent(second.id)).feePaid!.units));
    if (kind === 'cancel') expect(next.outs).toHaveLength(1);
    else expect(next.outs[0]!.value).toBe(35_000_000n);
    const purposes = desk.signer.orders.map(({ purpose }) => purpose);
    expect(new Set(purposes).size).toBe(purposes.length);
  });

  test('of a long chain of changes 25 transactions wait for a block together; those behind them wait until these are mined', async () => {
    const desk = await StuckDesk.start(testnet);
    // All coins become one, so that every transfer spends the change of the one before.
    const ownerOf = async (_: string, address: string) =>
      address === desk.address ? { tenant: desk.tenant, walletId: 'wal_1' } : undefined;
    Object.assign(desk.deps, { addressBook: { ownerOf } });
    await desk.transfer({ asset: 'BTC', amount: '0.999', destination: { address: desk.address } });
    await desk.run();
    const sent: string[] = [];
    for (let index = 0; index < 26; index += 1) {
      const { id } = await desk.transfer({ asset: 'BTC', amount: '0.0001', destination: { address: receiver } });
      sent.push(id);
    }
    for (const id of sent) await desk.step(id);
    const states = await Promise.all(sent.map((id) => statusOf(desk, id)));
    expect(states).toEqual([...Array(25).fill('confirming'), 'signing AWAITING_EARLIER_TRANSACTION']);
    const orders = desk.signer.orders.length;
    await desk.run(3);
    expect(await statusOf(desk, sent.at(-1)!)).toBe('completed');
    expect(desk.signer.orders).toHaveLength(orders);
    expect(await desk.balance('BTC')).toEqual(await desk.onChain('BTC'));
  });

  test('a rate that rises too little is refused, and the message says the least', async () => {
    const { desk, first } = await waiting();
    await expect(replace(desk, first, { kind: 'speed_up', sats_per_vbyte: '2' })).rejects.toMatchObject({
      field: 'sats_per_vbyte',
      issue: 'replacement_fee_too_low',
      message: expect.stringContaining('at least 3 '),
    });
    const { fee } = await replace(desk, first, { kind: 'speed_up', sats_per_vbyte: '3' });
    expect(fee.terms).toMatchObject({ fee_level: null, sats_per_vbyte: '3' });
  });

  test('the first is mined before its replacement is signed: the replacement fails as REPLACED', async () => {
    const { desk, first } = await waiting();
    desk.decision = { decision: 'require_approval', approvals: { quorum: 1, approvers: [], timeoutS: 60 } };
    const { id } = await replace(desk, first, { kind: 'cancel' });
    await desk.chain.moveMarket(1n);
    await desk.run();
    expect([await statusOf(desk, first), await statusOf(desk, id)]).toEqual(['completed', 'failed REPLACED']);
    expect(await desk.balance('BTC')).toEqual(await desk.onChain('BTC'));
  });

  test('a change that is too small to raise the fee from is 422', async () => {
    const { desk, first } = await waiting({ amount: '0.39999' });
    await expect(replace(desk, first, { kind: 'speed_up', sats_per_vbyte: '1000' })).rejects.toMatchObject({
      field: 'sats_per_vbyte',
      issue: 'insufficient_funds',
    });
  });
});

test('on Solana there is no fee to choose', async () => {
  const desk = await StuckDesk.start(devnet);
  await expect(
    desk.transfer({ asset: 'SOL', amount: '1', destination: { address: desk.address }, fee_level: 'low' }),
  ).rejects.toMatchObject({
    field: 'fee_level',
    issue: 'not_supported',
  });
});

describe('a gateway that dies at any call', () => {
  /** Until the process is dead or has nothing left to do. */
  async function live(desk: StuckDesk, process: Process): Promise<void> {
    const adapter = makeSelfHosted({
      signer: process.wrap(desk.signer, ['sign']),
      chains: { ...desk.chains, evm: process.wrap(desk.chains.evm, ['submit', 'transaction']) },
    });
    const adapters = new Map([['self_hosted' as const, adapter]]);
    const store = process.wrap(desk.store, storeCalls);
    let isDone = false;
    void desk.run(6, { ...desk.deps, store, adapters, fillGap: adapter.fillGap }).then(() => {
      isDone = true;
    });
    await until(() => process.isDead || isDone, 'the end of the process');
  }

  const ends = [
    ['failed REPLACED', 'completed'],
    ['completed', 'failed REPLACED'],
  ];

  test.each([
    ['while the replacement is signed and mined', 20n * gwei],
    ['while the market falls, and both could be mined', gwei],
  ])('%s: one of the pair is completed, the other REPLACED, and what they moved is right', async (_, market) => {
    const walk = async (death?: Death) => {
      const desk = await StuckDesk.start();
      const first = await stuck(desk);
      const { id } = await replace(desk, first, { kind: 'speed_up' });
      await desk.chain.moveMarket(market);
      const process = new Process(death);
      await live(desk, process);
      if (death !== undefined) await live(desk, new Process());
      const end = [await statusOf(desk, first), await statusOf(desk, id)];
      expect(ends, `${end} after ${JSON.stringify(death)}`).toContainEqual(end);
      expect(await desk.balance('ETH')).toEqual(await desk.onChain('ETH'));
      expect(await desk.chains.evm.nonce(desk.address)).toBe(1);
      const purposes = desk.signer.orders.map(({ purpose }) => purpose);
      expect(new Set(purposes).size).toBe(purposes.length);
      return process.calls;
    };
    const calls = await walk();
    expect(calls).toBeGreaterThan(8);
    // What a death after a call leaves stored is what a death before the next call leaves.
    for (let atCall = 1; atCall <= calls; atCall += 1) {
      for (const tookEffect of isThorough || atCall === 1 ? [false, true] : [true]) await walk({ atCall, tookEffect });
    }
  });
});
