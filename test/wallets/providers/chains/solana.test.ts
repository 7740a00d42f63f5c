import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { sha512 } from '../../../../core/crypto/hashing.ts';
import { solanaAddress } from '../../../../wallets/networks/addresses.ts';
import { ChainRejected } from '../../../../wallets/providers/chains/chain.ts';
import { RedisSolanaLedger } from '../../../../wallets/providers/chains/redis-solana-ledger.ts';
import { SolanaChain } from '../../../../wallets/providers/chains/solana.ts';
import {
  decodeSolana,
  rentExempt,
  signatureFee,
  signedSolana,
  solanaMessage,
} from '../../../../wallets/providers/chains/solana-transaction.ts';
import { useDatabase } from '../../../support/redis-database.ts';
import { devnet, startMs } from './support.ts';

let redis: Redis;
let chain: SolanaChain;
useDatabase((opened) => {
  redis = opened;
  chain = new SolanaChain(devnet, new RedisSolanaLedger(redis, devnet));
});

const secret = (index: number) => new Uint8Array(32).fill(index + 1);
const address = (index: number) => solanaAddress(ed25519.getPublicKey(secret(index)));
const raw = (from: number, to: number, lamports: bigint, purpose: string) => {
  const message = solanaMessage({ from: address(from), to: address(to), lamports, purpose });
  return signedSolana(message, ed25519.sign(message, secret(from)));
};
const codeOf = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    if (error instanceof ChainRejected) return error.code;
    throw error;
  }
  return 'none';
};
const held = async (index: number) => (await chain.balances(address(index))).get('SOL');

