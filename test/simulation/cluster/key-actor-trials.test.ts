/** Trials of the coordinator's actors beside a run: they leave it as it is, and find a coordinator that breaks a rule. */
import { afterEach, expect, test, vi } from 'vitest';
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { ActorCopy } from '../../../simulation/cluster/actor-copy.ts';
import { identitiesOf } from '../../../simulation/cluster/identities.ts';
import type { Checker } from '../../../simulation/cluster/observation.ts';
import { StoreAtRest } from '../../../simulation/cluster/store-at-rest.ts';
import { randomScenario } from '../../../simulation/search/generate.ts';
import { keyActorTrials } from '../../../trials/key-actors/key-actor-trials.ts';
import { runs } from '../../support/thorough.ts';

const scenario = randomScenario(7, 'calm');
const { nodes, seed, client_dealers: allowsDealers } = scenario.cluster;

afterEach(() => vi.restoreAllMocks());

function run(checkers: Checker[]) {
  const { verdict, events } = withCryptography('model', () =>
    runSimulated(scenario, { crypto: 'model', checkers, passesOver: true }),
  );
  const text = JSON.stringify(events, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return { verdict, events: text };
}

/** The checker of a run in which many frames begin a trial. */
function trials(label = seed): Checker {
  const identities = () => identitiesOf({ seed, nodes });
  return keyActorTrials({ seed: label, nodesTotal: nodes, allowsDealers, identities, chanceAFrame: 0.25 });
}

/** The first violation of runs with other trials. */
function found(): string {
  for (let trial = 1; trial <= runs(4, 12); trial += 1) {
    const { verdict } = run([trials(`found-${trial}`)]);
    if (verdict.kind === 'violated') return verdict.invariant;
  }
  return 'nothing';
}

test('leave the run byte for byte as it is', () => {
  const copies = vi.spyOn(ActorCopy.prototype, 'settle');
  const tried = run([trials()]);
  expect(tried.verdict).toEqual({ kind: 'passed' });
  expect(copies.mock.calls.length).toBeGreaterThan(100);
  expect(tried.events).toBe(run([]).events);
});

test('find a coordinator that uses a record which was altered at rest', () => {
  vi.spyOn(StoreAtRest.prototype, 'alter').mockImplementation(() => undefined);
  expect(found()).toBe('trial-as-modelled');
});

test('find a store that confirms what it loses', () => {
  vi.spyOn(StoreAtRest.prototype, 'write').mockImplementation(() => ({ kind: 'written' }));
  expect(found()).toBe('trial-as-modelled');
});

test('find a coordinator that repeats no request and ends no wait', () => {
  vi.spyOn(ActorCopy.prototype, 'pass').mockImplementation(() => []);
  expect(found()).toBe('trial-as-modelled');
});

test('find a store that takes writes of a coordinator which was replaced', () => {
  const write = StoreAtRest.prototype.write;
  vi.spyOn(StoreAtRest.prototype, 'write').mockImplementation(function (this: StoreAtRest, one) {
    return write.call(this, one, 9);
  });
  expect(found()).toBe('trial-as-modelled');
});
