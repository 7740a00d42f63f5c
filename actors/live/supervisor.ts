/**
 * Starts, restarts and gives up actors: reads the durable record that an actor starts from, restarts one that threw at a
 * bounded pace, and buries what it could not take.
 *
 * Invariants: a restart never keeps anything of the failed state; an input that made an actor throw is not given to it
 * again; of a dead letter only metadata is kept.
 */
import type { Clock, Envelope, Input, Store } from '../contract.ts';
import { attempt } from './attempt.ts';
import { type Cell, endLife } from './cell.ts';
import type { Log } from './ports.ts';
import {
  type DeadLetter,
  DeadLetters,
  RestartPacer,
  type RestartPolicy,
  safeErrorText,
  safeStack,
} from './supervision.ts';

/** Reads of one durable record before the messages that wait for it are given up. */
const loadAttemptsMax = 4;
const loadRetryMinMs = 50;
const loadRetryMaxMs = 2_000;

/** What the supervisor needs of the runtime. */
export interface SupervisorHost<M, W, R> {
  readonly store: Store<W, R>;
  readonly clock: Clock;
  readonly log: Log;
  readonly restartPolicy: RestartPolicy;
  readonly deadLettersMax: number;
  readonly describe: (message: M) => string;
  readonly onDeadLetter: (letter: DeadLetter, envelope: Envelope<M> | undefined) => void;
  readonly isStopped: () => boolean;
  /** The cell can be started: queue it, and run it unless something runs. */
  readonly ready: (cell: Cell<M, W, R>) => void;
  /** Forget the actor. */
  readonly drop: (cell: Cell<M, W, R>) => void;
}

export class Supervisor<M, W, R> {
  readonly #host: SupervisorHost<M, W, R>;
  readonly #deadLetters: DeadLetters;
  #restarts = 0;

  constructor(host: SupervisorHost<M, W, R>) {
    this.#host = host;
    this.#deadLetters = new DeadLetters(host.deadLettersMax);
  }

  get restarts(): number {
    return this.#restarts;
  }

  get deadLetterCount(): number {
    return this.#deadLetters.count;
  }

  deadLetters(): readonly DeadLetter[] {
    return this.#deadLetters.list();
  }

  /** Reads the durable record that the actor starts from, if it has one. */
  load(cell: Cell<M, W, R>): void {
    let key: string | undefined;
    try {
      key = cell.behaviour.durableKey(cell.address);
    } catch {
      // An address from which no key can be made: `start` decides, with no record.
      key = undefined;
    }
    cell.phase = key === undefined ? 'unstarted' : 'loading';
    if (key === undefined) {
      this.#host.ready(cell);
      return;
    }
    const { life } = cell;
    const loadKey = key;
    attempt(() => this.#host.store.load(loadKey)).then(
      (record) => {
        if (cell.life !== life || this.#host.isStopped()) return;
        cell.record = record;
        cell.phase = 'unstarted';
        this.#host.ready(cell);
      },
      (error: unknown) => {
        if (cell.life === life && !this.#host.isStopped()) this.#loadFailed(cell, error);
      },
    );
  }

  #loadFailed(cell: Cell<M, W, R>, error: unknown): void {
    cell.failedLoads += 1;
    if (cell.failedLoads % loadAttemptsMax === 0) {
      for (const input of cell.mailbox.drain()) this.#bury(cell, input, error, 'unavailable');
      if (!cell.mustStart) {
        endLife(cell);
        this.#host.drop(cell);
        return;
      }
    }
    const waitMs = Math.min(loadRetryMaxMs, loadRetryMinMs * 2 ** Math.min(cell.failedLoads - 1, 10));
    cell.waiting = setTimeout(() => this.load(cell), waitMs);
  }

  /** The actor threw over these inputs: they become dead letters, and it restarts. */
  failed(cell: Cell<M, W, R>, inputs: readonly Input<M, W, R>[], error: unknown): void {
    const wasRunning = cell.phase === 'idle';
    this.#host.log.error(
      { address: cell.address, error: safeErrorText(error), stack: safeStack(error) },
      'an actor threw; it restarts from its durable record',
    );
    for (const input of inputs) this.#bury(cell, input, error, 'bug');
    this.restart(cell, wasRunning);
  }

  #bury(cell: Cell<M, W, R>, input: Input<M, W, R>, error: unknown, cause: DeadLetter['cause']): void {
    const isMessage = input.kind === 'message';
    const letter: DeadLetter = {
      address: cell.address,
      from: isMessage ? input.from : '',
      inputKind: input.kind,
      messageCase: isMessage || input.kind === 'undelivered' ? this.#host.describe(input.message) : '',
      cause,
      error: safeErrorText(error),
      atMs: this.#host.clock.nowMs(),
    };
    this.#deadLetters.add(letter);
    this.#host.log.error({ ...letter }, 'dead letter');
    const envelope = isMessage
      ? { from: input.from, to: cell.address, message: input.message, trace: input.trace }
      : undefined;
    this.#host.onDeadLetter(letter, envelope);
  }

  /** Ends the actor's life and begins the next from its durable record, at once or after a pause. */
  restart(cell: Cell<M, W, R>, mustStart: boolean): void {
    if (this.#host.isStopped()) return;
    this.#restarts += 1;
    endLife(cell);
    cell.mustStart = mustStart;
    cell.restarts ??= new RestartPacer(this.#host.restartPolicy);
    const waitMs = cell.restarts.next(this.#host.clock.nowMs());
    // An actor that cannot even start is tried again only for a message that came meanwhile.
    const pauseMs = mustStart ? waitMs : Math.max(waitMs, this.#host.restartPolicy.backOffMinMs);
    if (pauseMs === 0) {
      this.load(cell);
      return;
    }
    cell.phase = 'backingOff';
    cell.waiting = setTimeout(() => {
      if (cell.mailbox.length === 0 && !cell.mustStart) this.#host.drop(cell);
      else this.load(cell);
    }, pauseMs);
  }
}
