/** A child's output: its file and its rotation, and the lines that reach the terminal; orders to a child and their answers. */
import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ChildLog, earlierLog } from '../../cli/up/child-log.ts';
import { FollowedLog } from '../../cli/up/logs.ts';
import { Orders } from '../../cli/up/process-commands.ts';
import { missingOf, signsOf } from '../../cli/up/start-progress.ts';
import type { SupervisedChild } from '../../cli/up/supervisor.ts';
import { temporaryFolder } from './support/temporary.ts';

const settled = () => new Promise(setImmediate);
const record = (level: number, msg: string) => `{"level":${level},"time":1,"msg":"${msg}"}\n`;

afterEach(() => {
  vi.useRealTimers();
});

function open(size = 0) {
  const path = join(temporaryFolder(), 'node-1.log');
  writeFileSync(path, '');
  truncateSync(path, size);
  const shown: [string, boolean][] = [];
  const log = new ChildLog(path, (line, isNews) => shown.push([line, isNews]));
  const stream = new PassThrough();
  return { path, log, shown, stream };
}

describe('a child’s log', () => {
  test('is a file with everything, and on the terminal the errors alone while a cluster starts, then the warnings', async () => {
    const { path, log, shown, stream } = open();
    log.follow(stream, 'show');
    const lines = [record(20, 'debug'), record(30, 'info'), record(40, 'warn'), record(50, 'error'), 'plain\n', ' \n'];
    const write = async () => {
      const before = shown.length;
      for (const line of lines) stream.write(line);
      await settled();
      return shown.slice(before).map(([line, isNews]) => `${/debug|info|warn|error|plain/.exec(line)} ${isNews}`);
    };
    expect(await write()).toEqual(['error true', 'plain true']);
    log.showFrom('warn');
    expect(await write()).toEqual(['warn true', 'error true', 'plain true']);
    log.showFrom('info');
    expect(await write()).toEqual(['info false', 'warn true', 'error true', 'plain true']);
    expect(readFileSync(path, 'utf8')).toBe(lines.join('').repeat(3));
    log.close();
    stream.write('late\n');
    await settled();
    expect(readFileSync(path, 'utf8')).not.toContain('late');
  });

  test('shows no line of Redis, and joins lines that came in pieces', async () => {
    const redis = open();
    redis.log.follow(redis.stream, 'keep');
    redis.stream.write('ready to accept\n');
    const role = open();
    role.log.follow(role.stream, 'show');
    for (const piece of ['one ', 'line\nand', ' another']) role.stream.write(piece);
    await settled();
    expect([redis.shown, role.shown]).toEqual([[], [['one line', true]]]);
    role.stream.end();
    await settled();
    expect(role.shown).toEqual([
      ['one line', true],
      ['and another', true],
    ]);
    expect(redis.log.tail).toEqual(['ready to accept']);
  });

  test('remembers its last 20 lines, and of a line that does not end its last 16,384 characters', async () => {
    const { log, shown, stream } = open();
    log.follow(stream, 'show');
    for (let line = 1; line <= 21; line += 1) stream.write(`line ${line}\n`);
    await settled();
    expect(log.tail).toEqual(Array.from({ length: 20 }, (_, index) => `line ${index + 2}`));
    stream.write(`x${'y'.repeat(16_384)}`);
    stream.end();
    await settled();
    expect(shown.at(-1)![0]).toBe('y'.repeat(16_384));
  });

  test('is moved aside when it is larger than 32 MiB', async () => {
    for (const [size, isMoved] of [
      [32 * 1024 * 1024, false],
      [32 * 1024 * 1024 + 1, true],
    ] as const) {
      const { path, log, stream } = open(size);
      log.follow(stream, 'keep');
      stream.write('new\n');
      await settled();
      expect([existsSync(earlierLog(path)), statSync(path).size]).toEqual([isMoved, isMoved ? 4 : size + 4]);
      log.close();
      if (isMoved) expect([earlierLog(path), statSync(earlierLog(path)).size]).toEqual([`${path}.1`, size]);
    }
  });

  test('is followed over the move: each line once, those just before it and all after it too', async () => {
    const { path, log, stream } = open(32 * 1024 * 1024);
    log.follow(stream, 'keep');
    const followed = new FollowedLog('node-1', path);
    followed.readFromEnd(0);
    const seen: string[][] = [];
    for (const lines of [['before', 'last'], ['first'], ['second', 'third']]) {
      for (const line of lines) stream.write(`${line}\n`);
      await settled();
      if (lines.length > 1) seen.push(followed.read().map(({ text }) => text));
    }
    log.close();
    expect(seen).toEqual([
      ['before', 'last'],
      ['first', 'second', 'third'],
    ]);
    expect(statSync(path).size).toBe('last\nfirst\nsecond\nthird\n'.length);
  });
});

