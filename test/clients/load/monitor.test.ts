/** The figures of the service's processes in a load report. */
import { expect, test } from 'vitest';
import { ProcessMonitor } from '../../../clients/load/measure/monitor.ts';
import { byProcess, cpuSeconds, type Pids } from '../../../clients/load/measure/processes.ts';

const own = process.pid;

test('members that share a process are one process', () => {
  expect(
    byProcess([
      { name: 'redis', pid: 7 },
      { name: 'node-1', pid: 8 },
      { name: 'node-2', pid: 8 },
      { name: 'node-3', pid: 8 },
      { name: 'worker', pid: 9 },
    ]),
  ).toEqual({ redis: 7, 'node-1…node-3': 8, worker: 9 });
});

test('a process whose members change keeps its count of CPU time', async () => {
  let pids: Pids = { 'node-1…node-2': own };
  const monitor = new ProcessMonitor(async () => pids);
  const began = cpuSeconds({ own }).own ?? 0;
  await monitor.start();
  pids = { 'node-2': own };
  await monitor.sample();
  const spent = monitor.stage()['node-2']?.cpuSeconds ?? Number.NaN;
  expect(spent).toBeGreaterThanOrEqual(0);
  expect(spent).toBeLessThanOrEqual((cpuSeconds({ own }).own ?? 0) - began);
});

test('a process that began since the last look counts from its beginning', async () => {
  let pids: Pids = {};
  const monitor = new ProcessMonitor(async () => pids);
  await monitor.start();
  pids = { worker: own };
  const before = cpuSeconds({ own }).own ?? 0;
  await monitor.sample();
  expect(monitor.stage().worker?.cpuSeconds).toBeGreaterThanOrEqual(before);
});

test('while the service does not answer, the processes that were known are watched on', async () => {
  let pids: Pids = { worker: own };
  const monitor = new ProcessMonitor(async () => pids);
  await monitor.start();
  pids = {};
  const point = await monitor.sample();
  expect(Object.keys(point)).toEqual(['worker']);
  expect(point.worker!.rssBytes).toBeGreaterThan(0);
});
