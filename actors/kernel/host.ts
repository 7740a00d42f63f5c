/**
 * The port between the kernel and the world that runs it. The kernel decides and gives orders; the host has the clock,
 * timers, a store and a way to other processes, and tells the kernel what came of each order. Hosts: the live runtime
 * (actors/live/system.ts) and a simulated process (sim/machine.ts).
 */
import type {
  ActorEvent,
  Address,
  Envelope,
  Input,
  RandomBytes,
  Refusal,
  Step,
  UndeliveredReason,
  WriteOutcome,
} from '../contract.ts';
import type { Cell, Timer } from './cell.ts';

export type Unavailable = Extract<Refusal<never>, { kind: 'unavailable' }>;

/** What a read found, or why the store did not answer. */
export type Found<R> = { readonly record: R | undefined } | Unavailable;

/** What became of a write. */
export type Written<R> = WriteOutcome<R> | Unavailable;

/** A write under way: the host hands it back with the outcome. */
export interface PendingWrite<M, W, R> {
  readonly cell: Cell<M, W, R>;
  readonly life: number;
  readonly step: Step<unknown, M, W>;
  readonly write: W;
  /** What the step has handled. undefined: it starts the actor, and there is no old state to refuse it in. */
  readonly input: Input<M, W, R> | undefined;
}

/** A read under way: the host hands it back with what it found. */
export interface PendingLoad<M, W, R> {
  readonly cell: Cell<M, W, R>;
  readonly life: number;
  readonly key: string;
  /** It is the record that the actor starts from; otherwise the actor has asked for it. */
  readonly starting: boolean;
}

/** All that is kept of an input that no actor will take: a message may hold secrets. */
export interface DeadLetter {
  readonly address: Address;
  /** Who sent the message; empty for other inputs. */
  readonly from: Address;
  readonly inputKind: string;
  /** What the host's `describe` says about the message, e.g. its case; empty for other inputs. */
  readonly messageCase: string;
  /** `bug`: the actor threw. `unavailable`: its durable record could not be read. */
  readonly cause: 'bug' | 'unavailable';
  /** The error's text, shortened, without anything that looks like key material. */
  readonly error: string;
  readonly atMs: number;
}

/** Orders of the kernel. None of them may throw, but `threw`, which then ends the run. */
export interface KernelHost<M, W, R> {
  /** This process's clock, milliseconds since the Unix epoch. */
  readonly nowMs: () => number;
  readonly random: RandomBytes;
  /** The actor has work: call `kernel.turn(cell)` once, after the present call to the kernel has returned. */
  readonly ready: (cell: Cell<M, W, R>) => void;
  /** Answered by `kernel.written`, later. */
  readonly write: (pending: PendingWrite<M, W, R>) => void;
  /** Answered by `kernel.found`, later. */
  readonly load: (pending: PendingLoad<M, W, R>) => void;
  /** Answered by `kernel.fired`, later. The host may keep what it needs to cancel in `timer.handle`. */
  readonly startTimer: (timer: Timer<M, W, R>, afterMs: number) => void;
  readonly cancelTimer: (timer: Timer<M, W, R>) => void;
  /** Takes a message to another process; answers undefined, or why it is not on its way. */
  readonly send: (envelope: Envelope<M>) => UndeliveredReason | undefined;
  readonly emit: (address: Address, event: ActorEvent) => void;
  /** A public name for a message, e.g. its case. */
  readonly describe: (message: M) => string;
  /** An actor threw; it restarts when this returns. */
  readonly threw: (address: Address, error: unknown) => void;
  /** `envelope`: if it was a message; it may hold secrets. */
  readonly deadLetter: (letter: DeadLetter, envelope: Envelope<M> | undefined) => void;
  /** Called with an actor's new state after every step; undefined: the host does not want to know. */
  readonly stepped: ((address: Address, state: unknown) => void) | undefined;
}
