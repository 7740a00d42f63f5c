/** Two signing clusters under the gateways of one simulated world: where keys go, what faults of one cluster hit, its return. */
import { describe, expect, test } from 'vitest';
import { RedisClusters } from '../../../core/redis/redis-clusters.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { RunCheckers } from '../../../scenarios/runner/run-checkers.ts';
import { CustodyWorld, type WorldOptions } from '../../../simulation/service/custody-world.ts';
import { openTenant, pay, settledFaults, type Tenant } from './support/payments.ts';

const tenantName = 'tn_world';
const fast = { cryptography: 'model', codec: 'none', nodes: 3, clusters: 2 } as const;

async function open(options: Partial<WorldOptions> = {}) {
  const world = new CustodyWorld({ seed: 'clusters', keepTrace: false, ...fast, ...options });
  const tenant = await openTenant(world, tenantName);
  const registry = new RedisClusters(world.redis.client());
  const clusterOf = (id: string) => registry.locate(tenantName, id);
  return { world, tenant, registry, clusterOf };
}

/** The same tenant, whose second wallet pays. */
const reversed = (tenant: Tenant): Tenant => ({ ...tenant, wallets: [...tenant.wallets].reverse() });

test('keys are spread, each cluster signs with its own, and the registry counts them', async () => {
  const { world, tenant, registry, clusterOf } = await open();
  expect(await Promise.all(tenant.wallets.map(({ id }) => clusterOf(id)))).toEqual([1, 2]);
  expect(await world.run(Promise.all([pay(tenant, 'one', '0.1'), pay(reversed(tenant), 'two', '0.1')]))).toEqual([
    'completed',
    'completed',
  ]);
  await world.advance(1_000);
  const entries = await registry.list();
  expect(entries.map(({ number, nodesReady, placed }) => [number, nodesReady, placed])).toEqual([
    [1, 3, 1],
    [2, 3, 1],
  ]);
  expect(entries.every(({ load }) => load > 0)).toBe(true);
  expect(await settledFaults(world, tenant)).toEqual([]);
});

describe('faults of the second cluster', () => {
  const faults: readonly Fault[] = [
    { fault: 'crash', target: 'cluster/2/coordinator', restart_after_ms: 3_000 },
    { fault: 'partition', target: 'cluster/2/gateway', for_ms: 9_000 },
    { fault: 'pause', target: 'cluster/2/node/*', for_ms: 9_000 },
    { fault: 'crash', target: 'cluster/2/coordinator', at: { port: 'redis', call: 'store/commit.lua' } },
    { fault: 'store_failing', target: 'cluster/2/coordinator', count: 2 },
  ];
  test.each(faults)('$fault $target $at: its wallet pays in the end, the other one at once', async (fault) => {
    const { world, tenant } = await open();
    world.clusters.arm(fault);
    const beganMs = world.nowMs;
    const ofSecond = pay(reversed(tenant), 'two', '0.1');
    const of = async (work: Promise<string>) => [await work, world.nowMs - beganMs] as const;
    const [[end, tookMs], [endOfSecond]] = await world.run(Promise.all([of(pay(tenant, 'one', '0.1')), of(ofSecond)]));
    expect([end, endOfSecond]).toEqual(['completed', 'completed']);
    expect(tookMs).toBeLessThan(8_000);
    expect(world.clusters.faultStatuses().map(({ triggerCount }) => triggerCount)).not.toContain(0);
    expect(await settledFaults(world, tenant)).toEqual([]);
  });

  test('reports name it, and the same seed gives the same run', async () => {
    const told: string[][] = [];
    for (let run = 0; run < 2; run += 1) {
      const events: RunEvent[] = [];
      const { world, tenant } = await open({ keepTrace: true, record: (event) => void events.push(event) });
      world.clusters.arm({ fault: 'crash', target: 'cluster/2/coordinator', restart_after_ms: 500 });
      await world.run(pay(reversed(tenant), 'one', '0.1'));
      const targets = events.flatMap((event) => (event.kind === 'fault' ? event.targets : []));
      expect(new Set(targets)).toEqual(new Set(['cluster/2/coordinator']));
      told.push([...world.trace, ...world.clusters.trace, ...events.map((event) => JSON.stringify(event))]);
    }
    expect(told[1]).toEqual(told[0]);
    expect(told[0]!.some((line) => line.startsWith('cluster 2: '))).toBe(true);
  });
});

test('a snapshot holds what all clusters store', async () => {
  const { world, tenant } = await open();
  const snapshot = world.snapshot();
  await world.run(pay(reversed(tenant), 'one', '0.1'));
  await world.restore(snapshot);
  expect(await world.run(pay(reversed(tenant), 'one', '0.1'))).toBe('completed');
  expect(await settledFaults(world, tenant)).toEqual([]);
});

test('planted: a violation in the second cluster is found, in its own names', () => {
  const events: RunEvent[] = [];
  const checkers = new RunCheckers({ clusters: 2, context: {}, events });
  const bug = { kind: 'bug', atMs: 7, process: 'node/1', address: 'node/1', text: 'it threw' } as const;
  checkers.observe(bug, 2);
  const cause = expect.stringMatching(/^cluster 2: .*it threw/);
  expect(checkers.verdict).toEqual({ kind: 'violated', invariant: 'no-bugs', cause });
  expect(events).toMatchObject([{ kind: 'violation', atMs: 7 }]);
});
