/**
 * Compares the capacities of the load generator and the service: it measures both at signatures, in turns, so that a temporarily
 * busy machine affects both. The generator is one thread, so its capacity follows from its CPU per operation against a bare
 * server (reference/canned-server.ts) on one core. The service's maximum follows from its processes' CPU per operation on all
 * cores of the machine, limited by its busiest process.
 */
import { availableParallelism } from 'node:os';
import { grpcCaller } from '../../../clients/load/calls/grpc.ts';
import { restCaller } from '../../../clients/load/calls/rest.ts';
import type { SigningCaller } from '../../../clients/load/calls/signing-caller.ts';
import { cpuSeconds } from '../../../clients/load/measure/processes.ts';
import { LoadRecorder } from '../../../clients/load/measure/recorder.ts';
import { signOperation } from '../../../clients/load/operations/sign.ts';
import { drive, InFlight } from '../../../clients/load/run/drive.ts';
import { liveClock } from '../../../clients/load/run/live-clock.ts';
import { LoadOperator } from '../../../clients/load/run/operator.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import { withChild } from '../reference/child.ts';
import { median } from '../start/starts.ts';

export interface GeneratorCapacity {
  readonly api: 'rest' | 'grpc';
  /** Signatures a second that one core of the generator can request: by its CPU against the bare server. */
  readonly generatorPerSecond: number;
  /** The rate that it reached against the bare server, which shares the machine with it. */
  readonly barePerSecond: number;
  /** The service's maximum on this machine, by its CPU. */
  readonly servicePerSecond: number;
  readonly serviceMeasuredPerSecond: number;
  readonly ratio: number;
}

const callersMax = 64;
/** The service's refusal at overload, as the load generator names it. */
const overloaded = /^(429|RESOURCE_EXHAUSTED) OVERLOADED$/;
/** 1 in a run that is too short to be reliable. */
const roundsOf = (forMs: number) => (forMs >= 1000 ? 3 : 1);

interface Measured {
  readonly perSecond: number;
  /** CPU seconds of an operation, by process; "generator" is this one. */
  readonly cpu: Readonly<Record<string, number>>;
}

export function generatorCapacity(
  cluster: BenchCluster,
  forMs: number,
  say: (line: string) => void,
): Promise<GeneratorCapacity[]> {
  return withChild('canned-server', async (ports: { readonly http: number; readonly grpc: number }) => {
    const doors = {
      rest: (isBare: boolean) =>
        restCaller(isBare ? `http://127.0.0.1:${ports.http}` : cluster.httpUrl, cluster.token, callersMax),
      grpc: (isBare: boolean) => grpcCaller(isBare ? `127.0.0.1:${ports.grpc}` : cluster.grpcAddress, cluster.token),
    };
    const found: GeneratorCapacity[] = [];
    for (const api of ['rest', 'grpc'] as const) found.push(await capacityOf(api, doors[api], cluster, forMs, say));
    return found;
  });
}

async function capacityOf(
  api: GeneratorCapacity['api'],
  open: (isBare: boolean) => SigningCaller,
  cluster: BenchCluster,
  forMs: number,
  say: (line: string) => void,
): Promise<GeneratorCapacity> {
  const bare: Measured[] = [];
  const service: Measured[] = [];
  for (let round = 0; round < roundsOf(forMs); round += 1) {
    bare.push(await measure(open(true), cluster, forMs, `bare-${api}-${round}`));
    service.push(await measure(open(false), cluster, forMs, `service-${api}-${round}`));
  }
  const generatorPerSecond = median(bare.map(({ cpu }) => 1 / cpu.generator!));
  const servicePerSecond = median(service.map(({ cpu }) => maximum(cpu)));
  const capacity = {
    ...{ api, generatorPerSecond, servicePerSecond },
    barePerSecond: median(bare.map(({ perSecond }) => perSecond)),
    serviceMeasuredPerSecond: median(service.map(({ perSecond }) => perSecond)),
    ratio: generatorPerSecond / servicePerSecond,
  };
  say(
    `bench: the load generator over ${api}: ${generatorPerSecond.toFixed(0)} signatures/s of its own CPU, the service ` +
      `${servicePerSecond.toFixed(0)}/s of its: ${capacity.ratio.toFixed(1)} times`,
  );
  return capacity;
}

/** With as many callers as the service accepts without refusing: on a slow machine fewer than on a fast one. */
async function measure(door: SigningCaller, cluster: BenchCluster, forMs: number, run: string): Promise<Measured> {
  try {
    for (let callers = callersMax; ; callers /= 2) {
      const { completed, errors, measured } = await measureWith(callers, door, cluster, forMs, `${run}-${callers}`);
      const codes = Object.keys(errors);
      const failed = codes.reduce((sum, code) => sum + errors[code]!, 0);
      // Failed operations cost CPU, which would count for completed ones.
      if (failed <= completed / 100 && completed > 0) return measured;
      if (!codes.every((code) => overloaded.test(code)) || callers === 1)
        throw new Error(`${run}: ${completed} completed, and ${JSON.stringify(errors)}`);
    }
  } finally {
    await door.close();
  }
}

/** Warms up for half the time, then measures. */
async function measureWith(callers: number, door: SigningCaller, cluster: BenchCluster, forMs: number, run: string) {
  let serial = 0;
  const operation = signOperation(door, cluster.key('secp256k1'), () => {
    serial += 1;
    return `${run}-${process.pid}-${serial}`;
  });
  const recorder = new LoadRecorder(2);
  const operator = new LoadOperator({
    operations: new Map([['sign', operation]]),
    mix: new Map([['sign', 1]]),
    random: () => 0,
    recorder,
    clock: liveClock,
  });
  const stage = async (index: number, stageMs: number) => {
    await drive({
      stage: { name: 'capacity', shape: 'closed', callers, forMs: stageMs },
      arrivals: 'even',
      random: () => 0,
      clock: liveClock,
      inFlight: new InFlight(callers),
      signal: new AbortController().signal,
      operate: (attempt) => operator.operate(index, attempt),
      onUnsent: () => undefined,
    });
  };
  await stage(0, forMs / 2);
  const pids = { ...cluster.pids, generator: process.pid };
  const before = cpuSeconds(pids);
  const beganMs = performance.now();
  await stage(1, forMs);
  const seconds = (performance.now() - beganMs) / 1000;
  const after = cpuSeconds(pids);
  const { completed, errors } = recorder.stages()[1]!.total;
  const cpu = Object.entries(after).map(([name, total]) => [name, (total - (before[name] ?? total)) / completed]);
  const measured: Measured = { perSecond: completed / seconds, cpu: Object.fromEntries(cpu) };
  return { completed, errors, measured };
}

/** Operations a second that the service's CPU allows on this machine. */
function maximum({ generator: _, ...service }: Measured['cpu']): number {
  const all = Object.values(service);
  const total = all.reduce((sum, seconds) => sum + seconds, 0);
  return Math.min(availableParallelism() / total, 1 / Math.max(...all));
}
