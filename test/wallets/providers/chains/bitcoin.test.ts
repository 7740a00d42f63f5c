import { secp256k1 } from '@noble/curves/secp256k1.js';
import { crypto, networks, payments, script, Transaction } from 'bitcoinjs-lib';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { bitcoinTestnetAddress } from '../../../../wallets/networks/addresses.ts';
import { BitcoinChain } from '../../../../wallets/providers/chains/bitcoin.ts';
import {
  type Coin,
  dustSats,
  largestFee,
  signedBitcoin,
  unsignedBitcoin,
} from '../../../../wallets/providers/chains/bitcoin-transaction.ts';
import { RedisBitcoinLedger } from '../../../../wallets/providers/chains/redis-bitcoin-ledger.ts';
import { useDatabase } from '../../../support/redis-database.ts';
import { runs } from '../../../support/thorough.ts';
import { startMs, testnet } from './support.ts';

const feeRate = 2n;
let redis: Redis;
let chain: BitcoinChain;
useDatabase((opened) => {
  redis = opened;
  chain = new BitcoinChain(testnet, new RedisBitcoinLedger(redis, testnet));
});

const secret = (index: number) => new Uint8Array(32).fill(index + 1);
const publicKey = (index: number) => secp256k1.getPublicKey(secret(index), true);
const address = (index: number) => bitcoinTestnetAddress(publicKey(index));
const held = async (index: number) => (await chain.balances(address(index))).get('BTC')!;

function pay(from: number, coins: readonly Coin[], to: string, sats: bigint, signer = from): Uint8Array {
  const unsigned = unsignedBitcoin(publicKey(from), coins, { to, sats }, feeRate);
  const sign = (digest: Uint8Array) => secp256k1.sign(digest, secret(signer), { prehash: false });
  return signedBitcoin(unsigned, unsigned.digests.map(sign));
}

async function coinsFor(id: string, from: number, to: string, sats: bigint, nowMs = startMs): Promise<readonly Coin[]> {
  const holding = await chain.hold(id, address(from), { to, sats }, feeRate, nowMs);
  if (holding.kind !== 'held') throw new Error(holding.kind);
  return holding.coins;
}

