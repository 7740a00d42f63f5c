import { Transaction } from 'ethers';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { ChainUnavailable } from '../../../../wallets/providers/chains/chain.ts';
import { EvmChain } from '../../../../wallets/providers/chains/evm.ts';
import { queuedMaxMs } from '../../../../wallets/providers/chains/ledger.ts';
import { toDigits } from '../../../../wallets/providers/chains/lua-units.ts';
import { RedisEvmLedger } from '../../../../wallets/providers/chains/redis-evm-ledger.ts';
import { useDatabase } from '../../../support/redis-database.ts';
import { runs } from '../../../support/thorough.ts';
import { coinFee, evmKey, evmRaw, maxFeePerGas, sepolia, startMs, tokenFee, usdc, usdcCall } from './support.ts';

const ether = 10n ** 18n;
let redis: Redis;
let chain: EvmChain;
useDatabase((opened) => {
  redis = opened;
  chain = new EvmChain(sepolia, new RedisEvmLedger(redis, sepolia));
});

const alice = evmKey(0);
const bob = evmKey(1);
const held = async (address: string, asset = 'ETH') => (await chain.balances(address)).get(asset);

describe('the EVM chain', () => {
  beforeEach(async () => {
    await chain.fund('a', alice.address, 'ETH', 10n * ether);
    await chain.fund('a', alice.address, 'USDC', 500n);
  });

  it('names a transaction and its sender as ethers does', async () => {
    const raw = await evmRaw(alice, { to: bob.address, value: ether, nonce: 0 });
    const parsed = Transaction.from(`0x${Buffer.from(raw).toString('hex')}`);
    const taken = await chain.submit(raw, startMs);
    expect(taken.id).toBe(parsed.hash);
    expect(taken).toMatchObject({ from: alice.address.toLowerCase(), to: bob.address.toLowerCase(), asset: 'ETH' });
    expect(taken).toMatchObject({ units: ether, feeUnits: coinFee, state: 'pending', confirmations: 0 });
    expect(await held(alice.address)).toBe(9n * ether - coinFee);
    expect(await held(bob.address)).toBe(ether);
  });

  it('confirms by time alone: in the next block, final one block later', async () => {
    const { id } = await chain.submit(await evmRaw(alice, { to: bob.address, value: 1n, nonce: 0 }), startMs);
    const at = async (ms: number) => {
      const { state, confirmations, block } = (await chain.transaction(id, startMs + ms))!;
      return { state, confirmations, block };
    };
    const block = (startMs - 250 - 1_735_689_600_000) / 1_000 + 1;
    expect(await at(0)).toEqual({ state: 'pending', confirmations: 0, block });
    expect(await at(749)).toEqual({ state: 'pending', confirmations: 0, block });
    expect(await at(750)).toEqual({ state: 'confirming', confirmations: 1, block });
    expect(await at(1_749)).toEqual({ state: 'confirming', confirmations: 1, block });
    expect(await at(1_750)).toEqual({ state: 'confirmed', confirmations: 2, block });
    expect(await at(60_750)).toEqual({ state: 'confirmed', confirmations: 61, block });
    expect((await chain.transaction(id, startMs))!.confirmedAtMs).toBe(startMs + 1_750);
    expect(await chain.transaction(`0x${'0'.repeat(64)}`, startMs)).toBeUndefined();
  });

  it('moves tokens, and takes the fee in the coin', async () => {
    const raw = await evmRaw(alice, { to: usdc, data: usdcCall(bob.address, 200n), nonce: 0 });
    const taken = await chain.submit(raw, startMs);
    expect(taken).toMatchObject({ asset: 'USDC', units: 200n, to: bob.address.toLowerCase(), feeUnits: tokenFee });
    expect(await held(alice.address, 'USDC')).toBe(300n);
    expect(await held(bob.address, 'USDC')).toBe(200n);
    expect(await held(alice.address)).toBe(10n * ether - tokenFee);
  });

  it('mines and reverts a token transfer that is not covered: nonce and fee are gone', async () => {
    const raw = await evmRaw(alice, { to: usdc, data: usdcCall(bob.address, 501n), nonce: 0 });
    expect(await chain.submit(raw, startMs)).toMatchObject({ succeeded: false, state: 'pending', feeUnits: tokenFee });
    expect(await held(alice.address, 'USDC')).toBe(500n);
    expect(await held(alice.address)).toBe(10n * ether - tokenFee);
    expect(await chain.nonce(alice.address)).toBe(1);
  });

  it('fails what it is told to fail', async () => {
    const raw = await evmRaw(alice, { to: bob.address, value: ether, nonce: 0 });
    expect(await chain.submit(raw, startMs, { fails: true })).toMatchObject({ succeeded: false, feeUnits: coinFee });
    expect(await held(alice.address)).toBe(10n * ether - coinFee);
    expect(await held(bob.address)).toBe(0n);
  });

  it('answers the same bytes with the same transaction, once', async () => {
    const raw = await evmRaw(alice, { to: bob.address, value: ether, nonce: 0 });
    const first = await chain.submit(raw, startMs);
    const later = await chain.submit(raw, startMs + 10_000);
    expect(later).toMatchObject({ id: first.id, block: first.block, state: 'confirmed' });
    await Promise.all(Array.from({ length: 20 }, () => chain.submit(raw, startMs)));
    expect(await held(bob.address)).toBe(ether);
    expect(await chain.nonce(alice.address)).toBe(1);
  });

  it('lets later nonces wait for a gap, and takes all of them when it is filled', async () => {
    const send = async (nonce: number, nowMs: number) =>
      chain.submit(await evmRaw(alice, { to: bob.address, value: 1n, nonce }), nowMs);
    const third = await send(2, startMs);
    const second = await send(1, startMs);
    expect([third.state, second.state]).toEqual(['queued', 'queued']);
    expect(second.block).toBeUndefined();
    expect(await held(bob.address)).toBe(0n);
    const first = await send(0, startMs + 5_000);
    for (const { id } of [first, second, third]) {
      expect(await chain.transaction(id, startMs + 5_000)).toMatchObject({ state: 'pending', block: first.block });
    }
    expect(await held(bob.address)).toBe(3n);
    expect(await chain.nonce(alice.address)).toBe(3);
  });

  it.each([
    ['covers the fee', coinFee * 3n, coinFee],
    ['covers less than the fee', coinFee / 2n, coinFee / 2n],
    ['is gone', 0n, 0n],
  ])(
    'fails one whose coin is missing when its turn comes, and continues with those behind it: what is left %s',
    async (_, left, charged) => {
      const waiting = await evmRaw(alice, { to: bob.address, value: ether, nonce: 1 });
      const behind = await evmRaw(alice, { to: bob.address, value: 0n, nonce: 2 });
      const [second, third] = [await chain.submit(waiting, startMs), await chain.submit(behind, startMs)];
      expect([second.state, third.state]).toEqual(['queued', 'queued']);
      // As if another transaction had come first and taken the rest.
      const account = `sm:{chain:${sepolia}}:acct:${alice.address.toLowerCase()}`;
      await redis.hset(account, { nonce: 1, ETH: toDigits(left) });
      await chain.transaction(third.id, startMs);
      const at = startMs + 1_000;
      expect(await chain.transaction(second.id, at)).toMatchObject({
        state: 'confirming',
        succeeded: false,
        uncovered: true,
        feeUnits: charged,
      });
      expect((await chain.transaction(third.id, at))!.state).toBe('confirming');
      expect(await chain.nonce(alice.address)).toBe(3);
    },
  );

  it('fails one that an earlier one of its account has left without coin, at once', async () => {
    const waiting = await chain.submit(await evmRaw(alice, { to: bob.address, value: ether, nonce: 1 }), startMs);
    const value = 10n * ether - maxFeePerGas * 21_000n;
    await chain.submit(await evmRaw(alice, { to: bob.address, value, nonce: 0 }), startMs);
    expect(await chain.transaction(waiting.id, startMs)).toMatchObject({ state: 'pending', succeeded: false });
    expect(await chain.nonce(alice.address)).toBe(2);
    expect(await held(bob.address)).toBe(value);
  });

  it('drops one whose turn has not come for hours; another may have its nonce, and it is never mined', async () => {
    const send = async (nonce: number, value: bigint, nowMs: number) =>
      chain.submit(await evmRaw(alice, { to: bob.address, value, nonce }), nowMs);
    const waiting = await send(1, 1n, startMs);
    expect(await chain.transaction(waiting.id, startMs + queuedMaxMs - 1)).toMatchObject({ state: 'queued' });
    const late = startMs + queuedMaxMs;
    expect(await chain.transaction(waiting.id, late)).toMatchObject({ state: 'dropped', succeeded: false });
    expect((await send(1, 1n, late)).state).toBe('dropped');
    const other = await send(1, 2n, late);
    const first = await send(0, 4n, late);
    for (const { id } of [other, first]) expect((await chain.transaction(id, late))!.state).toBe('pending');
    expect((await chain.transaction(waiting.id, late + 10_000))!.state).toBe('dropped');
    expect(await held(bob.address)).toBe(6n);
  });

  it('refuses a used nonce, whether it waits or was mined', async () => {
    await chain.submit(await evmRaw(alice, { to: bob.address, value: 1n, nonce: 0 }), startMs);
    await chain.submit(await evmRaw(alice, { to: bob.address, value: 1n, nonce: 2 }), startMs);
    const again = async (nonce: number) =>
      chain.submit(await evmRaw(alice, { to: bob.address, value: 2n, nonce }), startMs);
    await expect(again(0)).rejects.toMatchObject({ code: 'nonce_too_low' });
    await expect(again(2)).rejects.toMatchObject({ code: 'nonce_used' });
    await expect(again(10_002)).rejects.toMatchObject({ code: 'nonce_too_high' });
    await expect(again(2 ** 40)).rejects.toMatchObject({ code: 'nonce_too_high' });
  });

  it('refuses what the account cannot pay', async () => {
    const broke = await evmRaw(bob, { to: alice.address, value: 1n, nonce: 0 });
    await expect(chain.submit(broke, startMs)).rejects.toMatchObject({ code: 'insufficient_funds' });
    const all = await evmRaw(alice, { to: bob.address, value: 10n * ether - maxFeePerGas * 21_000n + 1n, nonce: 0 });
    await expect(chain.submit(all, startMs)).rejects.toMatchObject({ code: 'insufficient_funds' });
    expect(await chain.nonce(alice.address)).toBe(0);
  });

  it.each([
    ['another chain', { chainId: 1 }, 'wrong_chain'],
    ['too little gas', { gasLimit: 20_999n }, 'gas_too_low'],
    ['too much gas', { gasLimit: 2n ** 24n + 1n }, 'gas_too_high'],
    ['too low a fee', { maxFeePerGas: 1n, maxPriorityFeePerGas: 0n }, 'fee_too_low'],
    ['a contract creation', { to: null }, 'unsupported_transaction'],
    ['call data to an account', { data: '0x00', gasLimit: 100_000n }, 'unsupported_transaction'],
    ['another call of the token', { to: usdc, data: `0xdd62ed3e${'0'.repeat(128)}` }, 'unsupported_transaction'],
    ['coins for the token', { to: usdc, data: usdcCall(bob.address, 1n), value: 1n }, 'unsupported_transaction'],
    [
      'an access list',
      { accessList: [{ address: usdc, storageKeys: [] }], gasLimit: 100_000n },
      'unsupported_transaction',
    ],
  ])('refuses %s', async (_what, fields, code) => {
    const raw = await evmRaw(alice, { to: bob.address, value: 0n, nonce: 0, ...fields });
    await expect(chain.submit(raw, startMs)).rejects.toMatchObject({ name: 'ChainRejected', code });
  });

  it('never takes changed bytes for the sender’s', async () => {
    const raw = await evmRaw(alice, { to: bob.address, value: ether, nonce: 0 });
    await fc.assert(
      fc.asyncProperty(fc.nat(raw.length - 1), fc.integer({ min: 1, max: 255 }), async (index, change) => {
        const changed = Uint8Array.from(raw);
        changed[index]! ^= change;
        await expect(chain.submit(changed, startMs)).rejects.toMatchObject({ name: 'ChainRejected' });
      }),
      { numRuns: runs(50, 150) },
    );
    await expect(chain.submit(new Uint8Array(0), startMs)).rejects.toMatchObject({ code: 'invalid_transaction' });
    expect(await held(alice.address)).toBe(10n * ether);
  });
});