describe('the Solana chain', () => {
  beforeEach(() => chain.fund('a', address(0), 'SOL', 10_000_000n));

  it('moves lamports, takes the fee, and is final with the next block', async () => {
    const taken = await chain.submit(raw(0, 1, 3_000_000n, 'x'), startMs);
    expect(taken).toMatchObject({
      from: address(0),
      to: address(1),
      asset: 'SOL',
      units: 3_000_000n,
      state: 'pending',
    });
    expect(taken.confirmedAtMs).toBe(startMs + 750);
    expect(await held(0)).toBe(7_000_000n - signatureFee);
    expect(await held(1)).toBe(3_000_000n);
    expect(await chain.transaction(taken.id, startMs + 750)).toMatchObject({ state: 'confirmed', succeeded: true });
  });

  it('costs an account that pays itself its fee alone', async () => {
    await chain.submit(raw(0, 0, 3_000_000n, 'x'), startMs);
    expect(await held(0)).toBe(10_000_000n - signatureFee);
  });

  it('takes equal transfers of two purposes as two, and of one purpose as one', async () => {
    const [first, again, other] = [raw(0, 1, 1_000_000n, 'x'), raw(0, 1, 1_000_000n, 'x'), raw(0, 1, 1_000_000n, 'y')];
    const ids = await Promise.all([first, again, other].map(async (bytes) => (await chain.submit(bytes, startMs)).id));
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(await held(1)).toBe(2_000_000n);
  });

  it('processes a message once, whatever its signature', async () => {
    const message = solanaMessage({ from: address(0), to: address(1), lamports: 1_000_000n, purpose: 'x' });
    const { id } = await chain.submit(raw(0, 1, 1_000_000n, 'x'), startMs);
    // Another nonce gives another valid signature: R = r·G, S = r + H(R ‖ A ‖ M)·a.
    const key = ed25519.utils.getExtendedPublicKey(secret(0));
    const order = ed25519.Point.Fn;
    const nonce = 12345n;
    const R = ed25519.Point.BASE.multiply(nonce).toBytes();
    const hash = sha512(R, key.pointBytes, message);
    const k = order.create(BigInt(`0x${Buffer.from(hash).reverse().toString('hex')}`));
    const S = order.create(nonce + k * key.scalar);
    const other = Buffer.concat([R, Buffer.from(S.toString(16).padStart(64, '0'), 'hex').reverse()]);
    expect(ed25519.verify(other, message, ed25519.getPublicKey(secret(0)))).toBe(true);
    expect((await chain.submit(signedSolana(message, other), startMs)).id).toBe(id);
    expect(await held(1)).toBe(1_000_000n);
  });

  it('refuses what the account cannot pay, fee included', async () => {
    await expect(chain.submit(raw(0, 1, 10_000_000n - signatureFee + 1n, 'x'), startMs)).rejects.toMatchObject({
      code: 'insufficient_funds',
    });
    await expect(chain.submit(raw(1, 0, 1n, 'x'), startMs)).rejects.toMatchObject({ code: 'insufficient_funds' });
    await chain.submit(raw(0, 1, 10_000_000n - signatureFee, 'x'), startMs);
    expect(await held(0)).toBe(0n);
  });

  it('leaves every account empty, or with what exempts it from rent', async () => {
    const refused = (lamports: bigint, from = 0, to = 1) =>
      expect(chain.submit(raw(from, to, lamports, 'x'), startMs)).rejects.toMatchObject({
        code: 'below_rent_exemption',
      });
    await refused(rentExempt - 1n);
    await refused(10_000_000n - signatureFee - rentExempt + 1n);
    await refused(10_000_000n - signatureFee - 1n);
    await chain.submit(raw(0, 1, rentExempt, 'a'), startMs);
    await chain.submit(raw(0, 1, 1n, 'b'), startMs);
    expect(await held(1)).toBe(rentExempt + 1n);
    await chain.submit(raw(0, 1, (await held(0))! - signatureFee - rentExempt, 'c'), startMs);
    expect(await held(0)).toBe(rentExempt);
    // Below it after a faucet's gift: it may only lose.
    await chain.fund('b', address(2), 'SOL', rentExempt - 1n);
    await chain.submit(raw(2, 1, 2n, 'd'), startMs);
    expect(await held(2)).toBe(rentExempt - 3n - signatureFee);
    await refused(1n, 1, 2);
  });

  it('fails what it is told to fail: the fee alone is gone', async () => {
    const { id } = await chain.submit(raw(0, 1, 1_000_000n, 'x'), startMs, { fails: true });
    expect(await chain.transaction(id, startMs + 750)).toMatchObject({ state: 'confirmed', succeeded: false });
    expect([await held(0), await held(1)]).toEqual([10_000_000n - signatureFee, 0n]);
  });

  it('never takes changed, cut or longer bytes, and says of their form whether it knows it', async () => {
    const known = new Set(['unsupported_transaction', 'invalid_signature']);
    // To another account, and to itself: three and two keys.
    for (const good of [raw(0, 1, 1_000_000n, 'x'), raw(0, 0, 1_000_000n, 'x')]) {
      expect(decodeSolana(good)).toMatchObject({ from: address(0), lamports: 1_000_000n });
      const keys = good[65 + 3]!;
      const blockhash = 65 + 4 + 32 * keys;
      const isForm = (index: number) =>
        index === 0 ||
        (index >= 65 && index < 69) ||
        (index >= blockhash - 32 && index < blockhash) ||
        (index >= blockhash + 32 && index < blockhash + 42);
      for (let index = 0; index < good.length; index += 1) {
        for (const change of [1, 0x80]) {
          const changed = Uint8Array.from(good);
          changed[index]! ^= change;
          const code = codeOf(() => decodeSolana(changed));
          expect(code, `byte ${index}`).toBe(isForm(index) ? 'unsupported_transaction' : 'invalid_signature');
        }
        expect(known).toContain(codeOf(() => decodeSolana(good.subarray(0, index))));
      }
      expect(codeOf(() => decodeSolana(Buffer.concat([good, Buffer.of(0)])))).toBe('unsupported_transaction');
    }
    await expect(chain.submit(raw(0, 1, 1_000_000n, 'x').subarray(1), startMs)).rejects.toMatchObject({
      name: 'ChainRejected',
    });
    expect(() => solanaMessage({ from: address(0), to: address(1), lamports: 2n ** 64n, purpose: 'x' })).toThrow(
      /lamports/,
    );
  });
});

it('conserves all money, whatever comes twice or at once', async () => {
  const transfer = fc.record({ from: fc.nat(2), to: fc.nat(2), lamports: fc.bigInt({ min: 0n, max: 4_000_000n }) });
  await fc.assert(
    fc.asyncProperty(fc.array(transfer, { minLength: 1, maxLength: 15 }), async (list) => {
      await redis.flushdb();
      for (const index of [0, 1, 2]) await chain.fund(`f${index}`, address(index), 'SOL', 5_000_000n);
      const outcomes = await Promise.allSettled(
        list.flatMap(({ from, to, lamports }, index) => {
          const bytes = raw(from, to, lamports, String(index));
          return [chain.submit(bytes, startMs), chain.submit(bytes, startMs)];
        }),
      );
      const taken = new Set(outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.id] : [])));
      const balances = await Promise.all([0, 1, 2].map(held));
      expect(balances.every((units) => units! === 0n || units! >= rentExempt)).toBe(true);
      expect(balances.reduce((sum, units) => sum! + units!, 0n)).toBe(15_000_000n - BigInt(taken.size) * signatureFee);
    }),
    { numRuns: 20 },
  );
});
