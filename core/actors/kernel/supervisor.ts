/**
 * Starts, restarts and evicts actors: reads the durable record of an actor, restarts an actor that threw at a bounded rate, and
 * turns its failed inputs into dead letters.
 *
 * Invariants: a restart discards the failed state; an actor never gets an input again that made it throw; a dead letter
 * contains only metadata. An order may end this process (a fault in the simulated world): then the cell is `gone`, and no step
 * follows.
 */
import type { Address, Input } from '../contract.ts';
import { safeErrorText } from '../error-text.ts';
import type { ShortLivedMap } from '../short-lived-map.ts';
import { type Cell, Timer } from './cell.ts';
import type { DeadLetter, Found, KernelHost } from './host.ts';
import { backOffMinMs, RestartPacer } from './restart-pacer.ts';

/** Reads of one durable record before the messages that wait for it become dead letters. */
const loadAttemptsMax = 4;
const loadRetryMinMs = 50;
const loadRetryMaxMs = 2_000;

export class Supervisor<M, W, R> {
  readonly #host: KernelHost<M, W, R>;
  readonly #cells: ShortLivedMap<Address, Cell<M, W, R>>;
  readonly #schedule: (cell: Cell<M, W, R>) => void;

  /** `schedule` reports a cell with work to the host. */
  constructor(
    host: KernelHost<M, W, R>,
    cells: ShortLivedMap<Address, Cell<M, W, R>>,
    schedule: (cell: Cell<M, W, R>) => void,
  ) {
    this.#host = host;
    this.#cells = cells;
    this.#schedule = schedule;
  }

  /** Reads the durable record that the actor starts from, if it has one. */
  load(cell: Cell<M, W, R>): void {
    let key: string | undefined;
    try {
      key = cell.behaviour.durableKey(cell.address);
    } catch {
      // The address has no record key: `start` decides, without a record.
      key = undefined;
    }
    if (key === undefined) {
      cell.phase = 'unstarted';
      this.#schedule(cell);
      return;
    }
    cell.phase = 'loading';
    this.#host.load({ cell, life: cell.life, key, starting: true });
  }

  /** The store has answered the read of the actor's record. */
  found(cell: Cell<M, W, R>, found: Found<R>): void {
    if ('kind' in found) {
      this.#loadFailed(cell, found.message);
      return;
    }
    cell.record = found.record;
    cell.phase = 'unstarted';
    this.#schedule(cell);
  }

  #loadFailed(cell: Cell<M, W, R>, error: string): void {
    cell.failedLoads += 1;
    if (cell.failedLoads % loadAttemptsMax === 0) {
      this.#deadLetters(cell, cell.mailbox.drain(), 'unavailable', error);
      if (isGone(cell)) return;
      if (!cell.mustStart) {
        this.evict(cell);
        return;
      }
    }
    this.#pause(cell, Math.min(loadRetryMaxMs, loadRetryMinMs * 2 ** Math.min(cell.failedLoads - 1, 10)));
  }

  /** The actor threw over these inputs: they become dead letters, and it restarts. */
  failed(cell: Cell<M, W, R>, inputs: readonly Input<M, W, R>[], error: unknown): void {
    const wasRunning = cell.phase === 'idle';
    this.#host.threw(cell.address, error);
    this.#deadLetters(cell, inputs, 'bug', safeErrorText(error));
    this.restart(cell, wasRunning);
  }

  #deadLetters(
    cell: Cell<M, W, R>,
    inputs: readonly Input<M, W, R>[],
    cause: DeadLetter['cause'],
    error: string,
  ): void {
    const { address } = cell;
    for (const input of inputs) {
      const envelope =
        input.kind === 'message'
          ? { from: input.from, to: address, message: input.message, trace: input.trace }
          : undefined;
      const letter: DeadLetter = {
        address,
        from: envelope?.from ?? '',
        inputKind: input.kind,
        messageCase: 'message' in input ? this.#host.describe(input.message as M) : '',
        cause,
        error,
        atMs: this.#host.nowMs(),
      };
      this.#host.deadLetter(letter, envelope);
    }
  }

  /** Ends the actor's life and begins the next from its durable record, at once or after a pause. */
  restart(cell: Cell<M, W, R>, mustStart: boolean): void {
    if (isGone(cell)) return;
    this.#endLife(cell);
    cell.mustStart = mustStart;
    cell.restarts ??= new RestartPacer();
    const waitMs = cell.restarts.next(this.#host.nowMs());
    // An actor that cannot start is retried only for a message that has arrived since.
    const pauseMs = mustStart ? waitMs : Math.max(waitMs, backOffMinMs);
    if (pauseMs === 0) {
      this.load(cell);
      return;
    }
    cell.phase = 'backingOff';
    this.#pause(cell, pauseMs);
  }

  #pause(cell: Cell<M, W, R>, pauseMs: number): void {
    cell.pause = new Timer(cell, undefined);
    this.#host.startTimer(cell.pause, pauseMs);
  }

  /** A pause is over. */
  resume(cell: Cell<M, W, R>): void {
    cell.pause = undefined;
    if (cell.mailbox.length === 0 && !cell.mustStart) this.evict(cell);
    else this.load(cell);
  }

  /** The actor has stopped: messages that wait start it again, from its record. */
  stopped(cell: Cell<M, W, R>): void {
    this.#endLife(cell);
    if (cell.mailbox.length > 0) this.load(cell);
    else this.evict(cell);
  }

  evict(cell: Cell<M, W, R>): void {
    this.#endLife(cell);
    cell.phase = 'gone';
    this.#cells.delete(cell.address);
  }

  /** Its timers end, and so do inputs requested by this life. Messages stay. */
  #endLife(cell: Cell<M, W, R>): void {
    cell.life += 1;
    cell.state = undefined;
    cell.record = undefined;
    cell.origin = undefined;
    this.cancelTimers(cell);
    if (cell.mailbox.length === 0) return;
    for (const input of cell.mailbox.drain()) if (input.kind === 'message') cell.mailbox.push(input);
  }

  cancelTimers(cell: Cell<M, W, R>): void {
    if (cell.timers !== undefined) for (const timer of cell.timers.values()) this.#host.cancelTimer(timer);
    cell.timers = undefined;
    if (cell.pause !== undefined) this.#host.cancelTimer(cell.pause);
    cell.pause = undefined;
  }
}

function isGone<M, W, R>(cell: Cell<M, W, R>): boolean {
  return cell.phase === 'gone';
}
