/**
 * What the kernel keeps of one running actor, and of its timers.
 *
 * Phases: `unstarted` (its start state is yet to be made), `loading` (its durable record is being read), `idle` (gets
 * the next input when there is one), `persisting` (a write is under way; nothing else gets in), `backingOff` (its
 * restart waits), `gone` (evicted). Only `unstarted` and `idle` cells run.
 */
import type { Address, Behaviour, Input, Trace } from '../contract.ts';
import { Mailbox } from './mailbox.ts';
import type { RestartPacer } from './restart-pacer.ts';

/** A behaviour whose state type is its own affair: the kernel only carries the state from step to step. */
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
  /** The host has been told that it has work, and has not given it a turn yet. */
  queued = false;
  /** Rises with every (re)start and stop: what was asked for by an earlier life is not answered to a later one. */
  life = 0;
  state: unknown = undefined;
  /** The durable record to start from. */
  record: R | undefined = undefined;
  /** Of the message that is being handled, also while its write is under way and refused. */
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
 * A running timer: of an actor, or of the kernel, which waits before it restarts the actor. One that has fired but whose
 * input still waits in the mailbox counts as running until the actor gets it: cancelling or moving it meanwhile takes the
 * input back.
 */
export class Timer<M, W, R> {
  readonly cell: Cell<M, W, R>;
  /** undefined: it is the kernel's. */
  readonly name: string | undefined;
  /** The host's own, to cancel by. */
  handle: unknown = undefined;
  /** Made when it fires. */
  input: TimerInput | undefined = undefined;

  constructor(cell: Cell<M, W, R>, name: string | undefined) {
    this.cell = cell;
    this.name = name;
  }
}
