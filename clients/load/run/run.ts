/**
 * A load run from its first call to its report: set-up, single operations without load, the stages, the end of operations in
 * progress, the recovery check, and the verdict. Every part has a time limit; the signal ends the stages early, and the run still
 * gives a report.
 */
import { availableParallelism, cpus, totalmem } from 'node:os';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import { Service } from '../calls/service.ts';
import type { LoadTarget } from '../calls/target.ts';
import { HealthProbe } from '../measure/health.ts';
import { LatencyHistogram } from '../measure/histogram.ts';
import { ProcessMonitor } from '../measure/monitor.ts';
import { LoadRecorder } from '../measure/recorder.ts';
import { SelfMeter, saturation } from '../measure/self.ts';
import type { Operation } from '../operations/operation.ts';
import { prepare } from '../operations/prepare.ts';
import type { LoadPlan, OperationName, RunStage } from '../plan/plan.ts';
import { expectedArrivals, rateAt, seeded, withRate } from '../plan/schedule.ts';
import { evaluateThresholds } from '../plan/threshold.ts';
import { driftOf } from '../report/drift.ts';
import type { LiveProgress } from '../report/live.ts';
import { measured } from '../report/measured.ts';
import type { LoadReport, SeriesPoint, StageResult } from '../report/results.ts';
import { type Check, Faults } from '../verdict/check.ts';
import { drive, InFlight, type LoadClock } from './drive.ts';
import { LoadFaults } from './faults.ts';
import { liveClock } from './live-clock.ts';
import { failureCode, LoadOperator } from './operator.ts';
import { recover } from './recovery.ts';

export interface LoadRunOptions {
  readonly plan: LoadPlan;
  readonly target: LoadTarget;
  /** Armed when the load begins, removed when it ends. */
  readonly faults: readonly Fault[];
  /** Aborted: the stages end, and the rest takes seconds. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: LiveProgress) => void;
  /** One line about the current part. */
  readonly say: (line: string) => void;
}

/** The limit of points of the series: one a second, fewer in a longer run. */
const pointEveryMsMin = 1000;
const pointsMax = 2000;
const drainWithinMs = 35_000;
const settleWithinMs = 30_000;
const interruptedWithinMs = 5000;
const unloadedOperations = 12;
const unloadedWarmUp = 2;
/** Fast ones first: a transfer waits for blocks. */
const probes: readonly OperationName[] = ['sign', 'sign-ed25519', 'read', 'order', 'webhook', 'key', 'transfer'];
const unloadedWithinMs = 10_000;
/** Connections of the REST client: operations of open stages must not wait for a connection. */
const connectionsMax = 2048;

export async function runLoad(options: LoadRunOptions): Promise<LoadReport> {
  const { plan, target, say } = options;
  const service = new Service(target.url, target.token);
  const health = await service.health();
  if (health === undefined) throw new Error(`${target.url} does not answer GET /v1/health`);
  say(`preparing ${[...plan.mix.keys()].join(', ')} at ${target.url}`);
  const connections = Math.min(connectionsMax, plan.inFlightMax);
  const prepared = await prepare([...plan.mix.keys()], plan.api, target, service, connections);
  try {
    return await new Run(options, service, prepared.operations, health.version ?? 'unknown').report();
  } finally {
    await prepared.close();
  }
}

class Run {
  readonly #options: LoadRunOptions;
  readonly #service: Service;
  readonly #operations: ReadonlyMap<OperationName, Operation>;
  readonly #version: string;
  readonly #clock: LoadClock = liveClock;
  readonly #recorder: LoadRecorder;
  readonly #operator: LoadOperator;
  readonly #inFlight: InFlight;
  readonly #self = new SelfMeter();
  readonly #monitor: ProcessMonitor;
  readonly #health: HealthProbe;
  readonly #series: SeriesPoint[] = [];
  readonly #random: () => number;
  readonly #faults: LoadFaults;
  #stage = 0;
  /** undefined: no stage has begun. */
  #intended: { readonly stage: RunStage; readonly beganMs: number } | undefined;

