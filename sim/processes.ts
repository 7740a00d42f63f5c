/**
 * The processes of the simulated world: which are up, paused or down, when a crashed one restarts, and how far its clock is off. The caller supplies what starting and dying mean for each.
 */
import type { ProcessName } from '../faults/vocabulary/engine-contract.ts';
import type { VirtualTime } from './virtual-time.ts';

export type ProcessState = 'up' | 'paused' | 'down';

/** What happens to a process. Its state has changed already when it is told. */
export interface Life {
  /** `atOnce`: does not wait for its links. `boot`: fresh for every start. */
  start(boot: string, atOnce: boolean): void;
  crash(loseState: boolean): void;
  pause(): void;
  resume(): void;
}

interface Process {
  readonly name: ProcessName;
  readonly life: Life;
  state: ProcessState;
  starts: number;
  cancelRestart: (() => void) | undefined;
  offsetMs: number;
}

export interface ProcessPorts {
  readonly time: VirtualTime;
  /** What is durable has seen so many starts of each process. */
  readonly startsBefore?: number | undefined;
  readonly told: (
    process: ProcessName,
    what: 'up' | 'down' | 'paused' | 'resumed',
    boot: string,
    storeLost: boolean,
  ) => void;
}

export class Processes {
  readonly #ports: ProcessPorts;
  readonly #processes = new Map<ProcessName, Process>();
  #advancedMs = 0;

  constructor(ports: ProcessPorts) {
    this.#ports = ports;
  }

  /** It is down until it is started. */
  add(name: ProcessName, life: Life): void {
    this.#processes.set(name, {
      name,
      life,
      state: 'down',
      starts: this.#ports.startsBefore ?? 0,
      cancelRestart: undefined,
      offsetMs: 0,
    });
  }

  /** In the order in which they were added. */
  names(): ProcessName[] {
    return [...this.#processes.keys()];
  }

  has(name: ProcessName): boolean {
    return this.#processes.has(name);
  }

  stateOf(name: ProcessName): ProcessState {
    return this.#processes.get(name)?.state ?? 'down';
  }

  /** The boot of the latest start. */
  bootOf(name: ProcessName): string {
    return `${name}#${this.#processes.get(name)?.starts ?? 0}`;
  }

  startsOf(name: ProcessName): number {
    return this.#processes.get(name)?.starts ?? 0;
  }

  /** What its clock shows. */
  nowMs(name: ProcessName): number {
    return this.#ports.time.nowMs() + this.clockOffsetMs(name);
  }

  clockOffsetMs(name: ProcessName): number {
    return this.#advancedMs + (this.#processes.get(name)?.offsetMs ?? 0);
  }

  setClock(name: ProcessName, offsetMs: number): void {
    this.#of(name).offsetMs = offsetMs;
  }

  /** No clock is off by more than this, which is the same for all. */
  rightClocks(offsetMs: number): void {
    this.#advancedMs = offsetMs;
    for (const process of this.#processes.values()) process.offsetMs = 0;
  }

  /** Every clock goes forward; timers do not hear of it. */
  advance(byMs: number): void {
    this.#advancedMs += byMs;
  }

  /** A process that is up stays as it is. */
  start(name: ProcessName, atOnce: boolean): void {
    const process = this.#of(name);
    process.cancelRestart?.();
    process.cancelRestart = undefined;
    if (process.state !== 'down') return;
    process.state = 'up';
    process.starts += 1;
    const boot = this.bootOf(name);
    this.#ports.told(name, 'up', boot, false);
    process.life.start(boot, atOnce);
  }

  /** `restartAfterMs` null: it stays down until it is started. What is down already stays as it is. */
  crash(name: ProcessName, loseState: boolean, restartAfterMs: number | null): void {
    const process = this.#of(name);
    if (process.state === 'down') return;
    process.state = 'down';
    this.#ports.told(name, 'down', this.bootOf(name), loseState);
    process.life.crash(loseState);
    if (restartAfterMs === null || process.state !== 'down') return;
    process.cancelRestart?.();
    process.cancelRestart = this.#ports.time.after(restartAfterMs, () => this.start(name, false));
  }

  pause(name: ProcessName): void {
    const process = this.#of(name);
    if (process.state !== 'up') return;
    process.state = 'paused';
    this.#ports.told(name, 'paused', this.bootOf(name), false);
    process.life.pause();
  }

  resume(name: ProcessName): void {
    const process = this.#of(name);
    if (process.state !== 'paused') return;
    process.state = 'up';
    this.#ports.told(name, 'resumed', this.bootOf(name), false);
    process.life.resume();
  }

  #of(name: ProcessName): Process {
    const process = this.#processes.get(name);
    if (process === undefined) throw new Error(`there is no process ${name} in this world`);
    return process;
  }
}
