/**
 * Loaded into every measured process before its own code (`--import`): measures the event loop from within, which no other
 * process can, and sends the result to every client of its socket. Costs one timer every ten milliseconds.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks';
import { type ProbeReading, probeSocket, probeVariable, profileVariable } from './cluster/probe-protocol.ts';

const folder = process.env[probeVariable];
if (folder !== undefined) listen(folder);

const profileFolder = process.env[profileVariable];
if (profileFolder !== undefined) profile(profileFolder);

/** Written when the process ends in order. */
function profile(folder: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.start');
  process.once('exit', () => {
    session.post('Profiler.stop', (_error, result) => {
      const role =
        process.argv
          .slice(2, 4)
          .join('-')
          .replace(/-?--.*/, '') || 'process';
      if (result !== undefined) writeFileSync(join(folder, `${role}.cpuprofile`), JSON.stringify(result.profile));
    });
  });
}

function listen(folder: string): void {
  const resolutionMs = 10;
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  let since = performance.eventLoopUtilization();
  let gcMs = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) gcMs += duration;
  }).observe({ entryTypes: ['gc'] });
  const ms = (nanoseconds: number) => Math.max(0, Math.round(nanoseconds / 1e4 - resolutionMs * 100) / 100);

  const server = createServer((socket) => {
    const now = performance.eventLoopUtilization();
    const { heapUsed, heapTotal, external } = process.memoryUsage();
    const reading: ProbeReading = {
      lagP50: ms(delay.percentile(50)),
      lagP99: ms(delay.percentile(99)),
      lagMax: ms(delay.max),
      utilization: Math.round(performance.eventLoopUtilization(now, since).utilization * 1000) / 1000,
      gcMs: Math.round(gcMs),
      heapUsed,
      heapTotal,
      external,
    };
    delay.reset();
    since = now;
    gcMs = 0;
    socket.on('error', () => undefined);
    socket.end(JSON.stringify(reading));
  });
  server.on('error', () => undefined);
  server.listen(probeSocket(folder, process.pid)).unref();
}
