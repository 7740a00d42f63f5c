/** Plans of chaos: fixed by profile and seed, valid in every world, triggered by counts, and within what a cluster can lose. */
import { describe, expect, test } from 'vitest';
import { checkFault } from '../../../scenarios/faults/engine/checks.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { byzantineKinds, simulatedOnly } from '../../../scenarios/faults/vocabulary/kinds.ts';
import { processesOf, targetsOf } from '../../../scenarios/faults/vocabulary/targets.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { faultFaults } from '../../../scenarios/runner/shape.ts';
import { toYaml } from '../../../scenarios/runner/to-yaml.ts';
import { chaosPlan, chaosScenario } from '../../../simulation/chaos/plan.ts';
import { chaosProfileNames, chaosProfiles } from '../../../simulation/chaos/profiles.ts';
import { optionsFor } from '../../scenarios/faults/support/frames.ts';

const size = { nodes: 5, threshold: 3 };
const seeds = Array.from({ length: 200 }, (_, index) => `seed-${index}`);
const nodesOf = (fault: Fault) => targetsOf(fault).filter((name) => name.startsWith('node/'));

describe.each(chaosProfileNames)('a plan of %s', (profile) => {
  const plans = seeds.map((seed) => chaosPlan(profile, seed, size));

  test('is the same for the same seed, and others have others', () => {
    expect(chaosPlan(profile, 'seed-7', size)).toEqual(plans[7]);
    expect(new Set(plans.map((plan) => JSON.stringify(plan))).size).toBeGreaterThan(seeds.length / 2);
  });

  test('has faults of the vocabulary that the engines of both worlds take', () => {
    const worlds = (['live', 'simulated'] as const).map((world) =>
      optionsFor({ world, hasPorts: world === 'simulated' }),
    );
    for (const fault of plans.flat()) {
      expect([fault, faultFaults(fault, [])]).toEqual([fault, []]);
      for (const options of worlds) {
        if (options.world === 'live' && fault.fault in simulatedOnly) continue;
        expect(() => checkFault(fault, options), JSON.stringify(fault)).not.toThrow();
      }
    }
  });

  test('begins its faults at counts of frames and requests, never at a time', () => {
    const { faults } = chaosProfiles[profile];
    for (const plan of plans) {
      expect(plan.length).toBeGreaterThanOrEqual(faults[0]);
      expect(plan.length).toBeLessThanOrEqual(faults[1]);
      for (const { at, probability, count, fault } of plan) {
        expect([at?.after_ms, at?.step, probability]).toEqual([undefined, undefined, undefined]);
        expect(at?.nth ?? (fault === 'provider_fails' ? count : undefined)).toBeGreaterThan(0);
      }
    }
  });

  test('touches at most n − t nodes, loses no store, and lies as a node in `byzantine` alone', () => {
    for (const plan of plans) {
      expect(new Set(plan.flatMap(nodesOf).flatMap((name) => processesOf([name], 5))).size).toBeLessThanOrEqual(2);
      for (const fault of plan) {
        expect('lose_state' in fault || fault.fault === 'rollback').toBe(false);
        const lies = (byzantineKinds as readonly string[]).includes(fault.fault);
        expect(lies).toBe(profile === 'byzantine');
      }
    }
  });

  test('of a cluster that can lose no node touches none', () => {
    for (const seed of seeds) expect(chaosPlan(profile, seed, { nodes: 3, threshold: 3 }).flatMap(nodesOf)).toEqual([]);
  });

  test('is a scenario file that loads to the same faults', () => {
    for (const plan of plans.slice(0, 10)) {
      const text = toYaml(chaosScenario('chaos-one', profile, plan, size));
      expect(loadScenario(text, { file: 'chaos-one.yaml' }).faults).toEqual(plan);
    }
  });
});
