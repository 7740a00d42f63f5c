/** The whole cluster, started as a person starts it. */

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRunning, readRecord } from '../../cli/common/process-records.ts';
import { signingLines, walletLines } from '../../cli/start/banner.ts';
import { lockFile, readReady } from '../../cli/start/running.ts';
import type { ReadyLine } from '../../clients/testing/ready-line.ts';
import { environmentOf, type Place, UpProcess } from '../../clients/testing/up-process.ts';
import { allGone, isAlive } from '../support/alive.ts';
import { RestClient } from '../support/rest.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { keptFolder, temporaryFolder } from './support/temporary.ts';
import { root } from './support/up-process.ts';

/** Where the nodes' own processes do not matter: they share one, which starts in half the time. */
const together = { SIGNMESH_NODES_PER_PROCESS: '5' };

const program = 'cli/signmesh.mjs';
const built = 'dist/cli/main.js';

interface Status {
  readonly processes: readonly { readonly process: string; readonly pid: number; readonly running: boolean }[];
}

interface ShareAnswer {
  readonly signing_session_id: string;
  readonly is_complete: boolean;
  readonly full_signature: string;
}

async function share(ready: ReadyLine, sessionId: string): Promise<ShareAnswer> {
  const api = new RestClient(ready.http, ready.token);
  return (await api.post<ShareAnswer>('/v1/signing/share', { signing_session_id: sessionId })).body;
}

async function says(up: UpProcess, pattern: RegExp): Promise<void> {
  await until(() => pattern.test(up.output), `${pattern} in:\n${up.output}`);
}

function pasteBannerLines(ready: ReadyLine): ShareAnswer {
  const script = signingLines(ready.http, ready.token).join('\n');
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  return JSON.parse(stdout || stderr) as ShareAnswer;
}