describe('a payment', () => {
  beforeEach(() => chain.fund('a', address(0), 'BTC', 1_000_000n));

  it('is what bitcoinjs-lib reads: id, size, outputs, and a witness that signs each input', async () => {
    const coins = await coinsFor('p', 0, address(1), 350_000n);
    expect(coins).toHaveLength(4);
    const raw = pay(0, coins, address(1), 350_000n);
    const parsed = Transaction.fromBuffer(Buffer.from(raw));
    const taken = await chain.submit(raw, startMs);
    expect(taken).toMatchObject({ id: parsed.getId(), from: address(0), to: address(1), units: 350_000n });
    const ownHash = crypto.hash160(publicKey(0));
    const code = payments.p2pkh({ hash: ownHash, network: networks.testnet }).output!;
    parsed.ins.forEach((input, index) => {
      const [signature, key] = input.witness as [Uint8Array, Uint8Array];
      const { signature: compact, hashType } = script.signature.decode(signature);
      const digest = parsed.hashForWitnessV0(index, code, coins[index]!.sats, hashType);
      expect(Buffer.from(crypto.hash160(key))).toEqual(Buffer.from(ownHash));
      expect(secp256k1.verify(compact, digest, key, { prehash: false, lowS: true })).toBe(true);
    });
    const spent = coins.reduce((sum, { sats }) => sum + sats, 0n);
    expect(parsed.outs.map(({ value }) => value)).toEqual([350_000n, spent - 350_000n - taken.feeUnits]);
    expect(taken.feeUnits).toBeGreaterThanOrEqual(feeRate * BigInt(parsed.virtualSize()));
    expect(taken.feeUnits).toBeLessThanOrEqual(feeRate * BigInt(parsed.virtualSize() + coins.length));
    expect([await held(0), await held(1)]).toEqual([650_000n - taken.feeUnits, 350_000n]);
  });

  it('is final with the next block, and the same bytes are the same payment', async () => {
    const raw = pay(0, await coinsFor('p', 0, address(1), 50_000n), address(1), 50_000n);
    const answers = await Promise.all(Array.from({ length: 8 }, () => chain.submit(raw, startMs)));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(await held(1)).toBe(50_000n);
    const { id } = answers[0]!;
    expect(await chain.transaction(id, startMs + 749)).toMatchObject({ state: 'pending' });
    expect(await chain.transaction(id, startMs + 750)).toMatchObject({ state: 'confirmed', succeeded: true });
  });

  it.each([
    payments.p2wsh({ hash: new Uint8Array(32).fill(1), network: networks.testnet }).address!,
    payments.p2pkh({ hash: new Uint8Array(20).fill(1), network: networks.testnet }).address!,
    payments.p2sh({ hash: new Uint8Array(20).fill(1), network: networks.testnet }).address!,
    'tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c',
  ])('goes to %s', async (to) => {
    const raw = pay(0, await coinsFor('p', 0, to, 50_000n), to, 50_000n);
    const { feeUnits } = await chain.submit(raw, startMs);
    expect(feeUnits).toBeGreaterThanOrEqual(feeRate * BigInt(Transaction.fromBuffer(Buffer.from(raw)).virtualSize()));
    expect((await chain.balances(to)).get('BTC')).toBe(50_000n);
  });

  it('pays no change that is dust: the fee takes it, and stays within the largest fee', async () => {
    const [coin] = await coinsFor('p', 0, address(1), 99_600n);
    const raw = pay(0, [coin!], address(1), 99_600n);
    const { feeUnits } = await chain.submit(raw, startMs);
    expect(feeUnits).toBe(400n);
    expect(feeUnits).toBeLessThanOrEqual(largestFee(address(1), address(0), feeRate));
    expect(Transaction.fromBuffer(Buffer.from(raw)).outs).toHaveLength(1);
  });

  it('pays a satoshi a virtual byte at least', async () => {
    const coins = await coinsFor('p', 0, address(1), 90_000n);
    const paying = (sats: bigint) => {
      const { transaction } = unsignedBitcoin(publicKey(0), [coins[0]!], { to: address(1), sats: 99_600n }, feeRate);
      transaction.updateOutput(0, { amount: sats });
      const digest = transaction.preimageWitnessV0(
        0,
        payments.p2pkh({ hash: crypto.hash160(publicKey(0)), network: networks.testnet }).output!,
        1,
        coins[0]!.sats,
      );
      const signature = secp256k1.sign(digest, secret(0), { prehash: false });
      return signedBitcoin({ transaction, publicKeys: [publicKey(0)], digests: [digest] }, [signature]);
    };
    const vbytes = BigInt(Transaction.fromBuffer(Buffer.from(paying(99_600n))).virtualSize());
    await expect(chain.submit(paying(100_001n), startMs)).rejects.toMatchObject({ code: 'insufficient_funds' });
    await expect(chain.submit(paying(100_000n - vbytes + 1n), startMs)).rejects.toMatchObject({ code: 'fee_too_low' });
    expect(await chain.submit(paying(100_000n - vbytes), startMs)).toMatchObject({ feeUnits: vbytes });
  });

  it('that is told to fail pays its fee alone', async () => {
    const raw = pay(0, await coinsFor('p', 0, address(1), 50_000n), address(1), 50_000n);
    const { feeUnits, succeeded } = await chain.submit(raw, startMs, { fails: true });
    expect(succeeded).toBe(false);
    expect([await held(0), await held(1)]).toEqual([1_000_000n - feeUnits, 0n]);
    expect(await coinsFor('q', 0, address(1), 900_000n)).toHaveLength(10);
  });

  it('is refused when it is signed by another key, spends what is spent, or was never there', async () => {
    const coins = await coinsFor('p', 0, address(1), 50_000n);
    await expect(chain.submit(pay(0, coins, address(1), 50_000n, 2), startMs)).rejects.toMatchObject({
      code: 'invalid_signature',
    });
    const thief = unsignedBitcoin(publicKey(2), coins, { to: address(2), sats: 50_000n }, feeRate);
    const stolen = signedBitcoin(
      thief,
      thief.digests.map((digest) => secp256k1.sign(digest, secret(2), { prehash: false })),
    );
    await expect(chain.submit(stolen, startMs)).rejects.toMatchObject({ code: 'invalid_signature' });
    await chain.submit(pay(0, coins, address(1), 50_000n), startMs);
    await expect(chain.submit(pay(0, coins, address(1), 40_000n), startMs)).rejects.toMatchObject({
      code: 'missing_input',
    });
    const nowhere = [{ txid: '00'.repeat(32), index: 0, sats: 100_000n }];
    await expect(chain.submit(pay(0, nowhere, address(1), 50_000n), startMs)).rejects.toMatchObject({
      code: 'missing_input',
    });
    const lied = coins.map((coin) => ({ ...coin, sats: coin.sats * 2n }));
    await expect(chain.submit(pay(0, lied, address(1), 50_000n), startMs)).rejects.toMatchObject({
      code: 'missing_input',
    });
    expect(await held(1)).toBe(50_000n);
  });

  it('is refused when it lies about an input’s worth', async () => {
    const coins = await coinsFor('p', 0, address(1), 50_000n);
    const lied = coins.map((coin) => ({ ...coin, sats: coin.sats * 2n }));
    await expect(chain.submit(pay(0, lied, address(1), 150_000n), startMs)).rejects.toMatchObject({
      name: 'ChainRejected',
    });
  });

  it('is refused when it spends an output twice', async () => {
    const [coin] = await coinsFor('p', 0, address(1), 50_000n);
    await expect(chain.submit(pay(0, [coin!, coin!], address(1), 150_000n), startMs)).rejects.toMatchObject({
      code: 'missing_input',
    });
    expect([await held(0), await held(1)]).toEqual([1_000_000n, 0n]);
  });

  it('never takes changed or cut bytes', async () => {
    const good = pay(0, await coinsFor('p', 0, address(1), 250_000n), address(1), 250_000n);
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), async (index, change) => {
        const changed = Uint8Array.from(good);
        changed[index]! ^= change;
        await expect(chain.submit(changed, startMs)).rejects.toMatchObject({ name: 'ChainRejected' });
        await expect(chain.submit(good.subarray(0, index), startMs)).rejects.toMatchObject({ name: 'ChainRejected' });
      }),
      { numRuns: runs(50, 150) },
    );
    expect(await held(0)).toBe(1_000_000n);
  });
});

