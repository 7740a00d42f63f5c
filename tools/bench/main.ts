/**
 * `npm run bench`: one run, one machine for everything. It starts its own cluster, loads it through every API, measures the
 * references, verifies every signature that it gets, and reports in a table and as JSON.
 *
 * Loopback only; every phase limits its time and its callers; it stops by itself and cleans up. The exit code is the verdict on
 * correctness, not on speed (unless `--strict`).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { exitCodes } from '../../cli/common/failure.ts';
import { grpcCaller } from '../../clients/load/calls/grpc.ts';
import { restCaller } from '../../clients/load/calls/rest.ts';
import type { SigningCaller, SigningCurve } from '../../clients/load/calls/signing-caller.ts';
import { cpuSeconds, memory, type Pids } from '../../clients/load/measure/processes.ts';
import { type ClusterKey, type Evidence, verifyAll } from '../../clients/load/verdict/signatures.ts';
import { makeKey, signOnce } from './cluster/ceremonies.ts';
import { BenchCluster } from './cluster/cluster.ts';
import { readProbes } from './cluster/probes.ts';
import { redisUse, useEach } from './cluster/redis-use.ts';
import { coordinatorDoor } from './doors/coordinator.ts';
import { eventPhases } from './events/phases.ts';
import { type FlatPoint, flatPoints } from './flat/phases.ts';
import { BareFloor } from './floor/floor.ts';
import { rungs } from './floor/protocol.ts';
import { generatorCapacity } from './generator/capacity.ts';
import { runLoad } from './load/load.ts';
import { type OverloadPhase, overloadPhases } from './overload/phases.ts';
import { reconRate } from './recon/rates.ts';
import { reconRedisRate } from './recon/redis-rates.ts';
import { type BareRates, bareRates } from './reference/bare.ts';
import { bullmqRate } from './reference/bullmq.ts';
import { cryptographyRates, frostRate } from './reference/cryptography.ts';
import { nobleRates } from './reference/noble.ts';
import { recorderRates } from './reference/recorder.ts';
import { webSocketRates } from './reference/websocket.ts';
import { environment, loadAverages } from './report/environment.ts';
import { type BenchOptions, type DoorName, parseOptions, signingSchemes } from './report/options.ts';
import type {
  Correctness,
  DkgPhase,
  EventPhase,
  Floor,
  LadderPhase,
  Phase,
  References,
  Results,
  SigningPhase,
  WalletPhase,
} from './report/results.ts';
import { tableOf } from './report/table.ts';
import { targetsOf } from './report/targets.ts';
import { type SimulationRate, simulationRates } from './simulation/rates.ts';
import { transferRates } from './simulation/transfers.ts';
import { type StartRates, startRates } from './start/starts.ts';
import { walletPhases } from './wallet/phases.ts';

const model =
  'closed model: so many callers, each with one ceremony at a time; latency of whole ceremonies as the caller sees them';
const promises: Readonly<Record<keyof typeof rungs, string>> = {
  bare: 'the bare floor',
  calls: '+ two calls a signature',
  writes: '+ two durable writes',
  sessions: '+ as sessions: guard, indices, event, MAC',
  orders: '+ orders, checked by the nodes',
  memory: '+ nodes remember intents durably',
};
const warmUpInFlight = 16;
const dkgInFlight = [1, 8];
/** Keys of the DKG phases that must sign. */
const keysTried = 20;

