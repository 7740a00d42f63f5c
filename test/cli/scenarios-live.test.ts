/**
 * Scenarios against real processes: one sandbox for all of them, one after the other. Every scenario that can be live has
 * the verdict that it has in the simulated world: all in a thorough run, one of the signing API and one of the wallet API in
 * `npm test`, which simulates all.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { isResetBetween, runOn } from '../../cli/scenario/live.ts';
import { run } from '../../cli/scenario.ts';
import { type Client, createClient } from '../../clients/client/index.ts';
import { type LiveProcess, startLiveProcess, testVariables } from '../../clients/testing/live-process.ts';
import { SandboxApi } from '../../clients/testing/sandbox-api.ts';
import type { CheckedScenario } from '../../scenarios/runner/format.ts';
import { loadScenario } from '../../scenarios/runner/load.ts';
import { runSimulated } from '../../scenarios/runner/simulated-world.ts';
import { nodeWaits } from '../support/busy-machine.ts';
import { grpcApi } from '../support/client.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { root } from './support/up-process.ts';

const folder = join(root, 'scenarios');
const scenarios = readdirSync(folder)
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => loadScenario(readFileSync(join(folder, file), 'utf8'), { file }));
/** Those of several clusters run in test/integration/clusters.test.ts. */
const live = scenarios.filter(({ worlds, cluster }) => worlds.includes('live') && cluster.clusters === undefined);
// A live crash: test/scenarios/injection/sandbox-control-live.test.ts.
const usual = ['bad-partial', 'transfer-with-approval'];
const tried = live.filter((one) => {
  // The sandbox of this file has five nodes, one gateway and one worker, and no rate limits.
  if (one.cluster.nodes !== 5) return false;
  if ((one.cluster.gateways ?? 1) > 1 || (one.cluster.workers ?? 1) > 1 || one.cluster.rate_limits) return false;
  return isThorough || usual.includes(one.scenario);
});

let sandbox: LiveProcess;
let api: SandboxApi;
let before: CheckedScenario | undefined;
beforeAll(async () => {
  const environment = {
    ...testVariables({ nodes: 5, partialTimeoutMs: 300, nodesWaitMs: 2000, doorFaults: true }),
    // No node dies alone in `npm test`.
    SIGNMESH_NODES_PER_PROCESS: isThorough ? '1' : '5',
    // The verdict of a scenario may depend on whether a wait ends before a fault does.
    ...nodeWaits(2_000, 300, 2),
  };
  sandbox = await startLiveProcess({ environment });
  api = new SandboxApi({ baseUrl: sandbox.ready.http, token: sandbox.ready.token });
});
afterAll(() => sandbox?.stop());

test('the sandbox runs a file itself, beside its supervisor', async () => {
  const { sandbox: own } = createClient({ baseUrl: sandbox.ready.http, token: sandbox.ready.token });
  const { state } = await own.startScenario({ file: readFileSync(join(folder, 'bad-partial.yaml'), 'utf8') });
  expect(state).toBe('running');
  const ended = await until(async () => {
    const { scenario } = await own.scenario();
    return scenario?.state === 'running' ? undefined : scenario;
  }, 'the end of the scenario');
  expect(ended).toMatchObject({ scenario: 'bad-partial', state: 'passed', cause: '' });
});

test('nearly all scenarios can be live', () => {
  expect(live.length).toBeGreaterThanOrEqual(30);
  expect(tried.map(({ scenario }) => scenario)).toEqual(expect.arrayContaining(usual));
  for (const { worlds, about } of scenarios) if (!worlds.includes('live')) expect(about).toMatch(/simulated\s+alone/i);
});

describe.each(tried.map((scenario) => [scenario.scenario, scenario] as const))('%s', (_, scenario) => {
  test('has the same verdict live as simulated', async () => {
    if (before !== undefined && isResetBetween(before, scenario)) await api.reset();
    before = scenario;
    const { gateways, token } = sandbox.ready;
    const { verdict, events } = await runOn(api, scenario, '--live', { gateways, token });
    const isLiveAlone = !scenario.worlds.includes('simulated');
    if (isLiveAlone) expect(scenario.about).toMatch(/live\s+alone/i);
    // Simulated, each passes: test/simulation/cluster/scenario-run.test.ts and test/simulation/service/scenarios.test.ts.
    expect(verdict).toEqual({ kind: 'passed' });
    expect(events.some(({ kind }) => kind === 'frame')).toBe(true);
  });
});

