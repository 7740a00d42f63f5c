/**
 * Workers that are killed in the middle of a job, repeatedly: no exception is lost, and none is told twice. In a thorough run
 * alone: in `npm test` a consumer of jobs is cut (test/simulation/service/recon-queue.test.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { childProgram } from '../../../support/child-program.ts';
import { isThorough } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { seedTransfers } from './support/seed.ts';
import { type ReconService, startReconService, type View } from './support/service.ts';

const rows = 12_000;
const kills = 3;
let recon: ReconService;
let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  recon = await startReconService({ worker: false });
  folder = mkdtempSync(join(tmpdir(), 'signmesh-recon-'));
  mkdirSync(join(folder, 'keys'));
  writeFileSync(join(folder, 'keys', '1.key'), `${randomBytes(32).toString('hex')}\n`);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await recon.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function spawnWorker(): Promise<ChildProcess> {
  const script = childProgram(new URL('./child/run-recon-worker.ts', import.meta.url));
  const config = {
    ...{ environment: 'sandbox', redisUrl: recon.service.redisServer.url, chainBlockMs: 20, logLevel: 'silent' },
    credentialKeysDir: join(folder, 'keys'),
  };
  const child = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (text: Buffer) => {
      if (text.toString().includes('ready')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)));
  });
  return child;
}

async function all(path: string, key: string): Promise<View[]> {
  const found: View[] = [];
  for (let cursor = ''; ; ) {
    const page = await recon.call('GET', `${path}${cursor}`);
    found.push(...(page[key] as View[]));
    if (page.next_cursor === null) return found;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

test.runIf(isThorough)('a job that survives its workers finds each difference once', async () => {
  const connection = await recon.connect('sandbox');
  const wallet = await recon.wallet(connection.id);
  const like = await recon.transfer(wallet.id, '0.00001');
  const { missing } = await seedTransfers(recon, wallet, like, rows, 40);
  const { id } = await recon.call('POST', '/v1/recon/jobs', { kind: 'transactions', lag_s: 0 });
  const job = () => recon.call('GET', `/v1/recon/jobs/${id}`);

  let seen = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const doomed = await spawnWorker();
    await until(async () => {
      const { progress, finished_at: end } = await job();
      expect(end, 'the job was over before its worker was killed: seed more rows').toBeNull();
      return progress.rows_internal > seen;
    }, 'the middle');
    doomed.kill('SIGKILL');
    await new Promise((resolve) => doomed.once('exit', resolve));
    seen = (await job()).progress.rows_internal;
  }
  await spawnWorker();
  await until(async () => (await job()).finished_at !== null, 'the end');

  const { status, progress } = await job();
  expect(status).toBe('completed');
  expect(progress).toMatchObject({
    ...{ rows_internal: rows + 1, exceptions_found: missing.size, exceptions_new: missing.size },
  });
  const exceptions = await all('/v1/recon/exceptions?limit=100', 'exceptions');
  expect(exceptions.map(({ sources }) => sources.internal.id).sort()).toEqual([...missing].sort());
  expect(exceptions.every(({ type, times_seen: times }) => type === 'missing_external' && times === 1)).toBe(true);
  const opened = await all('/v1/events?type=recon.exception.opened&limit=100', 'events');
  expect(opened.map(({ resource }) => resource.id).sort()).toEqual(exceptions.map((exception) => exception.id).sort());
});
