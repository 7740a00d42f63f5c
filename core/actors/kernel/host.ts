/**
 * The port between the kernel and the world that runs it. The kernel decides and gives orders; the host has the clock, timers,
 * a store and a transport to other processes, and reports the result of each order to the kernel. Hosts: the live runtime
 * (core/actors/live/system.ts) and a simulated process (simulation/cluster/machine.ts).
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

/** The result of a read, or the reason why the store did not answer. */
export type Found<R> = { readonly record: R | undefined } | Unavailable;

/** The outcome of a write. */
export type Written<R> = WriteOutcome<R> | Unavailable;

/** A pending write: the host returns it with the outcome. */
export interface PendingWrite<M, W, R> {
  readonly cell: Cell<M, W, R>;
  readonly life: number;
  readonly step: Step<unknown, M, W>;
  readonly write: W;
  /** The input of the step. undefined: it starts the actor, so there is no old state for a refusal. */
  readonly input: Input<M, W, R> | undefined;
}

/** A pending read: the host returns it with the result. */
export interface PendingLoad<M, W, R> {
  readonly cell: Cell<M, W, R>;
  readonly life: number;
  readonly key: string;
  /** It is the record from which the actor starts; otherwise the actor requested it. */
  readonly starting: boolean;
}

/** The only data kept of an input that no actor will handle, since a message may hold secrets. */
export interface DeadLetter {
  readonly address: Address;
  /** Who sent the message; empty for other inputs. */
  readonly from: Address;
  readonly inputKind: string;
  /** The host's `describe` of the message, e.g. its case; empty for other inputs. */
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
  /** Sends a message to another process; returns undefined, or the reason why it could not. */
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