it('funds once a key and asset', async () => {
  await Promise.all(Array.from({ length: 10 }, () => chain.fund('k', alice.address, 'ETH', 7n)));
  await chain.fund('k', alice.address, 'USDC', 5n);
  await chain.fund('other', alice.address, 'ETH', 10n ** 30n);
  expect(await held(alice.address)).toBe(7n + 10n ** 30n);
  expect(await held(alice.address, 'USDC')).toBe(5n);
});

it('says that it is unavailable when Redis is', async () => {
  const away = new Redis(1, '127.0.0.1', { enableOfflineQueue: false, lazyConnect: true, retryStrategy: () => null });
  away.on('error', () => undefined);
  await expect(new EvmChain(sepolia, new RedisEvmLedger(away, sepolia)).balances(alice.address)).rejects.toBeInstanceOf(
    ChainUnavailable,
  );
  away.disconnect();
});

/** Accounts send each other coins and tokens at random, in any order, many at once. */
it('conserves all money, and leaves no gap and no double spend', async () => {
  const transfer = fc.record({
    from: fc.nat(2),
    to: fc.nat(2),
    token: fc.boolean(),
    units: fc.bigInt({ min: 0n, max: 2n * ether }),
    fails: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(transfer, { minLength: 1, maxLength: 12 }),
      fc.infiniteStream(fc.nat()),
      async (list, order) => {
        await redis.flushdb();
        const keys = [0, 1, 2].map(evmKey);
        for (const { address } of keys) {
          await chain.fund(address, address, 'ETH', 3n * ether);
          await chain.fund(address, address, 'USDC', 100n);
        }
        const nonces = [0, 0, 0];
        const raws = await Promise.all(
          list.map(({ from, to, token, units, fails }) => {
            const nonce = nonces[from]!++;
            const target = keys[to]!.address;
            const fields = token
              ? { to: usdc, data: usdcCall(target, units % 150n), nonce }
              : { to: target, value: units, nonce };
            return evmRaw(keys[from]!, fields).then((raw) => ({ raw, fails, weight: order.next().value as number }));
          }),
        );
        const shuffled = [...raws].sort((a, b) => a.weight - b.weight);
        const outcomes = await Promise.allSettled(
          shuffled.flatMap(({ raw, fails }) => [
            chain.submit(raw, startMs, { fails }),
            chain.submit(raw, startMs, { fails }),
          ]),
        );
        const ids = new Set(outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.id] : [])));
        const mined = (await Promise.all([...ids].map((id) => chain.transaction(id, startMs)))).filter(
          (tx) => tx?.state === 'pending',
        );
        const fees = mined.reduce((sum, tx) => sum + tx!.feeUnits, 0n);
        const sums = { ETH: 0n, USDC: 0n };
        for (const { address } of keys) {
          const balances = await chain.balances(address);
          for (const asset of ['ETH', 'USDC'] as const) {
            expect(balances.get(asset)).toBeGreaterThanOrEqual(0n);
            sums[asset] += balances.get(asset)!;
          }
        }
        expect(sums).toEqual({ ETH: 9n * ether - fees, USDC: 300n });
        let used = 0;
        for (const { address } of keys) used += await chain.nonce(address);
        expect(used).toBe(mined.length);
      },
    ),
    { numRuns: runs(12, 25) },
  );
});
