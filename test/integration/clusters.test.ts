/** Two clusters under one `up`, the nodes of each in one process: routing, the end of a cluster and its return. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runOn } from '../../cli/scenario/live.ts';
import { textReport } from '../../clients/report/text.ts';
import { testVariables } from '../../clients/testing/live-process.ts';
import type { ReadyLine } from '../../clients/testing/ready-line.ts';
import { SandboxApi } from '../../clients/testing/sandbox-api.ts';
import { UpProcess } from '../../clients/testing/up-process.ts';
import { orderLifetimeMs } from '../../proto/limits.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { runSimulated } from '../../scenarios/runner/simulated-world.ts';
import { keptFolder } from '../cli/support/temporary.ts';
import { root } from '../cli/support/up-process.ts';
import { nodeWaits } from '../support/busy-machine.ts';
import { RestClient } from '../support/rest.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';

interface Answer {
  readonly signing_session_id?: string;
  readonly full_signature?: string;
  readonly receipt?: { readonly reason_code: string; readonly resumable: boolean; readonly session_id: string };
}
interface Node {
  readonly process: string;
  readonly cluster: number | null;
  readonly pid: number | null;
  readonly state: string;
  readonly linked: boolean | null;
  readonly resident_bytes: number | null;
  readonly clock_offset_ms: number;
  readonly together: readonly string[];
}

const dataDir = keptFolder();
let up: UpProcess;
let ready: ReadyLine & { readonly bytes_per_node: number };

beforeAll(async () => {
  const environment = {
    ...testVariables({ nodes: 3, clusters: 2, partialTimeoutMs: 300, nodesWaitMs: 2000 }),
    ...nodeWaits(2_000, 300, 2),
    ...{ SIGNMESH_THRESHOLD: '2', SIGNMESH_NODES_PER_PROCESS: '3' },
  };
  up = new UpProcess({ dataDir }, { environment });
  ready = (await up.ready()) as typeof ready;
});
afterAll(async () => {
  up.child.kill('SIGTERM');
  await up.exited;
  rmSync(dataDir, { recursive: true, force: true });
});

async function call<T = Answer>(path: string, body?: object): Promise<T> {
  const answer = await new RestClient(ready.http, ready.token).call<T>(body ? 'POST' : 'GET', path, body);
  return answer.body;
}

const digest = Buffer.alloc(32, 7).toString('base64');
const begin = (wallet: string, intent: string) =>
  call('/v1/signing/initiate', { transaction_intent_id: intent, wallet_id: wallet, message_hash: digest });
const share = (session: string | undefined) => call('/v1/signing/share', { signing_session_id: session });
const reasonOf = ({ receipt }: Answer) => receipt?.reason_code;
const signed = async (wallet: string, intent: string) => share((await begin(wallet, intent)).signing_session_id);
const nodes = async () => (await call<{ nodes: Node[] }>('/v1/sandbox/nodes')).nodes;

const scenarioFiles = ['second-cluster-gone', 'second-cluster-culprit'];

// Simulated: test/simulation/cluster/scenario-run.test.ts.
test.runIf(isThorough).each(scenarioFiles)(
  'the scenario %s has the same verdict live as simulated, and its report says which cluster',
  async (name) => {
    const file = `${name}.yaml`;
    const scenario = loadScenario(readFileSync(join(root, 'scenarios', file), 'utf8'), { file });
    const live = await runOn(new SandboxApi({ baseUrl: ready.http, token: ready.token }), scenario, '--live');
    expect(live.verdict).toEqual(runSimulated(scenario, { crypto: 'model', record: false }).verdict);
    const text = textReport(live);
    expect(text).toMatch(/^nodes +3 in each of 2 clusters$/m);
    expect(text).toMatch(/ frame +cluster\/2\/node\/1 /);
  },
);

/** One key in each cluster: keys are spread. */
async function keys(): Promise<void> {
  for (const key of ['k1', 'k2']) {
    await call('/v1/dkg/initiate', { session_id: key });
    expect(reasonOf(await call('/v1/dkg/shares', { session_id: key }))).toBe('DKG_COMPLETED');
  }
}

