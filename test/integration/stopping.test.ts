/**
 * Ctrl-C in a terminal, which reaches npm and our processes, and a signal to npm alone: all stop, none is orphaned, and no data
 * is lost.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { ReadyLine } from '../../clients/testing/ready-line.ts';
import { environmentOf } from '../../clients/testing/up-process.ts';
import { root } from '../cli/support/up-process.ts';
import { allGone } from '../support/alive.ts';
import { CallFailed, httpApi } from '../support/client.ts';
import { RestClient } from '../support/rest.ts';
import { until } from '../support/until.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-ctrl-c-'));
const started: ChildProcess[] = [];
afterAll(async () => {
  for (const npm of started) {
    if (npm.exitCode !== null || npm.signalCode !== null) continue;
    const gone = new Promise((resolve) => npm.once('exit', resolve));
    process.kill(-npm.pid!, 'SIGTERM');
    await gone;
  }
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** `npm start` as a shell starts it: leader of a process group of its own, which is what Ctrl-C signals. */
async function npmStart() {
  const small = { SIGNMESH_NODES: '3', SIGNMESH_NODES_PER_PROCESS: '3' };
  const settings = { ...environmentOf({ dataDir }), SIGNMESH_RATE_LIMIT: 'off', ...small };
  const npm = spawn('npm', ['start', '--', '--json'], {
    cwd: root,
    env: settings,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(npm);
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = new Promise<number | null>((resolve) => npm.once('exit', (code) => resolve(code)));
  const line = await until(
    () => /^\{"event":"ready".*\}$/m.exec(output)?.[0],
    () => `ready: ${output}`,
  );
  const pressCtrlC = () => process.kill(-npm.pid!, 'SIGINT');
  const endNpm = () => process.kill(npm.pid!, 'SIGTERM');
  return { ready: JSON.parse(line) as ReadyLine, exited, pressCtrlC, endNpm, output: () => output };
}

/** The offset of a sandbox's clock, after an advance. */
async function clockOf({ http, token }: ReadyLine, advance?: object): Promise<unknown> {
  const api = new RestClient(http, token);
  return (await api.call(advance ? 'POST' : 'GET', '/v1/sandbox/clock', advance)).body.offset_ms;
}

test('under load, Ctrl-C on npm start stops everything; the next start knows every session and has its clock, and npm passes a signal on', async () => {
  const first = await npmStart();
  const api = httpApi({ baseUrl: first.ready.http, token: first.ready.token });
  const told: { session: string; signature: string }[] = [];
  let refused: unknown;
  const load = async (lane: number): Promise<void> => {
    for (let count = 1; refused === undefined; count += 1) {
      try {
        const request = { walletId: 'sandbox-ed25519', messageHash: Buffer.from('hello') };
        const begun = await api.initiateSigning({ ...request, transactionIntentId: `load-${lane}-${count}` });
        const session = begun.signingSessionId;
        told.push({ session, signature: '' });
        const { fullSignature } = await api.submitSignatureShare({ signingSessionId: session });
        told.push({ session, signature: Buffer.from(fullSignature).toString('hex') });
      } catch (error) {
        refused = error;
      }
    }
  };
  expect(await clockOf(first.ready, { advance_s: 60 })).toBe(60_000);
  const lanes = [1, 2, 3, 4].map(load);
  await until(() => told.length > 40, 'signatures before Ctrl-C');
  first.pressCtrlC();
  await Promise.all(lanes);
  expect(refused).toBeInstanceOf(CallFailed);
  expect([0, 503]).toContain((refused as CallFailed).status);
  await first.exited;
  await allGone(first.ready.pids);
  expect(first.output()).toContain('All processes have stopped');
  expect(first.output()).not.toContain('does not stop; killing it');

  const second = await npmStart();
  const later = httpApi({ baseUrl: second.ready.http, token: second.ready.token });
  expect(second.ready.keys).toEqual(first.ready.keys);
  expect(await clockOf(second.ready)).toBe(60_000);
  for (const { session, signature } of told) {
    const again = await later.submitSignatureShare({ signingSessionId: session });
    expect(again.isComplete).toBe(true);
    if (signature !== '') expect(Buffer.from(again.fullSignature).toString('hex')).toBe(signature);
  }
  second.endNpm();
  await second.exited;
  await allGone(second.ready.pids);
});
