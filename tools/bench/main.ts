/**
 * `npm run bench`: one run, one machine for everything. It starts its own cluster, loads it through every API, measures the
 * references, verifies every signature that it gets, and reports in a table and as JSON.
 *
 * Loopback only; every phase limits its time and its callers; it stops by itself and cleans up. The exit code is the verdict on
 * correctness, not on speed (unless `--strict`).
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { exitCodes } from '../../cli/common/failure.ts';
import { grpcCaller } from '../../clients/load/calls/grpc.ts';
import { restCaller } from '../../clients/load/calls/rest.ts';
import { Service } from '../../clients/load/calls/service.ts';
import type { SigningCaller, SigningCurve } from '../../clients/load/calls/signing-caller.ts';
import { cpuSeconds, memory, type Pids } from '../../clients/load/measure/processes.ts';
import { keyOperation } from '../../clients/load/operations/key.ts';
import type { Operation } from '../../clients/load/operations/operation.ts';
import { signOperation } from '../../clients/load/operations/sign.ts';
import type { Check } from '../../clients/load/verdict/check.ts';
import { ReceiptChecks, signatureCheck } from '../../clients/load/verdict/receipts.ts';
import { type Evidence, verifyAll } from '../../clients/load/verdict/signatures.ts';
import { costsOfGoes, type GoBench } from './aims/costs.ts';
import { aimResults } from './aims/rows.ts';
import { BenchCluster } from './cluster/cluster.ts';
import { readProbes } from './cluster/probes.ts';
import { redisUse, useEach } from './cluster/redis-use.ts';
import { coordinatorDoor } from './doors/coordinator.ts';
import { type FlatPoint, flatPoints } from './flat/phases.ts';
import { BareFloor } from './floor/floor.ts';
import { rungs } from './floor/protocol.ts';
import { generatorCapacity } from './generator/capacity.ts';
import { ceremonyOf, runLoad } from './load/load.ts';
import { eventPhases, type OperationBench, walletPhases } from './operations/phases.ts';
import { reconRate } from './recon/rates.ts';
import { reconRedisRate } from './recon/redis-rates.ts';
import { type BareRates, bareRates } from './reference/bare.ts';
import { bullmqRate } from './reference/bullmq.ts';
import { cryptographyRates, frostRate } from './reference/cryptography.ts';
import { nobleRates } from './reference/noble.ts';
import { recorderRates } from './reference/recorder.ts';
import { webSocketRates } from './reference/websocket.ts';
import { environment, loadAverages } from './report/environment.ts';
import {
  type BenchOptions,
  type DoorName,
  parseOptions,
  type SigningScheme,
  signingSchemes,
} from './report/options.ts';
import type {
  Correctness,
  Costs,
  DkgPhase,
  Floor,
  LadderPhase,
  OperationPhase,
  Phase,
  References,
  Results,
  SigningPhase,
} from './report/results.ts';
import { tableOf } from './report/table.ts';
import { targetsOf } from './report/targets.ts';
import { type SimulationRate, simulationRates } from './simulation/rates.ts';
import { transferRates } from './simulation/transfers.ts';
import { type StartRates, startRates } from './start/starts.ts';

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
const settleWithinMs = 60_000;

/** Resolves with an exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if (options === undefined) return exitCodes.ok;
  const results = await measure(options, (line) => process.stderr.write(`${line}\n`));
  const json = `${JSON.stringify(results, null, 2)}\n`;
  if (options.jsonFile === '-') process.stdout.write(json);
  else if (options.jsonFile !== undefined) writeFileSync(options.jsonFile, json);
  (options.jsonFile === '-' ? process.stderr : process.stdout).write(`${tableOf(results)}\n`);
  const missed = options.strict && results.aims.some(({ isInBudget }) => !isInBudget);
  return results.correctness.holds && !missed ? exitCodes.ok : exitCodes.failed;
}

type Measured = Omit<
  Results,
  'schema' | 'startedAt' | 'tookSeconds' | 'model' | 'options' | 'environment' | 'loadavgAfter' | 'targets' | 'aims'
>;

async function measure(options: BenchOptions, say: (line: string) => void): Promise<Results> {
  const startedAt = new Date().toISOString();
  const beganMs = performance.now();
  const where = environment();
  const needsCluster = options.parts.some((part) => !['recon', 'recon-redis', 'simulation', 'start'].includes(part));
  const onCluster = needsCluster ? await measureCluster(options, say) : nothing;
  const { referenceMs, simulationRuns, parts } = options;
  const simulates = parts.includes('simulation');
  const simulation = simulates ? simulationRates(referenceMs, simulationRuns, say) : [];
  const measured: Measured = {
    ...onCluster,
    references: parts.includes('reference') ? await measureReferences(options, say) : undefined,
    simulation,
    transfers: simulates ? await transferRates(referenceMs, simulationRuns, say) : undefined,
    recon: parts.includes('recon') ? await reconRate(options.reconRows, say) : undefined,
    reconRedis: parts.includes('recon-redis') ? await reconRedisRate(options.reconRows, say) : undefined,
    start: await measureStart(options, say),
    correctness: { ...onCluster.correctness, holds: onCluster.correctness.holds && allVerify(simulation) },
  };
  return {
    ...{ schema: 'signmesh-bench/1', startedAt, model, options, environment: where },
    ...measured,
    tookSeconds: (performance.now() - beganMs) / 1000,
    loadavgAfter: loadAverages(),
    targets: targetsOf(measured),
    aims: aimResults(measured.goes),
  };
}

const nothing: Measured = {
  ...{
    signing: [],
    floor: undefined,
    ladder: [],
    dkg: [],
    operations: [],
    flat: [],
    generator: [],
    simulation: [],
    goes: [],
  },
  ...{ deliveries: undefined, bare: undefined, references: undefined, transfers: undefined, recon: undefined },
  ...{ reconRedis: undefined, start: undefined, memoryIdle: {}, memory: {} },
  correctness: { holds: true, checks: [], errors: 0, healthAfter: '', lost: [] },
};

async function measureCluster(options: BenchOptions, say: (line: string) => void): Promise<Measured> {
  say('bench: starting a cluster of its own …');
  const cluster = await BenchCluster.start(options.profileFolder);
  const interrupt = () => void cluster.stop().then(() => process.exit(exitCodes.interrupted));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const bench = new Bench(cluster, options, say);
    const memoryIdle = memory(cluster.pids);
    await bench.warmUp();
    for (const part of ['sign', 'ladder', 'dkg', 'wallet', 'events', 'flat', 'aims'] as const) {
      if (options.parts.includes(part)) await bench[part]();
    }
    const memoryAfter = memory(cluster.pids);
    const generator = options.parts.includes('generator') ? await generatorCapacity(cluster, options.countMs, say) : [];
    const correctness = await bench.verdict();
    bench.stop();
    return { ...nothing, ...bench.measured, memoryIdle, memory: memoryAfter, generator, correctness };
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await cluster.stop();
  }
}

async function measureStart(options: BenchOptions, say: (line: string) => void): Promise<StartRates | undefined> {
  if (!options.parts.includes('start')) return undefined;
  say('bench: starting a cluster repeatedly …');
  return startRates(options.starts, say);
}

function allVerify(simulation: readonly SimulationRate[]): boolean {
  return simulation.every(({ signatures, verified }) => signatures > 0 && verified === signatures);
}

/** Makes the intents and sessions of each run unique. */
const runId = randomUUID().slice(0, 8);
let serial = 0;
function freshName(): string {
  serial += 1;
  return `bench-${runId}-${serial}`;
}

