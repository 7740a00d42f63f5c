/**
 * The live runtime: runs actors of the contract (../contract.ts) in this process, on real time and real I/O.
 *
 * Its part: it finds or starts the actor a message is for, hands it one input at a time, and performs its effects, with
 * the law of durability: a step with a write takes hold only once the Store says that it is durable.
 *
 * Invariants
 * - Between two inputs of one actor lie all effects of the first. An actor that loads or persists gets nothing.
 * - Steps without a write run synchronously, within the call that delivered the message: what they send is handed to
 *   the Transport before `deliver` returns. Recursion is bounded by a queue of actors that have work, and one turn of
 *   the event loop by `turnInputsMax`.
 * - Mailboxes are bounded for messages. What the runtime owes an actor (timers, loads, refusals, undelivered sends) is
 *   never refused: it is bounded by what the actor asked for.
 * - An actor that throws is restarted from its durable record; its input becomes a dead letter. The process stays up.
 */

import { prefixTable } from '../address.ts';
import type {
  ActorEvent,
  Address,
  Clock,
  Context,
  Effect,
  Envelope,
  Input,
  RandomBytes,
  Refusal,
  Step,
  Store,
  Trace,
  Transport,
  UndeliveredReason,
} from '../contract.ts';
import { noTrace } from '../contract.ts';
import { type PersistEffect, persistOf, refusedInput } from '../step.ts';
import { attempt } from './attempt.ts';
import { type AnyBehaviour, type Cell, endLife, newCell } from './cell.ts';
import { type Log, silentLog, systemClock, systemRandom } from './ports.ts';
import { RunQueue } from './run-queue.ts';
import { type DeadLetter, defaultRestartPolicy, safeErrorText, safeStack } from './supervision.ts';
import { Supervisor } from './supervisor.ts';
import type { LiveSystemOptions, SystemStats } from './system-options.ts';
import { type TimerInput, Timers } from './timers.ts';

export class LiveSystem<M, W = never, R = never> {
  readonly #behaviourFor: (address: Address) => AnyBehaviour<M, W, R> | undefined;
  readonly #onEvent: LiveSystemOptions<M, W, R>['onEvent'];
  readonly #store: Store<W, R>;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #log: Log;
  readonly #cells = new Map<Address, Cell<M, W, R>>();
  readonly #ready: RunQueue<Cell<M, W, R>>;
  readonly #supervisor: Supervisor<M, W, R>;
  readonly #events = new Map<string, number>();
  readonly #persists = new Set<Promise<void>>();
  #transport: Transport<M> | undefined;
  #stopped = false;
  #inputsHandled = 0;
  #mailboxRefusals = 0;
  #undelivered = 0;
  #persistsRefused = 0;

