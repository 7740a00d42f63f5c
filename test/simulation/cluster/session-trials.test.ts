/** Trials of the coordinator beside a run: they leave it as it is, and find a coordinator that breaks a rule of the contract. */
import { afterEach, expect, test, vi } from 'vitest';
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { CoordinatorCopy } from '../../../simulation/cluster/coordinator-copy.ts';
import { identitiesOf } from '../../../simulation/cluster/identities.ts';
import { emptyCoordinatorSnapshot } from '../../../simulation/cluster/memory-stores.ts';
import type { Checker, Observation } from '../../../simulation/cluster/observation.ts';
import { randomScenario } from '../../../simulation/search/generate.ts';
import { sessionTrials } from '../../../trials/sessions/session-trials.ts';
import { runs } from '../../support/thorough.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** With a trial at every answer of the coordinator. */
function trialsOf(seed: string, nodes: number): Checker {
  const identities = identitiesOf({ seed, nodes });
  return sessionTrials({ seed, nodesTotal: nodes, identities: () => identities, chanceAnAnswer: 1 });
}

const anAnswer = { kind: 'promised' } as Observation;

/** What these many trials find. */
function found(trials: number, crypto: 'model' | 'real' = 'model'): string[] {
  return withCryptography(crypto, () => {
    const checkers = [3, 5, 7].map((nodes) => trialsOf(`trials of ${nodes}`, nodes));
    return Array.from({ length: trials }, (_, index) => checkers[index % 3]!.observe(anAnswer) ?? []).flat();
  });
}

test('leave the run byte for byte as it is', () => {
  const scenario = randomScenario(7, 'calm');
  const { nodes, seed } = scenario.cluster;
  const run = (checkers: () => Checker[]) =>
    withCryptography('model', () =>
      runSimulated(scenario, { crypto: 'model', checkers: checkers(), passesOver: true }),
    );
  const text = (value: unknown) => JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one));
  const tried = run(() => [trialsOf(seed, nodes)]);
  expect(tried.verdict).toEqual({ kind: 'passed' });
  expect(text(tried.events)).toBe(text(run(() => []).events));
});

test('find nothing, with the model and with curves', () => {
  expect(found(runs(150, 300))).toEqual([]);
  expect(found(runs(15, 30), 'real')).toEqual([]);
});

test('find a coordinator that loses what it has stored', () => {
  const restart = CoordinatorCopy.prototype.restart;
  vi.spyOn(CoordinatorCopy.prototype, 'restart').mockImplementation(function forgets(this: CoordinatorCopy) {
    this.store.restore(emptyCoordinatorSnapshot);
    restart.call(this);
  });
  expect(found(60).length).toBeGreaterThan(0);
});

test('find a coordinator whose timers never fire', () => {
  vi.spyOn(CoordinatorCopy.prototype, 'pass').mockImplementation(function passes(this: CoordinatorCopy, ms: number) {
    this.nowMs += ms;
    return [];
  });
  expect(found(60).length).toBeGreaterThan(0);
});

test('find a coordinator that answers before its writes are stored', () => {
  const settle = CoordinatorCopy.prototype.settle;
  vi.spyOn(CoordinatorCopy.prototype, 'settle').mockImplementation(function settles(this: CoordinatorCopy) {
    // No write is lost, whatever the trial says.
    this.fates.length = 0;
    return settle.call(this);
  });
  expect(found(60).length).toBeGreaterThan(0);
});
