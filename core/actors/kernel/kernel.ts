/**
 * The kernel: runs the actors of one process by the contract (../contract.ts). It is pure and synchronous. A host (host.ts)
 * reports events (a message came, a write is durable or refused, a record was read, a timer fired) and performs its orders; so
 * the same laws hold for real processes and for simulated ones.
 *
 * Invariants
 * - The law of durability: a step with a write takes effect only when the host reports the write as durable. Until then its
 *   actor gets no other input.
 * - Between two inputs of one actor lie all effects of the first. A turn gives an actor one input.
 * - Mailboxes are bounded for messages of others. What an actor sends itself, and inputs that the kernel owes it (timers, loads,
 *   undelivered sends) are never refused: the actor's own requests bound them.
 * - An actor that throws is restarted from its durable record (supervisor.ts); its input becomes a dead letter.
 */
import { prefixTable } from '../address.ts';
import {
  type Address,
  type Context,
  type Effect,
  type Envelope,
  type Input,
  noTrace,
  type Step,
  type Trace,
  type UndeliveredReason,
} from '../contract.ts';
import { ShortLivedMap } from '../short-lived-map.ts';
import { type AnyBehaviour, Cell, Timer, type TimerInput } from './cell.ts';
import type { Found, KernelHost, PendingLoad, PendingWrite, Written } from './host.ts';
import { type PersistEffect, persistOf, refusedInput } from './step.ts';
import { Supervisor } from './supervisor.ts';

export class Kernel<M, W, R> {
  readonly #host: KernelHost<M, W, R>;
  readonly #behaviourFor: (address: Address) => AnyBehaviour<M, W, R> | undefined;
  readonly #cells = new ShortLivedMap<Address, Cell<M, W, R>>();
  readonly #supervisor: Supervisor<M, W, R>;
  #closed = false;

  constructor(host: KernelHost<M, W, R>, behaviours: readonly AnyBehaviour<M, W, R>[]) {
    this.#host = host;
    this.#behaviourFor = prefixTable(behaviours);
    this.#supervisor = new Supervisor(host, this.#cells, (cell) => this.#schedule(cell));
  }

  // --- what happens ------------------------------------------------------------------------------------------------

  /**
   * A message for an actor of this process. Returns why it was refused, or undefined; an address that no behaviour here
   * serves is `noRoute`. `fresh`: the caller knows that the receiver has no durable record.
   */
  deliver(envelope: Envelope<M>, fresh = false): UndeliveredReason | undefined {
    const outcome = this.#post(envelope, fresh);
    return outcome === 'elsewhere' ? 'noRoute' : outcome;
  }

  /** Whether the actor is in memory: a message to it starts nothing and reads nothing. */
  has(address: Address): boolean {
    return this.#cells.has(address);
  }