describe('holding coins', () => {
  beforeEach(() => chain.fund('a', address(0), 'BTC', 1_000_000n));
  const keysOf = (coins: readonly Coin[]) => coins.map(({ txid, index }) => `${txid}:${index}`);

  it('gives the same payment the same coins, and two payments never the same', async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        chain.hold(`p${index % 6}`, address(0), { to: address(1), sats: 120_000n }, feeRate, startMs),
      ),
    );
    for (let index = 0; index < 6; index += 1) expect(all[index]).toEqual(all[index + 6]);
    const taken = all.slice(0, 6).flatMap((holding) => (holding.kind === 'held' ? keysOf(holding.coins) : []));
    expect(taken).toHaveLength(10);
    expect(new Set(taken).size).toBe(10);
    expect(all[5]).toEqual({ kind: 'wait' });
  });

  it('waits for the change of others, and says when nothing will come', async () => {
    const coins = await coinsFor('p', 0, address(1), 900_000n);
    const ask = () => chain.hold('q', address(0), { to: address(1), sats: 50_000n }, feeRate, startMs);
    expect(await ask()).toEqual({ kind: 'wait' });
    await chain.submit(pay(0, coins, address(1), 900_000n), startMs);
    expect((await ask()).kind).toBe('held');
    await chain.release('q');
    expect(await chain.hold('r', address(0), { to: address(1), sats: 100_000n }, feeRate, startMs)).toEqual({
      kind: 'insufficient',
    });
  });

  it('frees what was released, but nothing that was spent', async () => {
    const first = await coinsFor('p', 0, address(1), 900_000n);
    await chain.release('p');
    await chain.release('p');
    // A step that began before the release may ask after it.
    expect(await chain.hold('p', address(0), { to: address(1), sats: 1_000n }, feeRate, startMs)).toEqual({
      kind: 'released',
    });
    expect(keysOf(await coinsFor('q', 0, address(1), 900_000n)).sort()).toEqual(keysOf(first).sort());
    const coins = await coinsFor('q', 0, address(1), 900_000n);
    await chain.submit(pay(0, coins, address(1), 900_000n), startMs);
    await chain.release('q');
    expect(await chain.hold('r', address(0), { to: address(1), sats: 98_000n }, feeRate, startMs)).toMatchObject({
      kind: 'held',
    });
    expect((await chain.hold('s', address(0), { to: address(1), sats: 99_000n }, feeRate, startMs)).kind).toBe('wait');
  });

  it('answers a payment that was submitted with its coins still, so that it is built alike', async () => {
    const coins = await coinsFor('p', 0, address(1), 50_000n);
    const first = await chain.submit(pay(0, coins, address(1), 50_000n), startMs);
    const again = await coinsFor('p', 0, address(1), 50_000n);
    expect(again).toEqual(coins);
    expect((await chain.submit(pay(0, again, address(1), 50_000n), startMs)).id).toBe(first.id);
  });

  it('releases after a day the outputs of a payment that is no longer requested', async () => {
    const dayMs = 24 * 3_600_000;
    const lost = await coinsFor('lost', 0, address(1), 900_000n);
    const ask = (nowMs: number) => chain.hold('q', address(0), { to: address(1), sats: 900_000n }, feeRate, nowMs);
    expect((await ask(startMs + dayMs - 1)).kind).toBe('wait');
    await coinsFor('lost', 0, address(1), 900_000n, startMs + 1_000);
    expect((await ask(startMs + dayMs)).kind).toBe('wait');
    expect((await ask(startMs + dayMs + 1_000)).kind).toBe('held');
    // The lost one comes back: it holds nothing any more, gives nothing back, and finds its inputs spent.
    await chain.release('other');
    const coins = await coinsFor('q', 0, address(1), 900_000n);
    await chain.submit(pay(0, coins, address(1), 900_000n), startMs);
    await expect(chain.submit(pay(0, lost, address(2), 800_000n), startMs)).rejects.toMatchObject({
      code: 'missing_input',
    });
    await chain.release('lost');
    expect(await held(0)).toBeLessThan(100_000n);
    expect((await chain.hold('r', address(0), { to: address(1), sats: 100_000n }, feeRate, startMs)).kind).toBe(
      'insufficient',
    );
  });

  it('takes at most 16 inputs', async () => {
    expect(await chain.spendable(address(0))).toEqual({ sats: 1_000_000n, hasMore: false });
    await chain.fund('six', address(0), 'BTC', 99_999n);
    for (const more of [1, 2, 3, 4, 5]) await chain.fund(`six ${more}`, address(0), 'BTC', BigInt(more));
    expect(await chain.spendable(address(0))).toEqual({ sats: 1_100_014n, hasMore: false });
    await chain.fund('seventeenth', address(0), 'BTC', 7n);
    expect(await chain.spendable(address(0))).toEqual({ sats: 1_100_020n, hasMore: true });
    await chain.fund('b', address(0), 'BTC', 1_000_000n);
    const ask = (sats: bigint) => chain.hold(`p${sats}`, address(0), { to: address(1), sats }, feeRate, startMs);
    expect(await ask(1_700_000n)).toEqual({ kind: 'tooManyInputs' });
    const largest = await ask(1_590_000n);
    expect(largest.kind === 'held' && largest.coins.length).toBe(16);
  });
});

