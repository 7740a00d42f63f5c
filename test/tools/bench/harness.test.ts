/** The parts of the bench that could lie: its counting, its reading of the command line. */
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../cli/common/failure.ts';
import { type Aim, aimResults } from '../../../tools/bench/aims/rows.ts';
import { runLoad } from '../../../tools/bench/load/load.ts';
import { seedWallets } from '../../../tools/bench/operations/seed.ts';
import { parseOptions } from '../../../tools/bench/report/options.ts';
import type { Costs } from '../../../tools/bench/report/results.ts';
import { walletType } from '../../../wallets/custody/wallets/record.ts';
import { newTenant, startMemoryStore } from '../../support/memory-store.ts';

describe('the load', () => {
  test('keeps as many ceremonies under way as it was told, and counts what ended in time', async () => {
    let underWay = 0;
    let mostUnderWay = 0;
    let ended = 0;
    const { completed, errors, latency, inFlight } = await runLoad({
      inFlight: 4,
      warmMs: 20,
      countMs: 100,
      ceremony: async () => {
        underWay += 1;
        mostUnderWay = Math.max(mostUnderWay, underWay);
        await new Promise((resolve) => setTimeout(resolve, 5));
        underWay -= 1;
        ended += 1;
      },
    });
    expect({ mostUnderWay, underWay, errors, inFlight }).toEqual({
      mostUnderWay: 4,
      underWay: 0,
      errors: 0,
      inFlight: 4,
    });
    expect(completed).toBeGreaterThan(0);
    expect(completed).toBeLessThan(ended);
    expect(latency.p50).toBeGreaterThanOrEqual(4);
    expect(latency.max).toBeGreaterThanOrEqual(4);
  });

  test.each(['done', 'failed'])('begins to count after so many that are %s', async (outcome) => {
    let ended = 0;
    let endedBefore = 0;
    await runLoad({
      ...{ inFlight: 2, warmMs: 0, warmCount: 9, countMs: 1 },
      ceremony: async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        ended += 1;
        if (outcome === 'failed') throw new Error('refused');
      },
      onCounting: () => {
        endedBefore = ended;
      },
    });
    expect(endedBefore).toBeGreaterThanOrEqual(9);
  });

  test('begins to count without them after the longest warm-up', async () => {
    const { completed } = await runLoad({
      ...{ inFlight: 1, warmMs: 0, warmCount: 1_000_000, warmCountMsMax: 5, countMs: 1 },
      ceremony: () => new Promise((resolve) => setTimeout(resolve, 1)),
    });
    expect(completed).toBeGreaterThan(0);
  });

  test('counts a failure, names it, and does not count its time', async () => {
    const result = await runLoad({
      inFlight: 2,
      warmMs: 0,
      countMs: 50,
      ceremony: () => Promise.reject(new Error('refused')),
    });
    expect(result.errors).toBeGreaterThan(0);
    expect(result).toMatchObject({ completed: 0, errorTexts: ['refused'] });
  });
});

describe('the ratios', () => {
  const aims: readonly Aim[] = [
    { name: 'cost', of: 'a floor', isMost: true, aim: 1.2, reached: 2, ratio: ({ rest, floor }) => rest / floor },
    {
      name: 'share',
      of: 'a route',
      isMost: false,
      aim: 0.5,
      reached: 0.4,
      ratio: ({ bareRoute, read }) => bareRoute / read,
    },
  ];
  const go = (rest: number, read: number) => ({ rest, floor: 1, read, bareRoute: 1 }) as Costs;

  test('are medians of the goes, each beside its own reference', () => {
    const results = aimResults([go(1.5, 2), { ...go(8, 2), floor: 8 }, go(9, 5)], aims);
    expect(results).toMatchObject([
      { got: 1.5, least: 1, largest: 9, isMet: false, isInBudget: true },
      { got: 0.5, least: 0.2, largest: 0.5, isMet: true, isInBudget: true },
    ]);
    expect(aimResults([], aims)).toEqual([]);
  });

  test('leave the budget a tenth beyond what was reached', () => {
    const inBudget = (rest: number, read: number) => aimResults([go(rest, read)], aims).map((each) => each.isInBudget);
    expect(inBudget(2.19, 1 / 0.37)).toEqual([true, true]);
    expect(inBudget(2.21, 1 / 0.36)).toEqual([false, false]);
  });
});

test('the wallets for the reads are ones that the store takes', async () => {
  const store = await startMemoryStore().open({ nowMs: () => 0 });
  const tenant = newTenant();
  const id = await seedWallets(store, tenant, 3);
  const found = await store.readWithBalances(tenant, walletType, id);
  expect([...found!.balances.keys()]).toEqual(['ETH']);
});

describe('the command line', () => {
  test('says what is wrong', () => {
    const faultOf = (...args: string[]) => {
      try {
        parseOptions(args);
      } catch (error) {
        expect(error).toBeInstanceOf(Failure);
        return (error as Failure).message;
      }
      throw new Error('nothing was refused');
    };
    expect(faultOf('--doors', 'rest,soap')).toContain('"soap" is none of rest, grpc, coordinator');
    expect(faultOf('--in-flight', '1,0')).toContain('1 to 1024');
    expect(faultOf('--seconds', '3600')).toContain('at most 60');
    expect(faultOf('--fast')).toContain('--fast');
  });

  test('quick and full differ in time alone', () => {
    const [quick, full] = [parseOptions(['--quick'])!, parseOptions([])!];
    expect(quick.countMs).toBeLessThan(full.countMs);
    expect(quick.walletsMany).toBeLessThan(full.walletsMany);
    expect(quick.starts).toBeLessThan(full.starts);
    expect(quick.sessions.length).toBeLessThan(full.sessions.length);
    const neutral = {
      countMs: 0,
      warmMs: 0,
      warmCount: 0,
      referenceMs: 0,
      walletsMany: 0,
      starts: 0,
      reconRows: 0,
      sessions: [],
      simulationRuns: 0,
      goes: 0,
    };
    expect(quick.simulationRuns).toBeLessThan(full.simulationRuns);
    expect(quick.reconRows).toBeLessThan(full.reconRows);
    expect({ ...quick, quick: false, ...neutral }).toEqual({ ...full, ...neutral });
  });
});