  /** The actor's turn, requested by the kernel with `ready`: it gets its next input. */
  turn(cell: Cell<M, W, R>): void {
    cell.queued = false;
    if (this.#closed) return;
    if (cell.phase === 'unstarted') this.#start(cell);
    else if (cell.phase === 'idle') this.#next(cell);
    this.#schedule(cell);
  }

  /** The store has answered a write. */
  written(pending: PendingWrite<M, W, R>, outcome: Written<R>): void {
    const { cell, step, input, write } = pending;
    if (cell.life !== pending.life) return;
    cell.phase = 'idle';
    if (outcome.kind === 'written') this.#adopt(cell, step);
    // Once closed, no message about this record may leave.
    else if (this.#closed) return;
    // There is no old state for the refusal: the record has changed, so the actor restarts from it.
    else if (input === undefined) this.#supervisor.restart(cell, true);
    else this.#feed(cell, refusedInput(input, write, outcome));
    this.#schedule(cell);
  }

  /** The store has answered a read. */
  found({ cell, life, key, starting }: PendingLoad<M, W, R>, found: Found<R>): void {
    if (cell.life !== life || this.#closed) return;
    if (starting) this.#supervisor.found(cell, found);
    else if ('kind' in found) this.#owe(cell, { kind: 'loadFailed', key, message: found.message });
    else this.#owe(cell, { kind: 'loaded', key, record: found.record });
  }

  /** A timer's time has come. */
  fired(timer: Timer<M, W, R>): void {
    const { cell, name } = timer;
    if (name === undefined) {
      if (cell.pause === timer) this.#supervisor.resume(cell);
    } else if (cell.timers?.get(name) === timer) {
      timer.input = { kind: 'timer', name };
      this.#owe(cell, timer.input);
    }
  }

  /** Takes no more input and cancels all timers. Steps with pending writes still take effect, and their messages leave. */
  close(): void {
    this.#closed = true;
    for (const cell of this.#cells.values()) {
      this.#supervisor.cancelTimers(cell);
      cell.mailbox.drain();
    }
  }

  /** Ends every actor: later reports of the host have no effect. */
  end(): void {
    this.#closed = true;
    for (const cell of this.#cells.values()) this.#supervisor.evict(cell);
  }

  // --- mailboxes ---------------------------------------------------------------------------------------------------

  #post({ from, to, message, trace }: Envelope<M>, fresh: boolean): UndeliveredReason | 'elsewhere' | undefined {
    let cell = this.#cells.get(to);
    if (cell === undefined) {
      const behaviour = this.#behaviourFor(to);
      if (behaviour === undefined) return 'elsewhere';
      if (this.#closed) return 'noRoute';
      cell = new Cell<M, W, R>(to, behaviour);
      this.#cells.set(to, cell);
      if (!fresh) this.#supervisor.load(cell);
    } else if (this.#closed) {
      return 'noRoute';
    } else if (from !== to && cell.mailbox.length >= cell.behaviour.mailboxMax) {
      return 'mailboxFull';
    }
    cell.mailbox.push({ kind: 'message', from, message, trace });
    this.#schedule(cell);
    return undefined;
  }

  /** An input that the kernel owes the actor. */
  #owe(cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    if (this.#closed) return;
    cell.mailbox.push(input);
    this.#schedule(cell);
  }

  #schedule(cell: Cell<M, W, R>): void {
    const { phase } = cell;
    if (cell.queued || this.#closed || (phase !== 'idle' && phase !== 'unstarted')) return;
    if (cell.mailbox.length === 0 && !(phase === 'unstarted' && cell.mustStart)) return;
    cell.queued = true;
    this.#host.ready(cell);
  }

  #next(cell: Cell<M, W, R>): void {
    const input = cell.mailbox.shift();
    if (input === undefined || (input.kind === 'timer' && !claimTimer(cell, input))) return;
    cell.origin = input.kind === 'message' ? input : undefined;
    this.#feed(cell, input);
  }

  // --- steps -------------------------------------------------------------------------------------------------------

  #context(cell: Cell<M, W, R>): Context {
    return { self: cell.address, nowMs: this.#host.nowMs(), random: this.#host.random };
  }

  #feed(cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    let step: Step<unknown, M, W>;
    let persist: PersistEffect<W> | undefined;
    try {
      step = cell.behaviour.receive(cell.state, input, this.#context(cell));
      persist = persistOf(step, cell.origin !== undefined);
    } catch (error) {
      this.#supervisor.failed(cell, [input], error);
      return;
    }
    if (persist === undefined) this.#adopt(cell, step);
    else this.#persist(cell, step, persist.write, input);
  }

  #start(cell: Cell<M, W, R>): void {
    let step: Step<unknown, M, W>;
    let persist: PersistEffect<W> | undefined;
    try {
      step = cell.behaviour.start(cell.record, this.#context(cell));
      persist = persistOf(step, false);
    } catch (error) {
      cell.mustStart = false;
      this.#supervisor.failed(cell, cell.mailbox.drain(), error);
      return;
    }
    cell.record = undefined;
    cell.mustStart = false;
    cell.failedLoads = 0;
    cell.phase = 'idle';
    if (persist === undefined) this.#adopt(cell, step);
    else this.#persist(cell, step, persist.write, undefined);
  }

  #persist(cell: Cell<M, W, R>, step: Step<unknown, M, W>, write: W, input: Input<M, W, R> | undefined): void {
    cell.phase = 'persisting';
    this.#host.write({ cell, life: cell.life, step, write, input });
  }

  #adopt(cell: Cell<M, W, R>, step: Step<unknown, M, W>): void {
    cell.state = step.state;
    this.#host.stepped?.(cell.address, step.state);
    const { effects } = step;
    let stops = false;
    for (let index = 0; index < effects.length; index += 1) {
      const effect = effects[index] as Effect<M, W>;
      if (effect.kind === 'stop') stops = true;
      else this.#perform(cell, effect);
      // An order may end this process (a fault in the simulated world): the rest of the step never happens.
      if (cell.phase === 'gone') return;
    }
    if (stops) this.#supervisor.stopped(cell);
  }

  // --- effects -----------------------------------------------------------------------------------------------------

  #perform(cell: Cell<M, W, R>, effect: Exclude<Effect<M, W>, { kind: 'stop' }>): void {
    switch (effect.kind) {
      case 'send': {
        const { to, message, trace = cell.origin?.trace ?? noTrace, fresh = false } = effect;
        this.#send(cell, to, message, trace, fresh);
        return;
      }
      case 'reply': {
        // `persistOf` has checked that there is one.
        const { from, trace } = cell.origin!;
        this.#send(cell, from, effect.message, trace, false);
        return;
      }
      case 'startTimer':
        this.#startTimer(cell, effect.name, effect.afterMs);
        return;
      case 'cancelTimer':
        this.#cancelTimer(cell, effect.name);
        return;
      case 'load':
        if (!this.#closed) this.#host.load({ cell, life: cell.life, key: effect.key, starting: false });
        return;
      case 'emit':
        this.#host.emit(cell.address, effect.event);
        return;
      case 'persist':
        return;
    }
  }

  #send(cell: Cell<M, W, R>, to: Address, message: M, trace: Trace, fresh: boolean): void {
    const envelope = { from: cell.address, to, message, trace };
    let reason = this.#post(envelope, fresh);
    if (reason === 'elsewhere') reason = this.#host.send(envelope);
    if (reason !== undefined) this.#owe(cell, { kind: 'undelivered', to, message, reason });
  }

  #startTimer(cell: Cell<M, W, R>, name: string, afterMs: number): void {
    if (this.#closed) return;
    this.#cancelTimer(cell, name);
    const timer = new Timer(cell, name);
    cell.timers ??= new Map();
    cell.timers.set(name, timer);
    this.#host.startTimer(timer, afterMs);
  }

  #cancelTimer(cell: Cell<M, W, R>, name: string): void {
    const timer = cell.timers?.get(name);
    if (timer === undefined) return;
    this.#host.cancelTimer(timer);
    cell.timers?.delete(name);
  }
}

/** Whether the fired timer's input is still needed; the timer stops counting as running. */
function claimTimer<M, W, R>(cell: Cell<M, W, R>, input: TimerInput): boolean {
  if (cell.timers?.get(input.name)?.input !== input) return false;
  cell.timers.delete(input.name);
  return true;
}