describe('an order to a child', () => {
  function childNamed(name: string, isUp = true) {
    const sent: { readonly id: number }[] = [];
    const child = { name, send: (message: { readonly id: number }) => isUp && sent.push(message) > 0 };
    return { sent, child: child as unknown as SupervisedChild };
  }
  const order = { kind: 'quiesce' } as const;

  test('is done when the child says so under its number, and once', async () => {
    const orders = new Orders();
    const { child, sent } = childNamed('node-1');
    const [first, second] = [orders.give(child, order, 1_000), orders.give(child, { kind: 'resume' }, 1_000)];
    expect(sent).toEqual([
      { kind: 'order', id: 1, order },
      { kind: 'order', id: 2, order: { kind: 'resume' } },
    ]);
    expect([
      orders.take({ kind: 'done', id: 2, error: 'it holds' }),
      orders.take('ready'),
      orders.take({ kind: 'done', id: 9 }),
    ]).toEqual([...[true, false, true]]);
    await expect(second).rejects.toThrow('it holds');
    orders.take({ kind: 'done', id: 1 });
    await first;
    expect(orders.take({ kind: 'done', id: 1, error: 'late' })).toBe(true);
  });

  test('fails when the child is down, does not answer in time, or dies; other children’s go on', async () => {
    vi.useFakeTimers();
    const orders = new Orders();
    await expect(orders.give(childNamed('node-1', false).child, order, 1_000)).rejects.toThrow('node-1 is down');
    const [one, other] = [childNamed('node-1').child, childNamed('node-2').child];
    const slow = orders.give(one, order, 1_000);
    const dying = orders.give(one, order, 5_000);
    const living = orders.give(other, order, 5_000);
    const late = expect(slow).rejects.toThrow('node-1 does not answer');
    vi.advanceTimersByTime(1_000);
    await late;
    const died = expect(dying).rejects.toThrow('node-1 died');
    orders.gone(one);
    await died;
    orders.take({ kind: 'done', id: 4 });
    await living;
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a start names the children that are missing, and why', () => {
  const child = (name: string, more: object) =>
    ({
      name,
      state: 'starting',
      restarts: 0,
      isAlive: true,
      log: { tail: ['bad setting'] },
      pid: process.pid,
      ...more,
    }) as unknown as SupervisedChild;
  const children = [
    child('gateway', { state: 'running' }),
    child('coordinator', { waitingFor: 'Redis does not answer' }),
    child('node-1', { restarts: 1 }),
    child('node-2', {}),
  ];
  expect(missingOf(children)).toBe('coordinator (Redis does not answer), node-1 (bad setting), node-2');
  // What waits, is dead, or has died three times, makes no progress.
  const signs = signsOf([...children, child('node-3', { restarts: 3 }), child('node-4', { isAlive: false })]).split(
    ' ',
  );
  expect(signs.map((sign) => (Number(sign) > 0 ? 'works' : sign))).toEqual(['ready', '', 'works', 'works', '', '']);
});
