/** The supervisor with tiny children: what it promises of any process. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isStopped } from '../../cli/common/process-records.ts';
import { watchman } from '../../cli/up/paused-process-guard.ts';
import { type BackOff, type ChildSpec, SupervisedChild } from '../../cli/up/supervisor.ts';
import { isAlive } from '../support/alive.ts';
import { patienceMs, until } from '../support/until.ts';
import { temporaryFolder } from './support/temporary.ts';

const quick: BackOff = { firstMs: 4, maxMs: 40, resetMs: 60_000 };
const ready = `process.send('ready');`;
const untilTold = `process.on('SIGTERM', () => process.exit(0)); process.on('disconnect', () => process.exit(0));`;
const children: SupervisedChild[] = [];

function supervise(script: string, backOff: BackOff = quick, further: Partial<ChildSpec> = {}) {
  const folder = temporaryFolder();
  const lines: string[] = [];
  const spec = {
    name: 'child',
    command: process.execPath,
    args: ['-e', script],
    environment: { PATH: process.env.PATH },
    channel: true,
    logFile: join(folder, 'child.log'),
    recordFile: join(folder, 'child.pid'),
    ...further,
  };
  const child = new SupervisedChild(spec, (line) => lines.push(line), backOff);
  children.push(child);
  child.start();
  return { child, lines, ...spec };
}

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.stop(60_000)));
});

describe('a supervised child', () => {
  test('is ready when it says so, and its process id stands in its record', async () => {
    const { child, recordFile } = supervise(untilTold + ready);
    await child.whenReady;
    expect(child.state).toBe('running');
    expect((JSON.parse(readFileSync(recordFile, 'utf8')) as { pid: number }).pid).toBe(child.pid);
  });

  test('that dies is started again, and both are said', async () => {
    const { child, lines } = supervise(untilTold + ready);
    await child.whenReady;
    const before = child.pid!;
    process.kill(before, 'SIGKILL');
    await until(() => lines.includes('child is back'), 'back');
    expect(lines[0]).toMatch(/^child died \(SIGKILL\); restarting in \d+ ms$/);
    expect(child.pid).not.toBe(before);
    expect(child.restarts).toBe(1);
  });

  test('that keeps dying is started ever more slowly, up to a limit', async () => {
    const { child, lines } = supervise('process.exit(3)');
    await until(() => child.restarts >= 6, 'six restarts');
    const waits = lines.map((line) => Number(/^child died \(exit code 3\); restarting in (\d+) ms$/.exec(line)?.[1]));
    for (const [index, wait] of waits.entries()) {
      const full = Math.min(quick.maxMs, quick.firstMs * 2 ** index);
      expect(wait).toBeGreaterThanOrEqual(full / 2);
      expect(wait).toBeLessThanOrEqual(full);
    }
  });

  test('that finds its port taken starts again when its owner says, and not by the back-off', async () => {
    const wasReady: boolean[] = [];
    const script = `process.send({ kind: 'portTaken', variable: 'SIGNMESH_X_PORT', line: 'X is taken.' });${untilTold}`;
    const { child, lines } = supervise(script, quick, {
      onPortTaken: async (_, was) => (wasReady.push(was) < 3 ? 0 : undefined),
    });
    await expect(child.whenReady).rejects.toThrow('X is taken.');
    expect(wasReady).toEqual([false, false, false]);
    expect(child.state).toBe('stopped');
    expect(lines).toEqual([]);
  });

  test('without a channel is asked by its last words whether its port is taken', async () => {
    const { child, lines } = supervise(`console.log('bind: Address already in use'); process.exit(1)`, quick, {
      channel: false,
      portTakenIn: (words) =>
        words.some((word) => word.includes('already in use'))
          ? { kind: 'portTaken', variable: '', line: 'It is taken.' }
          : undefined,
      onPortTaken: async () => undefined,
    });
    await expect(child.whenReady).rejects.toThrow('It is taken.');
    expect(lines).toEqual([]);
  });

  test('that was up long enough starts again from the shortest wait', async () => {
    const { child, lines } = supervise('process.exit(3)', { ...quick, resetMs: 0 });
    await until(() => child.restarts >= 5, 'five restarts');
    for (const line of lines) expect(Number(/in (\d+) ms/.exec(line)?.[1])).toBeLessThanOrEqual(quick.firstMs);
  });

  test('that refuses its settings will never be ready, and its last words are kept', async () => {
    const { child } = supervise(`process.stderr.write('REDIS_URL is not set\\n'); process.exit(2)`);
    await expect(child.whenReady).rejects.toThrow('child refused to start');
    expect(child.log.tail).toContain('REDIS_URL is not set');
  });

  test('is stopped with SIGTERM, and not started again', async () => {
    const { child, lines, recordFile } = supervise(untilTold + ready);
    await child.whenReady;
    const pid = child.pid!;
    await child.stop(60_000);
    expect(isAlive(pid)).toBe(false);
    expect(child.state).toBe('stopped');
    expect(lines).toEqual([]);
    expect(existsSync(recordFile)).toBe(false);
  });

  test('that does not stop is killed after the grace', async () => {
    const { child, lines } = supervise(`process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);${ready}`);
    await child.whenReady;
    const pid = child.pid!;
    await child.stop(20);
    expect(isAlive(pid)).toBe(false);
    expect(lines).toEqual(['child does not stop; killing it']);
  });

  test('that waits for its restart can be stopped', async () => {
    const { child } = supervise('process.exit(3)', { firstMs: 60_000, maxMs: 60_000, resetMs: 60_000 });
    await until(() => child.state === 'waiting', 'waiting');
    await child.stop(60_000);
    expect(child.state).toBe('stopped');
  });

  test('whose program is not there is said and tried again', async () => {
    const folder = temporaryFolder();
    const lines: string[] = [];
    const child = new SupervisedChild(
      {
        name: 'ghost',
        command: join(folder, 'nothing'),
        args: [],
        environment: {},
        channel: false,
        logFile: join(folder, 'log'),
        recordFile: join(folder, 'pid'),
      },
      (line) => lines.push(line),
      quick,
    );
    children.push(child);
    child.start();
    await until(() => child.restarts >= 2, 'two tries');
    expect(lines[0]).toMatch(/^ghost died \(spawn .*ENOENT\); restarting/);
  });

  test('shows errors and plain words as readable lines, warnings once asked, and keeps everything in its log', async () => {
    const say = (record: object) => `console.log(${JSON.stringify(JSON.stringify(record))});`;
    const records = [
      { level: 30, msg: 'all is well' },
      { level: 40, msg: 'too early' },
      { level: 50, time: 1, msg: 'store failed', node_id: 3, err: { message: 'disk full' } },
    ];
    const later = `process.on('SIGUSR2', () => { ${say({ level: 40, msg: 'link lost' })} });`;
    const { child, lines, logFile } = supervise(
      `${untilTold + later + records.map(say).join('')}console.log('plain');${ready}`,
    );
    await until(() => lines.length === 2, 'the last line');
    expect(lines).toEqual(['child: error  store failed  node_id=3 err=disk full', 'child: plain']);
    child.log.showFrom('warn');
    process.kill(child.pid!, 'SIGUSR2');
    await until(() => lines.includes('child: warn  link lost'), 'the warning');
    expect(readFileSync(logFile, 'utf8')).toContain('all is well');
  });

  test('shows all from level info on when it is asked to: of a request what it was and how it ended, and no control characters', async () => {
    const say = (record: object) => `console.log(${JSON.stringify(JSON.stringify(record))});`;
    const request = {
      level: 30,
      role: 'gateway',
      request_id: 'req_1',
      door: 'http',
      method: 'POST',
      route: '/v1/wallets/:id/archive',
      status: 404,
      duration_ms: 1.25,
      tenant: 'tn_a',
      reason_code: 'NOT_FOUND',
      correlation_id: '\u001b[2J\n\u009b',
      msg: 'request',
    };
    const records = [
      { level: 20, msg: 'a detail' },
      { level: 30, msg: 'listens', http: '127.0.0.1:1' },
      request,
      {
        ...request,
        door: 'grpc',
        method: undefined,
        route: '/p.S/M',
        grpc_status: 'OK',
        reason_code: 'SESSION_ACCEPTED',
      },
      { ...request, method: undefined, route: undefined, status: undefined, aborted: true },
    ];
    const later = `process.on('SIGUSR2', () => { ${records.map(say).join('')} });`;
    const { child, lines } = supervise(`${untilTold}${later}${ready}`);
    await child.whenReady;
    child.log.showFrom('info');
    process.kill(child.pid!, 'SIGUSR2');
    await until(() => lines.length === 4, 'four lines');
    const more = 'request_id=req_1 tenant=tn_a correlation_id=\\u001b[2J\\u000a\\u009b';
    expect(lines).toEqual([
      'child: listens  http=127.0.0.1:1',
      `child: POST /v1/wallets/:id/archive  404 NOT_FOUND  1.25 ms  ${more}`,
      `child: gRPC /p.S/M  OK SESSION_ACCEPTED  1.25 ms  ${more}`,
      `child: no request line  aborted NOT_FOUND  1.25 ms  ${more} aborted=true`,
    ]);
  });

  test('that is crashed stays down for as long as it is told, loses what it shall lose, and is no failure of its own', async () => {
    const { child, lines } = supervise(untilTold + ready);
    await child.whenReady;
    const before = child.pid;
    let wasAlive: boolean | undefined;
    await child.crash(30, () => {
      wasAlive = isAlive(before!);
    });
    expect(wasAlive).toBe(false);
    expect(child.isAlive).toBe(false);
    await child.whenBack(patienceMs());
    expect(child.pid).not.toBe(before);
    expect(lines.some((line) => line.includes('died'))).toBe(false);
    expect(child.restarts).toBe(1);
  });

  test('that is held down comes back when it is restarted, and not before', async () => {
    const { child, lines } = supervise(untilTold + ready);
    await child.whenReady;
    await child.crash(null, () => undefined);
    // What is down may be told to lose its state, and when to come back.
    let lost = false;
    await child.crash(null, () => {
      lost = true;
    });
    expect(lost).toBe(true);
    expect(lines).toContain('child is down until it is restarted');
    expect(child.isAlive).toBe(false);
    await child.restart(60_000);
    expect(child.state).toBe('running');
    const before = child.pid;
    await child.restart(60_000);
    expect(child.pid).not.toBe(before);
    expect(child.restarts).toBe(2);
  });

  test('that stands still when its supervisor dies continues, to its own end', async () => {
    const { child } = supervise(untilTold + ready);
    await child.whenReady;
    const { pid } = child;
    process.kill(pid!, 'SIGSTOP');
    await until(() => isStopped(pid!), 'it stands still');
    // What the death of a supervisor does to the watchman's input.
    watchman(pid!).stdin?.destroy();
    await until(() => !isStopped(pid!), 'it continues');
  });

  test('that does not come back is not waited for without end', async () => {
    const { child } = supervise('process.exit(3)');
    await expect(child.whenBack(60)).rejects.toThrow('child is not ready within 0.06 s');
    await until(() => child.restarts >= 1, 'another restart');
  });

  test('that stands still is not forgotten when it is stopped, and continues in between', async () => {
    const changes: string[] = [];
    const { child, lines } = supervise(`${untilTold}${ready} setInterval(() => process.send({ kind: 'beat' }), 1)`);
    let beats = 0;
    child.watch({
      message: () => {
        beats += 1;
      },
      changed: (what) => changes.push(what),
    });
    await child.whenReady;
    expect(child.pause()).toBe(true);
    await until(() => child.isStopped, 'it stands still');
    child.freeze();
    child.resume();
    // Another has a reason too.
    expect(child.isStopped).toBe(true);
    child.thaw();
    const before = beats;
    await until(() => beats > before, 'it continues');
    child.pause();
    child.expectStop();
    await child.stop(60_000);
    expect(changes.filter((what) => what !== 'up')).toEqual(['paused', 'resumed', 'paused', 'resumed', 'down']);
    expect(lines.some((line) => line.includes('does not stop'))).toBe(false);
  });

  test('that came back from a crash dies like any other', async () => {
    const { child, lines } = supervise(untilTold + ready);
    await child.whenReady;
    await child.crash(0, () => undefined);
    await child.whenBack(patienceMs());
    process.kill(child.pid!, 'SIGKILL');
    await until(() => lines.some((line) => line.startsWith('child died (SIGKILL)')), 'its death is news');
  });
});
