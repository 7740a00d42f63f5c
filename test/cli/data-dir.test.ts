/** Who may use a data directory, and what an earlier start left in it. */

import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeLock } from '../../cli/common/lock.ts';
import { checkPortFree } from '../../cli/common/ports.ts';
import { identify, isRunning, signal, writeRecord } from '../../cli/common/process-records.ts';
import { endLeftovers } from '../../cli/up/leftovers.ts';
import { isAlive } from '../support/alive.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './support/temporary.ts';

function sleeper(script = '') {
  const child = spawn(process.execPath, ['-e', `${script};console.log('up');setInterval(() => {}, 1000)`], {
    stdio: 'pipe',
  });
  const started = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  return started.then(() => child.pid!);
}

test('a lock that a live process holds is refused, with its process id', () => {
  const path = join(temporaryFolder(), 'lock');
  const lock = takeLock(path, 'here');
  expect(() => takeLock(path, 'here')).toThrow(`here is in use by another signmesh up (process ${process.pid})`);
  lock.release();
  const own = takeLock(path, 'here');
  own.release();
  expect(existsSync(path)).toBe(false);
  // Its next owner keeps it.
  writeFileSync(path, JSON.stringify(identify(process.ppid)));
  own.release();
  expect(existsSync(path)).toBe(true);
});

test.each(['{"pid":1,"began":"never"}', '', 'not a lock'])(
  'a lock that names no live process (%s) is taken over',
  (content) => {
    const path = join(temporaryFolder(), 'lock');
    writeFileSync(path, content);
    takeLock(path, 'here').release();
  },
);

test('what an earlier start left running is ended, also against its will', async () => {
  const folder = temporaryFolder();
  const pid = await sleeper();
  writeRecord(join(folder, 'redis.pid'), identify(pid));
  const lines: string[] = [];
  await endLeftovers(folder, (line) => lines.push(line));
  await until(() => !isAlive(pid), 'gone');
  expect(lines).toEqual([`redis of an earlier start still runs (process ${pid}); stopping it`]);
  expect(existsSync(join(folder, 'redis.pid'))).toBe(false);
});

test('a process id that now belongs to another program is left alone', async () => {
  const folder = temporaryFolder();
  const pid = await sleeper();
  writeRecord(join(folder, 'node-1.pid'), { pid, began: 'another time' });
  const lines: string[] = [];
  await endLeftovers(folder, (line) => lines.push(line));
  expect(lines).toEqual([]);
  expect(isAlive(pid)).toBe(true);
  signal(identify(pid), 'SIGKILL');
  await until(() => !isAlive(pid), 'gone');
  expect(isRunning(identify(pid))).toBe(false);
});

test('a taken port is named with the variable that moves it', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const listener = { host: '127.0.0.1', port, what: 'REST', variable: 'SIGNMESH_HTTP_PORT' };
  await expect(checkPortFree(listener)).rejects.toThrow(
    process.platform === 'linux'
      ? new RegExp(
          `^127\\.0\\.0\\.1:${port} \\(REST\\) is taken by process ${process.pid} \\(.+\\)\\. Set SIGNMESH_HTTP_PORT to`,
        )
      : `127.0.0.1:${port} (REST) is taken by another process. Set SIGNMESH_HTTP_PORT to another one.`,
  );
  await new Promise((resolve) => server.close(resolve));
  await checkPortFree(listener);
});

test('an address that is not this machine’s is named with the variable of the host', async () => {
  const elsewhere = { host: '192.0.2.1', port: 8080, what: 'REST', variable: 'SIGNMESH_HTTP_PORT' };
  await expect(checkPortFree(elsewhere)).rejects.toThrow(
    '192.0.2.1 (REST) is not an address of this machine. Set SIGNMESH_HTTP_HOST to another one.',
  );
});
