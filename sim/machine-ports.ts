/** The ports of a simulated process: time, its store, links to others, and an observer. */
import type { ActorEvent, Address, Envelope, Refusal, UndeliveredReason, WriteOutcome } from '../actors/contract.ts';
import type { VirtualTime } from './virtual-time.ts';

export type Unavailable = Extract<Refusal<never>, { kind: 'unavailable' }>;

/** What a read found, or why it found nothing out. */
export type Found<R> = { readonly record: R | undefined } | Unavailable;

/** A store that answers later, in virtual time; answers to a process that has ended are dropped. */
export interface LaterStore<W, R> {
  load(key: string, answer: (found: Found<R>) => void): void;
  write(write: W, answer: (outcome: WriteOutcome<R> | Unavailable) => void): void;
}

/** Why an input was given up: its actor threw, or its durable record could not be read. */
export type DeadCause = 'bug' | 'unavailable';

/** What the machine asks of the world. */
export interface World<M> {
  readonly time: VirtualTime;
  /** This process's clock. */
  nowMs(): number;
  /** Takes a message to another machine; undefined: it is on its way. */
  carry(envelope: Envelope<M>): UndeliveredReason | undefined;
  observe(address: Address, event: ActorEvent): void;
  /** After every step, with the actor's new state; only if there is an observer. */
  readonly stepped: ((address: Address, state: unknown) => void) | undefined;
  /** An actor threw. undefined: the world throws too. */
  readonly bug: ((address: Address, error: unknown) => void) | undefined;
  /** A message that no actor will take any more. */
  deadLetter(envelope: Envelope<M>, cause: DeadCause): void;
}
