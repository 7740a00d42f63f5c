/** The token contract of the EVM chain, as ethers deploys it, calls it and reads its logs. */
import { AbiCoder, getCreateAddress, Interface, type Wallet } from 'ethers';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { toHex } from '../../../../core/crypto/bytes.ts';
import { callData } from '../../../../wallets/networks/token-calls.ts';
import { EvmChain } from '../../../../wallets/providers/chains/evm.ts';
import { deployGas, tokenGas } from '../../../../wallets/providers/chains/evm-transaction.ts';
import { RedisEvmLedger } from '../../../../wallets/providers/chains/redis-evm-ledger.ts';
import { contractAddress, creationData, parseCreation } from '../../../../wallets/providers/chains/token-contract.ts';
import { useDatabase } from '../../../support/redis-database.ts';
import { evmKey, evmRaw, sepolia, startMs } from './support.ts';

const erc20 = new Interface([
  'function transfer(address to, uint256 units)',
  'function mint(address to, uint256 units)',
  'function burn(uint256 units)',
  'function approve(address spender, uint256 units)',
  'function transferFrom(address from, address to, uint256 units)',
  'event Transfer(address indexed from, address indexed to, uint256 units)',
  'event Approval(address indexed owner, address indexed spender, uint256 units)',
]);
const zero = `0x${'0'.repeat(40)}`;
const gold = { name: 'Gold', symbol: 'GLD', decimals: 6, cap: 1_000n };
const issuer = evmKey(0);
const bob = evmKey(1);
const contract = getCreateAddress({ from: issuer.address, nonce: 0 });
const finalMs = startMs + 10_000;

let redis: Redis;
let chain: EvmChain;

useDatabase(async (opened) => {
  redis = opened;
  chain = new EvmChain(sepolia, new RedisEvmLedger(redis, sepolia));
  for (const { address } of [issuer, bob]) await chain.fund(address, address, 'ETH', 10n ** 18n);
});

async function send(key: Wallet, nonce: number, data: string, to: string | null = contract) {
  const gasLimit = to === null ? deployGas : tokenGas;
  return chain.submit(await evmRaw(key, { nonce, data, to, gasLimit }), startMs);
}
const call = (name: 'transfer' | 'mint' | 'burn' | 'approve' | 'transferFrom', ...args: readonly unknown[]) =>
  erc20.encodeFunctionData(name, args);
const deploy = () => send(issuer, 0, `0x${toHex(creationData(gold))}`, null);
async function logOf(id: string) {
  const { logs, status } = chain.receiptOf((await chain.transaction(id, finalMs))!)!;
  const [log] = logs;
  return { status, address: log?.address, ...erc20.parseLog(log!)?.args.toObject() };
}
const held = async (key: Wallet) => (await chain.balances(key.address)).get(contract.toLowerCase()) ?? 0n;

describe('encoding', () => {
  it('is what ethers makes of constructor and functions', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 70 }),
        fc.string({ maxLength: 12 }),
        fc.integer({ min: 0, max: 18 }),
        fc.bigInt({ min: 1n, max: 10n ** 42n - 1n }),
        (name, symbol, decimals, cap) => {
          const made = creationData({ name, symbol, decimals, cap });
          const args = new AbiCoder().encode(['string', 'string', 'uint8', 'uint256'], [name, symbol, decimals, cap]);
          expect(toHex(made).endsWith(args.slice(2))).toBe(true);
          expect(parseCreation(made)).toEqual({ name, symbol, decimals, cap });
        },
      ),
    );
    const to = bob.address.toLowerCase();
    for (const kind of ['transfer', 'mint'] as const) {
      expect(`0x${toHex(callData({ kind, to, units: 7n }))}`).toBe(call(kind, to, 7n));
    }
    expect(`0x${toHex(callData({ kind: 'burn', units: 7n }))}`).toBe(call('burn', 7n));
    expect(`0x${toHex(callData({ kind: 'approve', spender: to, units: 7n }))}`).toBe(call('approve', to, 7n));
    expect(`0x${toHex(callData({ kind: 'transferFrom', from: zero, to, units: 7n }))}`).toBe(
      call('transferFrom', zero, to, 7n),
    );
  });

  it('names the address that ethers computes', () => {
    for (const nonce of [0, 1, 127, 128, 70_000]) {
      const expected = getCreateAddress({ from: bob.address, nonce }).toLowerCase();
      expect(contractAddress(bob.address, BigInt(nonce))).toBe(expected);
    }
  });

  it('takes no arguments but those that the ABI says', () => {
    const made = creationData(gold);
    expect(parseCreation(made.subarray(0, made.length - 1))).toBeUndefined();
    expect(parseCreation(Uint8Array.of(...made, 0))).toBeUndefined();
    const bent = Uint8Array.from(made);
    bent[bent.length - 1] = 1;
    expect(parseCreation(bent)).toBeUndefined();
  });
});

