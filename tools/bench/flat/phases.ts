/**
 * The cost of the service's operations with more and more stored finished sessions: CPU of each role and commands of Redis for
 * one of each, memory, and the start of a coordinator. Only the memory of Redis may grow.
 */
import { Redis } from 'ioredis';
import { sandboxTenant } from '../../../cli/cluster-files/sandbox.ts';
import { httpClient } from '../../../clients/load/calls/http.ts';
import { cpuSeconds, memory } from '../../../clients/load/measure/processes.ts';
import { makeWallets } from '../../../clients/load/operations/wallets.ts';
import { tenantPrefix } from '../../../core/redis/event-log.ts';
import type { BenchCluster } from '../cluster/cluster.ts';
import { redisUse } from '../cluster/redis-use.ts';
import { runLoad } from '../load/load.ts';
import { SessionFiller } from './fill.ts';

/** Of one operation. */
export interface FlatCost {
  readonly what: string;
  /** The number of measured operations. */
  readonly count: number;
  readonly perSecond: number;
  /** CPU milliseconds by role; `nodes` together. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Commands that Redis ran, including those of scripts. */
  readonly redisCommands: number;
}

export interface FlatPoint {
  /** Finished sessions in Redis at the begin of the measurements. */
  readonly sessions: number;
  readonly filledPerSecond: number;
  readonly costs: readonly FlatCost[];
  /** Entries of the tenant's event log. */
  readonly events: number;
  /** Resident MiB by role, and the use that Redis itself reports. */
  readonly mib: Readonly<Record<string, number>>;
  readonly redisUsedMib: number;
  /** From the death of the coordinator (kill -9) to the next signature, and CPU ms of its successor until then. */
  readonly coordinatorStart: { readonly ms: number; readonly cpuMs: number };
}

const inFlight = 16;
const expiring = 512;
const archived = 8;
const idleMs = 3_000;
const waitMaxMs = 120_000;

export async function flatPoints(
  cluster: BenchCluster,
  counts: readonly number[],
  countMs: number,
  ceremony: () => Promise<void>,
  say: (line: string) => void,
): Promise<readonly FlatPoint[]> {
  await runLoad({ inFlight, warmMs: 0, countMs: 1_000, ceremony });
  const flat = new Flat(cluster, countMs, ceremony, say);
  const points: FlatPoint[] = [];
  try {
    for (const sessions of counts) {
      // Under the fence of the present coordinator.
      const filler = await SessionFiller.open(cluster);
      try {
        points.push(await flat.at(sessions, filler));
      } finally {
        filler.close();
      }
    }
    return points;
  } finally {
    await flat.close();
  }
}

class Flat {
  readonly #cluster: BenchCluster;
  readonly #countMs: number;
  readonly #ceremony: () => Promise<void>;
  readonly #say: (line: string) => void;
  readonly #redis: Redis;
  readonly #client: ReturnType<typeof httpClient>;
  #stored = 0;

  constructor(cluster: BenchCluster, countMs: number, ceremony: () => Promise<void>, say: (line: string) => void) {
    this.#cluster = cluster;
    this.#countMs = countMs;
    this.#ceremony = ceremony;
    this.#say = say;
    this.#redis = new Redis(cluster.redisUrl);
    this.#client = httpClient(cluster.httpUrl, cluster.token, inFlight);
  }

