/**
 * The processes of the simulated world: which are up, paused or down, when a crashed one restarts, and the offset of its clock.
 * The caller supplies the start and death of each. Each cluster of a world has its own names for them.
 */
import { processIn, splitName } from '../../scenarios/faults/cluster-names.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { VirtualTime } from './virtual-time.ts';

export type ProcessState = 'up' | 'paused' | 'down';

/** The life of a process. Its state has changed already when these are called. */
export interface Life {
  /** `atOnce`: does not wait for its links. `boot`: new for every start. */
  start(boot: string, atOnce: boolean): void;
  crash(loseState: boolean): void;
  pause(): void;
  resume(): void;
}

/** Of a process that only has a name and a state, or a life elsewhere. */
export const noLife: Life = {
  start: () => undefined,
  crash: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

interface Process {
  /** As its own cluster names it. */
  readonly name: ProcessName;
  readonly told: ProcessPorts['told'];
  /** A process of one cluster has one; a gateway has a life in each cluster. */
  readonly lives: Life[];
  state: ProcessState;
  starts: number;
  cancelRestart: (() => void) | undefined;
  offsetMs: number;
}

export interface ProcessPorts {
  readonly time: VirtualTime;
  /** The durable state has seen this many starts of each process. */
  readonly startsBefore?: number | undefined;
  readonly told: (
    process: ProcessName,
    what: 'up' | 'down' | 'paused' | 'resumed',
    boot: string,
    storeLost: boolean,
  ) => void;
  /** The cluster whose names apply here; 1 by default. */
  readonly cluster?: number | undefined;
  /** The processes of all clusters of the world, by their full names; without it only this cluster's. */
  readonly table?: ProcessTable | undefined;
}

export type ProcessTable = Map<ProcessName, Process>;

export class Processes {
  readonly #ports: ProcessPorts;
  readonly #table: ProcessTable;
  #advancedMs = 0;
  #earlierMs: Readonly<Record<string, number>> = {};

  constructor(ports: ProcessPorts) {
    this.#ports = ports;
    this.#table = ports.table ?? new Map();
  }

  /** It is down until it is started. A process that another cluster has added, e.g. the gateway, gets one more life. */
  add(name: ProcessName, life: Life): void {
    const shared = this.#find(name);
    if (shared !== undefined) {
      shared.lives.push(life);
      if (shared.state !== 'down') life.start(this.bootOf(name), true);
      return;
    }
    const { told } = this.#ports;
    this.#table.set(this.#full(name), {
      name,
      told,
      lives: [life],
      state: 'down',
      starts: this.#ports.startsBefore ?? 0,
      cancelRestart: undefined,
      offsetMs: 0,
    });
  }

  /** Of this cluster, in the order in which they were added; shared ones are cluster 1's. */
  names(): ProcessName[] {
    const { cluster: own = 1 } = this.#ports;
    return [...this.#table.keys()].flatMap((full) => {
      const { cluster, name } = splitName(full);
      return cluster === own ? [name] : [];
    });
  }

  has(name: ProcessName): boolean {
    return this.#find(name) !== undefined;
  }

  stateOf(name: ProcessName): ProcessState {
    return this.#find(name)?.state ?? 'down';
  }

  /** The boot of the latest start. */
  bootOf(name: ProcessName): string {
    return `${name}#${this.startsOf(name)}`;
  }

  startsOf(name: ProcessName): number {
    return this.#find(name)?.starts ?? 0;
  }

  /** The time that its clock shows, in whole milliseconds: stores write halfway between two. */
  nowMs(name: ProcessName): number {
    return Math.floor(this.#ports.time.nowMs() + this.clockOffsetMs(name));
  }

  clockOffsetMs(name: ProcessName): number {
    return this.#advancedMs + (this.#earlierMs[name] ?? 0) + (this.#find(name)?.offsetMs ?? 0);
  }

  setClock(name: ProcessName, offsetMs: number): void {
    this.#of(name).offsetMs = offsetMs;
  }

  /** Sets the offset of every clock to this value. `ownMs`: those of processes beside it, as an earlier world left them. */
  rightClocks(offsetMs: number, ownMs: Readonly<Record<string, number>>): void {
    this.#advancedMs = offsetMs;
    this.#earlierMs = ownMs;
    for (const process of this.#table.values()) process.offsetMs = 0;
  }

  /** Sets every clock forward; timers ignore it. */
  advance(byMs: number): void {
    this.#advancedMs += byMs;
  }

  /** A process that is up is unchanged. */
  start(name: ProcessName, atOnce: boolean): void {
    const process = this.#of(name);
    process.cancelRestart?.();
    process.cancelRestart = undefined;
    if (process.state !== 'down') return;
    process.state = 'up';
    process.starts += 1;
    const boot = this.bootOf(name);
    process.told(name, 'up', boot, false);
    for (const life of process.lives) life.start(boot, atOnce);
  }

  /** `restartAfterMs` null: it stays down until it is started. A process that is down is unchanged. */
  crash(name: ProcessName, loseState: boolean, restartAfterMs: number | null): void {
    const process = this.#of(name);
    if (process.state === 'down') return;
    process.state = 'down';
    process.told(name, 'down', this.bootOf(name), loseState);
    for (const life of process.lives) life.crash(loseState);
    if (restartAfterMs === null || process.state !== 'down') return;
    process.cancelRestart?.();
    process.cancelRestart = this.#ports.time.after(restartAfterMs, () => this.start(name, false));
  }

  pause(name: ProcessName): void {
    const process = this.#of(name);
    if (process.state !== 'up') return;
    process.state = 'paused';
    process.told(name, 'paused', this.bootOf(name), false);
    for (const life of process.lives) life.pause();
  }

  resume(name: ProcessName): void {
    const process = this.#of(name);
    if (process.state !== 'paused') return;
    process.state = 'up';
    process.told(name, 'resumed', this.bootOf(name), false);
    for (const life of process.lives) life.resume();
  }

  #of(name: ProcessName): Process {
    const process = this.#find(name);
    if (process === undefined) throw new Error(`there is no process ${name} in this world`);
    return process;
  }

  #find(name: ProcessName): Process | undefined {
    return this.#table.get(this.#full(name));
  }

  #full(name: ProcessName): string {
    return processIn(this.#ports.cluster ?? 1, name);
  }
}

export function nodeName(id: number): `node/${number}` {
  return `node/${id}`;
}

/** 0 for any process that is no node. */
export function nodeIdOf(process: ProcessName): number {
  return process.startsWith('node/') ? Number(process.slice(5)) : 0;
}
