/**
 * The load generator's own use, and whether its figures are still the service's: a generator with a full event loop, or on full
 * cores, measures itself.
 */
import { cpus } from 'node:os';
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** Over one stage. */
export interface SelfFigures {
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  /** The part of the time in which its event loop was not idle, 0 to 1. */
  readonly utilization: number;
  /** How late its timers fire, in milliseconds. */
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
  /** The part of the time in which the machine's cores were not idle, 0 to 1. */
  readonly machineBusy: number;
}

const resolutionMs = 10;

export class SelfMeter {
  readonly #delay = monitorEventLoopDelay({ resolution: resolutionMs });
  #loop: EventLoopUtilization = performance.eventLoopUtilization();
  #cpu = process.cpuUsage();
  #machine = machineTimes();

  start(): void {
    this.#delay.enable();
    this.read();
  }

  stop(): void {
    this.#delay.disable();
  }

  /** Since the last reading. */
  read(): SelfFigures {
    const loop = performance.eventLoopUtilization();
    const cpu = process.cpuUsage(this.#cpu);
    const machine = machineTimes();
    const total = machine.total - this.#machine.total;
    const lag = (nanoseconds: number) => Math.max(0, Math.round(nanoseconds / 1e4 - resolutionMs * 100) / 100);
    const figures = {
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      rssBytes: process.memoryUsage.rss(),
      utilization: performance.eventLoopUtilization(loop, this.#loop).utilization,
      lagP99Ms: lag(this.#delay.percentile(99)),
      lagMaxMs: lag(this.#delay.max),
      machineBusy: total === 0 ? 0 : 1 - (machine.idle - this.#machine.idle) / total,
    };
    this.#loop = loop;
    this.#cpu = process.cpuUsage();
    this.#machine = machine;
    this.#delay.reset();
    return figures;
  }
}

function machineTimes(): { readonly idle: number; readonly total: number } {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.idle + times.user + times.sys + times.nice + times.irq;
  }
  return { idle, total };
}

const limits = { utilization: 0.85, latenessMs: 20, lagMs: 50, machineBusy: 0.95 };

/** Sentences about the generator's own saturation; empty: the figures are the service's. */
export function saturation(self: SelfFigures, latenessP99Ms: number): string[] {
  const found: string[] = [];
  const percent = (part: number) => `${Math.round(part * 100)} %`;
  if (self.utilization > limits.utilization) {
    found.push(`the generator's event loop was ${percent(self.utilization)} busy`);
  }
  if (latenessP99Ms > limits.latenessMs) {
    found.push(`the generator sent late: 99 % within ${latenessP99Ms.toFixed(1)} ms of the intended time`);
  }
  if (self.lagP99Ms > limits.lagMs) found.push(`the generator's timers were ${self.lagP99Ms.toFixed(0)} ms late (p99)`);
  if (self.machineBusy > limits.machineBusy) {
    found.push(
      `the machine's cores were ${percent(self.machineBusy)} busy: generator and service waited for each other`,
    );
  }
  return found;
}
