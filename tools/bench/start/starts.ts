/**
 * The cost of a start: `signmesh up` repeatedly in one data directory, as a person's second start, and the memory of its idle
 * processes compared with a bare Node process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuSeconds, type MemoryUse, memory, type Pids } from '../../../clients/load/measure/processes.ts';
import { UpProcess } from '../../../clients/testing/up-process.ts';

export interface StartRates {
  /** From the command to its ready line, one a start; without the first start of the directory. */
  readonly readyMs: readonly number[];
  /** Of all processes of the cluster until then, one a start. */
  readonly cpuSeconds: readonly number[];
  /** Idle after the last start, by role. */
  readonly memory: Readonly<Record<string, MemoryUse>>;
  /** Of a Node process without loaded modules. */
  readonly bareNode: MemoryUse | undefined;
}

/** A process is idle when it has used no hundredth of a second of CPU for this time. */
const restMs = 1000;
const restWithinMs = 30_000;

export async function startRates(times: number, say: (line: string) => void): Promise<StartRates> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signmesh-bench-start-'));
  const readyMs: number[] = [];
  const cpu: number[] = [];
  let atRest: Readonly<Record<string, MemoryUse>> = {};
  try {
    for (let time = 0; time <= times; time += 1) {
      const beganMs = performance.now();
      const up = new UpProcess({ dataDir });
      const { pids } = await up.ready();
      const tookMs = performance.now() - beganMs;
      const used = Object.values(cpuSeconds(pids)).reduce((sum, seconds) => sum + seconds, 0);
      if (time > 0) {
        readyMs.push(tookMs);
        cpu.push(used);
        say(`bench: start ${time} of ${times}: ready in ${Math.round(tookMs)} ms, ${used.toFixed(2)} s of CPU`);
      }
      if (time === times) {
        await whenNodesRest(pids);
        atRest = memory(pids);
      }
      up.child.kill('SIGTERM');
      await up.exited;
    }
    return { readyMs, cpuSeconds: cpu, memory: atRest, bareNode: await bareNode() };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** After a start the nodes make nonces ahead. */
async function whenNodesRest(pids: Pids): Promise<void> {
  const nodes = Object.fromEntries(Object.entries(pids).filter(([name]) => name.startsWith('node-')));
  const read = () => JSON.stringify(cpuSeconds(nodes));
  const untilMs = performance.now() + restWithinMs;
  for (let last = ''; last !== read() && performance.now() < untilMs; ) {
    last = read();
    await pause(restMs);
  }
}

async function bareNode(): Promise<MemoryUse | undefined> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e9); console.log("up")'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    await pause(restMs);
    return memory({ bare: child.pid! }).bare;
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
