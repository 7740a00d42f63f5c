/** Two simulated clusters in one world: where calls go, what each cluster's faults hit, and how reports name them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeRun } from '../../../clients/report/html/browser/encode.ts';
import { makeLayout } from '../../../clients/report/html/browser/layout.ts';
import { readModel } from '../../../clients/report/html/browser/model.ts';
import { findSpans } from '../../../clients/report/html/browser/spans.ts';
import { textReport } from '../../../clients/report/text.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { loadScenario } from '../../../scenarios/runner/load.ts';
import { runSimulated } from '../../../scenarios/runner/simulated-world.ts';
import { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { SimClusters, type SimClustersOptions } from '../../../simulation/cluster/clusters.ts';
import { oneIntentOneEffect } from '../../../simulation/cluster/invariants/one-intent-one-effect.ts';
import { SharedWorld } from '../../../simulation/cluster/shared.ts';
import { root } from '../../cli/support/up-process.ts';
import { codeOf, digest, tenant } from '../../coordinator/support/world.ts';
import { withTheModel } from '../../core/crypto/model/support.ts';
import { begin, makeKey, sign } from './support/watched.ts';

withTheModel();

const config = { nonceBatchFirst: 2, nodesWaitMs: 500, partialTimeoutMs: 300 };

function open(options: Partial<SimClustersOptions> = {}) {
  const events: RunEvent[] = [];
  const record = (event: RunEvent) => void events.push(event);
  const world = new SimClusters({ seed: 'many', nodes: 3, clusters: 2, config, record, ...options });
  const key = (sessionId: string, totalNodes = 3) => {
    world.initiateDkg({ sessionId, threshold: 2, totalNodes }).result();
    return codeOf(world.exchangeDkgShares({ sessionId }).result());
  };
  const beginWith = (walletId: string, transactionIntentId: string) =>
    world.initiateSigning({ walletId, messageHash: digest, transactionIntentId }).result();
  const share = (signingSessionId: string) => codeOf(world.submitSignatureShare({ signingSessionId }).result());
  const told = (process: string) =>
    events.flatMap((one) => (one.kind === 'process' && one.process === process ? [one.what] : []));
  return { world, events, key, beginWith, share, told };
}

const read = (name: string) =>
  loadScenario(readFileSync(join(root, 'scenarios', `${name}.yaml`), 'utf8'), { file: `${name}.yaml` });

test('keys are spread, and each call goes to the cluster of its key or session', () => {
  const { world, events, key, beginWith, share } = open();
  for (const name of ['a', 'b', 'c']) expect(key(name)).toBe('DKG_COMPLETED');
  expect(['a', 'b', 'c'].map((name) => world.locate(tenant, name))).toEqual([1, 2, 1]);
  const before = events.length;
  const { signingSessionId } = beginWith('b', 'i');
  expect(share(signingSessionId)).toBe('SIGNATURE_COMPLETED');
  expect(world.locate(tenant, signingSessionId)).toBe(2);
  const holders = [signingSessionId, 'a', 'b'].map((sessionId) => world.inspectSession({ sessionId }).result().cluster);
  expect(holders).toEqual([2, 1, 2]);
  const senders = events.slice(before).flatMap((one) => (one.kind === 'frame' ? [one.from] : []));
  expect(senders.some((from) => from.startsWith('cluster/2/node/'))).toBe(true);
  expect(senders.filter((from) => from.startsWith('node/'))).toEqual([]);
});

test('a session of another cluster holds its intent, and no answer tells more of it than its name', () => {
  const { key, beginWith } = open();
  for (const name of ['a', 'b']) key(name);
  const { signingSessionId } = beginWith('a', 'i');
  const { receipt } = beginWith('b', 'i');
  expect([receipt?.reasonCode, receipt?.sessionId, receipt?.epoch]).toEqual(['DUPLICATE_INTENT', signingSessionId, 0n]);
});

test('a fault hits the cluster of its targets; a gateway, Redis and the clock are all clusters’', () => {
  const { world, key, told, beginWith, share } = open();
  for (const name of ['a', 'b']) key(name);
  world.arm({ fault: 'pause', target: 'cluster/2/node/*', for_ms: 2_000 });
  const [one, two] = [beginWith('a', 'i'), beginWith('b', 'j')];
  expect(share(one.signingSessionId)).toBe('SIGNATURE_COMPLETED');
  expect(share(two.signingSessionId)).toBe('QUORUM_UNAVAILABLE');
  expect([told('node/1'), told('cluster/2/node/1')]).toEqual([
    ['up', 'linkUp'],
    ['up', 'linkUp', 'paused'],
  ]);
  world.heal();
  world.arm({ fault: 'crash', target: 'gateway', restart_after_ms: 100 });
  const lost = [beginWithLater('a'), beginWithLater('b')];
  expect(lost.map((call) => call.isDone)).toEqual([false, false]);
  world.time.advance(1_000);
  expect(told('gateway').filter((what) => what === 'down')).toHaveLength(1);
  world.arm({ fault: 'redis_gone', for_ms: 200 });
  world.time.advance(100);
  expect(() => beginWith('a', 'k')).not.toThrow();
  world.advance(60_000);
  expect([told('node/2').at(-1), told('cluster/2/node/2').at(-1)]).toEqual(['clock', 'clock']);
  expect(() => world.arm({ fault: 'crash', target: ['node/1', 'cluster/2/node/1'] })).toThrow(/targets in one cluster/);
  expect(() => world.arm({ fault: 'crash', target: 'cluster/3/node/1' })).toThrow(/there are clusters 1 to 2/);

  function beginWithLater(walletId: string) {
    return world.initiateSigning({ walletId, messageHash: digest, transactionIntentId: `${walletId}-lost` });
  }
});

describe('scenario files of two clusters', () => {
  test.each(['second-cluster-gone', 'second-cluster-culprit'])('%s gives the same run twice', (name) => {
    const [one, two] = [1, 2].map(() => JSON.stringify(runSimulated(read(name), { crypto: 'model' })));
    expect(two).toBe(one);
  });

  test('a fault in a cluster that the file has not is refused', () => {
    const text = (clusters: string) =>
      `scenario: x\nabout: a\n${clusters}faults: [{ fault: crash, target: cluster/3/node/1 }]\nsteps: [{ step: w, wait: { ms: 1 } }]`;
    expect(() => loadScenario(text(''), { file: 'x' })).toThrow(/there is no cluster 3: there is one cluster/);
    expect(() => loadScenario(text('cluster: { clusters: 2 }\n'), { file: 'x' })).toThrow(/there are clusters 1 to 2/);
    expect(loadScenario(text('cluster: { clusters: 3 }\n'), { file: 'x' }).cluster.clusters).toBe(3);
  });

  test('reports name the processes of the second cluster, and give them columns of their own', () => {
    const run = runSimulated(read('second-cluster-culprit'), { crypto: 'model' });
    const text = textReport(run);
    expect(text).toMatch(/^nodes +3 in each of 2 clusters$/m);
    expect(text).toMatch(/^\* .* frame +cluster\/2\/node\/1 +cluster\/2\/sign/m);
    const model = readModel(JSON.stringify(encodeRun(run)));
    const spans = findSpans(model);
    const layout = makeLayout(
      model,
      spans,
      { words: '', without: new Set(), actor: '', session: '', fault: '' },
      { ordinal: true, zoom: 1, apart: false },
    );
    const own = (cluster: string) => [1, 2, 3].map((id) => `${cluster}node/${id}`);
    expect(layout.columns.map(({ name }) => name)).toEqual([
      ...['clients', 'gateway', 'coordinator', ...own('')],
      ...['cluster/2/coordinator', ...own('cluster/2/'), 'worker', 'receiver', 'redis'],
    ]);
    expect(layout.columns[layout.columnOf('cluster/2/dkg/tn/k')]?.name).toBe('cluster/2/coordinator');
    expect(layout.columnsOf('cluster/2/node/*').map((index) => layout.columns[index]!.name)).toEqual(own('cluster/2/'));
  });
});

test('a guard that is lost between clusters is found: one checker sees what all of them write', () => {
  const shared = new SharedWorld();
  const checker = oneIntentOneEffect();
  const found: string[] = [];
  const [one, two] = [1, 2].map((number) => {
    const observe = (observation: Parameters<typeof checker.observe>[0]) => {
      const text = checker.observe(observation);
      if (text !== undefined) found.push(text);
    };
    const cluster = new SimCluster({ seed: `planted/${number}`, nodes: 3, config, shared, number, observe });
    cluster.open();
    return cluster;
  }) as [SimCluster, SimCluster];
  makeKey(one);
  makeKey(two, 'k2');
  sign(one, 'pay');
  expect(found).toEqual([]);
  shared.store.restore({ ...shared.store.snapshot(), intents: new Map() });
  two.initiateSigning({ walletId: 'k2', messageHash: digest, transactionIntentId: 'pay' }).result();
  expect(found).toEqual([expect.stringContaining('hold one intent at the same time')]);
  expect(begin(one, 'other')).not.toBe('');
});
