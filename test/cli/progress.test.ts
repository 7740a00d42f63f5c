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
  const progress = new Progress(200);
  const beganMs = performance.now();
  let step = 0;
  await until(() => {
    step += 1;
    expect(progress.isStalled(String(step))).toBe(false);
    return performance.now() - beganMs > 600;
  }, 'three times as long');
  await until(() => progress.isStalled('the same'), 'it is given up');
  expect(progress.isStalled('another')).toBe(false);
});

test('a process at work is progress; one that waits, stands still, or dies repeatedly is none', async () => {
  const busy = spawn(process.execPath, ['-e', 'for (;;) {}'], { stdio: 'ignore' });
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
