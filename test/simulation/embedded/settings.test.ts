/** What an embedded service shares with a process cluster: rate limits, metrics, the threshold of keys; and what it refuses. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status as grpcStatus } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ensureClusterMaterial } from '../../../cli/cluster-files/cluster-material.ts';
import { identify } from '../../../cli/common/process-records.ts';
import { upEmbedded } from '../../../cli/embedded/embedded.ts';
import { standInLine } from '../../../cli/embedded/requested.ts';
import { loadSettings } from '../../../cli/settings/config.ts';
import { type LiveTelemetry, openTelemetry } from '../../../core/telemetry/live.ts';
import { grpcApi } from '../../support/client.ts';
import { type Running, startService } from './support/service.ts';

let running: Running;
let telemetry: LiveTelemetry;
const folder = mkdtempSync(join(tmpdir(), 'signmesh-settings-'));

beforeAll(async () => {
  telemetry = await openTelemetry({
    ...{ about: { role: 'embedded' }, metrics: { host: '127.0.0.1', port: 0 }, traces: false },
  });
  const rateLimits = { windowS: 10, reads: 3, writes: 100, signing: 100 };
  running = await startService({ telemetry: telemetry.telemetry, rateLimits, threshold: 2 });
});
afterAll(async () => {
  await running.service.stop();
  await telemetry.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('counts calls by tenant, and refuses those beyond the limit until the window ends or a reset', async () => {
  const read = (token: string) => running.call('GET', '/v1/wallets', undefined, token);
  const mine = 'svc_sk_test_ofTheFirstTenantHere';
  for (let call = 0; call < 3; call += 1) expect((await read(mine)).status).toBe(200);
  const { status, headers, body } = await read(mine);
  expect([status, body.error.code]).toEqual([429, 'rate_limited']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect((await read('svc_sk_test_ofAnotherTenantHere')).status).toBe(200);
  await running.must(200, 'POST', '/v1/sandbox/reset');
  expect((await read(mine)).status).toBe(200);
});

it('counts calls over gRPC with those over REST', async () => {
  const client = grpcApi(running.service.grpcAddress, 'svc_sk_test_ofTheThirdTenantHere');
  const answers = await Promise.allSettled(Array.from({ length: 101 }, () => client.initiateSigning({})));
  client.close();
  const refused = answers.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(refused.map(({ reason }) => reason.status)).toEqual([grpcStatus.RESOURCE_EXHAUSTED]);
});

it('serves the metrics of its gateway', async () => {
  await running.call('GET', '/v1/wallets', undefined, 'svc_sk_test_ofTheMeasuredTenant');
  const text = await (await fetch(telemetry.metricsUrl!)).text();
  expect(text).toMatch(/signmesh_http_request_duration_seconds_count{[^}]*route="\/v1\/wallets",status="200"[^}]*} \d/);
  expect(text).toMatch(/signmesh_health{health="ok",role="embedded"} 1/);
  expect(text).toMatch(/signmesh_coordinator_linked{role="embedded"} 1/);
});

it('makes keys with its threshold', async () => {
  const { must } = running;
  const { session_id: id } = await must(200, 'POST', '/v1/dkg/initiate', { derivation: { curve: 'secp256k1' } });
  expect(await must(200, 'GET', `/v1/sandbox/sessions/${id}`)).toMatchObject({ threshold: 2, total_nodes: 5 });
});

function start(environment: Record<string, string>, files: { state?: string } = {}) {
  const { settings } = loadSettings(environment);
  const options = { seed: undefined, nodes: undefined, json: true, verbose: false, detached: false };
  return upEmbedded({ settings, ...options, state: files.state, record: undefined });
}

it('refuses by name what one process has not', async () => {
  for (const [variable, value, option] of [
    ['SIGNMESH_GATEWAYS', '2', '--gateways'],
    ['SIGNMESH_WORKERS', '2', '--workers'],
    ['SIGNMESH_NODES_PER_PROCESS', '5', '--nodes-per-process'],
    ['SIGNMESH_DOOR_FAULTS', 'on', '--door-faults'],
    ['SIGNMESH_MODULE_ACCESS', 'operator', 'SIGNMESH_MODULE_ACCESS'],
  ] as const) {
    const failure = { exitCode: 2, message: expect.stringContaining(option) };
    await expect(start({ [variable]: value })).rejects.toMatchObject(failure);
  }
  await expect(start({ SIGNMESH_THRESHOLD: '4', SIGNMESH_NODES: '3' })).rejects.toMatchObject({
    ...{ exitCode: 2, message: '--threshold 4 is more than the 3 nodes. Choose a lower one, or more --nodes.' },
  });
});

it('stands in for a process cluster without redis-server where it can, and says where its state ends', () => {
  const why = 'redis-server is not on this machine. Install it.';
  const line = (environment: object, refused?: string, state?: string) => {
    const dataDir = { SIGNMESH_DATA_DIR: join(folder, 'none') };
    return standInLine(why, loadSettings({ ...dataDir, ...environment }).settings, refused, state);
  };
  expect(line({})).toBe('no redis-server: embedded, state is lost at the end (--state FILE keeps it)');
  expect(line({}, undefined, 'my.state')).toBe('no redis-server: embedded, state is kept in my.state');
  expect(() => line({ SIGNMESH_GATEWAYS: '2' })).toThrow(
    `${why} Without it "up" runs embedded, but not with --gateways (SIGNMESH_GATEWAYS).`,
  );
  expect(() => line({ SIGNMESH_ENVIRONMENT: 'production' })).toThrow(/not with SIGNMESH_ENVIRONMENT=production\.$/);
  expect(() => line({}, '--data-dir')).toThrow(/not with --data-dir\.$/);
  const dataDir = join(folder, 'cluster');
  ensureClusterMaterial(dataDir, 2, 2, 'sandbox');
  expect(() => line({ SIGNMESH_DATA_DIR: dataDir })).toThrow(`${why} ${dataDir} holds a cluster, which needs it;`);
});

it('lets one process at a time have a state file, and takes over from one that has died', async () => {
  const state = join(folder, 'my.state');
  const lock = `${state}.lock`;
  writeFileSync(lock, JSON.stringify(identify(process.pid)));
  await expect(start({}, { state })).rejects.toThrow(
    `${state} is in use by another signmesh up (process ${process.pid}). Stop it, or choose another --state file.`,
  );
  const { pid } = spawnSync(process.execPath, ['--version']);
  writeFileSync(lock, JSON.stringify({ ...identify(process.pid), pid }));
  writeFileSync(state, 'no state');
  await expect(start({}, { state })).rejects.toThrow(/is no state/);
  expect(existsSync(lock)).toBe(false);
});

it('says in one sentence that its gRPC port is taken, and nothing else on stderr', async () => {
  const stderr = vi.spyOn(console, 'error').mockReturnValue();
  const [host = '', port] = running.service.grpcAddress.split(':');
  await expect(startService({ grpc: { host, port: Number(port) } })).rejects.toThrow(
    `the gRPC server cannot listen on 127.0.0.1:${port} (SIGNMESH_GRPC_PORT): `,
  );
  expect(stderr).not.toHaveBeenCalled();
  stderr.mockRestore();
});