  constructor(options: LiveSystemOptions<M, W, R>) {
    this.#onEvent = options.onEvent;
    this.#behaviourFor = prefixTable(options.behaviours);
    this.#store = options.store ?? missingStore;
    this.#transport = options.transport;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#log = options.log ?? silentLog;
    this.#ready = new RunQueue((cell) => this.#turn(cell), options.turnInputsMax ?? 2_000);
    this.#supervisor = new Supervisor<M, W, R>({
      store: this.#store,
      clock: this.#clock,
      log: this.#log,
      restartPolicy: options.restartPolicy ?? defaultRestartPolicy,
      deadLettersMax: options.deadLettersMax ?? 100,
      describe: (message) => this.#observe(() => options.describe?.(message)) ?? '',
      onDeadLetter: (letter, envelope) => this.#observe(() => options.onDeadLetter?.(letter, envelope)),
      isStopped: () => this.#stopped,
      ready: (cell) => {
        this.#schedule(cell);
        this.#ready.run();
      },
      drop: (cell) => this.#cells.delete(cell.address),
    });
  }

  /** Sets the Transport for everything that is not local. */
  connect(transport: Transport<M>): void {
    this.#transport = transport;
  }

  /**
   * Hands a message to a local actor and runs whatever can run at once. Returns why it was refused, or undefined. It
   * never passes a message on to another process: an address that no behaviour here serves is `noRoute`. `fresh`: the
   * caller knows that the receiver has no durable record.
   */
  deliver(envelope: Envelope<M>, fresh = false): UndeliveredReason | undefined {
    if (this.#stopped) return 'noRoute';
    const outcome = this.#post(envelope, fresh);
    if (outcome !== undefined) return outcome === 'elsewhere' ? 'noRoute' : outcome;
    this.#ready.run();
    return undefined;
  }

  has(address: Address): boolean {
    return this.#cells.has(address);
  }

  mailboxDepth(address: Address): number {
    return this.#cells.get(address)?.mailbox.length ?? 0;
  }

  /** The newest dead letters, oldest of them first. */
  deadLetters(): readonly DeadLetter[] {
    return this.#supervisor.deadLetters();
  }

  /** A snapshot for metrics; walks all actors. */
  stats(): SystemStats {
    let inputsWaiting = 0;
    let mailboxDepthMax = 0;
    for (const { mailbox } of this.#cells.values()) {
      inputsWaiting += mailbox.length;
      if (mailbox.length > mailboxDepthMax) mailboxDepthMax = mailbox.length;
    }
    return {
      actors: this.#cells.size,
      inputsWaiting,
      mailboxDepthMax,
      inputsHandled: this.#inputsHandled,
      mailboxRefusals: this.#mailboxRefusals,
      undelivered: this.#undelivered,
      deadLetters: this.#supervisor.deadLetterCount,
      restarts: this.#supervisor.restarts,
      persistsRunning: this.#persists.size,
      persistsRefused: this.#persistsRefused,
      events: new Map(this.#events),
    };
  }

  /**
   * Takes no more input, clears all timers, and waits for the writes that are under way; what their steps send still
   * leaves, so that no caller misses the answer of a stored change. Repeatable.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cell of this.#cells.values()) {
      cell.timers?.clear();
      clearTimeout(cell.waiting);
      cell.mailbox.drain();
    }
    while (this.#persists.size > 0) await Promise.all(this.#persists);
    this.#cells.clear();
  }

  // --- mailboxes ---------------------------------------------------------------------------------------------------

  #post(envelope: Envelope<M>, fresh: boolean): UndeliveredReason | 'elsewhere' | undefined {
    let cell = this.#cells.get(envelope.to);
    if (cell === undefined) {
      const behaviour = this.#behaviourFor(envelope.to);
      if (behaviour === undefined) return 'elsewhere';
      if (this.#stopped) return 'noRoute';
      cell = newCell<M, W, R>(envelope.to, behaviour);
      this.#cells.set(envelope.to, cell);
      if (!fresh) this.#supervisor.load(cell);
    } else if (this.#stopped) {
      return 'noRoute';
    } else if (cell.mailbox.length >= cell.behaviour.mailboxMax) {
      this.#mailboxRefusals += 1;
      return 'mailboxFull';
    }
    cell.mailbox.push({ kind: 'message', from: envelope.from, message: envelope.message, trace: envelope.trace });
    this.#schedule(cell);
    return undefined;
  }

  /** An input that the runtime owes the actor. */
  #owe(cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    if (this.#stopped) return;
    cell.mailbox.push(input);
    this.#schedule(cell);
  }

  #schedule(cell: Cell<M, W, R>): void {
    if (this.#stopped || cell.queued || (cell.phase !== 'idle' && cell.phase !== 'unstarted')) return;
    if (cell.mailbox.length === 0 && !(cell.phase === 'unstarted' && cell.mustStart)) return;
    cell.queued = true;
    this.#ready.push(cell);
  }

  #turn(cell: Cell<M, W, R>): void {
    cell.queued = false;
    if (!this.#stopped) this.#next(cell);
    this.#schedule(cell);
  }

  #next(cell: Cell<M, W, R>): void {
    if (cell.phase === 'unstarted') {
      this.#start(cell);
      return;
    }
    if (cell.phase !== 'idle') return;
    const input = cell.mailbox.shift();
    if (input === undefined) return;
    if (input.kind === 'timer' && !cell.timers?.claim(input)) return;
    cell.origin = input.kind === 'message' ? input : undefined;
    this.#feed(cell, input);
  }

  #context(cell: Cell<M, W, R>): Context {
    return { self: cell.address, nowMs: this.#clock.nowMs(), random: this.#random };
  }

  // --- steps -------------------------------------------------------------------------------------------------------

  #feed(cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    this.#inputsHandled += 1;
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
    else
      this.#persist(cell, step, persist.write, (refusal) =>
        this.#feed(cell, refusedInput(input, persist.write, refusal)),
      );
  }

  #start(cell: Cell<M, W, R>): void {
    let step: Step<unknown, M, W>;
    let persist: PersistEffect<W> | undefined;
    try {
      step = cell.behaviour.start(cell.record, this.#context(cell));
      persist = persistOf(step, false);
    } catch (error) {
      cell.mustStart = false;
      const waiting = cell.mailbox.drain();
      this.#supervisor.failed(cell, waiting, error);
      return;
    }
    cell.record = undefined;
    cell.mustStart = false;
    cell.failedLoads = 0;
    cell.phase = 'idle';
    if (persist === undefined) this.#adopt(cell, step);
    // There is no old state to refuse in: the record has moved on, so the actor starts anew from it.
    else this.#persist(cell, step, persist.write, () => this.#supervisor.restart(cell, true));
  }

  #adopt(cell: Cell<M, W, R>, step: Step<unknown, M, W>): void {
    cell.state = step.state;
    const { effects } = step;
    let stops = false;
    for (let index = 0; index < effects.length; index += 1) {
      const effect = effects[index] as Effect<M, W>;
      if (effect.kind === 'stop') stops = true;
      else this.#perform(cell, effect);
    }
    if (stops) this.#forget(cell);
  }

  #perform(cell: Cell<M, W, R>, effect: Exclude<Effect<M, W>, { kind: 'stop' }>): void {
    switch (effect.kind) {
      case 'send':
        this.#send(
          cell,
          effect.to,
          effect.message,
          effect.trace ?? cell.origin?.trace ?? noTrace,
          effect.fresh === true,
        );
        return;
      case 'reply': {
        const { from, trace } = cell.origin as { from: Address; trace: Trace };
        this.#send(cell, from, effect.message, trace, false);
        return;
      }
      case 'startTimer':
        if (this.#stopped) return;
        cell.timers ??= new Timers((input) => this.#fire(cell, input));
        cell.timers.start(effect.name, effect.afterMs);
        return;
      case 'cancelTimer':
        cell.timers?.cancel(effect.name);
        return;
      case 'load':
        this.#loadFor(cell, effect.key);
        return;
      case 'emit':
        this.#emit(cell.address, effect.event);
        return;
      case 'persist':
        return;
    }
  }

  #send(cell: Cell<M, W, R>, to: Address, message: M, trace: Trace, fresh: boolean): void {
    const envelope = { from: cell.address, to, message, trace };
    let reason = this.#post(envelope, fresh);
    if (reason === 'elsewhere') reason = this.#sendAway(envelope);
    if (reason === undefined) return;
    this.#undelivered += 1;
    this.#owe(cell, { kind: 'undelivered', to, message, reason });
  }

  #sendAway(envelope: Envelope<M>): UndeliveredReason | undefined {
    if (this.#transport === undefined) return 'noRoute';
    try {
      return this.#transport.send(envelope);
    } catch (error) {
      this.#log.error({ to: envelope.to, error: safeErrorText(error), stack: safeStack(error) }, 'the transport threw');
      return 'noRoute';
    }
  }

  #fire(cell: Cell<M, W, R>, input: TimerInput): void {
    this.#owe(cell, input);
    this.#ready.run();
  }

  #emit(address: Address, event: ActorEvent): void {
    this.#events.set(event.type, (this.#events.get(event.type) ?? 0) + 1);
    this.#observe(() => this.#onEvent?.(address, event));
  }

  /** Observers must not break what they observe. */
  #observe<T>(tell: () => T): T | undefined {
    try {
      return tell();
    } catch (error) {
      this.#log.error({ error: safeErrorText(error), stack: safeStack(error) }, 'an observer of the actors threw');
      return undefined;
    }
  }

  #forget(cell: Cell<M, W, R>): void {
    endLife(cell);
    if (cell.mailbox.length > 0) this.#supervisor.load(cell);
    else this.#cells.delete(cell.address);
  }

  // --- the store ---------------------------------------------------------------------------------------------------

  #persist(cell: Cell<M, W, R>, step: Step<unknown, M, W>, write: W, refused: (refusal: Refusal<R>) => void): void {
    cell.phase = 'persisting';
    const settle = (refusal: Refusal<R> | undefined) => {
      this.#persists.delete(running);
      cell.phase = 'idle';
      if (refusal === undefined) this.#adopt(cell, step);
      else {
        this.#persistsRefused += 1;
        // Once stopped, no message about this record may leave.
        if (!this.#stopped) refused(refusal);
      }
      this.#schedule(cell);
      this.#ready.run();
    };
    const running: Promise<void> = attempt(() => this.#store.write(write)).then(
      (outcome) => settle(outcome.kind === 'written' ? undefined : outcome),
      (error: unknown) => settle({ kind: 'unavailable', message: safeErrorText(error) }),
    );
    this.#persists.add(running);
  }

  #loadFor(cell: Cell<M, W, R>, key: string): void {
    if (this.#stopped) return;
    const { life } = cell;
    const answer = (input: Input<M, W, R>) => {
      if (cell.life !== life) return;
      this.#owe(cell, input);
      this.#ready.run();
    };
    attempt(() => this.#store.load(key)).then(
      (record) => answer({ kind: 'loaded', key, record }),
      (error: unknown) => answer({ kind: 'loadFailed', key, message: safeErrorText(error) }),
    );
  }
}

const missingStore: Store<never, never> = Object.freeze({
  load: () => Promise.reject(new Error('this process has no store')),
  write: () => Promise.reject(new Error('this process has no store')),
});
