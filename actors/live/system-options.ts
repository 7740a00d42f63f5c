/**
 * What the live runtime is built from, and what it tells about itself.
 */
import type { ActorEvent, Address, Clock, Envelope, RandomBytes, Store, Transport } from '../contract.ts';
import type { AnyBehaviour } from './cell.ts';
import type { Log } from './ports.ts';
import type { DeadLetter, RestartPolicy } from './supervision.ts';

export interface LiveSystemOptions<M, W, R> {
  readonly behaviours: readonly AnyBehaviour<M, W, R>[];
  /** Needed once a behaviour has a durable key, loads or persists. */
  readonly store?: Store<W, R>;
  /** May also be set later with `connect`, since links need the system to deliver to. */
  readonly transport?: Transport<M>;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  readonly log?: Log;
  /** A public name for a message, e.g. its case: all that a dead letter says about it. */
  readonly describe?: (message: M) => string;
  readonly onEvent?: (address: Address, event: ActorEvent) => void;
  /**
   * Called for every dead letter, with the message's envelope if it was a message, so that the process can answer the
   * caller. The envelope may hold secrets: do not keep or log it.
   */
  readonly onDeadLetter?: (letter: DeadLetter, envelope: Envelope<M> | undefined) => void;
  /** Dead letters kept; the newest stay. 100. */
  readonly deadLettersMax?: number;
  readonly restartPolicy?: RestartPolicy;
  /** Inputs handled in a row before the event loop gets its turn. 2,000. */
  readonly turnInputsMax?: number;
}

export interface SystemStats {
  readonly actors: number;
  readonly inputsWaiting: number;
  readonly mailboxDepthMax: number;
  readonly inputsHandled: number;
  readonly mailboxRefusals: number;
  readonly undelivered: number;
  readonly deadLetters: number;
  readonly restarts: number;
  readonly persistsRunning: number;
  readonly persistsRefused: number;
  /** By event type. */
  readonly events: ReadonlyMap<string, number>;
}
