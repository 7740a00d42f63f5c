/**
 * What the live runtime keeps of one running actor.
 *
 * Phases: `unstarted` (its start state is yet to be made), `loading` (its durable record is being read), `idle` (gets
 * the next input when there is one), `persisting` (a write is under way; nothing else gets in), `backingOff` (its
 * restart waits). Only `unstarted` and `idle` cells run.
 */
import type { Address, Behaviour, Input, Trace } from '../contract.ts';
import { Mailbox } from '../mailbox.ts';
import type { RestartPacer } from './supervision.ts';
import type { Timers } from './timers.ts';

/** A behaviour whose state type is its own affair: the runtime only carries the state from step to step. */
// biome-ignore lint/suspicious/noExplicitAny: the state type is existential, which TypeScript cannot say otherwise.
export type AnyBehaviour<M, W, R> = Behaviour<any, M, W, R>;

/** The sender of the message that is being handled. */
export interface Origin {
  readonly from: Address;
  readonly trace: Trace;
}

export interface Cell<M, W, R> {
  readonly address: Address;
  readonly behaviour: AnyBehaviour<M, W, R>;
  readonly mailbox: Mailbox<Input<M, W, R>>;
  phase: 'unstarted' | 'loading' | 'idle' | 'persisting' | 'backingOff';
  /** Whether it stands in the queue of actors that have work. */
  queued: boolean;
  /** Rises with every (re)start and stop: what was asked for by an earlier life is not answered to a later one. */
  life: number;
  state: unknown;
  /** The durable record to start from. */
  record: R | undefined;
  origin: Origin | undefined;
  timers: Timers | undefined;
  restarts: RestartPacer | undefined;
  /** It was running when it failed: it restarts even if no message waits, for its timers' sake. */
  mustStart: boolean;
  failedLoads: number;
  /** Of a restart or a repeated load. */
  waiting: ReturnType<typeof setTimeout> | undefined;
}

export function newCell<M, W, R>(address: Address, behaviour: AnyBehaviour<M, W, R>): Cell<M, W, R> {
  return {
    address,
    behaviour,
    mailbox: new Mailbox(),
    phase: 'unstarted',
    queued: false,
    life: 0,
    state: undefined,
    record: undefined,
    origin: undefined,
    timers: undefined,
    restarts: undefined,
    mustStart: false,
    failedLoads: 0,
    waiting: undefined,
  };
}

/** Ends the present life: its timers, and the inputs that only it asked for. Messages stay. */
export function endLife<M, W, R>(cell: Cell<M, W, R>): void {
  cell.life += 1;
  cell.state = undefined;
  cell.record = undefined;
  cell.origin = undefined;
  cell.timers?.clear();
  clearTimeout(cell.waiting);
  cell.waiting = undefined;
  for (const input of cell.mailbox.drain()) if (input.kind === 'message') cell.mailbox.push(input);
}
