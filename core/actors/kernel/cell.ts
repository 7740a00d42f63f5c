/**
 * The kernel's data of one running actor, and of its timers.
 *
 * Phases: `unstarted` (its start state is yet to be made), `loading` (its durable record is being read), `idle` (gets
 * the next input when there is one), `persisting` (a write is under way; nothing else gets in), `backingOff` (its
 * restart waits), `gone` (evicted). Only `unstarted` and `idle` cells run.
 */
import type { Address, Behaviour, Input, Trace } from '../contract.ts';
import { Mailbox } from './mailbox.ts';
import type { RestartPacer } from './restart-pacer.ts';

/** A behaviour with an opaque state type: the kernel only passes the state from step to step. */
// biome-ignore lint/suspicious/noExplicitAny: the state type is existential, which TypeScript cannot say otherwise.
export type AnyBehaviour<M, W, R> = Behaviour<any, M, W, R>;

/** The sender of the message that is being handled. */
export interface Origin {
  readonly from: Address;
  readonly trace: Trace;
}

export class Cell<M, W, R> {
  readonly address: Address;
  readonly behaviour: AnyBehaviour<M, W, R>;
  readonly mailbox = new Mailbox<Input<M, W, R>>();
  phase: 'unstarted' | 'loading' | 'idle' | 'persisting' | 'backingOff' | 'gone' = 'unstarted';
  /** The kernel has reported work to the host, which has not given it a turn yet. */
  queued = false;
  /** Rises with every (re)start and stop: answers to requests of an earlier life do not reach a later one. */
  life = 0;
  state: unknown = undefined;
  /** The durable record to start from. */
  record: R | undefined = undefined;
  /** Of the present message, also while its write is pending and after it was refused. */
  origin: Origin | undefined = undefined;
  timers: Map<string, Timer<M, W, R>> | undefined = undefined;
  restarts: RestartPacer | undefined = undefined;
  /** It was running when it failed: it restarts even if no message waits, for its timers' sake. */
  mustStart = false;
  failedLoads = 0;
  /** Before a restart or a repeated load. */
  pause: Timer<M, W, R> | undefined = undefined;

  constructor(address: Address, behaviour: AnyBehaviour<M, W, R>) {
    this.address = address;
    this.behaviour = behaviour;
  }
}

export interface TimerInput {
  readonly kind: 'timer';
  readonly name: string;
}

/**
 * A running timer: of an actor, or of the kernel, which waits before it restarts the actor. A fired timer whose input still
 * waits in the mailbox counts as running until the actor gets it: cancelling or resetting it removes the input.
 */
export class Timer<M, W, R> {
  readonly cell: Cell<M, W, R>;
  /** undefined: it belongs to the kernel. */
  readonly name: string | undefined;
  /** The host's handle, to cancel the timer. */
  handle: unknown = undefined;
  /** Made when it fires. */
  input: TimerInput | undefined = undefined;

  constructor(cell: Cell<M, W, R>, name: string | undefined) {
    this.cell = cell;
    this.name = name;
  }
}
