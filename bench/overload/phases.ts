/**
 * Overload: transfers of self_hosted wallets and signatures, at the maximum that a closed load finds, and at three times
 * that. Beside the load health is asked, and afterwards how long it takes until calls are as fast as before, and what memory the
 * gateway has left.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { memory } from '../../load/measure/processes.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import { runLoad } from '../load/load.ts';
import { type Answered, type OpenResult, openLoad, type Percentiles, percentiles } from './open-load.ts';

export interface OverloadPhase {
  readonly name: string;
  /** Good answers a second of a closed load, 64 in flight. */
  readonly maximum: number;
  readonly runs: readonly OverloadRun[];
  /** Seconds after the load until ten calls in a row took at most three times what they took before it. */
  readonly recoverySeconds: number;
  /** Resident MiB of the gateway: before, at the end of the load, and ten seconds after the recovery. */
  readonly gatewayMib: { readonly before: number; readonly atEnd: number; readonly after: number };
}

export interface OverloadRun extends OpenResult {
  readonly times: number;
  /** Milliseconds of `GET /v1/health` during the run. */
  readonly health: Percentiles;
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
  const agent = new Agent({ connections: connectionsMax, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 });
  const post = async (path: string, body: object): Promise<Answered & { readonly text: string }> => {
    const {
      statusCode,
      headers,
      body: answer,
    } = await request(`${cluster.httpUrl}${path}`, {
      dispatcher: agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${cluster.token}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(body),
    });
    return { status: statusCode, retryAfter: String(headers['retry-after']), text: await answer.text() };
  };
  const made = async (path: string, body: object): Promise<string> => {
    const { status, text } = await post(path, body);
    if (status !== 201) throw new Error(`POST ${path}: HTTP ${status} ${text.slice(0, 200)}`);
    return (JSON.parse(text) as { id: string }).id;
  };
  const connection = await made('/v1/providers/connect', { type: 'self_hosted', name: 'bench', credentials: {} });
  const wallets: string[] = [];
  for (let count = 0; count < 8; count += 1) {
    const fields = { name: `w${count}`, provider_connection_id: connection, network: 'eip155:11155111' };
    wallets.push(await made('/v1/wallets', fields));
  }
  let turn = 0;
  const transfer = () => {
    turn += 1;
    const path = `/v1/wallets/${wallets[turn % wallets.length]}/transaction-intents`;
    return post(path, { asset: 'ETH', amount: '0.00001', destination: { address: destination } });
  };
  const { walletId } = cluster.key('secp256k1');
  /** Both calls of a signature; the answer is that of the first that is refused. */
  const sign = async () => {
    const begun = await post('/v1/signing/initiate', {
      transaction_intent_id: randomUUID(),
      wallet_id: walletId,
      message_hash: randomBytes(32).toString('base64'),
    });
    if (begun.status !== 200) return begun;
    const { signing_session_id } = JSON.parse(begun.text) as { signing_session_id: string };
    const signed = await post('/v1/signing/share', { signing_session_id });
    if (signed.status === 200 && !signed.text.includes('SIGNATURE_COMPLETED')) throw new Error('it was not signed');
    return signed;
  };
  const targets: Target[] = [
    { name: 'create a transfer (self_hosted)', call: transfer },
    { name: 'a signature (mock ECDSA)', call: sign },
  ];
  const phases: OverloadPhase[] = [];
  for (const target of targets) phases.push(await measure(cluster, target, countMs, say));
  await agent.close();
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
  const { perSecond: maximum, latency } = await runLoad({ inFlight, warmMs: 1.5 * countMs, countMs, ceremony });
  say(`overload: ${name}: at most ${maximum.toFixed(1)}/s, p50 ${latency.p50} ms with ${inFlight} in flight`);
  // Transfers go on after their answers: what the load has left is done first.
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const beforeMs = await alone(call);
  const before = rss();
  const runs: OverloadRun[] = [];
  for (const times of [1, 3]) {
    const probe = healthProbe(cluster.httpUrl);
    const run = await openLoad(maximum * times, countMs, call);
    const health = await probe.stop();
    runs.push({ times, health, ...run });
    if (times === 1) await recovery(call, beforeMs);
    const { goodPerSecond, refused, sent, goodMs, refusedMs, other, generatorLateMs } = run;
    say(
      `overload: ${name}, ${times} x: ${goodPerSecond.toFixed(1)} good/s (${((100 * goodPerSecond) / maximum).toFixed(0)} %), ` +
        `p99 ${goodMs.p99} ms; ${refused} of ${sent} refused, p50 ${refusedMs.p50} ms, p99 ${refusedMs.p99} ms; ` +
        `health at most ${health.max} ms; other ${JSON.stringify(other)}; generator late ${Math.round(generatorLateMs)} ms`,
    );
  }
  const atEnd = rss();
  const recoverySeconds = await recovery(call, beforeMs);
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  const phase = { name, maximum, runs, recoverySeconds, gatewayMib: { before, atEnd, after: rss() } };
  say(
    `overload: ${name}: itself again after ${recoverySeconds.toFixed(1)} s; gateway MiB ${JSON.stringify(phase.gatewayMib)}`,
  );
  return phase;
}

/** Asks health ten times a second, on a connection of its own each time, as a prober does. */
function healthProbe(url: string): { stop(): Promise<Percentiles> } {
  const tookMs: number[] = [];
  let stopped = false;
  const probing = (async () => {
    while (!stopped) {
      const beganMs = performance.now();
      const { body } = await request(`${url}/v1/health`, { reset: true, headersTimeout: 60_000 });
      await body.dump();
      tookMs.push(performance.now() - beganMs);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await probing;
      return percentiles(tookMs);
    },
  };
}

/** Milliseconds of a call when nothing else is under way: the median of 20. */
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
