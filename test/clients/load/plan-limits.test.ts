/** The limits of a load plan on both sides of each, and how a run finds that the service has recovered. */
import { describe, expect, test } from 'vitest';
import type { Health } from '../../../clients/client/generated-api.ts';
import { planProblems } from '../../../clients/load/plan/limits.ts';
import {
  endpointsOf,
  type LoadPlan,
  type LoadStage,
  planDefaults,
  planLimits,
} from '../../../clients/load/plan/plan.ts';
import type { Threshold } from '../../../clients/load/plan/threshold.ts';
import { type RecoveryOptions, recover } from '../../../clients/load/run/recovery.ts';
import { Faults } from '../../../clients/load/verdict/check.ts';

const hourMs = 3_600_000;
const constant: LoadStage = { name: 'a', shape: 'constant', rate: 10, forMs: 1_000 };

function problemsOf(change: Partial<LoadPlan>): string[] {
  const plan = {
    ...{ name: 'p', mix: new Map([['sign', 1]]), stages: [constant], thresholds: [], faults: undefined },
    ...{ ...planDefaults, ...change },
  } as LoadPlan;
  return planProblems(plan).map(({ at, message }) => `${at.join('.')}: ${message}`);
}

describe('a plan', () => {
  const stages = (count: number, forMs = 1): LoadStage[] =>
    Array.from({ length: count }, (_, index) => ({ name: `s${index}`, shape: 'closed', callers: 1, forMs }));
  const one = (stage: object): Partial<LoadPlan> => ({ stages: [{ ...constant, ...stage } as LoadStage] });

  test('has the stated limits and defaults', () => {
    expect(planLimits).toEqual({
      ...{ rateMax: 100_000, timesMax: 10, callersMax: 4_096, inFlightMax: 20_000, stagesMax: 50 },
      ...{ totalMsMax: 24 * hourMs, arrivalsMax: 2_000_000 },
    });
    expect(planDefaults).toEqual({
      api: 'rest',
      arrivals: 'even',
      seed: 1,
      inFlightMax: 1_000,
      recoverWithinMs: 30_000,
    });
  });

  test.each<[Partial<LoadPlan>, Partial<LoadPlan>, string]>([
    [{ stages: stages(50) }, { stages: stages(51) }, 'stages: a plan has 1 to 50 stages'],
    [{ stages: stages(1) }, { stages: [] }, 'stages: a plan has 1 to 50 stages'],
    [{ inFlightMax: 1 }, { inFlightMax: 0 }, 'in_flight_max: the in-flight bound is a whole number from 1 to 20000'],
    [
      { inFlightMax: 20_000 },
      { inFlightMax: 20_001 },
      'in_flight_max: the in-flight bound is a whole number from 1 to 20000',
    ],
    [{}, { inFlightMax: 1.5 }, 'in_flight_max: the in-flight bound is a whole number from 1 to 20000'],
    [one({ rate: 100_000, forMs: 1 }), one({ rate: 100_001, forMs: 1 }), 'stages.0: a rate is at most 100000/s'],
    [
      one({ shape: 'ramp', rampTo: 100_000, forMs: 1 }),
      one({ shape: 'ramp', rampTo: 100_001, forMs: 1 }),
      'stages.0: a rate is at most 100000/s',
    ],
    [
      one({ shape: 'spike', spikeTo: 100_000, forMs: 1 }),
      one({ shape: 'spike', spikeTo: 100_001, forMs: 1 }),
      'stages.0: a rate is at most 100000/s',
    ],
    [
      one({ shape: 'ramp', rate: 0, rampTo: 1 }),
      one({ shape: 'ramp', rate: 0, rampTo: 0 }),
      'stages.0: nothing arrives at a rate of 0',
    ],
    [
      one({ shape: 'closed', callers: 4_096 }),
      one({ shape: 'closed', callers: 4_097 }),
      'stages.0: callers are a whole number from 1 to 4096',
    ],
    [
      one({ shape: 'closed', callers: 1 }),
      one({ shape: 'closed', callers: 0 }),
      'stages.0: callers are a whole number from 1 to 4096',
    ],
    [
      { stages: [...stages(1), { ...constant, shape: 'times', times: 10 }] },
      { stages: [...stages(1), { ...constant, shape: 'times', times: 10.1 }] },
      'stages.1: times are above 0 and at most 10',
    ],
    [
      { stages: stages(2, 12 * hourMs) },
      { stages: stages(2, 12 * hourMs + 1) },
      'stages: all stages together last at most 24 hours',
    ],
    [
      one({ rate: 2_000, forMs: 1_000_000 }),
      one({ rate: 2_000, forMs: 1_001_000 }),
      'stages: 2002000 operations arrive; a run keeps the evidence of at most 2000000',
    ],
    [
      { stages: [constant, { ...constant, name: 'b' }] },
      { stages: [constant, constant] },
      'stages.1: there is a stage a before',
    ],
  ])('%j is good, %j is not', (good, bad, problem) => {
    expect(problemsOf(good)).toEqual([]);
    expect(problemsOf(bad)).toEqual([problem]);
  });

  test('has an operation, and thresholds of what it measures', () => {
    const threshold = (more: Partial<Threshold>) => ({ text: 't', ...more }) as Threshold;
    for (const of of ['sign', ...endpointsOf.sign, undefined]) {
      expect(problemsOf({ thresholds: [threshold(of === undefined ? {} : { of, stage: 'a' })] })).toEqual([]);
    }
    expect(problemsOf({ thresholds: [threshold({ stage: 'b', of: 'read' })] })).toEqual([
      'thresholds.0: t: there is no stage b',
      'thresholds.0: t: this load measures no read; one of sign, InitiateSigning, SubmitSignatureShare',
    ]);
    // Without a mix, that is said alone.
    expect(problemsOf({ mix: new Map(), thresholds: [threshold({ of: 'read' })] })).toEqual([
      'mix: the mix is empty: name an operation',
    ]);
  });
});