class Bench {
  readonly #signing: SigningPhase[] = [];
  readonly #ladder: LadderPhase[] = [];
  readonly #dkg: DkgPhase[] = [];
  #operations: readonly OperationPhase[] = [];
  #floor: Floor | undefined;
  #flat: readonly FlatPoint[] = [];
  #deliveries: Results['deliveries'];
  #bare: BareRates | undefined;
  #goes: readonly Costs[] = [];
  readonly #cluster: BenchCluster;
  readonly #options: BenchOptions;
  readonly #say: (line: string) => void;
  /** Of the service's answers through every door: no two phases may share a session or a nonce. */
  readonly #receipts = new ReceiptChecks();
  /** Of the floor. */
  readonly #evidence: Evidence[] = [];
  readonly #checks: Check[] = [];
  readonly #redis: Redis;

  constructor(cluster: BenchCluster, options: BenchOptions, say: (line: string) => void) {
    this.#cluster = cluster;
    this.#options = options;
    this.#say = say;
    this.#redis = new Redis(cluster.redisUrl, { retryStrategy: () => null });
    this.#redis.on('error', () => undefined);
  }

  get measured() {
    return {
      ...{ signing: this.#signing, floor: this.#floor, ladder: this.#ladder, dkg: this.#dkg },
      ...{ operations: this.#operations, flat: this.#flat, deliveries: this.#deliveries, bare: this.#bare },
      goes: this.#goes,
    };
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
        await this.#signThrough(name, scheme, warmUpInFlight, (ceremony) =>
          runLoad({ inFlight: warmUpInFlight, warmMs: 0, countMs: Math.min(1500, countMs), ceremony }),
        );
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

  async sign(): Promise<void> {
    const { doors, schemes, inFlight } = this.#options;
    this.#floor = await this.#measureFloor();
    for (const name of doors) {
      for (const scheme of schemes) {
        for (const callers of inFlight) {
          this.#signing.push({ door: name, scheme, ...(await this.#signPhase(name, scheme, callers)) });
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
        this.#ladder.push({ promise, ...phase });
      } finally {
        await floor.stop();
      }
    }
  }

  async dkg(): Promise<void> {
    for (const curve of this.#options.schemes.map((scheme) => signingSchemes[scheme])) {
      for (const callers of dkgInFlight) this.#dkg.push({ curve, ...(await this.#keyPhase(curve, callers)) });
    }
  }

  async #keyPhase(curve: SigningCurve, callers: number): Promise<Phase> {
    const { httpUrl, token } = this.#cluster;
    const door = await this.#open('rest', callers);
    const operation = keyOperation(door, new Service(httpUrl, token), freshName, curve);
    const phase = await this.#phase(`DKG ${curve}`, callers, ceremonyOf(operation));
    await this.#verify(`DKG ${curve}`, operation);
    await door.close();
    return phase;
  }

  async aims(): Promise<void> {
    const bench: GoBench = {
      ...{ cluster: this.#cluster, evidence: this.#evidence, referenceMs: this.#options.referenceMs, say: this.#say },
      phase: (...what) => this.#phase(...what),
      sign: (...what) => this.#signPhase(...what),
      keys: (...what) => this.#keyPhase(...what),
      verify: (...what) => this.#verify(...what),
    };
    this.#goes = await costsOfGoes(bench, this.#options.goes);
  }

  #signPhase(name: DoorName, scheme: SigningScheme, callers: number): Promise<Phase> {
    return this.#signThrough(name, scheme, callers, (ceremony) => this.#phase(`${name} ${scheme}`, callers, ceremony));
  }

  async wallet(): Promise<void> {
    const { inFlight, walletsMany, referenceMs } = this.#options;
    this.#say('bench: a bare Fastify route and a bare Redis …');
    this.#bare = await bareRates(this.#cluster.redisUrl, inFlight, referenceMs);
    this.#operations = await walletPhases(this.#operationBench(), walletsMany);
  }

  async events(): Promise<void> {
    const { phases, drain } = await eventPhases(this.#operationBench());
    this.#say(`bench: deliveries while draining: ${drain.perSecond.toFixed(0)}/s; a bare BullMQ queue …`);
    this.#operations = [...this.#operations, ...phases];
    const { redisUrl, pids } = this.#cluster;
    this.#deliveries = { drain, bullmq: await bullmqRate(redisUrl, this.#options.referenceMs, pids) };
  }

  async flat(): Promise<void> {
    const { sessions, countMs } = this.#options;
    this.#flat = await this.#signThrough('rest', 'ecdsa', warmUpInFlight, (ceremony) =>
      flatPoints(this.#cluster, sessions, countMs, ceremony, this.#say),
    );
  }

  async verdict(): Promise<Correctness> {
    this.#say('bench: verifying every signature …');
    const floor = signatureCheck(verifyAll(this.#evidence));
    const checks = [...this.#receipts.checks(), ...this.#checks, { ...floor, name: `floor: ${floor.name}` }];
    const healthAfter = await this.#cluster.health().catch(() => 'unreachable');
    const alive = cpuSeconds(this.#cluster.pids);
    const lost = Object.keys(this.#cluster.pids).filter((name) => alive[name] === undefined);
    const signing = [...(this.#floor?.ecdsa ?? []), ...this.#ladder, ...this.#signing];
    const phases = [...signing, ...this.#dkg, ...this.#operations];
    const errors = phases.reduce((sum, phase) => sum + phase.errors, 0);
    const holds =
      checks.every((check) => check.holds) &&
      errors === 0 &&
      phases.every(({ completed }) => completed > 0) &&
      healthAfter === 'ok' &&
      lost.length === 0;
    return { holds, checks, errors, healthAfter, lost };
  }

  #operationBench(): OperationBench {
    return {
      cluster: this.#cluster,
      inFlight: this.#options.inFlight,
      phase: (what, callers, ceremony) => this.#phase(what, callers, ceremony),
      verify: (name, operation) => this.#verify(name, operation),
    };
  }

  async #verify(name: string, operation: Operation): Promise<void> {
    await operation.settle(performance.now() + settleWithinMs);
    for (const check of await operation.checks()) this.#checks.push({ ...check, name: `${name}: ${check.name}` });
    await operation.close();
  }

  /** The receipts of all signatures are checked together, at the end. */
  async #signThrough<T>(
    name: DoorName,
    scheme: SigningScheme,
    callers: number,
    measure: (ceremony: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const door = await this.#open(name, callers);
    const key = this.#cluster.key(signingSchemes[scheme]);
    const operation = signOperation(door, key, freshName, this.#receipts);
    const measured = await measure(ceremonyOf(operation));
    await operation.settle(performance.now() + settleWithinMs);
    await door.close();
    return measured;
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
