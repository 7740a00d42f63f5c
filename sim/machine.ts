/**
 * One simulated process: actors of the contract, run one input at a time by a world that owns time and order.
 *
 * It keeps the laws of the live runtime (actors/live/system.ts, supervisor.ts): a step with a write takes hold when the
 * store has answered, and until then its actor gets no other input; an actor that throws starts anew from its durable
 * record, at a bounded pace, and its input becomes a dead letter. A crash forgets everything but the store. A paused
 * process does nothing: what falls due waits, in order.
 */
import { prefixTable } from '../actors/address.ts';
import type {
  Address,
  Effect,
  Envelope,
  Input,
  RandomBytes,
  Refusal,
  Step,
  Trace,
  UndeliveredReason,
  WriteOutcome,
} from '../actors/contract.ts';
import { noTrace } from '../actors/contract.ts';
import { defaultRestartPolicy, RestartPacer } from '../actors/live/supervision.ts';
import { persistOf, refusedInput } from '../actors/step.ts';
import { type AnyBehaviour, Cell, Timer } from './cell.ts';
import type { DeadCause, Found, LaterStore, Unavailable, World } from './machine-ports.ts';
import type { Runnable } from './virtual-time.ts';

/** As the live runtime has them. */
const loadAttemptsMax = 4;
const loadRetryMinMs = 50;
const loadRetryMaxMs = 2_000;

export interface MachineOptions<M, W, R> {
  readonly behaviours: readonly AnyBehaviour<M, W, R>[];
  readonly store: LaterStore<W, R>;
  readonly random: RandomBytes;
}

export class Machine<M, W, R> {
  readonly #world: World<M>;
  readonly #store: LaterStore<W, R>;
  readonly #random: RandomBytes;
  readonly #behaviourFor: (address: Address) => AnyBehaviour<M, W, R> | undefined;
  readonly #cells = new Map<Address, Cell<M, W, R>>();
  /** What fell due while the process stood still. */
  #deferred: Runnable[] = [];
  #crashed = false;
  #paused = false;

  constructor(world: World<M>, options: MachineOptions<M, W, R>) {
    this.#world = world;
    this.#store = options.store;
    this.#random = options.random;
    this.#behaviourFor = prefixTable(options.behaviours);
  }

  get isAlive(): boolean {
    return !this.#crashed;
  }