test('a cluster that dies leaves the other at work; its sessions say so, and go on when it is back', async () => {
  await keys();
  const [one, two] = [await begin('k1', 'i1'), await begin('k2', 'i2')];
  // An intent has one session, whichever cluster is asked.
  const again = await begin('k2', 'i1');
  expect([reasonOf(again), again.receipt?.session_id]).toEqual(['DUPLICATE_INTENT', one.signing_session_id]);

  await call('/v1/sandbox/nodes/cluster-2-coordinator/crash', { restart_after_ms: null });
  const health = () => call<{ status: string; reasons: string[] }>('/v1/health');
  await until(async () => (await health()).status === 'degraded', 'the loss of cluster 2 is seen');
  expect((await health()).reasons).toEqual(['cluster 2: no coordinator is connected']);
  const answers = [await share(one.signing_session_id), await share(two.signing_session_id)];
  const gone = answers.filter((answer) => reasonOf(answer) === 'QUORUM_UNAVAILABLE');
  expect(answers.map(reasonOf).sort()).toEqual(['QUORUM_UNAVAILABLE', 'SIGNATURE_COMPLETED']);
  expect(gone[0]?.receipt?.resumable).toBe(true);

  await call('/v1/sandbox/nodes/cluster-2-coordinator/restart', {});
  await until(async () => (await health()).status === 'ok', 'cluster 2 is back');
  for (const session of [one, two])
    expect(reasonOf(await share(session.signing_session_id))).toBe('SIGNATURE_COMPLETED');
});

test('nodes that share a process crash together; only the store of the node that is named is lost', async () => {
  const before = (await nodes()).filter(({ process }) => process.startsWith('cluster/2/node/'));
  expect(new Set(before.map(({ pid }) => pid)).size).toBe(1);
  expect(before.map(({ cluster, together }) => [cluster, together.length])).toEqual([
    [2, 3],
    [2, 3],
    [2, 3],
  ]);
  expect(ready.bytes_per_node).toBeGreaterThan(1_000_000);
  await call('/v1/sandbox/nodes/cluster-2-node-1/crash', { lose_state: true, restart_after_ms: 0 });
  const back = async () => (await nodes()).filter(({ process, linked }) => process.startsWith('cluster/2/') && linked);
  await until(async () => {
    const now = await back();
    return now.length === 3 && now[0]!.pid !== before[0]!.pid;
  }, 'the nodes of cluster 2 are back');
  // Two of three still have their shares.
  for (const key of ['k1', 'k2']) expect(reasonOf(await signed(key, `after-${key}`))).toBe('SIGNATURE_COMPLETED');
  const fault = { fault: 'pause', target: ['node/1', 'cluster/2/node/1'], for_ms: 100 };
  expect(JSON.stringify(await call('/v1/sandbox/faults', fault))).toContain('a fault has targets in one cluster');
});

test.runIf(isThorough)('nodes that share a process pause together, and no others', async () => {
  const stateOf = async (process: string) =>
    (await nodes()).filter((node) => node.process.startsWith(process)).map(({ state }) => state);
  await call('/v1/sandbox/nodes/cluster-2-node-2/pause', {});
  expect(await stateOf('cluster/2/node/')).toEqual(['paused', 'paused', 'paused']);
  expect(await stateOf('node/')).toEqual(['running', 'running', 'running']);
  const answers = await Promise.all(['k1', 'k2'].map((key) => signed(key, `paused-${key}`)));
  expect(answers.map(reasonOf).sort()).toEqual(['QUORUM_UNAVAILABLE', 'SIGNATURE_COMPLETED']);
  // Another of them resumes it.
  await call('/v1/sandbox/nodes/cluster-2-node-3/resume', {});
  expect(await stateOf('cluster/2/node/')).toEqual(['running', 'running', 'running']);
  for (const key of ['k1', 'k2']) expect(reasonOf(await signed(key, `resumed-${key}`))).toBe('SIGNATURE_COMPLETED');
});

test.runIf(isThorough)(
  'nodes that share a process have one clock: the last change counts, and an advance of all adds to it',
  async () => {
    const offsets = async () =>
      (await nodes()).flatMap(({ process, clock_offset_ms: offset }) => (/(^|\/)node\//.test(process) ? [offset] : []));
    const jump = (node: number, byMs: number) =>
      call('/v1/sandbox/faults', { fault: 'clock_jump', target: `cluster/2/node/${node}`, by_ms: byMs });
    const answers = async (intent: string) => {
      const given = await Promise.all(['k1', 'k2'].map((key) => signed(key, `${intent}-${key}`)));
      return given.map(reasonOf).sort();
    };
    const tooLate = orderLifetimeMs + 60_000;
    await jump(2, tooLate);
    expect(await offsets()).toEqual([0, 0, 0, tooLate, tooLate, tooLate]);
    // Two of three would do: none signs, so the clock of all three is wrong.
    expect(await answers('late')).toEqual(['ORDER_REFUSED', 'SIGNATURE_COMPLETED']);
    await jump(3, 2_000);
    await call('/v1/sandbox/clock', { advance_ms: 1_000 });
    expect(await offsets()).toEqual([1_000, 1_000, 1_000, 3_000, 3_000, 3_000]);
    expect(await answers('timely')).toEqual(['SIGNATURE_COMPLETED', 'SIGNATURE_COMPLETED']);
  },
);
