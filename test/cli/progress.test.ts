/** How long a start is waited for, and what is said of it. */
import { spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { Progress } from '../../cli/start/progress.ts';
import { missingOf, signsOf } from '../../cli/up/start-progress.ts';
import type { SupervisedChild } from '../../cli/up/supervisor.ts';
import { until } from '../support/until.ts';

interface Facts {
  readonly name: string;
  readonly state?: string;
  readonly pid?: number;
  readonly waitingFor?: string;
  readonly restarts?: number;
  readonly tail?: readonly string[];
}

function child({ name, state = 'starting', pid, waitingFor, restarts = 0, tail = [] }: Facts): SupervisedChild {
  const isAlive = state === 'starting' || state === 'running';
  return { name, state, pid, waitingFor, restarts, isAlive, log: { tail } } as unknown as SupervisedChild;
}

test('names each process that is not ready, with what it waits for or what it died of', () => {
  const children = [
    child({ name: 'coordinator', waitingFor: 'Redis at 127.0.0.1:1 does not answer (TIMEOUT)' }),
    child({ name: 'node-1', state: 'running' }),
    child({ name: 'node-2' }),
    child({ name: 'redis', state: 'waiting', restarts: 2, tail: ['once', 'No space left on device'] }),
  ];
  expect(missingOf(children)).toBe(
    'coordinator (Redis at 127.0.0.1:1 does not answer (TIMEOUT)), node-2, redis (No space left on device)',
  );
  expect(missingOf([child({ name: 'node-1', state: 'running' })])).toBe('');
});

test('a start continues while something changes, and is given up when nothing does', async () => {
  const progress = new Progress();
  let step = 0;
  const beganMs = performance.now();
  await until(() => {
    step += 1;
    expect(progress.stalledMs(String(step))).toBe(0);
    return performance.now() - beganMs > 20;
  }, 'some steps');
  await until(() => progress.stalledMs('the same') > 20, 'nothing changes');
  expect(progress.isStalled('the same')).toBe(false);
  expect(progress.stalledMs('another')).toBe(0);
});

const looping = 'for (;;) {}';

/** On one processor, whose other programs do not matter: several that always want to run wait for each other. */
function onOneProcessor(code: string): number {
  const child = spawn('taskset', ['-c', '0', process.execPath, '-e', code], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.pid === undefined) throw new Error('it did not start');
  return child.pid;
}

test.runIf(process.platform === 'linux')('a start that waits for a processor is not stalled', async () => {
  const pids = [onOneProcessor(looping), onOneProcessor(looping), onOneProcessor(looping)];
  const starved = new Progress(() => pids);
  const any = new Progress();
  await until(() => {
    const counted = starved.stalledMs('');
    const all = any.stalledMs('');
    return all > 500 && counted < all / 2;
  }, 'half of the time counts');
});

test('a process at work is progress; one that waits, stands still, or dies repeatedly is none', async () => {
  const busy = spawn(process.execPath, ['-e', looping], { stdio: 'ignore' });
  onTestFinished(() => void busy.kill('SIGKILL'));
  const { pid } = busy;
  if (pid === undefined) throw new Error('it did not start');
  const signs = () => signsOf([child({ name: 'node-1', pid })]);
  const first = signs();
  await until(() => signs() !== first, 'it has worked');
  expect(signsOf([child({ name: 'node-1', pid, waitingFor: 'Redis' })])).toBe('');
  expect(signsOf([child({ name: 'node-1', pid, restarts: 3 })])).toBe('');
  expect(signsOf([child({ name: 'node-1', state: 'running', pid })])).toBe('ready');
});
