import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { create } from '../../../wallets/store/changes.ts';
import type { LedgerEntry } from '../../../wallets/store/contract.ts';
import type { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import {
  done,
  newTenant,
  refused,
  type StoreUnderTest,
  startStore,
  storeWorlds,
  thing,
  thingType,
} from '../../support/store.ts';
import { runs } from '../../support/thorough.ts';

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  let store: RedisTenantStore;

  beforeAll(async () => {
    under = await startStore(world);
    store = await under.open();
  });
  afterAll(() => under.stop());

  const entry = (asset: string, available: bigint, reserved = 0n): LedgerEntry => ({
    walletId: 'w',
    asset,
    available,
    reserved,
  });

  async function balances(tenant: string) {
    return (await store.readWithBalances(tenant, thingType, 'w'))?.balances;
  }

  /** Around the edges of limbs and doubles, where carries and borrows are. */
  const units = fc.oneof(
    fc.bigInt({ min: 0n, max: 10n ** 40n }),
    fc.integer({ min: 0, max: 46 }).map((zeros) => 10n ** BigInt(zeros)),
    fc.integer({ min: 0, max: 46 }).map((zeros) => 10n ** BigInt(zeros) - 1n),
    fc.constantFrom(0n, 1n, 2n ** 53n, 2n ** 53n + 1n, 10n ** 15n, 10n ** 30n + 1n),
  );
  const delta = fc.tuple(units, fc.boolean()).map(([value, negative]) => (negative ? -value : value));

  it('adds and takes away integers of any size, as BigInt does; what overdraws may take all that is reserved', async () => {
    const change = fc.tuple(delta, delta, fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async (deltas) => {
        const tenant = newTenant();
        await done(store, tenant, { puts: [create(thingType, thing('w'))] });
        let available = 0n;
        let reserved = 0n;
        for (const [a, r, overdraws] of deltas) {
          const made: LedgerEntry = { ...entry('ETH', a, r), ...(overdraws && { overdraws }) };
          const outcome = await store.commit(tenant, { ledger: [made] });
          const lacks = available + a < 0n && a < 0n && !overdraws;
          const fits = !lacks && reserved + r >= 0n && available + a + reserved + r >= 0n;
          expect(outcome.committed).toBe(fits);
          if (fits) {
            available += a;
            reserved += r;
          }
          expect((await balances(tenant))?.get('ETH') ?? { available: 0n, reserved: 0n }).toEqual({
            available: available < 0n ? 0n : available,
            reserved: available < 0n ? reserved + available : reserved,
          });
        }
      }),
      { numRuns: runs(60, 150) },
    );
  });

  it('has nothing available, for a guard too, where what is reserved was overdrawn', async () => {
    const tenant = newTenant();
    const overdrawn: LedgerEntry = { ...entry('ETH', -5n), overdraws: true };
    await done(store, tenant, { puts: [create(thingType, thing('w'))], ledger: [entry('ETH', 0n, 9n)] });
    await done(store, tenant, { ledger: [overdrawn] });
    const guard = { kind: 'available', walletId: 'w', asset: 'ETH' } as const;
    await done(store, tenant, { guards: [{ ...guard, min: 0n, max: 4n }] });
    await refused(under, store, tenant, { guards: [{ ...guard, min: 1n, max: undefined }] });
  });

  it('takes exactly everything, and not one unit more', async () => {
    await fc.assert(
      fc.asyncProperty(units, async (all) => {
        const tenant = newTenant();
        await done(store, tenant, { puts: [create(thingType, thing('w'))], ledger: [entry('ETH', all)] });
        expect(await refused(under, store, tenant, { ledger: [entry('ETH', -all - 1n)] })).toEqual({
          kind: 'insufficient',
          walletId: 'w',
          asset: 'ETH',
        });
        await done(store, tenant, { ledger: [entry('ETH', -all, all)] });
        expect((await balances(tenant))?.get('ETH')).toEqual({ available: 0n, reserved: all });
      }),
      { numRuns: runs(25, 60) },
    );
  });

  it('counts what all entries of a change come to, and each asset by itself', async () => {
    const tenant = newTenant();
    const ledger = [
      entry('ETH', -5n),
      entry('BTC', 1n, 2n),
      entry('ETH', 7n, 1n),
      { ...entry('ETH', 3n), walletId: 'v' },
    ];
    await done(store, tenant, { puts: [create(thingType, thing('w'))], ledger });
    expect(await balances(tenant)).toEqual(
      new Map([
        ['ETH', { available: 2n, reserved: 1n }],
        ['BTC', { available: 1n, reserved: 2n }],
      ]),
    );
    expect((await refused(under, store, tenant, { ledger: [entry('ETH', -2n), entry('ETH', -1n)] })).kind).toBe(
      'insufficient',
    );
  });

  it('never lets a hundred at once spend more than there is', async () => {
    const tenant = newTenant();
    const other = await under.open();
    await done(store, tenant, { puts: [create(thingType, thing('w'))], ledger: [entry('ETH', 370n)] });
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, k) =>
        (k % 2 === 0 ? store : other).commit(tenant, { ledger: [entry('ETH', -10n, 10n)] }),
      ),
    );
    expect(outcomes.filter(({ committed }) => committed)).toHaveLength(37);
    expect((await balances(tenant))?.get('ETH')).toEqual({ available: 0n, reserved: 370n });
  });
});
