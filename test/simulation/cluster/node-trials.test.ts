/** Trials of nodes beside a run: they leave it as it is, and find a node that breaks a rule of the protocol. */
import { expect, test } from 'vitest';
import { withCryptography } from '../../../core/crypto/model/switch.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { identitiesOf } from '../../../simulation/cluster/identities.ts';
import { type NodeCopy, wireMessagesOf } from '../../../simulation/cluster/node-copy.ts';
import type { Checker } from '../../../simulation/cluster/observation.ts';
import { randomStream } from '../../../simulation/cluster/random.ts';
import { randomScenario } from '../../../simulation/search/generate.ts';
import { nodeTrials } from '../../../trials/nodes/node-trials.ts';

const scenario = randomScenario(7, 'calm');
const { nodes, seed, client_dealers: allowsDealers } = scenario.cluster;

/** A run of the scenario in which a third of the frames to nodes begin a trial; `seen` counts them. */
function run(checkers: (seen: { copies: number }) => Checker[]) {
  const seen = { copies: 0 };
  const { verdict, events } = withCryptography('model', () =>
    runSimulated(scenario, { crypto: 'model', checkers: checkers(seen), passesOver: true }),
  );
  return {
    verdict,
    events: JSON.stringify(events, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    seen,
  };
}

function trialsOf(alter: (checker: Checker) => Checker): Checker[] {
  const identities = () => identitiesOf({ seed, nodes });
  return [alter(nodeTrials({ seed, nodesTotal: nodes, allowsDealers, identities, chanceAFrame: 0.3 }))];
}

/** The checker, with every copy of a node in the hands of `meddle`. */
function withCopies(checker: Checker, meddle: (copy: NodeCopy) => void): Checker {
  return {
    ...checker,
    began: (ports) =>
      checker.began?.({
        nodeCopy(id, random) {
          const copy = ports.nodeCopy(id, random);
          meddle(copy);
          return copy;
        },
      }),
  };
}

test('leave the run byte for byte as it is', () => {
  const without = run(() => []);
  const tried = run((seen) =>
    trialsOf((checker) =>
      withCopies(checker, () => {
        seen.copies += 1;
      }),
    ),
  );
  expect(tried.verdict).toEqual({ kind: 'passed' });
  expect(tried.seen.copies).toBeGreaterThan(20);
  expect(tried.events).toBe(without.events);
});

test('find a node that loses what it has stored', () => {
  const { verdict } = run(() =>
    trialsOf((checker) =>
      withCopies(checker, (copy) => {
        copy.restart = () => {
          for (const { puts } of copy.writes) for (const { key } of puts) copy.put(key, undefined);
        };
      }),
    ),
  );
  expect(verdict).toMatchObject({ kind: 'violated', invariant: 'trial-as-modelled' });
});

test('find a node that answers although its write was refused', () => {
  const { verdict } = run(() =>
    trialsOf((checker) =>
      withCopies(checker, (copy) => {
        copy.fates.push = () => 0;
      }),
    ),
  );
  expect(verdict).toMatchObject({ kind: 'violated', invariant: 'trial-as-modelled' });
});

test('a copy of a node has its store as it was, and writes to its own', () => {
  withCryptography('model', () => {
    const cluster = new SimCluster({ seed: 'copy', nodes: 3 });
    cluster.makeKey({ sessionId: 'wal_a', threshold: 2, totalNodes: 3 }, 'tn_sim', { walletService: true }).result();
    const copy = cluster.nodeCopy(1, randomStream('copy', 'bytes'));
    const name = 'dkg/tn_sim/wal_a';
    expect(copy.record(name)).toEqual(cluster.nodeStore(1).loadNow(name));
    const open = { curve: 'secp256k1', threshold: 2, totalNodes: 2, request: 1, scheme: 0, participants: [] };
    const message = { tenant: 'tn_sim', session: 'other', attempt: 1, body: { case: 'dkgOpen' as const, value: open } };
    copy.fates.push('lost');
    expect(copy.tell('node/1/dkg/tn_sim/other', message)).toEqual([]);
    expect(copy.writes).toEqual([]);
    expect(wireMessagesOf(copy.tell('node/1/dkg/tn_sim/other', message)).map(({ body }) => body.case)).toEqual([
      'dkgOpened',
    ]);
    expect(copy.writes.flatMap(({ puts }) => puts.map(({ key }) => key))).toEqual(['dkg/tn_sim/other']);
    expect(cluster.nodeStore(1).loadNow('dkg/tn_sim/other')).toBeUndefined();
    copy.restart();
    expect(wireMessagesOf(copy.tell('node/1/dkg/tn_sim/other', message)).map(({ body }) => body.case)).toEqual([
      'dkgOpened',
    ]);
  });
});
