/**
 * The sandbox API over a simulated world: its faults, processes and clock replace the live injector's
 * (scenarios/injection/sandbox-control.ts calls it). It supports every kind of fault of the simulated world.
 */

import { firstCluster } from '../../core/redis/clusters.ts';
import { processIn, splitName } from '../../scenarios/faults/cluster-names.ts';
import { type ArmedStatus, ControlError } from '../../scenarios/faults/control.ts';
import type { ReceiverBehaviour } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import type { Crash, ProcessControl, ProcessStatus } from '../../scenarios/injection/ports.ts';
import type { Recording } from '../../scenarios/injection/recording.ts';
import type { ControlledInjector } from '../../scenarios/injection/sandbox-control.ts';
import type { ProcessState, SimCluster } from '../cluster/cluster.ts';
import type { SimClusters } from '../cluster/clusters.ts';
import type { CustodyWorld } from '../service/custody-world.ts';

const linkPollMs = 2;
const rememberedMax = 1_000;

/** The interface to a world, which begins after the control that calls it. */
export type WorldNow = () => CustodyWorld;

export class WorldInjector implements ControlledInjector {
  readonly recorder: ControlledInjector['recorder'];
  readonly #now: WorldNow;
  readonly #expiries = new Map<string, { readonly expiresMs: number; readonly cancel: () => void }>();
  #clockOffsetMs = 0;

  constructor(now: WorldNow, recorder: { readonly recording: Recording; readonly beganMs: number }) {
    this.#now = now;
    this.recorder = recorder;
  }