describe.sequential('signmesh up', () => {
  let place: Place;
  let up: UpProcess;
  let ready: ReadyLine;
  let signature: ShareAnswer;

  /** Other commands than `up` by the build, which that has made current: it takes half the CPU time. */
  function signmesh(...words: readonly string[]) {
    const options = { cwd: root, env: { ...environmentOf(place), ...together }, encoding: 'utf8' as const };
    return spawnSync(process.execPath, [words[0] === 'up' ? program : built, ...words], options);
  }

  beforeAll(async () => {
    place = { dataDir: keptFolder() };
    // The shell is its parent, whose end it must notice.
    const command = ['sh', '-c', `"${process.execPath}" ${program} up --json --verbose & wait`];
    up = new UpProcess(place, { command });
    ready = await up.ready();
  });

  afterAll(async () => {
    up.child.kill('SIGTERM');
    await up.exited;
    rmSync(place.dataDir, { recursive: true, force: true });
  });

  test('ends in a banner with addresses, token, keys and a warning', () => {
    expect(ready.http).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
    expect(up.output).toContain(ready.http);
    expect(up.output).toContain(ready.grpc);
    expect(up.output).toContain(ready.token);
    expect(up.output).toContain(ready.approver_token);
    expect(ready.keys.map((key) => key.wallet_id)).toEqual(['sandbox-secp256k1', 'sandbox-ed25519', 'sandbox-bip340']);
    for (const key of ready.keys)
      for (const address of Object.values(key.addresses)) expect(up.output).toContain(address);
    expect(up.output).toMatch(/never guard real funds/i);
    expect(up.output).not.toContain('\u001b[');
  });

  test('its keys are those of the public seed, on every machine', () => {
    expect(ready.keys.map((key) => key.public_key)).toEqual([
      '034fe50929f24c2e1fa2f628ed5e07c9abc8c89b110ab68aa6749d6c342ff4bdab',
      'b645123f63c3e1a366436e42e013062f655a25b93a2d430df6872ebb247f7e5c',
      '03a4e54d62d5e73f08e389c7945a55eacd1b32f51f127df3d0a6dbd7a2b70b0698',
    ]);
  });

  test('shows who is who in the process list', () => {
    const names = ['redis', 'coordinator', 'node-1', 'node-2', 'node-3', 'node-4', 'node-5', 'gateway', 'worker'];
    expect(Object.keys(ready.pids).sort()).toEqual([...names, 'up'].sort());
    const command = (name: string) =>
      spawnSync('ps', ['-o', 'args=', '-p', String(ready.pids[name])], { encoding: 'utf8' }).stdout.trim();
    expect(command('node-3')).toMatch(/main\.js node 3$/);
    expect(command('coordinator')).toMatch(/main\.js coordinator$/);
    expect(command('redis')).toContain(place.dataDir);
  });

  test('the banner’s three lines produce a signature that verifies', () => {
    signature = pasteBannerLines(ready);
    expect(signature.is_complete).toBe(true);
    const script = signingLines(ready.http, ready.token).join('\n');
    const hash = Buffer.from(/"message_hash":"([^"]+)"/.exec(script)?.[1] ?? '', 'base64');
    const publicKey = Buffer.from(ready.keys[0]!.public_key, 'hex');
    const bytes = Buffer.from(signature.full_signature, 'base64');
    expect(secp256k1.verify(bytes, hash, publicKey, { prehash: false })).toBe(true);
  });

  test('its three lines after those make a wallet and a transfer that is approved', () => {
    const script = [`TOKEN=${ready.token}`, ...walletLines(ready.http)].join('\n');
    for (const line of walletLines(ready.http)) expect(up.output).toContain(line);
    const { stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
    expect(JSON.parse(stdout || stderr)).toMatchObject({ status: 'approved', provider: 'self_hosted' });
  });

  test('a second up on the same data directory is one clear line', async () => {
    const second = new UpProcess({ dataDir: place.dataDir });
    expect(await second.exited).toBe(1);
    expect(second.output.trim().split('\n')).toEqual([expect.stringMatching(/is in use by another signmesh up/)]);
  });

  test('a taken port is one clear line', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const second = new UpProcess({ dataDir: temporaryFolder(), httpPort: port });
    expect(await second.exited).toBe(1);
    expect(second.output.trim().split('\n')).toEqual([
      expect.stringMatching(
        new RegExp(
          `127\\.0\\.0\\.1:${port} \\(REST\\) is taken by (process ${process.pid}|another).*SIGNMESH_HTTP_PORT`,
        ),
      ),
    ]);
    server.close();
  });

  // The other processes: test/survival/*-killed.test.ts.
  test('a worker that is killed is back, and nothing is lost', async () => {
    const name = 'worker';
    const runFile = join(place.dataDir, 'run', `${name}.pid`);
    const pidNow = () => (JSON.parse(readFileSync(runFile, 'utf8')) as { pid: number }).pid;
    const before = pidNow();
    process.kill(before, 'SIGKILL');
    await says(up, new RegExp(`${name} died \\(SIGKILL\\); restarting in \\d+ ms`));
    await says(up, new RegExp(`${name} is back`));
    expect(pidNow()).not.toBe(before);
    await until(() => {
      try {
        return pasteBannerLines(ready).is_complete === true;
      } catch {
        return false;
      }
    }, 'a signature');
    expect((await share(ready, signature.signing_session_id)).full_signature).toBe(signature.full_signature);
  });

  test('--verbose shows every request, and the log has it', async () => {
    expect(pasteBannerLines(ready).is_complete).toBe(true);
    await says(up, /^gateway: POST \/v1\/signing\/share {2}200 SIGNATURE_COMPLETED {2}[\d.]+ ms {2}request_id=req_/m);
    const refused = await fetch(`${ready.http}/v1/wallets/wal_none`, {
      headers: { 'x-request-id': 'asked-by-a-test' },
    });
    expect(refused.status).toBe(401);
    await says(up, /^gateway: GET \/v1\/wallets\/:id {2}401 AUTHENTICATION_FAILED {2}.*request_id=asked-by-a-test/m);
    const log = readFileSync(join(place.dataDir, 'logs', 'gateway.log'), 'utf8').split('\n');
    const lines = log.filter((line) => line.includes('asked-by-a-test')).map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([{ msg: 'request', role: 'gateway', status: 401, path: '/v1/wallets/wal_none' }]);
    expect(up.output).not.toMatch(/^gateway: .*\/v1\/health/m);
  });

  test('status and logs find it', async () => {
    const said = signmesh('status', '--json');
    const status = JSON.parse(said.stdout) as Status;
    expect([said.status, status]).toMatchObject([0, { state: 'ready', health: { status: 'ok', nodes_ready: 5 } }]);
    expect(status.processes.map(({ process }) => process).sort()).toEqual(Object.keys(ready.pids).sort());
    expect(status.processes.every(({ running }) => running)).toBe(true);
    expect(signmesh('status').stdout).toMatch(/^ok, 5 of 5 nodes joined$/m);
    expect(signmesh('logs', 'node/1', '--lines', '500').stdout).toMatch(/ {2}node-1 {2}/);
    expect(signmesh('logs', 'gatway')).toMatchObject({ status: 2, stderr: expect.stringContaining('Logs exist of') });
    const followed = spawn(process.execPath, [built, 'logs', '-f', '--raw', '--lines', '0'], {
      cwd: root,
      env: environmentOf(place),
    });
    let text = '';
    followed.stdout.on('data', (piece) => (text += String(piece)));
    await until(async () => {
      await fetch(`${ready.http}/v1/wallets`, { headers: { 'x-request-id': 'a-line-to-follow' } });
      return text.includes('a-line-to-follow');
    }, 'a new line of the log');
    followed.kill('SIGTERM');
    expect(await new Promise((resolve) => followed.once('exit', resolve))).toBe(0);
  });

  test('it stops by itself when the process that started it has ended', async () => {
    up.child.kill('SIGKILL');
    await allGone(ready.pids);
    expect(isAlive(ready.pids.up!)).toBe(false);
  });

  test('embedded and detached it outlives the command that started it; stop ends it', async () => {
    const env = environmentOf({ dataDir: temporaryFolder() });
    const there = (...words: string[]) =>
      spawnSync(process.execPath, [built, ...words], { cwd: root, env, encoding: 'utf8' });
    const started = there('up', '--embedded', '--detach', '--json');
    expect(started).toMatchObject({ status: 0, stdout: expect.stringContaining('"event":"ready"') });
    const { processes } = JSON.parse(there('status', '--json').stdout) as Status;
    expect(processes.map(({ running }) => running)).toEqual([true]);
    expect(there('stop')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^All processes have stopped/) });
    await allGone(Object.fromEntries(processes.map(({ process, pid }) => [process, pid])));
    expect(there('stop')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^No cluster runs/) });
    expect(there('status')).toMatchObject({ status: 1, stdout: expect.stringMatching(/^No cluster runs/) });
  });

  test.runIf(isThorough)('detached it starts again with its keys and its signatures, and stop ends it', async () => {
    const started = signmesh('up', '--detach');
    expect(started).toMatchObject({ status: 0, stderr: expect.stringMatching(/✓ keys/) });
    expect(started.stdout).toContain('signmesh.mjs stop" stops it');
    for (const key of ready.keys) expect(started.stdout).toContain(key.public_key);
    // On free ports again, so at another address.
    ready = readReady(place.dataDir)! as ReadyLine;
    expect((await share(ready, signature.signing_session_id)).full_signature).toBe(signature.full_signature);
    const status = JSON.parse(signmesh('status', '--json').stdout) as Status;
    const names = ['coordinator', 'gateway', 'nodes-1-5', 'redis', 'up', 'worker'];
    expect(status.processes.map(({ process }) => process).sort()).toEqual(names);
    expect(signmesh('up', '--detach')).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^signmesh: .*is in use by/),
    });
    expect(signmesh('logs', 'gateway', '--lines', '500').stdout).toMatch(/^\S+Z {2}gateway {2}gateway listens /m);
    expect(signmesh('stop')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^All processes have stopped/) });
    await allGone(Object.fromEntries(status.processes.map(({ process, pid }) => [process, pid])));
  });

  test('detached it ends with the command that started it, as long as it is not ready', async () => {
    const starter = spawn(process.execPath, [program, 'up', '--detach'], {
      cwd: root,
      env: { ...environmentOf(place), ...together },
    });
    const lock = () => readRecord(lockFile(place.dataDir));
    await until(() => lock() !== undefined, 'it has begun');
    const up = lock()!;
    starter.kill('SIGKILL');
    await until(() => !isRunning(up), 'it has ended');
  });

  test('another seed on the same data directory is one clear line', () => {
    const args = [program, 'up', '--seed', 'another'];
    const result = spawnSync(process.execPath, args, { cwd: root, env: environmentOf(place), encoding: 'utf8' });
    expect(result.status).toBe(1);
    expect(result.stderr.trim().split('\n')).toEqual([expect.stringContaining('was made with the public seed')]);
  });
});