  /** Everything in memory is gone; whatever was under way does not arrive any more. */
  crash(): void {
    this.#crashed = true;
    for (const cell of this.#cells.values()) this.#drop(cell);
    this.#deferred = [];
  }

  pause(): void {
    this.#paused = true;
  }

  /** What fell due meanwhile happens now, in its order. */
  resume(): void {
    this.#paused = false;
    const deferred = this.#deferred;
    this.#deferred = [];
    for (const work of deferred) this.#world.time.schedule(0, work);
  }

  /** `fresh`: the sender knows that the receiver has no durable record. */
  deliver({ from, to, message, trace }: Envelope<M>, fresh = false): UndeliveredReason | undefined {
    let cell = this.#cells.get(to);
    if (cell === undefined) {
      const behaviour = this.#crashed ? undefined : this.#behaviourFor(to);
      if (behaviour === undefined) return 'noRoute';
      cell = new Cell(this, to, behaviour);
      this.#cells.set(to, cell);
      if (!fresh) this.#load(cell);
    } else if (cell.mailbox.length >= cell.behaviour.mailboxMax) {
      return 'mailboxFull';
    }
    cell.mailbox.push({ kind: 'message', from, message, trace });
    this.#schedule(cell);
    return undefined;
  }

  /** The next input of an actor; called by its task alone. */
  turn(cell: Cell<M, W, R>): void {
    if (this.#defers(cell)) return;
    cell.queued = false;
    if (cell.phase === 'unstarted') {
      this.#start(cell);
    } else if (cell.phase === 'idle') {
      const input = cell.mailbox.shift();
      if (input !== undefined) {
        cell.origin = input.kind === 'message' ? input : undefined;
        this.#feed(cell, input);
      }
    }
    this.#schedule(cell);
  }

  /** A timer is due; called by its task alone. */
  fire(cell: Cell<M, W, R>, name: string, timer: Runnable): void {
    if (this.#defers(timer)) return;
    const task = cell.timers?.get(name);
    // Called off, or started again, while the process stood still.
    if (task === undefined || task.work !== undefined) return;
    cell.timers?.delete(name);
    this.#owe(cell, { kind: 'timer', name });
  }

  #defers(work: Runnable): boolean {
    if (this.#crashed) return true;
    if (this.#paused) this.#deferred.push(work);
    return this.#paused;
  }

  /** An input that the runtime owes the actor. */
  #owe(cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    cell.mailbox.push(input);
    this.#schedule(cell);
  }

  #schedule(cell: Cell<M, W, R>): void {
    const { phase } = cell;
    if (cell.queued || (phase !== 'idle' && phase !== 'unstarted')) return;
    if (cell.mailbox.length === 0 && !(phase === 'unstarted' && cell.mustStart)) return;
    cell.queued = true;
    this.#world.time.schedule(0, cell);
  }

  /** Runs what the store answers, unless the actor's life that asked is over. */
  #answered<T>(cell: Cell<M, W, R>, act: (answer: T) => void): (answer: T) => void {
    const { life } = cell;
    return (answer) => {
      const work = {
        run: () => {
          if (!this.#defers(work) && cell.life === life) act(answer);
        },
      };
      work.run();
    };
  }

  // --- steps -------------------------------------------------------------------------------------------------------

  #feed(cell: Cell<M, W, R>, input: Input<M, W, R>): void {
    const { bug } = this.#world;
    const context = { self: cell.address, nowMs: this.#world.nowMs(), random: this.#random };
    let step: Step<unknown, M, W>;
    let persist: ReturnType<typeof persistOf<unknown, M, W>>;
    if (bug === undefined) {
      step = cell.behaviour.receive(cell.state, input, context);
      persist = persistOf(step, cell.origin !== undefined);
    } else {
      try {
        step = cell.behaviour.receive(cell.state, input, context);
        persist = persistOf(step, cell.origin !== undefined);
      } catch (error) {
        this.#failed(cell, [input], error, true);
        return;
      }
    }
    if (persist === undefined) {
      this.#adopt(cell, step);
      return;
    }
    const { write } = persist;
    this.#persist(cell, step, write, (refusal) => this.#feed(cell, refusedInput(input, write, refusal)));
  }

  #start(cell: Cell<M, W, R>): void {
    const { bug } = this.#world;
    let step: Step<unknown, M, W>;
    try {
      const context = { self: cell.address, nowMs: this.#world.nowMs(), random: this.#random };
      step = cell.behaviour.start(cell.record, context);
      persistOf(step, false);
    } catch (error) {
      if (bug === undefined) throw error;
      cell.mustStart = false;
      this.#failed(cell, cell.mailbox.drain(), error, false);
      return;
    }
    cell.record = undefined;
    cell.mustStart = false;
    cell.failedLoads = 0;
    cell.phase = 'idle';
    const persist = persistOf(step, false);
    if (persist === undefined) this.#adopt(cell, step);
    // There is no old state to refuse in: the record has moved on, so the actor starts anew from it.
    else this.#persist(cell, step, persist.write, () => this.#restart(cell, true));
  }

  #persist(cell: Cell<M, W, R>, step: Step<unknown, M, W>, write: W, refused: (refusal: Refusal<R>) => void): void {
    cell.phase = 'persisting';
    const settle = this.#answered(cell, (outcome: WriteOutcome<R> | Unavailable) => {
      cell.phase = 'idle';
      if (outcome.kind === 'written') this.#adopt(cell, step);
      else refused(outcome);
      this.#schedule(cell);
    });
    this.#store.write(write, settle);
  }

  #adopt(cell: Cell<M, W, R>, step: Step<unknown, M, W>): void {
    cell.state = step.state;
    this.#world.stepped?.(cell.address, step.state);
    const { effects } = step;
    let stops = false;
    for (let index = 0; index < effects.length; index += 1) {
      // The world may have crashed this machine at one of the effects: what follows never happened.
      if (this.#crashed) return;
      const effect = effects[index] as Effect<M, W>;
      if (effect.kind === 'stop') stops = true;
      else this.#perform(cell, effect);
    }
    if (stops && !this.#crashed) this.#forget(cell);
  }

  #perform(cell: Cell<M, W, R>, effect: Exclude<Effect<M, W>, { kind: 'stop' }>): void {
    switch (effect.kind) {
      case 'send': {
        const trace = effect.trace ?? cell.origin?.trace ?? noTrace;
        this.#send(cell, effect.to, effect.message, trace, effect.fresh === true);
        return;
      }
      case 'reply':
        this.#send(cell, cell.origin!.from, effect.message, cell.origin!.trace, false);
        return;
      case 'startTimer': {
        cell.timers ??= new Map();
        const running = cell.timers.get(effect.name);
        if (running !== undefined) this.#world.time.cancel(running);
        cell.timers.set(effect.name, this.#world.time.schedule(effect.afterMs, new Timer(cell, effect.name)));
        return;
      }
      case 'cancelTimer': {
        const running = cell.timers?.get(effect.name);
        if (running === undefined) return;
        this.#world.time.cancel(running);
        cell.timers?.delete(effect.name);
        return;
      }
      case 'load': {
        const { key } = effect;
        const take = this.#answered(cell, (found: Found<R>) => {
          if ('kind' in found) this.#owe(cell, { kind: 'loadFailed', key, message: found.message });
          else this.#owe(cell, { kind: 'loaded', key, record: found.record });
        });
        this.#store.load(key, take);
        return;
      }
      case 'emit':
        this.#world.observe(cell.address, effect.event);
        return;
      case 'persist':
        return;
    }
  }

  #send(cell: Cell<M, W, R>, to: Address, message: M, trace: Trace, fresh: boolean): void {
    const envelope = { from: cell.address, to, message, trace };
    let reason = this.deliver(envelope, fresh);
    if (reason === 'noRoute') reason = this.#world.carry(envelope);
    if (reason !== undefined) this.#owe(cell, { kind: 'undelivered', to, message, reason });
  }

  // --- lives -------------------------------------------------------------------------------------------------------

  /** Reads the durable record that the actor starts from, if it has one. */
  #load(cell: Cell<M, W, R>): void {
    const key = cell.behaviour.durableKey(cell.address);
    if (key === undefined) {
      cell.phase = 'unstarted';
      this.#schedule(cell);
      return;
    }
    cell.phase = 'loading';
    const take = this.#answered(cell, (found: Found<R>) => {
      if ('kind' in found) {
        this.#loadFailed(cell);
        return;
      }
      cell.record = found.record;
      cell.phase = 'unstarted';
      this.#schedule(cell);
    });
    this.#store.load(key, take);
  }

  #loadFailed(cell: Cell<M, W, R>): void {
    cell.failedLoads += 1;
    if (cell.failedLoads % loadAttemptsMax === 0) {
      this.#bury(cell, cell.mailbox.drain(), 'unavailable');
      if (!cell.mustStart) {
        this.#drop(cell);
        return;
      }
    }
    const waitMs = Math.min(loadRetryMaxMs, loadRetryMinMs * 2 ** Math.min(cell.failedLoads - 1, 10));
    const again = this.#answered(cell, () => this.#load(cell));
    this.#world.time.after(waitMs, () => again(undefined));
  }

  /** The actor threw over these inputs: they become dead letters, and it restarts. */
  #failed(cell: Cell<M, W, R>, inputs: readonly Input<M, W, R>[], error: unknown, wasRunning: boolean): void {
    this.#world.bug?.(cell.address, error);
    this.#bury(cell, inputs, 'bug');
    this.#restart(cell, wasRunning);
  }

  #bury(cell: Cell<M, W, R>, inputs: readonly Input<M, W, R>[], cause: DeadCause): void {
    for (const input of inputs) {
      if (input.kind !== 'message') continue;
      const { from, message, trace } = input;
      this.#world.deadLetter({ from, to: cell.address, message, trace }, cause);
    }
  }

  #restart(cell: Cell<M, W, R>, mustStart: boolean): void {
    if (this.#crashed) return;
    this.#endLife(cell);
    cell.mustStart = mustStart;
    cell.restarts ??= new RestartPacer(defaultRestartPolicy);
    const waitMs = cell.restarts.next(this.#world.time.nowMs());
    // An actor that cannot even start is tried again only for a message that came meanwhile.
    const pauseMs = mustStart ? waitMs : Math.max(waitMs, defaultRestartPolicy.backOffMinMs);
    if (pauseMs === 0) {
      this.#load(cell);
      return;
    }
    cell.phase = 'backingOff';
    const again = this.#answered(cell, () => {
      if (cell.mailbox.length === 0 && !cell.mustStart) this.#drop(cell);
      else this.#load(cell);
    });
    this.#world.time.after(pauseMs, () => again(undefined));
  }

  /** Messages that wait start the actor again, from its record. */
  #forget(cell: Cell<M, W, R>): void {
    this.#endLife(cell);
    if (cell.mailbox.length > 0) this.#load(cell);
    else this.#drop(cell);
  }

  /** Its timers end, and the inputs that only this life asked for. Messages stay. */
  #endLife(cell: Cell<M, W, R>): void {
    cell.life += 1;
    cell.state = undefined;
    cell.record = undefined;
    cell.origin = undefined;
    if (cell.timers !== undefined) for (const task of cell.timers.values()) this.#world.time.cancel(task);
    cell.timers = undefined;
    for (const input of cell.mailbox.drain()) if (input.kind === 'message') cell.mailbox.push(input);
  }

  #drop(cell: Cell<M, W, R>): void {
    this.#endLife(cell);
    cell.phase = 'gone';
    if (this.#cells.get(cell.address) === cell) this.#cells.delete(cell.address);
  }
}
