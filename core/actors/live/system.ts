/**
 * The live host of the kernel (../kernel/kernel.ts): runs the actors of this process on real time and real I/O. It gives actors
 * their turns, runs their timers, calls the Store and passes messages for other processes to the Transport.
 *
 * Invariants
 * - Steps without a write run synchronously, within the call that delivered the message: what they send is handed to
 *   the Transport before `deliver` returns. Recursion is bounded by a queue of actors that have work, and one turn of
 *   the event loop by `turnInputsMax`.
 * - A bug in an actor, an observer or the Transport is logged, and the process stays up.
 */
import type {
  ActorEvent,
  Address,
  Clock,
  Envelope,
  RandomBytes,
  Store,
  Transport,
  UndeliveredReason,
} from '../contract.ts';
import { safeErrorText, safeStack } from '../error-text.ts';
import type { AnyBehaviour, Cell, Timer } from '../kernel/cell.ts';
import type { DeadLetter, PendingLoad, PendingWrite, Unavailable, Written } from '../kernel/host.ts';
import { Kernel } from '../kernel/kernel.ts';
import { attempt } from './attempt.ts';
import { type Log, silentLog, systemClock, systemRandom } from './ports.ts';
import { RunQueue } from './run-queue.ts';

export interface LiveSystemOptions<M, W, R> {
  readonly behaviours: readonly AnyBehaviour<M, W, R>[];
  /** Needed once a behaviour has a durable key, loads or persists. */
  readonly store?: Store<W, R>;
  /** May also be set later with `connect`, since links need the system to deliver to. */
  readonly transport?: Transport<M>;
  readonly clock?: Clock;
  readonly random?: RandomBytes;
  readonly log?: Log;
  /** A public name for a message, e.g. its case: the only content of a dead letter. */
  readonly describe?: (message: M) => string;
  readonly onEvent?: (address: Address, event: ActorEvent) => void;
  /**
   * Called for every dead letter, with the message's envelope if it was a message, so that the process can answer the
   * caller. The envelope may hold secrets: do not keep or log it.
   */
  readonly onDeadLetter?: (letter: DeadLetter, envelope: Envelope<M> | undefined) => void;
  /** Inputs handled in a row before the event loop gets its turn. 2,000. */
  readonly turnInputsMax?: number;
}

/** The maximum of setTimeout; beyond it Node fires after 1 ms instead. Longer waits use several timers. */
const timeoutMsMax = 2 ** 31 - 1;