  get #clusters(): SimClusters {
    return this.#now().clusters;
  }

  get clockOffsetMs(): number {
    return this.#clockOffsetMs;
  }

  get receiver(): ReceiverBehaviour | null {
    return this.#now().receivers.behaviour ?? null;
  }

  clockOffsetOf(process: string): number {
    return this.#clusters.clockOffsetMs(process);
  }

  /** By cluster. */
  get ownClocksMs(): readonly Readonly<Record<string, number>>[] {
    return this.#clusters.each.map((cluster) => {
      const own = cluster
        .processes()
        .map((process) => [process, cluster.clockOffsetMs(process) - this.#clockOffsetMs] as const);
      return Object.fromEntries(own.filter(([, offsetMs]) => offsetMs !== 0));
    });
  }

  isLinked(process: string): boolean {
    return this.#clusters.isLinked(process);
  }

  /** A process that dies loses its links by itself. */
  cut(): void {}

  async untilLinked(processes: readonly string[], withinMs: number): Promise<void> {
    const clusters = this.#clusters;
    const endMs = clusters.time.nowMs() + withinMs;
    const isLinked = (process: string) =>
      process === 'gateway' ? clusters.each.every((one) => one.isLinked(process)) : clusters.isLinked(process);
    while (!processes.every(isLinked) && clusters.time.nowMs() < endMs) {
      await clusters.time.pause(linkPollMs, true);
    }
  }

  /** Throws the engine's own error for an invalid fault. */
  arm(fault: Fault, expiresInMs: number): ArmedStatus {
    const clusters = this.#clusters;
    const id = clusters.arm(fault);
    this.#cancelExpiry(id);
    this.#prune();
    const cancel = clusters.time.after(expiresInMs, () => this.disarm(id), true);
    this.#expiries.set(id, { expiresMs: clusters.time.nowMs() + expiresInMs, cancel });
    return this.#find(id)!;
  }

  list(): readonly ArmedStatus[] {
    return this.#clusters.faultStatuses().map((status) => ({
      ...status,
      expiresMs: this.#expiries.get(status.id)?.expiresMs ?? status.endsMs ?? status.armedMs,
    }));
  }

  disarm(id: string): ArmedStatus | undefined {
    const before = this.#find(id);
    this.#cancelExpiry(id);
    this.#clusters.disarm(id);
    return before && (this.#find(id) ?? { ...before, state: 'over' });
  }

  clear(): number {
    const removed = this.list().filter(({ state }) => state !== 'over').length;
    for (const id of [...this.#expiries.keys()]) this.#cancelExpiry(id);
    this.#clusters.clearFaults();
    return removed;
  }

  step(name: string): void {
    this.#clusters.step(name);
  }

  async setClock(offsetMs: number): Promise<void> {
    this.#clusters.advance(offsetMs - this.#clockOffsetMs);
    this.#clockOffsetMs = offsetMs;
  }

  /** `ownMs`: of processes, beside that; by cluster. */
  async rightClocks(offsetMs = 0, ownMs: readonly Readonly<Record<string, number>>[] = []): Promise<void> {
    this.#clusters.rightClocks(offsetMs, ownMs);
    this.#clockOffsetMs = offsetMs;
  }

  #find(id: string): ArmedStatus | undefined {
    return this.list().find((armed) => armed.id === id);
  }

  #cancelExpiry(id: string): void {
    this.#expiries.get(id)?.cancel();
  }

  /** Drops the faults that the engine no longer lists. */
  #prune(): void {
    if (this.#expiries.size < rememberedMax) return;
    const listed = new Set(this.list().map(({ id }) => id));
    for (const id of [...this.#expiries.keys()]) if (!listed.has(id)) this.#expiries.delete(id);
  }
}

const states: Readonly<Record<ProcessState, ProcessStatus['state']>> = {
  up: 'running',
  paused: 'paused',
  down: 'down',
};

/** The order of a list, as in a process cluster. */
const roles = ['redis', 'coordinator', 'node', 'gateway', 'worker'];

function byRole(one: string, other: string): number {
  const rank = (process: string) => roles.indexOf(splitName(process).name.split('/', 1)[0]!);
  return rank(one) - rank(other);
}

/** Memory and CPU time of the one real process. */
export type WorldUsage = () => { readonly residentBytes: number; readonly cpuMs: number };

/** The processes of a world, by their full names, all of them within this one. */
export class WorldProcesses implements ProcessControl {
  readonly #now: WorldNow;
  readonly #startedMs = new Map<string, number>();
  readonly #usage: WorldUsage;

  constructor(now: WorldNow, usage: WorldUsage) {
    this.#now = now;
    this.#usage = usage;
  }

  started(process: string, atMs: number): void {
    this.#startedMs.set(process, atMs);
  }

  list(): readonly ProcessStatus[] {
    const { residentBytes, cpuMs } = this.#usage();
    const names = this.#now().clusters.each.flatMap((cluster, index) =>
      cluster.processes().map((name) => processIn(index + firstCluster, name)),
    );
    return names.sort(byRole).map((process) => {
      const { cluster, name } = this.#at(process);
      const state = cluster.stateOf(name);
      const isUp = state !== 'down';
      return {
        process,
        state: states[state],
        pid: isUp ? globalThis.process.pid : null,
        restarts: Math.max(0, cluster.startsOf(name) - 1),
        startedMs: isUp ? (this.#startedMs.get(process) ?? null) : null,
        residentBytes: isUp ? residentBytes : null,
        cpuMs: isUp ? cpuMs : null,
        together: [process],
      };
    });
  }

  async crash(process: string, { loseState, restartAfterMs }: Crash): Promise<void> {
    const { cluster, name } = this.#at(process);
    if (cluster.stateOf(name) === 'down') cluster.start(name);
    cluster.crash(name, { loseState, ...(restartAfterMs !== null && { restartAfterMs }) });
  }

  async restart(process: string): Promise<void> {
    const { cluster, name } = this.#at(process);
    cluster.crash(name);
    cluster.start(name);
  }

  pause(process: string): boolean {
    const { cluster, name } = this.#at(process);
    cluster.pause(name);
    return true;
  }

  resume(process: string): void {
    const { cluster, name } = this.#at(process);
    cluster.resume(name);
  }

  async setClock(process: string): Promise<void> {
    throw new ControlError({ code: 'unsupported', message: `faults alone set the clock of ${process}` });
  }

  /** The cluster of a process, and its name there. */
  #at(process: string): { readonly cluster: SimCluster; readonly name: string } {
    const { cluster, name } = splitName(process);
    return { cluster: this.#now().clusters.each[cluster - firstCluster]!, name };
  }
}
