/** A signal during a start: `up` and `up --embedded` stop in order, whatever they are doing. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { exitCodes } from '../../cli/common/failure.ts';
import { readRecord } from '../../cli/common/process-records.ts';
import { processRecords } from '../../cli/start/running.ts';
import { UpProcess, upCommand } from '../../clients/testing/up-process.ts';
import { isAlive } from '../support/alive.ts';
import { wantersPerCore } from '../support/busy-machine.ts';
import { freePort } from '../support/ports.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { keptFolder } from './support/temporary.ts';

const folder = keptFolder();
const place = { dataDir: join(folder, 'data'), httpPort: await freePort(), grpcPort: await freePort() };

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts, sends the signal when the output has `at`, and expects an end in order. */
async function interrupted(at: RegExp, signal: NodeJS.Signals, ...options: string[]): Promise<UpProcess> {
  const up = new UpProcess(place, { command: upCommand(...options) });
  await until(() => at.test(up.output) || up.exitCode !== undefined, `${at} in:\n${up.output}`);
  const beganMs = performance.now();
  up.child.kill(signal);
  expect([await up.exited, up.output]).toEqual([0, expect.stringMatching(/\nStopping: /)]);
  // Within five seconds of a free machine, and without killing a process that did not stop.
  expect(performance.now() - beganMs).toBeLessThan(5_000 * wantersPerCore());
  expect(up.output).not.toContain('does not stop');
  expect(processRecords(place.dataDir)).toEqual([]);
  return up;
}

test('embedded, 100 nodes that make keys stop at the first signal; a start says what it does', async () => {
  const size = ['--embedded', '--nodes', '100', '--threshold', '51'];
  const state = join(folder, 'my.state');
  await interrupted(/^… service {8}making the ready-made keys [\d.]+ s$/m, 'SIGTERM', ...size, '--state', state);
});

// After each step the next one runs. In `npm test` the tests before and after this one interrupt a start.
const steps = [
  ['cluster', 'SIGTERM'],
  ['identities', 'SIGTERM'],
  ['redis', 'SIGINT'],
  ['processes', 'SIGINT'],
] as const;
test.runIf(isThorough).each(steps)('a cluster stops at a signal right after the step "%s"', async (step, signal) => {
  await interrupted(new RegExp(`^✓ ${step} `, 'm'), signal, '--nodes', '2', '--nodes-per-process', '2');
});

test('a second signal during a start ends everything at once', async () => {
  const program = join(folder, 'redis-that-hangs');
  const hanging = join(folder, 'hanging');
  const hangs = `if (process.argv.includes('--version')) console.log('Redis server v=7.4.0');
else {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 60_000);
  require('node:fs').writeFileSync(${JSON.stringify(hanging)}, '');
}`;
  writeFileSync(program, `#!${process.execPath}\n${hangs}\n`, { mode: 0o755 });
  const up = new UpProcess(place, { environment: { SIGNMESH_REDIS_SERVER: program } });
  const redis = await until(() => readRecord(join(place.dataDir, 'run', 'redis.pid'))?.pid, 'the process of Redis');
  await until(() => existsSync(hanging), 'a Redis that obeys no signal');
  up.child.kill('SIGINT');
  await until(
    () => up.output.includes('\nStopping: Ctrl-C (again: at once)'),
    () => up.output,
  );
  // Within 700 ms of the first one, a signal counts as the same.
  await until(() => {
    up.child.kill('SIGINT');
    return up.exitCode !== undefined;
  }, 'the end');
  expect(await up.exited).toBe(exitCodes.interrupted);
  await until(() => !isAlive(redis), 'the end of Redis');
});
