/**
 * Overload: transfers of self_hosted wallets and signatures, at the maximum that a closed load finds, and at three times that
 * rate. It also measures health during the load, the time afterwards until calls are as fast as before, and the gateway's memory.
 */
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { builtFile } from '../../../cli/common/built.ts';
import { failureOf } from '../../../clients/load/calls/call-failed.ts';
import { grpcCaller } from '../../../clients/load/calls/grpc.ts';
import { cpuSeconds, memory } from '../../../clients/load/measure/processes.ts';
import { makeWallets } from '../../../clients/load/operations/wallets.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import { runLoad } from '../load/load.ts';
import { type Answered, type OpenResult, openLoad, type Percentiles, percentiles } from './open-load.ts';
import { plainClient } from './plain-client.ts';

export interface OverloadPhase {
  readonly name: string;
  /** Good answers a second of a closed load, 64 in flight; `maximumAfter`: once more at the end, since the machine may have changed. */
  readonly maximum: number;
  readonly maximumAfter: number;
  readonly runs: readonly OverloadRun[];
  /** Seconds after the load until ten calls in a row took at most three times their earlier time. */
  readonly recoverySeconds: number;
  /** Resident MiB of the gateway: before, at the end of the load, and ten seconds after the recovery. */
  readonly gatewayMib: { readonly before: number; readonly atEnd: number; readonly after: number };
}

export interface OverloadRun extends OpenResult {
  readonly times: number;
  /** Of as many calls for three times the maximum: 1 is the first, whose calls open the connections. */
  readonly turn: number;
  /** Milliseconds of `GET /v1/health` during the run. */
  readonly health: Percentiles;
  /** Milliseconds of CPU: of the service for a good answer, in this run and at the maximum; of the gateway for a refusal. */
  readonly cpu: { readonly msEachGood: number; readonly atMaximumMs: number; readonly msEachRefusal: number };
  /** Cores that the service and the load generator had, on average until the last answer. */
  readonly cores: { readonly service: number; readonly generator: number };
}

interface Target {
  readonly name: string;
  readonly call: () => Promise<Answered>;
}

const inFlight = 64;
const connectionsMax = 2_000;
const destination = '0x00000000000000000000000000000000000b0b00';
const recoveryWithinMs = 60_000;
const settleMs = 10_000;

export async function overloadPhases(
  cluster: BenchCluster,
  countMs: number,
  say: (line: string) => void,
): Promise<readonly OverloadPhase[]> {
  const client = plainClient(cluster.httpUrl, cluster.token, connectionsMax);
  const grpc = grpcCaller(cluster.grpcAddress, cluster.token);
  const post = (path: string, body: object) => client.post(path, JSON.stringify(body), randomUUID());
  const wallets = await makeWallets(cluster.client, 'self_hosted', 8);
  let turn = 0;
  const transfer = () => {
    turn += 1;
    const path = `/v1/wallets/${wallets[turn % wallets.length]!.id}/transaction-intents`;
    return post(path, { asset: 'ETH', amount: '0.00001', destination: { address: destination } });
  };
  const { walletId } = cluster.key('secp256k1');
  /** Both calls of a signature; the answer is the first refusal, if any. */
  const sign = async () => {
    const begun = await post('/v1/signing/initiate', {
      transaction_intent_id: randomUUID(),
      wallet_id: walletId,
      message_hash: randomBytes(32).toString('base64'),
    });
    if (begun.status !== 200) return begun;
    const { signing_session_id } = JSON.parse(begun.text) as { signing_session_id: string };
    const signed = await post('/v1/signing/share', { signing_session_id });
    if (signed.status !== 200) return { ...signed, isWaste: true };
    if (!signed.text.includes('SIGNATURE_COMPLETED')) throw new Error('it was not signed');
    return signed;
  };
  const signByGrpc = async (): Promise<Answered> => {
    let isWaste = false;
    try {
      const { sessionId } = await grpc.initiateSigning(randomUUID(), walletId, randomBytes(32));
      isWaste = true;
      const { reasonCode } = await grpc.submitShare(sessionId);
      if (reasonCode !== 'SIGNATURE_COMPLETED') throw new Error('it was not signed');
      return { status: 200 };
    } catch (error) {
      const { code, retryAfterS } = failureOf(error);
      if (code === 'RESOURCE_EXHAUSTED OVERLOADED') return { status: 429, retryAfter: String(retryAfterS), isWaste };
      throw error;
    }
  };
  const targets: Target[] = [
    { name: 'create a transfer (self_hosted)', call: transfer },
    { name: 'a signature (mock ECDSA)', call: sign },
    { name: 'a signature (mock ECDSA) by gRPC', call: signByGrpc },
  ];
  const phases: OverloadPhase[] = [];
  for (const target of targets) phases.push(await measure(cluster, target, countMs, say));
  client.close();
  await grpc.close();
  return phases;
}