/** Resolves with an exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options === undefined) return exitCodes.ok;
  const results = await measure(options, (line) => process.stderr.write(`${line}\n`));
  const json = `${JSON.stringify(results, null, 2)}\n`;
  if (options.jsonFile === '-') process.stdout.write(json);
  else if (options.jsonFile !== undefined) writeFileSync(options.jsonFile, json);
  (options.jsonFile === '-' ? process.stderr : process.stdout).write(`${tableOf(results)}\n`);
  const missed = options.strict && results.targets.some(({ met }) => !met);
  return results.correctness.holds && !missed ? exitCodes.ok : exitCodes.failed;
}

async function measure(options: BenchOptions, say: (line: string) => void): Promise<Results> {
  const startedAt = new Date().toISOString();
  const beganMs = performance.now();
  const where = environment();
  const base = { schema: 'signmesh-bench/1', startedAt, model, options, environment: where } as const;
  const { referenceMs, simulationRuns } = options;
  const simulates = options.parts.includes('simulation');
  const withoutCluster = async () => ({
    simulation: simulates ? simulationRates(referenceMs, simulationRuns, say) : [],
    transfers: simulates ? await transferRates(referenceMs, simulationRuns, say) : undefined,
    recon: options.parts.includes('recon') ? await reconRate(options.reconRows, say) : undefined,
    reconRedis: options.parts.includes('recon-redis') ? await reconRedisRate(options.reconRows, say) : undefined,
    start: await measureStart(options, say),
  });
  if (options.parts.every((part) => ['recon', 'recon-redis', 'simulation', 'start'].includes(part))) {
    const { simulation, transfers, recon, reconRedis, start } = await withoutCluster();
    const none = {
      signing: [],
      floor: undefined,
      ladder: [],
      dkg: [],
      wallet: [],
      events: [],
      overload: [],
      flat: [],
      deliveries: undefined,
      bare: undefined,
      memory: {},
      generator: [],
    };
    return {
      ...base,
      ...none,
      tookSeconds: (performance.now() - beganMs) / 1000,
      loadavgAfter: loadAverages(),
      references: undefined,
      simulation,
      transfers,
      recon,
      reconRedis,
      start,
      memoryIdle: {},
      correctness: { ...nothingSigned, holds: allVerify(simulation) },
      targets: targetsOf({ ...none, references: undefined, cores: where.cores, simulation, transfers, start }),
    };
  }
  say('bench: starting a cluster of its own …');
  const cluster = await BenchCluster.start(options.profileFolder);
  const interrupt = () => void cluster.stop().then(() => process.exit(exitCodes.interrupted));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const bench = new Bench(cluster, options, say);
    const memoryIdle = memory(cluster.pids);
    await bench.warmUp();
    if (options.parts.includes('sign')) await bench.signing();
    if (options.parts.includes('ladder')) await bench.ladder();
    if (options.parts.includes('dkg')) await bench.dkg();
    if (options.parts.includes('wallet')) await bench.wallet();
    if (options.parts.includes('events')) await bench.events();
    if (options.parts.includes('overload')) await bench.overload();
    if (options.parts.includes('flat')) await bench.flat();
    const memoryAfter = memory(cluster.pids);
    const generator = options.parts.includes('generator') ? await generatorCapacity(cluster, options.countMs, say) : [];
    const correctness = await bench.verdict();
    bench.stop();
    await cluster.stop();
    const references = options.parts.includes('reference') ? await measureReferences(options, say) : undefined;
    const { simulation, transfers, recon, reconRedis, start } = await withoutCluster();
    const {
      signingPhases: signing,
      floor,
      ladderPhases: ladder,
      dkgPhases: dkg,
      walletPhases: wallet,
      eventPhases: events,
      overloadPhases: overload,
      flatPoints: flat,
      deliveries,
      bare,
    } = bench;
    return {
      ...base,
      tookSeconds: (performance.now() - beganMs) / 1000,
      loadavgAfter: loadAverages(),
      signing,
      floor,
      ladder,
      dkg,
      wallet,
      events,
      overload,
      flat,
      deliveries,
      bare,
      references,
      simulation,
      transfers,
      recon,
      reconRedis,
      start,
      memoryIdle,
      memory: memoryAfter,
      generator,
      correctness: { ...correctness, holds: correctness.holds && allVerify(simulation) },
      targets: targetsOf({
        ...{
          signing,
          floor,
          dkg,
          wallet,
          events,
          overload,
          deliveries,
          bare,
          references,
          simulation,
          transfers,
          start,
        },
        ...{ generator, memory: memoryAfter, cores: where.cores },
      }),
    };
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await cluster.stop();
  }
}

const nothingSigned: Omit<Correctness, 'holds'> = {
  verdict: verifyAll([]),
  errors: 0,
  healthAfter: '',
  lost: [],
  walletFaults: [],
};

async function measureStart(options: BenchOptions, say: (line: string) => void): Promise<StartRates | undefined> {
  if (!options.parts.includes('start')) return undefined;
  say('bench: starting a cluster repeatedly …');
  return startRates(options.starts, say);
}

function allVerify(simulation: readonly SimulationRate[]): boolean {
  return simulation.every(({ signatures, verified }) => signatures > 0 && verified === signatures);
}

class Bench {
  readonly signingPhases: SigningPhase[] = [];
  floor: Floor | undefined;
  readonly ladderPhases: LadderPhase[] = [];
  readonly dkgPhases: DkgPhase[] = [];
  walletPhases: readonly WalletPhase[] = [];
  eventPhases: readonly EventPhase[] = [];
  overloadPhases: readonly OverloadPhase[] = [];
  flatPoints: readonly FlatPoint[] = [];
  deliveries: Results['deliveries'];
  bare: BareRates | undefined;
  readonly #cluster: BenchCluster;
  readonly #options: BenchOptions;
  readonly #say: (line: string) => void;
  readonly #evidence: Evidence[] = [];
  readonly #keys: Omit<ClusterKey, 'publicKey'>[] = [];
  #walletFaults: readonly string[] = [];
  readonly #redis: Redis;

  constructor(cluster: BenchCluster, options: BenchOptions, say: (line: string) => void) {
    this.#cluster = cluster;
    this.#options = options;
    this.#say = say;
    this.#redis = new Redis(cluster.redisUrl, { retryStrategy: () => null });
    this.#redis.on('error', () => undefined);
  }

  stop(): void {
    this.#redis.disconnect();
  }

  /** New processes run code that is not compiled yet: no figure may depend on the order of phases. */
  async warmUp(): Promise<void> {
    const { doors, schemes, countMs } = this.#options;
    this.#say('bench: warming up …');
    for (const name of doors) {
      for (const scheme of schemes) {
        const door = await this.#open(name, warmUpInFlight);
        const key = this.#cluster.key(signingSchemes[scheme]);
        const ceremony = () => signOnce(door, key, this.#evidence);
        await runLoad({ inFlight: warmUpInFlight, warmMs: 0, countMs: Math.min(1500, countMs), ceremony });
        await door.close();
      }
    }
  }

  /** Beside the signatures, in the same run: the service's processes are idle meanwhile. */
  async #measureFloor(): Promise<Floor> {
    const { schemes, inFlight, referenceMs } = this.#options;
    const frost = schemes.includes('ed25519') ? frostRate(referenceMs) : undefined;
    if (!schemes.includes('ecdsa')) return { ecdsa: [], frost };
    const floor = await BareFloor.start();
    try {
      const ecdsa: Phase[] = [];
      for (const callers of inFlight) {
        ecdsa.push(await this.#phase('bare floor', callers, () => floor.sign(this.#evidence), floor.pids));
      }
      return { ecdsa, frost };
    } finally {
      await floor.stop();
    }
  }

  async signing(): Promise<void> {
    const { doors, schemes, inFlight } = this.#options;
    this.floor = await this.#measureFloor();
    for (const name of doors) {
      for (const scheme of schemes) {
        const key = this.#cluster.key(signingSchemes[scheme]);
        for (const callers of inFlight) {
          const door = await this.#open(name, callers);
          const phase = await this.#phase(`${name} ${scheme}`, callers, () => signOnce(door, key, this.#evidence));
          await door.close();
          this.signingPhases.push({ door: name, scheme, ...phase });
        }
      }
    }
  }

  /** In the cluster's own Redis, whose process counts, too. */
  async ladder(): Promise<void> {
    const { redisUrl, dataDir, pids } = this.#cluster;
    const callers = Math.max(...this.#options.inFlight);
    for (const [name, promise] of Object.entries(promises) as [keyof typeof rungs, string][]) {
      const folder = join(dataDir, `ladder-${name}`);
      mkdirSync(folder);
      const floor = await BareFloor.start(rungs[name], redisUrl, folder);
      try {
        const sign = () => floor.sign(this.#evidence);
        const phase = await this.#phase(promise, callers, sign, { ...floor.pids, redis: pids.redis! });
        this.ladderPhases.push({ promise, ...phase });
      } finally {
        await floor.stop();
      }
    }
  }

  async dkg(): Promise<void> {
    const curves: SigningCurve[] = this.#options.schemes.map((scheme) => signingSchemes[scheme]);
    for (const curve of curves) {
      for (const callers of dkgInFlight) {
        const door = await this.#open('rest', callers);
        const phase = await this.#phase(`DKG ${curve}`, callers, () => makeKey(door, curve, this.#keys));
        await door.close();
        this.dkgPhases.push({ curve, ...phase });
      }
    }
    // A key is valid when it signs.
    const door = await this.#open('rest', 1);
    const every = Math.max(1, Math.floor(this.#keys.length / keysTried));
    for (const [index, made] of this.#keys.entries()) {
      if (index % every !== 0) continue;
      const key = { ...made, publicKey: await this.#cluster.publicKeyOf(made.walletId) };
      await signOnce(door, key, this.#evidence);
    }
    await door.close();
  }

  async wallet(): Promise<void> {
    const { inFlight, walletsMany, referenceMs } = this.#options;
    this.#say('bench: a bare Fastify route and a bare Redis …');
    this.bare = await bareRates(this.#cluster.redisUrl, inFlight, referenceMs);
    const phase = (what: string, callers: number, ceremony: () => Promise<void>) =>
      this.#phase(what, callers, ceremony);
    const result = await walletPhases(this.#cluster, { inFlight, walletsMany, phase, say: this.#say });
    this.walletPhases = result.phases;
    this.#walletFaults = result.faults;
  }

  async events(): Promise<void> {
    const { inFlight, referenceMs } = this.#options;
    const phase = (what: string, callers: number, ceremony: () => Promise<void>) =>
      this.#phase(what, callers, ceremony);
    const { phases, drain, faults } = await eventPhases(this.#cluster, { inFlight, phase, say: this.#say });
    this.#say('bench: a bare BullMQ queue …');
    const bullmq = await bullmqRate(this.#cluster.redisUrl, referenceMs);
    this.eventPhases = phases;
    this.deliveries = { drain, bullmq };
    this.#walletFaults = [...this.#walletFaults, ...faults];
  }

  async overload(): Promise<void> {
    this.overloadPhases = await overloadPhases(this.#cluster, this.#options.countMs, this.#say);
  }

  async flat(): Promise<void> {
    const { sessions, countMs } = this.#options;
    const door = await this.#open('rest', warmUpInFlight);
    const key = this.#cluster.key('secp256k1');
    const ceremony = () => signOnce(door, key, this.#evidence);
    this.flatPoints = await flatPoints(this.#cluster, sessions, countMs, ceremony, this.#say);
    await door.close();
  }

  async verdict(): Promise<Correctness> {
    this.#say(`bench: verifying ${this.#evidence.length} signatures …`);
    const verdict = verifyAll(this.#evidence);
    const healthAfter = await this.#cluster.health().catch(() => 'unreachable');
    const alive = cpuSeconds(this.#cluster.pids);
    const lost = Object.keys(this.#cluster.pids).filter((name) => alive[name] === undefined);
    const signing = [...(this.floor?.ecdsa ?? []), ...this.ladderPhases, ...this.signingPhases];
    const phases = [...signing, ...this.dkgPhases, ...this.walletPhases, ...this.eventPhases];
    const walletFaults = this.#walletFaults;
    const errors = phases.reduce((sum, phase) => sum + phase.errors, 0);
    const holds =
      verdict.verified === verdict.signatures &&
      verdict.faults.length === 0 &&
      errors === 0 &&
      phases.every(({ completed }) => completed > 0) &&
      walletFaults.length === 0 &&
      healthAfter === 'ok' &&
      lost.length === 0;
    return { holds, verdict, errors, healthAfter, lost, walletFaults };
  }

  async #open(name: DoorName, callers: number): Promise<SigningCaller> {
    const { httpUrl, grpcAddress, token, coordinatorUrl, dataDir } = this.#cluster;
    switch (name) {
      case 'rest':
        return restCaller(httpUrl, token, callers);
      case 'grpc':
        return grpcCaller(grpcAddress, token);
      case 'coordinator':
        return coordinatorDoor(coordinatorUrl, dataDir);
    }
  }

  async #phase(
    what: string,
    inFlight: number,
    ceremony: () => Promise<void>,
    pids: Pids = this.#cluster.pids,
  ): Promise<Phase> {
    const { dataDir } = this.#cluster;
    const measured = { ...pids, load: process.pid };
    const { warmMs, warmCount, countMs } = this.#options;
    let before: Record<string, number> = {};
    let redisBefore = redisUse(this.#redis);
    const onCounting = () => {
      before = cpuSeconds(measured);
      redisBefore = redisUse(this.#redis);
      void readProbes(pids, dataDir);
    };
    let after: Record<string, number> = {};
    let redisAfter = redisBefore;
    const onCounted = () => {
      after = cpuSeconds(measured);
      redisAfter = redisUse(this.#redis);
    };
    const result = await runLoad({ inFlight, warmMs, warmCount, countMs, ceremony, onCounting, onCounted });
    const processes = await readProbes(pids, dataDir);
    const used = Object.fromEntries(Object.entries(after).map(([name, s]) => [name, s - (before[name] ?? s)]));
    const service = Object.entries(used).reduce((sum, [name, s]) => (name === 'load' ? sum : sum + s), 0);
    const { perSecond, latency, errors } = result;
    this.#say(
      `bench: ${what}, ${inFlight} in flight: ${perSecond.toFixed(1)}/s, p50 ${latency.p50} ms, p99 ${latency.p99} ms` +
        (errors === 0 ? '' : `, ${errors} ERRORS: ${result.errorTexts.join('; ')}`),
    );
    return {
      ...result,
      cpuSeconds: used,
      redisEach: useEach(await redisBefore, await redisAfter, result.completed),
      cpuMsPerCeremony: (service * 1000) / Math.max(1, result.completed),
      processes,
    };
  }
}

async function measureReferences(options: BenchOptions, say: (line: string) => void): Promise<References> {
  const { referenceMs, inFlight } = options;
  say('bench: bare WebSocket round trips …');
  const webSocket = await webSocketRates(inFlight, referenceMs);
  say('bench: the cryptography alone …');
  const cryptography = cryptographyRates(referenceMs);
  say('bench: @noble/curves …');
  const noble = nobleRates(referenceMs);
  say('bench: the recording of frames …');
  return { webSocket, cryptography, noble, recorder: recorderRates(referenceMs) };
}
