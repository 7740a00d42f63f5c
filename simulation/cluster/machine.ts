/**
 * One simulated process: a host of the kernel (core/actors/kernel/kernel.ts) in virtual time. Every turn of an actor, every answer of
 * the store and every timer is a separate task, so that the world decides the events in between. A crash ends everything but the
 * store. A paused process does nothing: due work waits, in order.
 */
import type { Address, Envelope, UndeliveredReason } from '../../core/actors/contract.ts';
import type { AnyBehaviour, Cell, Timer } from '../../core/actors/kernel/cell.ts';
import { Kernel } from '../../core/actors/kernel/kernel.ts';
import type { LaterStore, World } from './machine-ports.ts';
import type { Runnable, Task, VirtualTime } from './virtual-time.ts';

export class Machine<M, W, R> {
  readonly #time: VirtualTime;
  readonly #kernel: Kernel<M, W, R>;
  /** Work that fell due while the process was paused. */
  #deferred: Runnable[] = [];
  #crashed = false;
  #paused = false;

  constructor(world: World<M>, behaviours: readonly AnyBehaviour<M, W, R>[], store: LaterStore<W, R>) {
    const { time, bug } = world;
    this.#time = time;
    this.#kernel = new Kernel<M, W, R>(
      {
        ...world,
        ready: (cell) => void time.schedule(0, new Turn(this, cell)),
        write: (pending) =>
          store.write(pending.write, (written) => this.#answered(() => this.#kernel.written(pending, written))),
        load: (pending) => store.load(pending.key, (found) => this.#answered(() => this.#kernel.found(pending, found))),
        startTimer: (timer, afterMs) => {
          timer.handle = time.schedule(afterMs, new Alarm(this, timer));
        },
        cancelTimer: ({ handle }) => time.cancel(handle as Task),
        // Dead letters name messages for logs, which do not exist here.
        describe: () => '',
        threw: (address, error) => {
          if (bug === undefined) throw error;
          bug(address, error);
        },
      },
      behaviours,
    );
  }

  get isAlive(): boolean {
    return !this.#crashed;
  }

  /** Memory is lost; frames and calls in transit do not arrive. */
  crash(): void {
    this.#crashed = true;
    this.#kernel.end();
    this.#deferred = [];
  }

  pause(): void {
    this.#paused = true;
  }

  /** Runs the work that fell due meanwhile, in its order. */
  resume(): void {
    this.#paused = false;
    for (const work of this.#deferred.splice(0)) this.#time.schedule(0, work);
  }

  /** `fresh`: the sender knows that the receiver has no durable record. */
  deliver(envelope: Envelope<M>, fresh = false): UndeliveredReason | undefined {
    return this.#kernel.deliver(envelope, fresh);
  }

  /** See Kernel. */
  has(address: Address): boolean {
    return this.#kernel.has(address);
  }

  /** Only its task calls it. */
  turn(cell: Cell<M, W, R>, work: Runnable): void {
    if (!this.#defers(work)) this.#kernel.turn(cell);
  }

  /** Only its task calls it. */
  fire(timer: Timer<M, W, R>, work: Runnable): void {
    if (!this.#defers(work)) this.#kernel.fired(timer);
  }

  #answered(tell: () => void): void {
    const work = {
      run: () => {
        if (!this.#defers(work)) tell();
      },
    };
    work.run();
  }

  #defers(work: Runnable): boolean {
    if (this.#crashed) return true;
    if (this.#paused) this.#deferred.push(work);
    return this.#paused;
  }
}

/** An actor's turn. */
class Turn<M, W, R> implements Runnable {
  readonly #machine: Machine<M, W, R>;
  readonly #cell: Cell<M, W, R>;

  constructor(machine: Machine<M, W, R>, cell: Cell<M, W, R>) {
    this.#machine = machine;
    this.#cell = cell;
  }

  run(): void {
    this.#machine.turn(this.#cell, this);
  }
}

/** A timer that is due. */
class Alarm<M, W, R> implements Runnable {
  readonly #machine: Machine<M, W, R>;
  readonly #timer: Timer<M, W, R>;

  constructor(machine: Machine<M, W, R>, timer: Timer<M, W, R>) {
    this.#machine = machine;
    this.#timer = timer;
  }

  run(): void {
    this.#machine.fire(this.#timer, this);
  }
}