describe('API faults for signmesh/client', () => {
  const destination = { address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' };
  const route = 'POST /v1/wallets/:id/transaction-intents';
  let client: Client;
  let walletId: string;
  beforeAll(async () => {
    const { http, token } = sandbox.ready;
    client = createClient({ baseUrl: http, token });
    const { id } = await client.connections.connect({ type: 'sandbox', name: 'door', credentials: {} });
    const order = { name: 'door', provider_connection_id: id, network: 'eip155:11155111' as const };
    walletId = (await client.wallets.create(order)).id;
  });
  afterEach(() => client.sandbox.resetFaults());

  const intents = () => client.intents.list(walletId).toArray();

  test.each(isThorough ? (['answer_lost', 'answer_cut'] as const) : (['answer_lost'] as const))(
    'after %s a transfer is sent again, and is one transfer',
    async (fault) => {
      const before = (await intents()).length;
      const { id } = await client.sandbox.createFault({ fault, route, count: 2 });
      const intent = await client.intents.create(walletId, { asset: 'ETH', amount: '0.01', destination });
      expect((await client.sandbox.fault(id)).trigger_count).toBe(2);
      expect((await client.waitFor(intent)).status).toBe('completed');
      expect(await intents()).toHaveLength(before + 1);
    },
  );

  test.runIf(isThorough)('a call that may not be repeated fails, and says that its effect is unknown', async () => {
    await client.sandbox.createFault({ fault: 'answer_lost', route: 'PATCH /v1/wallets/:id' });
    const error = await client.wallets.update(walletId, { name: 'renamed' }).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'connection_failed', effect: 'unknown', attempts: 1 });
    expect((await client.wallets.get(walletId)).name).toBe('renamed');
  });

  test.runIf(isThorough)(
    'pages that are cut and refused are asked for again: no item is lost or given twice',
    async () => {
      const ids = (await intents()).map(({ id }) => id);
      await client.sandbox.createFault({ fault: 'answer_cut', route: `GET ${route.slice(5)}`, count: 1 });
      await client.sandbox.createFault({ fault: 'answer_status', status: 503, retry_after_s: 0, count: 2 });
      const read = await client.intents.list(walletId, { limit: 1 }).toArray();
      expect(read.map(({ id }) => id)).toEqual(ids);
    },
  );

  test('a gRPC call that is refused is UNAVAILABLE, and others are not touched', async () => {
    const grpc = grpcApi(sandbox.ready.grpc, sandbox.ready.token);
    try {
      await client.sandbox.createFault({ fault: 'answer_status', status: 503, rpc: 'InitiateDkg' });
      await expect(grpc.initiateDkg({ threshold: 2, totalNodes: 3 })).rejects.toMatchObject({ status: 14 });
      expect((await grpc.initiateSigning({})).receipt?.reasonCode).toBe('INVALID_REQUEST');
      expect((await client.signing.initiateDkg({ threshold: 2 })).receipt?.reason_code).toBe('SESSION_ACCEPTED');
    } finally {
      grpc.close();
    }
  });
});

describe('a verdict', () => {
  const failing = (steps: string) => loadScenario(`scenario: x\nabout: a\nsteps:\n${steps}`, { file: 'x.yaml' });

  test.each([
    ['failed', '  - { step: key, call: make_key, session: k, expect: { verified: false } }'],
    ['stuck', '  - { step: w, wait: { nodes_ready: 3, within_ms: 300 } }'],
  ])('that is %s says the same live as simulated', async (kind, steps) => {
    const { verdict } = await runOn(api, failing(steps), '--live');
    const expected = runSimulated(failing(steps)).verdict;
    expect(verdict.kind).toBe(kind);
    expect('what' in verdict && verdict.what).toBe('what' in expected && expected.what);
  });

  test('that this sandbox cannot give says why', async () => {
    const scenario = { ...live[0]!, cluster: { ...live[0]!.cluster, nodes: 7 } };
    const { verdict } = await runOn(api, scenario, '--live');
    expect(verdict).toEqual({ kind: 'unsupported', cause: 'it needs 7 nodes, and the cluster has 5' });
  });
});

test('signmesh scenario run --live URL runs on a sandbox that is there', async () => {
  const out = mkdtempSync(join(tmpdir(), 'signmesh-live-'));
  const path = join(out, 'fails.yaml');
  writeFileSync(
    path,
    'scenario: fails\nabout: a\nsteps: [{ step: key, call: make_key, session: k, expect: { state: DENIED } }]',
  );
  let written = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
  try {
    expect(
      await run(['run', '--live', sandbox.ready.http, '--token', sandbox.ready.token, path, 'forced-denied']),
    ).toBe(10);
    expect(written).toMatch(/^fails +live +failed/);
    expect(written).toMatch(/\nforced-denied +live +passed/);
    expect(written).not.toContain(sandbox.ready.token);
  } finally {
    vi.restoreAllMocks();
    rmSync(out, { recursive: true });
  }
});

// Of `up` itself: start-signals.test.ts.
test.runIf(isThorough)('Ctrl-C in a live run ends its cluster, and leaves no data behind', async () => {
  const out = mkdtempSync(join(tmpdir(), 'signmesh-live-'));
  const path = join(out, 'waits.yaml');
  writeFileSync(path, 'scenario: waits\nabout: a\nsteps: [{ step: w, wait: { ms: 600000, within_ms: 600000 } }]');
  const args = [join(root, 'cli', 'signmesh.mjs'), 'scenario', 'run', '--live', path];
  const command = spawn(process.execPath, args, {
    env: { ...process.env, TMPDIR: out, SIGNMESH_NODES_PER_PROCESS: '5' },
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => command.once('exit', resolve));
  const dataDirs = () => readdirSync(out).filter((name) => name.startsWith('signmesh-'));
  try {
    await until(() => dataDirs().some((name) => existsSync(join(out, name, 'data', 'run', 'ready.json'))), 'a cluster');
    command.kill('SIGINT');
    expect([await ended, dataDirs()]).toEqual([130, []]);
  } finally {
    command.kill('SIGKILL');
    rmSync(out, { recursive: true, force: true });
  }
});
