/** Movements of balances, on Redis and in memory: one for each change, written with it; their sum is the balance. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create } from '../../../wallets/store/changes.ts';
import type { BookedMovement, LedgerEntry, MovementCause } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import {
  done,
  newTenant,
  type StoreUnderTest,
  startStore,
  storeWorlds,
  thing,
  thingType,
} from '../../support/store.ts';
import { runs } from '../../support/thorough.ts';

const cause: MovementCause = { kind: 'transfer', of: 'txi_1', txId: '0x1', counterparty: null };
const entry = (asset: string, available: bigint, reserved = 0n): LedgerEntry => ({
  ...{ walletId: 'wal_1', asset, available, reserved, movement: cause },
});

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  let store: RedisTenantStore;
  beforeAll(async () => {
    under = await startStore(world);
    store = await under.open();
  });
  afterAll(() => under.stop());

  async function pages(tenant: string, limit: number, between = async () => {}): Promise<BookedMovement[]> {
    const all: BookedMovement[] = [];
    for (let below: number | undefined; below !== 1; await between()) {
      const page = await store.movements(tenant, 'wal_1', limit, below);
      all.push(...page);
      below = page.at(-1)?.number ?? 1;
    }
    return all;
  }

  it('adds up to the balances, each with the balance after it, whatever is committed; what is refused leaves none', async () => {
    const delta = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });
    const step = fc.array(fc.tuple(fc.constantFrom('ETH', 'USDC'), delta, delta), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 10 }),
        fc.integer({ min: 1, max: 7 }),
        async (steps, limit) => {
          const tenant = newTenant();
          await done(store, tenant, { puts: [create(thingType, thing('wal_1'))] });
          const expected: [string, bigint, bigint][] = [];
          const sums = new Map<string, bigint>();
          for (const entries of steps) {
            const outcome = await store.commit(tenant, { ledger: entries.map((one) => entry(...one)) });
            if (!outcome.committed) continue;
            for (const [asset, available, reserved] of entries) {
              const units = available + reserved;
              if (units === 0n) continue;
              sums.set(asset, (sums.get(asset) ?? 0n) + units);
              expected.push([asset, units, sums.get(asset)!]);
            }
          }
          const listed = await pages(tenant, limit);
          expect(listed.map(({ number }) => number)).toEqual(listed.map((_, at) => listed.length - at));
          expect(listed.toReversed().map(({ asset, units, balance }) => [asset, units, balance])).toEqual(expected);
          const { balances } = (await store.readWithBalances(tenant, thingType, 'wal_1'))!;
          for (const [asset, sum] of sums) {
            const held = balances.get(asset);
            expect((held?.available ?? 0n) + (held?.reserved ?? 0n)).toBe(sum);
          }
        },
      ),
      { numRuns: runs(20, 100) },
    );
  });

  it('pages neither lose nor repeat any while the wallet moves', async () => {
    const tenant = newTenant();
    const move = () => done(store, tenant, { ledger: [entry('ETH', 1n)] });
    for (let k = 0; k < 7; k += 1) await move();
    const listed = await pages(tenant, 2, async () => void (await move()));
    expect(listed.map(({ number }) => number)).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect(await store.movements(tenant, 'wal_1', 1)).toMatchObject([{ ...cause, number: 11, balance: 11n }]);
  });

  it('a wallet of an earlier version begins with what it has, before its first movement or when it is listed', async () => {
    const [moves, read] = [newTenant(), newTenant()];
    for (const tenant of [moves, read]) {
      await under.redis.hset(`sm:{t:${tenant}}:bal:wal_1`, { ETH: '5', 'ETH|r': '2', BTC: '0', 'USDC|r': '3' });
    }
    const opening = [
      { kind: 'opening', asset: 'ETH', units: 7n, balance: 7n, number: 1 },
      { kind: 'opening', asset: 'USDC', units: 3n, balance: 3n, number: 2 },
    ];
    expect((await store.movements(read, 'wal_1', 100)).toReversed()).toMatchObject(opening);
    await done(store, moves, { ledger: [entry('ETH', -4n)] });
    const last = { kind: 'transfer', asset: 'ETH', units: -4n, balance: 3n, number: 3 };
    expect((await store.movements(moves, 'wal_1', 100)).toReversed()).toMatchObject([...opening, last]);
  });

  it('a reservation is none, and a change of a wallet’s balance without a cause is a bug', async () => {
    const tenant = newTenant();
    await done(store, tenant, { ledger: [entry('ETH', 5n)] });
    const { movement: _, ...silent } = entry('ETH', -2n, 2n);
    await done(store, tenant, { ledger: [silent] });
    expect(await store.movements(tenant, 'wal_1', 100)).toHaveLength(1);
    await expect(store.commit(tenant, { ledger: [{ ...silent, reserved: 0n }] })).rejects.toThrow('without a cause');
  });
});
