/** What a simulated process keeps of one running actor; as actors/live/cell.ts in the live runtime, phases and all. */
import type { Address, Behaviour, Input, Trace } from '../actors/contract.ts';
import type { RestartPacer } from '../actors/live/supervision.ts';
import { Mailbox } from '../actors/mailbox.ts';
import type { Runnable, Task } from './virtual-time.ts';

// biome-ignore lint/suspicious/noExplicitAny: behaviours of different states in one list
export type AnyBehaviour<M, W, R> = Behaviour<any, M, W, R>;

/** The host of the actor. */
export interface Turns<M, W, R> {
  /** The next input. */
  turn(cell: Cell<M, W, R>): void;
  /** A timer is due. */
  fire(cell: Cell<M, W, R>, name: string, timer: Runnable): void;
}

/** It is its own task: "give it its next input". */
export class Cell<M, W, R> implements Runnable {
  readonly machine: Turns<M, W, R>;
  readonly address: Address;
  readonly behaviour: AnyBehaviour<M, W, R>;
  readonly mailbox = new Mailbox<Input<M, W, R>>();
  phase: 'unstarted' | 'loading' | 'idle' | 'persisting' | 'backingOff' | 'gone' = 'unstarted';
  queued = false;
  /** Rises with every (re)start and stop: what was asked for by an earlier life is not answered to a later one. */
  life = 0;
  state: unknown = undefined;
  record: R | undefined = undefined;
  /** The message that is being handled, also while its write is under way and refused. */
  origin: { readonly from: Address; readonly trace: Trace } | undefined = undefined;
  timers: Map<string, Task> | undefined = undefined;
  restarts: RestartPacer | undefined = undefined;
  /** It was running when it failed: it restarts even if no message waits, for its timers' sake. */
  mustStart = false;
  failedLoads = 0;

  constructor(machine: Turns<M, W, R>, address: Address, behaviour: AnyBehaviour<M, W, R>) {
    this.machine = machine;
    this.address = address;
    this.behaviour = behaviour;
  }

  run(): void {
    this.machine.turn(this);
  }
}

/** One running timer of an actor. */
export class Timer<M, W, R> implements Runnable {
  readonly #cell: Cell<M, W, R>;
  readonly #name: string;
  constructor(cell: Cell<M, W, R>, name: string) {
    this.#cell = cell;
    this.#name = name;
  }
  run(): void {
    this.#cell.machine.fire(this.#cell, this.#name, this);
  }
}