test('a check counts all faults, and shows the first ten', () => {
  const faults = new Faults();
  expect(faults.check('c', 't')).toEqual({ name: 'c', holds: true, text: 't', faults: [] });
  for (let index = 1; index <= 10; index += 1) faults.add(`f${index}`);
  const ten = Array.from({ length: 10 }, (_, index) => `f${index + 1}`);
  expect(faults.check('c', 't')).toEqual({ name: 'c', holds: false, text: 't', faults: ten });
  faults.add('f11');
  faults.add('f12');
  expect([faults.count, faults.check('c', 't').faults]).toEqual([12, [...ten, 'and 2 more']]);
});

describe('recovery', () => {
  const healthy = { status: 'ok', nodes_ready: 5, nodes_total: 5 } as Health;

  async function recovered(
    states: readonly (Health | undefined)[],
    more: Partial<RecoveryOptions> = {},
    fails = false,
  ) {
    const left = [...states];
    let runs = 0;
    const operation = {
      run: () => {
        runs += 1;
        return fails ? Promise.reject(new Error('no')) : Promise.resolve();
      },
    } as unknown as RecoveryOptions['operation'];
    const health = async () => (left.length > 1 ? left.shift() : left[0]);
    const found = await recover({ operation, health, beforeP50Ms: 10_000, withinMs: 60_000, ...more });
    return { runs, found };
  }

  test('needs five operations as fast as before, and every node', async () => {
    const { runs, found } = await recovered([healthy]);
    expect([runs, found.holds, found.health, found.tookMs !== null]).toEqual([5, true, 'ok', true]);
    expect(found.text).toMatch(
      /^as before the load within \d+\.\d s \(p50 \d+\.\d ms, 10000\.0 ms before the load; 5 of 5 nodes ready\)$/,
    );
    const missing = { ...healthy, nodes_ready: 4 };
    const states = [undefined, ...Array(6).fill(missing), { ...healthy, status: 'degraded' } as Health, healthy];
    expect((await recovered(states)).runs).toBe(8);
  });

  test('is not there after its time while the service fails, is slower than twice as before, or does not answer', async () => {
    const failing = await recovered([healthy], { withinMs: -1 }, true);
    expect(failing.found).toMatchObject({ holds: false, tookMs: null, afterP50Ms: -1, health: 'ok' });
    expect(failing.found.text).toMatch(/^not as before the load after 0\.\d s \(p50 failing, /);
    const slower = await recovered([healthy], { beforeP50Ms: -2.6, withinMs: 0 });
    expect(slower.found.holds).toBe(false);
    const silent = await recovered([undefined], { withinMs: -1 });
    expect(silent.found).toMatchObject({ holds: false, health: 'unreachable' });
    expect(silent.found.text).toContain('; no answer)');
  });
});