it('funds once a key, in parts that add up', async () => {
  await Promise.all(Array.from({ length: 5 }, () => chain.fund('k', address(0), 'BTC', 1_000_003n)));
  await chain.fund('small', address(1), 'BTC', 3n);
  expect([await held(0), await held(1)]).toEqual([1_000_003n, 3n]);
});

it('conserves all money when payments go at once', async () => {
  const payment = fc.record({ from: fc.nat(1), to: fc.nat(2), sats: fc.bigInt({ min: dustSats, max: 400_000n }) });
  await fc.assert(
    fc.asyncProperty(fc.array(payment, { minLength: 1, maxLength: 8 }), async (list) => {
      await redis.flushdb();
      for (const index of [0, 1]) await chain.fund(`f${index}`, address(index), 'BTC', 1_000_000n);
      const fees = await Promise.all(
        list.map(async ({ from, to, sats }, index) => {
          const holding = await chain.hold(`p${index}`, address(from), { to: address(to), sats }, feeRate, startMs);
          if (holding.kind !== 'held') return 0n;
          const raw = pay(from, holding.coins, address(to), sats);
          const [first] = await Promise.all([chain.submit(raw, startMs), chain.submit(raw, startMs)]);
          return first.feeUnits;
        }),
      );
      const balances = await Promise.all([0, 1, 2].map(held));
      const total = balances.reduce((sum, sats) => sum + sats, 0n);
      expect(total).toBe(2_000_000n - fees.reduce((sum, fee) => sum + fee, 0n));
    }),
    { numRuns: runs(8, 15) },
  );
});