  constructor(
    options: LoadRunOptions,
    service: Service,
    operations: ReadonlyMap<OperationName, Operation>,
    version: string,
  ) {
    this.#options = options;
    this.#service = service;
    this.#operations = operations;
    this.#version = version;
    this.#recorder = new LoadRecorder(options.plan.stages.length);
    this.#inFlight = new InFlight(options.plan.inFlightMax);
    this.#monitor = new ProcessMonitor(() => service.pids());
    this.#health = new HealthProbe(options.target.url);
    this.#random = seeded(options.plan.seed);
    const { plan } = options;
    this.#operator = new LoadOperator({
      operations,
      mix: plan.mix,
      random: this.#random,
      recorder: this.#recorder,
      clock: this.#clock,
    });
    this.#faults = new LoadFaults(service.client, this.#clock);
  }

  async report(): Promise<LoadReport> {
    const { plan, target, signal, say } = this.#options;
    const startedAt = new Date().toISOString();
    const beganMs = this.#clock.nowMs();
    const unloaded = await this.#unloaded();
    const stages = await this.#load().finally(() => this.#faults.end());
    say('waiting for what is under way');
    await within(this.#inFlight.idle(), signal.aborted ? interruptedWithinMs : drainWithinMs);
    const recovery = await recover({
      operation: this.#probe(),
      beforeP50Ms: unloaded.percentileMs(50),
      health: () => this.#service.health(),
      withinMs: signal.aborted ? interruptedWithinMs : plan.recoverWithinMs,
    });
    const checks: Check[] = [];
    for (const [name, operation] of this.#operations) {
      say(`settling and verifying ${name}`);
      await operation.settle(performance.now() + (signal.aborted ? interruptedWithinMs : settleWithinMs));
      for (const check of await operation.checks()) checks.push({ ...check, name: `${name}: ${check.name}` });
    }
    const figures = this.#recorder.stages();
    const results = stages.map((stage, index): StageResult => {
      const own = figures[index]!;
      const service = Object.values(stage.processes).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
      const { completed } = own.total;
      return {
        ...own,
        ...stage,
        achievedRate: (completed * 1000) / stage.tookMs,
        saturation: saturation(stage.self, own.lateness.p99),
        drift: stage.stage.shape === 'soak' ? driftOf(this.#pointsOf(stage)) : null,
        cpuMsPerOperation: completed === 0 || service === 0 ? null : (service * 1000) / completed,
      };
    });
    checks.push(lifeSigns(results));
    return {
      schema: 'signmesh-load/1',
      name: plan.name,
      startedAt,
      tookMs: this.#clock.nowMs() - beganMs,
      interrupted: signal.aborted,
      target: { url: target.url, api: plan.api, version: this.#version },
      machine: {
        node: process.version,
        cpu: cpus()[0]?.model ?? 'unknown',
        cores: availableParallelism(),
        memoryBytes: totalmem(),
      },
      model: modelOf(plan),
      mix: Object.fromEntries(plan.mix),
      inFlightMax: plan.inFlightMax,
      stages: results,
      series: this.#series,
      faults: this.#faults.windows(),
      limits: this.#operator.limits(),
      unloaded: unloaded.latency(),
      recovery,
      correctness: { holds: checks.every(({ holds }) => holds), checks },
      thresholds: evaluateThresholds(plan.thresholds, (threshold) => measured(results, threshold)),
      baseline: undefined,
    };
  }

  /** Single operations, one after the other: the latency without load. The first ones warm the service up. */
  async #unloaded(): Promise<LatencyHistogram> {
    const histogram = new LatencyHistogram();
    const probe = this.#probe();
    const untilMs = this.#clock.nowMs() + unloadedWithinMs;
    for (let count = 0; count < unloadedOperations && !this.#options.signal.aborted; count += 1) {
      const beganMs = this.#clock.nowMs();
      if (count > unloadedWarmUp && beganMs > untilMs) break;
      await probe
        .run((_, call) => call())
        .catch((error: unknown) => {
          throw new Error(`a single operation fails before the load: ${failureCode(error)}`);
        });
      if (count >= unloadedWarmUp) histogram.recordMs(this.#clock.nowMs() - beganMs);
    }
    return histogram;
  }

  async #load() {
    const { plan, faults, signal } = this.#options;
    const stages = [];
    const totalMs = plan.stages.reduce((sum, { forMs }) => sum + forMs, 0);
    await this.#faults.arm(faults, totalMs);
    this.#self.start();
    await this.#monitor.start();
    const beganMs = this.#clock.nowMs();
    const ending = new AbortController();
    const everyMs = Math.max(pointEveryMsMin, totalMs / pointsMax);
    const beside = Promise.all([this.#points(beganMs, everyMs, ending.signal), this.#health.run(ending.signal)]);
    let closedRate = 0;
    for (const [index, planned] of plan.stages.entries()) {
      if (signal.aborted) break;
      const stage = withRate(planned, closedRate);
      this.#stage = index;
      const stageBeganMs = this.#clock.nowMs();
      this.#intended = { stage, beganMs: stageBeganMs };
      await drive({
        stage,
        arrivals: plan.arrivals,
        random: this.#random,
        clock: this.#clock,
        inFlight: this.#inFlight,
        signal,
        operate: (attempt) => this.#operator.operate(index, attempt),
        onUnsent: () => this.#recorder.unsent(index),
      });
      await this.#monitor.sample();
      const tookMs = this.#clock.nowMs() - stageBeganMs;
      const inTime = this.#recorder.end(index);
      if (stage.shape === 'closed') closedRate = (inTime * 1000) / tookMs;
      stages.push({
        stage,
        beganMs: stageBeganMs - beganMs,
        tookMs,
        requestedRate: stage.shape === 'closed' ? null : (expectedArrivals(stage) * 1000) / stage.forMs,
        health: this.#health.stage(),
        self: this.#self.read(),
        processes: this.#monitor.stage(),
      });
    }
    ending.abort();
    await beside;
    await this.#faults.sample(beganMs);
    this.#self.stop();
    return stages;
  }

  async #points(beganMs: number, everyMs: number, ending: AbortSignal): Promise<void> {
    const { onProgress } = this.#options;
    let loop = performance.eventLoopUtilization();
    for (let atMs = everyMs; !ending.aborted; atMs += everyMs) {
      await this.#clock.sleep(beganMs + atMs - this.#clock.nowMs(), ending);
      const point = this.#recorder.point(this.#clock.nowMs() - beganMs, this.#inFlight.count);
      const processes = await this.#monitor.sample();
      await Promise.all([this.#faults.sample(beganMs), this.#reportIntended()]);
      const now = performance.eventLoopUtilization();
      const whole = { ...point, processes, generator: performance.eventLoopUtilization(now, loop).utilization };
      loop = now;
      this.#series.push(whole);
      onProgress({
        stage: this.#stage,
        atMs: point.atMs,
        point: whole,
        errors: this.#recorder.errors(),
      });
    }
  }

  async #reportIntended(): Promise<void> {
    if (this.#intended === undefined) return;
    const { stage, beganMs } = this.#intended;
    const rate = stage.shape === 'closed' ? null : rateAt(stage, this.#clock.nowMs() - beganMs);
    await this.#service.reportLoad(this.#options.plan.name, stage.name, rate);
  }

  /** The operation that runs one at a time before and after the load. */
  #probe(): Operation {
    const name = probes.find((each) => this.#operations.has(each))!;
    return this.#operations.get(name)!;
  }

  #pointsOf({ beganMs, tookMs }: { readonly beganMs: number; readonly tookMs: number }): readonly SeriesPoint[] {
    return this.#series.filter(({ atMs }) => atMs > beganMs && atMs <= beganMs + tookMs);
  }
}

/** A run without any answer shows nothing. */
function lifeSigns(stages: readonly StageResult[]) {
  const faults = new Faults();
  const completed = stages.reduce((sum, { total }) => sum + total.completed, 0);
  if (completed === 0) faults.add('no operation completed');
  return faults.check('completed', `${completed} operations`);
}

function modelOf({ stages }: LoadPlan): string {
  const open = 'open model: operations arrive on a schedule, and latency counts from the time each was due';
  const closed = 'closed model: so many callers, each with one operation at a time';
  const closedCount = stages.filter(({ shape }) => shape === 'closed').length;
  if (closedCount === stages.length) return closed;
  return closedCount === 0 ? open : `${open}; in closed stages: ${closed}`;
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}