async function measure(
  cluster: BenchCluster,
  { name, call }: Target,
  countMs: number,
  say: (line: string) => void,
): Promise<OverloadPhase> {
  const rss = () => Math.round((memory(cluster.pids).gateway?.rss ?? 0) / 1024 / 1024);
  const ceremony = async () => {
    const { status } = await call();
    if (status >= 300) throw new Error(`HTTP ${status}`);
  };
  const closed = async () => {
    let before = cpuOf(cluster.pids);
    let cpu = before;
    const { perSecond, latency, completed } = await runLoad({
      ...{ inFlight, warmMs: countMs, countMs, ceremony },
      onCounting: () => {
        before = cpuOf(cluster.pids);
      },
      onCounted: () => {
        cpu = cpuOf(cluster.pids);
      },
    });
    return { perSecond, latency, cpuMs: since(before, cpu, completed) };
  };
  const { perSecond: maximum, latency, cpuMs } = await closed();
  say(
    `overload: ${name}: at most ${maximum.toFixed(1)}/s, p50 ${latency.p50} ms with ${inFlight} in flight; ` +
      `CPU ms each ${cpuMs.all.toFixed(2)}, of it the gateway ${cpuMs.gateway.toFixed(2)}`,
  );
  // Transfers continue after their answers: waits for those of the load first.
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const beforeMs = await alone(call);
  const before = rss();
  const runs: OverloadRun[] = [];
  for (const [times, turn] of [
    [1, 1],
    [3, 1],
    [3, 2],
  ] as const) {
    const probe = await startHealthProbe(`${cluster.httpUrl}/v1/health`);
    const cpuBefore = cpuOf(cluster.pids);
    const ownBefore = process.cpuUsage();
    const beganMs = performance.now();
    const run = await openLoad(maximum * times, countMs, call);
    const tookMs = performance.now() - beganMs;
    const { all, gateway } = since(cpuBefore, cpuOf(cluster.pids), 1);
    const { user, system } = process.cpuUsage(ownBefore);
    const cores = { service: all / tookMs, generator: (user + system) / 1_000 / tookMs };
    const health = await probe.stop();
    const gatewayCpuMs = Math.max(0, gateway - run.good * cpuMs.gateway) / Math.max(1, run.refused);
    const cpu = { msEachGood: all / Math.max(1, run.good), atMaximumMs: cpuMs.all, msEachRefusal: gatewayCpuMs };
    runs.push({ times, turn, health, cpu, cores, ...run });
    if (times === 1) await recovery(call, beforeMs);
    const { goodPerSecond, refused, wasted, sent, goodMs, refusedMs, other, generatorLateMs } = run;
    say(
      `overload: ${name}, ${times} x: ${goodPerSecond.toFixed(1)} good/s (${((100 * goodPerSecond) / maximum).toFixed(0)} %), ` +
        `p50 ${goodMs.p50} ms, p99 ${goodMs.p99} ms, CPU ms each ${cpu.msEachGood.toFixed(2)}; ${refused} of ${sent} refused, ` +
        `${wasted} of them half-way, p50 ${refusedMs.p50} ms, p99 ${refusedMs.p99} ms, CPU ms each ${cpu.msEachRefusal.toFixed(3)}; ` +
        `health at most ${health.max} ms; other ${JSON.stringify(other)}; generator late ${Math.round(generatorLateMs)} ms; ` +
        `cores: service ${cores.service.toFixed(2)}, generator ${cores.generator.toFixed(2)}`,
    );
  }
  const atEnd = rss();
  const recoverySeconds = await recovery(call, beforeMs);
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const after = rss();
  const { perSecond: maximumAfter } = await closed();
  const phase = { name, maximum, maximumAfter, runs, recoverySeconds, gatewayMib: { before, atEnd, after } };
  say(
    `overload: ${name}: itself again after ${recoverySeconds.toFixed(1)} s; at most ${maximumAfter.toFixed(1)}/s then; ` +
      `gateway MiB ${JSON.stringify(phase.gatewayMib)}`,
  );
  return phase;
}

interface Cpu {
  readonly all: number;
  readonly gateway: number;
}

/** Seconds of all processes of the service. */
function cpuOf(pids: BenchCluster['pids']): Cpu {
  const seconds = cpuSeconds(pids);
  return { all: Object.values(seconds).reduce((sum, one) => sum + one, 0), gateway: seconds.gateway ?? 0 };
}

/** In milliseconds, for each of this many. */
function since(before: Cpu, after: Cpu, count: number): Cpu {
  const each = (from: number, to: number) => ((to - from) * 1_000) / Math.max(1, count);
  return { all: each(before.all, after.all), gateway: each(before.gateway, after.gateway) };
}

async function startHealthProbe(url: string): Promise<{ stop(): Promise<Percentiles> }> {
  const child = spawn(process.execPath, [builtFile('tools/bench/overload/health-probe.js'), url], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return {
    stop: async () => {
      const told = once(child, 'message') as Promise<[number[]]>;
      child.send('stop');
      const [tookMs] = await told;
      return percentiles(tookMs);
    },
  };
}

/** Milliseconds of a call on an idle service: the median of 20. */
async function alone(call: () => Promise<Answered>): Promise<number> {
  const tookMs: number[] = [];
  for (let count = 0; count < 20; count += 1) {
    const beganMs = performance.now();
    await call();
    tookMs.push(performance.now() - beganMs);
  }
  return percentiles(tookMs).p50;
}

async function recovery(call: () => Promise<Answered>, beforeMs: number): Promise<number> {
  const beganMs = performance.now();
  let inARow = 0;
  while (inARow < 10 && performance.now() - beganMs < recoveryWithinMs) {
    const sentMs = performance.now();
    const { status } = await call();
    inARow = status < 300 && performance.now() - sentMs <= 3 * beforeMs ? inARow + 1 : 0;
  }
  return (performance.now() - beganMs) / 1000;
}
