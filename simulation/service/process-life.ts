/**
 * One life of a simulated process that runs asynchronous code: from its start until it dies. All access of its code to the world
 * passes through here.
 *
 * Invariants
 * - A dead process gets nothing: none of its timers fires, none of its calls gets an answer, no message reaches it. Requests that
 *   it had sent before take effect.
 * - A paused one gets everything when it is resumed, in order.
 * - Every call of a port has a number, counted from 1 over the life of the world, and a plan may decide its fate.
 */
import type { Cancel, MachineMs, Ports, RandomBytes } from '../../core/actors/contract.ts';
import type { ProcessName } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { PortName } from '../../scenarios/faults/vocabulary/trigger-points.ts';
import type { VirtualTime } from '../cluster/virtual-time.ts';

/** A call of a port, about to leave its process. */
export interface PortCall {
  /** Of all calls of the world, from 1. */
  readonly number: number;
  readonly process: ProcessName;
  readonly boot: string;
  readonly port: PortName;
  /** e.g. "store/commit.lua". */
  readonly what: string;
}

/**
 * `before`: the process dies instead of making the call. `after`: the call takes effect, and the process dies before its answer
 * arrives. `lost`: no effect and no answer. `refused`: no effect, and an answer that says so. `unanswered`: the effect without an
 * answer. `twice`: its receiver gets it two times; only for providers.
 */
export interface PortFate {
  readonly dies?: 'before' | 'after';
  readonly fate?: 'lost' | 'refused' | 'unanswered' | 'twice';
  /** In addition to the latency. */
  readonly delayMs?: number;
  /** Called when the call has left. */
  readonly left?: () => void;
}

/** Decides the fate of calls; undefined: no fault. */
export type PortPlan = (call: PortCall) => PortFate | undefined;

export interface LifeHost {
  readonly time: VirtualTime;
  nowMs(process: ProcessName): number;
  /** Counts the call, and decides its fate; the process may be down when it returns. */
  callLeaves(call: Omit<PortCall, 'number'>): PortFate | undefined;
  /** Ends the process now. */
  crash(process: ProcessName): void;
  /** A line of the trace. */
  note(text: () => string): void;
}

/** As in the live clock: a timer of 0 ms takes 1 ms (Node's setTimeout). */
const timerMinMs = 1;

export class ProcessLife {
  readonly name: ProcessName;
  readonly boot: string;
  readonly ports: Ports;
  readonly #host: LifeHost;
  #state: 'up' | 'paused' | 'dead' = 'up';
  #waiting: (() => void)[] = [];

  constructor(host: LifeHost, name: ProcessName, boot: string, random: RandomBytes) {
    this.#host = host;
    this.name = name;
    this.boot = boot;
    const { time } = host;
    const beganMs = time.nowMs();
    this.ports = {
      clock: { nowMs: () => Math.floor(host.nowMs(name)) },
      timers: {
        epochMs: () => Math.floor(time.nowMs()) as MachineMs,
        elapsedMs: () => time.nowMs() - beganMs,
        start: (afterMs, run) => this.#timer(afterMs, run),
      },
      random,
    };
  }

  get isAlive(): boolean {
    return this.#state !== 'dead';
  }

  pause(): void {
    if (this.#state === 'up') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'up';
    for (const run of this.#waiting.splice(0)) this.enter(run);
  }

  die(): void {
    this.#state = 'dead';
    this.#waiting = [];
  }

  /** An input of the process: a timer, an answer, a request. */
  enter(run: () => void): void {
    if (this.#state === 'dead') return;
    if (this.#state === 'paused') {
      this.#waiting.push(run);
      return;
    }
    this.#host.time.woken();
    run();
  }

  /**
   * A call of a port, which `carry` takes to its receiver: it gets the fate, and calls `answer` at most once, when the answer is
   * to enter the process. A dead process makes no calls.
   */
  call<T>(
    port: PortName,
    what: string,
    carry: (fate: PortFate, answer: (settle: () => T) => void) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.isAlive) return;
      const { name: process, boot } = this;
      const fate = this.#host.callLeaves({ process, boot, port, what }) ?? {};
      if (!this.isAlive) return;
      if (fate.dies === 'before') {
        this.#host.crash(process);
        return;
      }
      carry(fate, (settle) => {
        this.enter(() => {
          try {
            resolve(settle());
          } catch (error) {
            reject(error);
          }
        });
      });
      // The sent request is in transit.
      fate.left?.();
      if (fate.dies === 'after') this.#host.crash(process);
    });
  }

  #timer(afterMs: number, run: () => void): Cancel {
    const { time } = this.#host;
    let over = false;
    const cancel = time.after(
      Math.max(timerMinMs, Math.ceil(afterMs)),
      () =>
        this.enter(() => {
          if (over) return;
          over = true;
          run();
        }),
      true,
    );
    return () => {
      over = true;
      cancel();
    };
  }
}
