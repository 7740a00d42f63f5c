/** What the clients of random runs insist on: only what must come about. */
import { expect, test } from 'vitest';
import { Draw } from '../../../simulation/cluster/draw.ts';
import { randomStream } from '../../../simulation/cluster/random.ts';
import { drawSwarm } from '../../../simulation/search/profiles.ts';
import { closedByOthers } from '../../../simulation/search/signing/bystanders.ts';
import { randomScenario } from '../../../simulation/search/signing/generate.ts';
import { redisRolledBack } from '../../../simulation/search/signing/redis-rollback.ts';
import { runChecked } from '../../../simulation/search/signing/workload.ts';
import { runs } from '../../support/thorough.ts';

const terms = { threshold: 2, total_nodes: 3, curve: 'secp256k1', wallet_service: true, insist: true } as const;

test('no client insists on a key that another one may close while it is being made', () => {
  const clients = closedByOthers({
    one: [
      { step: 'a', call: 'make_key', session: 'wal_a', ...terms },
      { step: 'b', call: 'make_key', session: 'wal_b', ...terms },
      { step: 'c', call: 'close_key', session: 'wal_b' },
      { step: 'd', call: 'make_key', session: 'wal_d', ...terms },
    ],
    other: [
      { step: 'e', call: 'close_key', session: 'wal_a' },
      { step: 'f', call: 'close_key', session: 'wal_d', clients_only: true },
    ],
  });
  expect(clients.one).toMatchObject([{ insist: false }, { insist: true }, {}, { insist: true }]);
});

/** Hostile seeds in whose run Redis goes back. */
function rolledBack(count: number): number[] {
  const found: number[] = [];
  for (let seed = 1; found.length < count; seed += 1) {
    if (randomScenario(seed, 'hostile').clients.redis !== undefined) found.push(seed);
  }
  return found;
}

test('Redis goes back in a part of the hostile runs, and in no others', () => {
  expect(rolledBack(8).at(-1)).toBeLessThan(300);
  for (const profile of ['calm', 'stormy', 'malformed'] as const) {
    const draw = new Draw(randomStream('swarm', profile));
    for (let seed = 1; seed < 50; seed += 1)
      expect(redisRolledBack({}, drawSwarm(profile, draw), draw)).toBeUndefined();
  }
});

test('after it no invariant that still holds is violated, and a new key signs', () => {
  for (const seed of rolledBack(runs(3, 40))) {
    const { verdict } = runChecked(randomScenario(seed, 'hostile'), { crypto: 'model', record: false });
    expect({ seed, verdict }).toEqual({ seed, verdict: { kind: 'passed' } });
  }
});
