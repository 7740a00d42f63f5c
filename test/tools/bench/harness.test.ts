/** The parts of the bench that could lie: its counting, its reading of the command line. */
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../cli/common/failure.ts';
import { runLoad } from '../../../tools/bench/load/load.ts';
import { parseOptions } from '../../../tools/bench/report/options.ts';
import { type RatioInput, ratiosOf } from '../../../tools/bench/report/ratios.ts';

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
  const phase = (inFlight: number, perSecond: number, cpuMsPerCeremony: number, p50 = 1) => ({
    ...{ inFlight, perSecond, cpuMsPerCeremony, latency: { p50 } },
  });
  const measured = (rest: number, restP50: number): RatioInput =>
    ({
      cores: 2,
      signing: [
        { door: 'rest', scheme: 'ecdsa', ...phase(64, rest, 0.8) },
        { door: 'rest', scheme: 'ecdsa', ...phase(1, 100, 2, restP50) },
        { door: 'rest', scheme: 'ed25519', ...phase(64, 800, 2) },
      ],
      floor: {
        ecdsa: [phase(1, 1000, 0.5, 0.5), phase(64, 5000, 0.2)],
        frost: { perSecond: 500, times: 1, cpuMs: 1.6 },
      },
      dkg: [],
      operations: [],
      deliveries: undefined,
      bare: undefined,
      references: undefined,
    }) as unknown as RatioInput;

  test('are of what stands beside, by rate and by CPU, and only of what was measured', () => {
    const aims = ratiosOf(measured(2000, 1.5)).map(({ got, met }) => [got, met]);
    expect(aims).toEqual([
      ['0.40 (by CPU 0.25)', true],
      ['3.00 times', true],
      ['0.80 (by CPU 0.80)', true],
    ]);
  });

  test('miss what is below the aim', () => {
    expect(ratiosOf(measured(1990, 1.6)).map(({ met }) => met)).toEqual([false, false, true]);
  });
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
    };
    expect(quick.simulationRuns).toBeLessThan(full.simulationRuns);
    expect(quick.reconRows).toBeLessThan(full.reconRows);
    expect({ ...quick, quick: false, ...neutral }).toEqual({ ...full, ...neutral });
  });
});