export class LiveSystem<M, W = never, R = never> {
  readonly #kernel: Kernel<M, W, R>;
  readonly #store: Store<W, R>;
  readonly #log: Log;
  readonly #ready: RunQueue<Cell<M, W, R>>;
  #transport: Transport<M> | undefined;
  /** Of all actors of this process, because they threw. */
  #restarts = 0;
  #writesRunning = 0;
  #onWritesDone: (() => void) | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: LiveSystemOptions<M, W, R>) {
    const { store = missingStore, clock = systemClock, random = systemRandom, log = silentLog } = options;
    const { onEvent, onDeadLetter, describe } = options;
    this.#store = store;
    this.#transport = options.transport;
    this.#log = log;
    this.#kernel = new Kernel<M, W, R>(
      {
        nowMs: () => clock.nowMs(),
        random,
        ready: (cell) => this.#ready.push(cell),
        write: (pending) => this.#write(pending),
        load: (pending) => this.#load(pending),
        startTimer: (timer, afterMs) => this.#startTimer(timer, Math.max(afterMs, 0) || 0),
        cancelTimer: ({ handle }) => clearTimeout(handle as ReturnType<typeof setTimeout> | undefined),
        send: (envelope) => this.#send(envelope),
        emit: (address, event) => this.#observe(() => onEvent?.(address, event)),
        describe: (message) => this.#observe(() => describe?.(message)) ?? '',
        threw: (address, error) => {
          this.#restarts += 1;
          log.error(
            { address, restarts: this.#restarts, ...facts(error) },
            'an actor threw; it restarts from its durable record',
          );
        },
        deadLetter: (letter, envelope) => {
          log.error({ ...letter }, 'dead letter');
          this.#observe(() => onDeadLetter?.(letter, envelope));
        },
        stepped: undefined,
      },
      options.behaviours,
    );
    this.#ready = new RunQueue((cell) => this.#kernel.turn(cell), options.turnInputsMax ?? 2_000);
  }

  /** Sets the Transport for everything that is not local. */
  connect(transport: Transport<M>): void {
    this.#transport = transport;
  }

  /**
   * Delivers a message to a local actor and runs every actor that can run at once. Returns why it was refused, or undefined. It
   * never passes a message on to another process: an address that no behaviour here serves is `noRoute`. `fresh`: the
   * caller knows that the receiver has no durable record.
   */
  deliver(envelope: Envelope<M>, fresh = false): UndeliveredReason | undefined {
    const refused = this.#kernel.deliver(envelope, fresh);
    if (refused === undefined) this.#ready.run();
    return refused;
  }

  /** See Kernel. */
  has(address: Address): boolean {
    return this.#kernel.has(address);
  }

  /**
   * Takes no more input, clears all timers, and waits for the writes that are under way; what their steps send still
   * leaves, so that no caller misses the answer of a stored change. Repeatable.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#kernel.close();
    if (this.#writesRunning > 0) {
      await new Promise<void>((resolve) => {
        this.#onWritesDone = resolve;
      });
    }
    this.#kernel.end();
  }

  // --- orders of the kernel ----------------------------------------------------------------------------------------

  #write(pending: PendingWrite<M, W, R>): void {
    this.#writesRunning += 1;
    const answer = (outcome: Written<R>) => {
      this.#writesRunning -= 1;
      this.#kernel.written(pending, outcome);
      this.#ready.run();
      if (this.#writesRunning === 0) this.#onWritesDone?.();
    };
    attempt(() => this.#store.write(pending.write)).then(answer, (error: unknown) => answer(unavailable(error)));
  }

  #load(pending: PendingLoad<M, W, R>): void {
    attempt(() => this.#store.load(pending.key)).then(
      (record) => {
        this.#kernel.found(pending, { record });
        this.#ready.run();
      },
      (error: unknown) => {
        this.#kernel.found(pending, unavailable(error));
        this.#ready.run();
      },
    );
  }

  #startTimer(timer: Timer<M, W, R>, afterMs: number): void {
    const waitMs = Math.min(afterMs, timeoutMsMax);
    timer.handle = setTimeout(() => {
      if (afterMs > waitMs) {
        this.#startTimer(timer, afterMs - waitMs);
        return;
      }
      this.#kernel.fired(timer);
      this.#ready.run();
    }, waitMs);
  }

  #send(envelope: Envelope<M>): UndeliveredReason | undefined {
    if (this.#transport === undefined) return 'noRoute';
    try {
      return this.#transport.send(envelope);
    } catch (error) {
      this.#log.error({ to: envelope.to, ...facts(error) }, 'the transport threw');
      return 'noRoute';
    }
  }

  /** Observers must not break what they observe. */
  #observe<T>(tell: () => T): T | undefined {
    try {
      return tell();
    } catch (error) {
      this.#log.error(facts(error), 'an observer of the actors threw');
      return undefined;
    }
  }
}

function facts(error: unknown): { readonly error: string; readonly stack: readonly string[] } {
  return { error: safeErrorText(error), stack: safeStack(error) };
}

function unavailable(error: unknown): Unavailable {
  return { kind: 'unavailable', message: safeErrorText(error) };
}

const missingStore: Store<never, never> = Object.freeze({
  load: () => Promise.reject(new Error('this process has no store')),
  write: () => Promise.reject(new Error('this process has no store')),
});
