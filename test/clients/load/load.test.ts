/** `signmesh load` as a person runs it, against a real cluster: it loads, verifies, and says so. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Failure } from '../../../cli/common/failure.ts';
import { run } from '../../../cli/load.ts';
import { endpointsOf } from '../../../clients/load/plan/plan.ts';
import type { LoadReport } from '../../../clients/load/report/results.ts';
import { type SharedCluster, sharedCluster } from '../../support/shared-cluster.ts';
import { isThorough } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';

const command = fileURLToPath(new URL('../../../cli/signmesh.mjs', import.meta.url));

let cluster: SharedCluster;
beforeAll(async () => {
  cluster = await sharedCluster();
});
afterAll(() => cluster?.stop());

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function load(...args: string[]): Promise<Ended> {
  const words = [command, 'load', ...args];
  return promisify(execFile)(process.execPath, words, { maxBuffer: 16 * 1024 * 1024 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );
}

const place = (token = cluster.token) => ['--url', cluster.httpUrl, '--token', token];
/** Its many events would fill the first pages of those that other files read. */
const tenantOfItsOwn = 'svc_sk_test_tenantOfTheLoadTests';

/** Whether a page of the sandbox hears of a load of this rate until `over` is aborted. */
async function hearsOf(rate: number, over: AbortSignal): Promise<boolean> {
  const headers = { authorization: `Bearer ${cluster.token}` };
  const { body } = await fetch(`${cluster.httpUrl}/v1/sandbox/stream?topics=figures`, { headers, signal: over });
  let heard = '';
  for await (const bytes of body!.pipeThrough(new TextDecoderStream())) {
    heard += bytes;
    if (heard.includes(`"load":{"load":"sign=3 sign-ed25519","stage":"load","rate":${rate}}`)) return true;
  }
  return false;
}

test('a mix over gRPC is verified, measured from the due time, and judged by its thresholds', async () => {
  const over = new AbortController();
  const heard = hearsOf(20, over.signal).catch(() => false);
  const { code, stdout, stderr } = await load(
    ...['sign=3', 'sign-ed25519', ...place(), '--grpc', cluster.ready.grpc, '--api', 'grpc', '--rate', '20'],
    ...['--for', '2s', '--threshold', 'sign.p99<60s', '--threshold', 'rate>1000', '--json'],
  );
  over.abort();
  expect(await heard).toBe(true);
  // One threshold cannot be met: everything else holds.
  expect(code, stderr).toBe(99);
  const report = JSON.parse(stdout) as LoadReport;
  expect(report.correctness.checks.filter(({ holds }) => !holds)).toEqual([]);
  expect(report.correctness.checks.map(({ name }) => name)).toContain('sign-ed25519: signatures');
  expect(report.thresholds.map(({ holds }) => holds)).toEqual([true, false]);
  const [stage] = report.stages;
  expect(stage).toMatchObject({ arrived: 40, unsent: 0, unanswered: 0, requestedRate: 20 });
  expect(stage!.total.completed).toBe(40);
  expect(stage!.endpoints.InitiateSigning!.completed).toBe(40);
  expect(Object.keys(stage!.endpoints).sort()).toEqual([...endpointsOf.sign].sort());
  expect(stage!.operations.sign!.latency.p50).toBeGreaterThan(stage!.endpoints.SubmitSignatureShare!.latency.p50);
  const processes = ['coordinator', 'gateway', 'node-1…node-5', 'redis', 'worker'];
  expect(Object.keys(stage!.processes).sort()).toEqual(processes);
  expect(report.recovery.holds).toBe(true);
  expect(stderr).toContain('Threshold rate>1000: MISSED');
});

// What hung here once: test/clients/client/following.test.ts.
test.runIf(isThorough)('Ctrl-C ends a mix of the wallet API early, with its verdict', async () => {
  const words = [
    command,
    'load',
    'read=4',
    'transfer',
    'webhook',
    ...place(tenantOfItsOwn),
    '--callers',
    '2',
    '--for',
    '1h',
    '--json',
  ];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const exited = once(child, 'close');
  try {
    await until(
      () => said.stderr.includes('in flight, errors: none'),
      () => `a line of progress; it says ${said.stderr}`,
    );
  } finally {
    child.kill('SIGINT');
  }
  const [code] = (await exited) as [number];
  expect(code, said.stderr).toBe(130);
  const report = JSON.parse(said.stdout) as LoadReport;
  expect(report.interrupted).toBe(true);
  expect(report.correctness.checks.filter(({ holds }) => !holds)).toEqual([]);
  const [stage] = report.stages;
  for (const name of ['read', 'transfer', 'webhook']) expect(stage!.operations[name]!.completed).toBeGreaterThan(0);
  const endpoints = [...endpointsOf.read, ...endpointsOf.transfer, ...endpointsOf.webhook];
  expect(Object.keys(stage!.endpoints).sort()).toEqual(endpoints.sort());
  expect(stage).toMatchObject({ requestedRate: null, unsent: 0 });
});

test('what is wrong with a call is said before anything is sent', async () => {
  const refusals: [string[], string][] = [
    [['sing', '--rate', '5'], '"sing" is no operation'],
    [['sign'], 'Say --rate'],
    [['sign', '--rate', '5', '--callers', '2'], 'it has no rate'],
    [['sign', '--rate', '5', '--threshold', 'read.p99<1s'], 'this load measures no read'],
    [['sign', '--rate', '5', ...place(), '--html', '/dev/null/run.html'], 'Cannot write /dev/null/run.html'],
    [['sign', '--rate', '5', ...place(), '--json', '/'], 'Cannot write /: it is a folder'],
    [['sign', '--rate', '5', '--url', 'http://192.0.2.1:80', '--token', 'svc_sk_test_x'], '--i-own-this-target'],
  ];
  for (const [args, said] of refusals) {
    const error = await run(args).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Failure);
    expect(error).toMatchObject({ exitCode: 2, message: expect.stringContaining(said) });
  }
  // The command prints what it throws.
  const { code, stderr } = await load('sing', '--rate', '5');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^signmesh: .*"sing" is no operation/)]);
});
