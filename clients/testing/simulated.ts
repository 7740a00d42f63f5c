/**
 * A simulated cluster for a test: the whole product in virtual time. Awaiting an answer lets time pass until it arrives; requests
 * of the same turn of the event loop happen at the same virtual time.
 */

import { firstCluster } from '../../core/redis/clusters.ts';
import { asSeen, processIn } from '../../scenarios/faults/cluster-names.ts';
import { describe } from '../../scenarios/faults/describe.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import { RunCheckers } from '../../scenarios/runner/run-checkers.ts';
import { simulatedWorld } from '../../scenarios/runner/simulated-world.ts';
import type { Violation } from '../../simulation/cluster/violation.ts';
import { CustodyWorld } from '../../simulation/service/custody-world.ts';
import type { DeliveredRequest } from '../../simulation/service/receivers.ts';
import { TestCluster } from './cluster.ts';
import type { TokenOptions } from './cluster-ports.ts';
import { DrivenWorld } from './driven-world.ts';
import { SandboxApi } from './sandbox-api.ts';
import { VirtualDriver } from './virtual-driver.ts';
import { VirtualFetch } from './virtual-fetch.ts';
import { virtualPorts } from './virtual-ports.ts';
import { virtualReceivers } from './virtual-receivers.ts';

/** The same schedule as in live-process.ts. */
const retryScheduleMs = [200, 1_000, 5_000] as const;
/** A name that no resolver knows (RFC 6761): requests that bypass `fetch` reach no host. */
const baseUrl = 'http://signmesh.test';
const tenant = 'tn_sim';

export interface SimulatedClusterOptions {
  readonly clusters: number;
  /** Of each cluster. */
  readonly nodes: number;
  readonly seed: string;
  readonly partialTimeoutMs: number;
  readonly nodesWaitMs: number;
  readonly receiver: boolean;
}

export async function simulatedCluster(options: SimulatedClusterOptions): Promise<TestCluster> {
  const { clusters, nodes, seed, partialTimeoutMs, nodesWaitMs, receiver } = options;
  const events: RunEvent[] = [];
  const violations: Violation[] = [];
  // The event log is shared with the control plane; `events-complete` needs a log with session events only.
  const checkersOfRun = () =>
    new RunCheckers({ clusters, context: {}, without: ['events-complete'], events, violations });
  let checkers: RunCheckers | undefined = checkersOfRun();
  const world: CustodyWorld = new CustodyWorld({
    ...{ seed, clusters, nodes },
    config: { partialTimeoutMs, nodesWaitMs },
    retryScheduleMs,
    sweeping: true,
    onBug: 'record',
    keepTrace: false,
    record: (event) => events.push(event),
    observe: (...seen) => checkers?.observe(...seen),
  });
  const { cluster } = world;
  const delivered = ({ body, status }: DeliveredRequest) => {
    const { id, type, resource } = JSON.parse(body) as { id: string; type: string; resource: { id: string } };
    const text = `${type}: ${status === 0 ? 'the connection was cut' : status}`;
    events.push({ kind: 'delivery', atMs: cluster.scenarioMs, event: id, session: resource.id, status, text });
  };
  const driver = new VirtualDriver(world);
  const user = new VirtualFetch(world, driver, baseUrl);
  const own = new VirtualFetch(world, driver, baseUrl, true);
  const issue = ({ name, scopes, tenant: of = tenant }: TokenOptions) =>
    world.token({ tenant: of, ...(name !== undefined && { name }), ...(scopes && { scopes }) });
  const token = await issue({ name: 'owner' });
  const approverToken = await issue({ name: 'approver' });
  const api = new SandboxApi({ baseUrl, token, fetch: own.fetch });
  const signing = simulatedWorld(world.clusters, { events, violations, recordsSteps: true });
  const driven = new DrivenWorld({ world, driver, api, signing });
  type Snapshot = ReturnType<CustodyWorld['snapshot']>;
  const taken = new WeakSet<Snapshot>();
  const take = () => {
    const snapshot = world.snapshot();
    taken.add(snapshot);
    return snapshot;
  };
  const restore = async (snapshot: Snapshot) => {
    await world.restore(snapshot);
    await driven.settle();
  };
  const test = new TestCluster(driven, {
    ...{ clusters, nodes },
    address: { url: baseUrl, token, approverToken },
    ports: virtualPorts(world, driver, { seed, fetch: own.fetch, drives: false }),
    userPorts: virtualPorts(world, driver, { seed, fetch: user.fetch, drives: true }),
    since: undefined,
    drive: (work) => driver.run(work),
    obstacles: async () => obstaclesOf(world),
    openReceiver: virtualReceivers(world, driver, delivered),
    issueToken: (wanted) => driver.run(issue(wanted)),
    takeSnapshot: async () => take(),
    restoreSnapshot: async (snapshot) => {
      if (!taken.has(snapshot as Snapshot))
        throw new TypeError('this is no snapshot of this cluster: see takeSnapshot');
      // The restore undoes events that the checkers remember, so no checker runs from here on.
      checkers = undefined;
      await restore(snapshot as Snapshot);
    },
    reset: async () => {
      checkers = checkersOfRun();
      world.clusters.heal();
      await restore(fresh);
    },
    recording: async () => events,
    stop: async () => {
      driver.stop();
      user.stop();
      own.stop();
    },
  });
  await driven.untilServing();
  if (receiver) await driven.deliverTo(test);
  const fresh = world.snapshot();
  return test;
}

function obstaclesOf({ clusters }: CustodyWorld): readonly string[] {
  return clusters.each.flatMap((cluster, index) => {
    const number = index + firstCluster;
    const processes = cluster
      .processes()
      .filter((process) => cluster.stateOf(process) !== 'up')
      .map((process) => [processIn(number, process), cluster.stateOf(process)] as const)
      .map(([process, state]) => `${process} is ${state}: custody.heal() brings it up`);
    const faults = cluster
      .faultStatuses()
      .filter(({ state }) => state !== 'over')
      .map(({ id, fault }) => `the fault ${id} is in force: ${describe(asSeen(number, fault))}`);
    return [...processes, ...faults];
  });
}