describe('the contract', () => {
  it('is deployed by its creation, at the address that follows from sender and nonce', async () => {
    const { id } = await deploy();
    expect(chain.receiptOf((await chain.transaction(id, startMs))!)).toBeUndefined();
    expect(chain.receiptOf((await chain.transaction(id, finalMs))!)).toEqual({
      status: 'success',
      contractAddress: contract.toLowerCase(),
      logs: [],
    });
    expect(await chain.token(contract)).toEqual({ ...gold, owner: issuer.address.toLowerCase(), supply: 0n });
  });

  it('mints for its owner up to the cap, moves and burns units, and logs each as ethers reads it', async () => {
    await deploy();
    const minted = await send(issuer, 1, call('mint', bob.address, 1_000n));
    expect(await logOf(minted.id)).toMatchObject({ status: 'success', from: zero, to: bob.address, units: 1_000n });
    const moved = await send(bob, 0, call('transfer', issuer.address, 300n));
    expect(await logOf(moved.id)).toMatchObject({ from: bob.address, to: issuer.address, units: 300n });
    const burnt = await send(bob, 1, call('burn', 200n));
    expect(await logOf(burnt.id)).toMatchObject({
      address: contract.toLowerCase(),
      from: bob.address,
      to: zero,
      units: 200n,
    });
    expect([await held(issuer), await held(bob), (await chain.token(contract))!.supply]).toEqual([300n, 500n, 800n]);
  });

  it.each([
    ['a mint by another', bob, 0, () => call('mint', bob.address, 1n)],
    ['a mint above the cap', issuer, 2, () => call('mint', bob.address, 901n)],
    ['a burn of more than is held', bob, 0, () => call('burn', 101n)],
    ['a transfer of more than is held', bob, 0, () => call('transfer', issuer.address, 101n)],
  ] as const)('reverts %s: its fee is gone, and nothing else', async (_, key, nonce, data) => {
    await deploy();
    await send(issuer, 1, call('mint', bob.address, 100n));
    const coin = (await chain.balances(key.address)).get('ETH')!;
    const { id } = await send(key, nonce, data());
    const after = (await chain.transaction(id, finalMs))!;
    expect([after.succeeded, chain.receiptOf(after)]).toEqual([
      false,
      { status: 'reverted', contractAddress: null, logs: [] },
    ]);
    expect((await chain.balances(key.address)).get('ETH')).toBe(coin - after.feeUnits);
    expect([await held(bob), (await chain.token(contract))!.supply]).toEqual([100n, 100n]);
  });

  it('is refused a call where nothing was deployed', async () => {
    for (const data of [call('mint', bob.address, 1n), call('burn', 1n), call('transfer', bob.address, 1n)]) {
      await expect(send(issuer, 0, data)).rejects.toMatchObject({ code: 'unsupported_transaction' });
    }
  });

  it('keeps its supply equal to what accounts hold, and below its cap, whatever is sent', async () => {
    const keys = [issuer, bob];
    const step = fc.record({
      by: fc.integer({ min: 0, max: 1 }),
      name: fc.constantFrom('mint', 'burn', 'transfer'),
      units: fc.bigInt({ min: 0n, max: 600n }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        await redis.flushdb();
        for (const { address } of keys) await chain.fund(address, address, 'ETH', 10n ** 18n);
        await deploy();
        const nonces = [1, 0];
        for (const { by, name, units } of steps) {
          const to = keys[1 - by]!.address;
          await send(keys[by]!, nonces[by]!++, name === 'burn' ? call(name, units) : call(name as 'mint', to, units));
          const { supply, cap } = (await chain.token(contract))!;
          expect(supply).toBe((await held(issuer)) + (await held(bob)));
          expect(supply <= cap).toBe(true);
        }
      }),
      { numRuns: 20 },
    );
  });
});