  async at(sessions: number, filler: SessionFiller): Promise<FlatPoint> {
    const filledPerSecond = await this.#fill(sessions, filler);
    const ids = await filler.some(256);
    let turn = 0;
    const read = () => {
      turn += 1;
      return this.#get(`/v1/sessions/${ids[turn % ids.length]}`);
    };
    const costs = [
      await this.#load('a signature', this.#ceremony),
      await this.#load('read a session', read),
      await this.#load('list 50 sessions', () => this.#get('/v1/sessions?limit=50')),
      await this.#measure('expire a session', () => this.#expire(filler)),
      await this.#archive(),
      await this.#idle(),
    ];
    const mib = byRole(memory(this.#cluster.pids), (_, { rss }) => rss / 1024 / 1024);
    const redisUsedMib = Number(/used_memory:(\d+)/.exec(await this.#redis.info('memory'))?.[1]) / 1024 / 1024;
    const events = await this.#redis.xlen(`${tenantPrefix(sandboxTenant)}evt`);
    const coordinatorStart = await this.#startCoordinator();
    const point = { sessions, filledPerSecond, costs, events, mib, redisUsedMib, coordinatorStart };
    this.#say(
      `flat: ${sessions} sessions, ${events} events: MiB ${rounded(mib, 0)}, Redis uses ${redisUsedMib.toFixed(0)} MiB; ` +
        `a coordinator signs ${coordinatorStart.ms.toFixed(0)} ms after the death of the one before, ${coordinatorStart.cpuMs} ms of CPU`,
    );
    return point;
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
    await this.#client.close();
  }

  /** Returns the number of sessions stored a second. */
  async #fill(sessions: number, filler: SessionFiller): Promise<number> {
    const count = Math.max(0, sessions - this.#stored);
    const beganMs = performance.now();
    await filler.finished(count);
    this.#stored = Math.max(this.#stored, sessions);
    const filledPerSecond = (count * 1_000) / (performance.now() - beganMs);
    this.#say(`flat: ${sessions} sessions stored, ${filledPerSecond.toFixed(0)} a second`);
    // Redis rewrites its file occasionally: that cost does not belong to an operation.
    await this.#until(async () => !/aof_rewrite_(in_progress|scheduled):1/.test(await this.#redis.info('persistence')));
    return filledPerSecond;
  }

  #load(what: string, ceremony: () => Promise<void>): Promise<FlatCost> {
    let total = 0;
    return this.#measure(what, async () => {
      const { completed, errors, errorTexts } = await runLoad({
        inFlight,
        warmMs: 0,
        countMs: this.#countMs,
        ceremony: async () => {
          await ceremony();
          total += 1;
        },
      });
      if (errors > 0) throw new Error(`flat: ${what}: ${errors} errors: ${errorTexts.join('; ')}`);
      if (completed === 0) throw new Error(`flat: ${what}: nothing was completed`);
      return total;
    });
  }

  async #measure(what: string, work: () => Promise<number>): Promise<FlatCost> {
    const commands = async () => (await redisUse(this.#redis)).commands;
    const [commandsBefore, before, beganMs] = [await commands(), cpuSeconds(this.#cluster.pids), performance.now()];
    const count = await work();
    const tookMs = performance.now() - beganMs;
    const after = cpuSeconds(this.#cluster.pids);
    const redisCommands = ((await commands()) - commandsBefore) / count;
    const cpuMs = byRole(after, (name, seconds) => ((seconds - (before[name] ?? seconds)) * 1_000) / count);
    this.#say(
      `flat: ${what}: ${((count * 1_000) / tookMs).toFixed(0)}/s, CPU ms ${rounded(cpuMs, 2)}, ${redisCommands.toFixed(1)} Redis commands`,
    );
    return { what, count, perSecond: (count * 1_000) / tookMs, cpuMs, redisCommands };
  }

  async #expire(filler: SessionFiller): Promise<number> {
    await filler.open(expiring, 1_000);
    await this.#until(async () => (await filler.openCount) === 0);
    return expiring;
  }

  /** After nodes have replaced the nonces that the load used. */
  async #idle(): Promise<FlatCost> {
    await sleep(idleMs);
    return this.#measure('nothing, for a second', async () => {
      await sleep(idleMs);
      return idleMs / 1_000;
    });
  }

  async #archive(): Promise<FlatCost> {
    const { client } = this.#cluster;
    const wallets = await makeWallets(client, 'self_hosted', archived);
    return this.#measure('archive a wallet', async () => {
      for (const { id } of wallets) {
        await client.wallets.archive(id, { reason: 'bench' });
      }
      return archived;
    });
  }

  /** Its supervisor starts another. */
  async #startCoordinator(): Promise<FlatPoint['coordinatorStart']> {
    const beganMs = performance.now();
    process.kill(this.#cluster.pids.coordinator!, 'SIGKILL');
    await this.#until(() =>
      this.#ceremony().then(
        () => true,
        () => false,
      ),
    );
    const ms = performance.now() - beganMs;
    return { ms, cpuMs: Math.round((cpuSeconds(this.#cluster.pids).coordinator ?? 0) * 1_000) };
  }

  async #get(path: string): Promise<void> {
    const { status, text } = await this.#client.send('GET', path);
    if (status !== 200) throw new Error(`GET ${path}: HTTP ${status}: ${text.slice(0, 200)}`);
  }

  async #until(holds: () => Promise<boolean>): Promise<void> {
    const untilMs = performance.now() + waitMaxMs;
    while (!(await holds())) {
      if (performance.now() > untilMs) throw new Error(`flat: it does not hold after ${waitMaxMs} ms: ${holds}`);
      await sleep(20);
    }
  }
}

function byRole<T>(of: Readonly<Record<string, T>>, value: (name: string, one: T) => number): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, one] of Object.entries(of)) {
    const role = name.replace(/^node.*/, 'nodes');
    sums[role] = (sums[role] ?? 0) + value(name, one);
  }
  return sums;
}

function rounded(values: Readonly<Record<string, number>>, digits: number): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value.toFixed(digits)}`)
    .join(', ');
}

function sleep(forMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, forMs));
}
