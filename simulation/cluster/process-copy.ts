/**
 * A process by itself, for trials of checkers: its actors in the kernel of every process, and a host without a world. Nothing that
 * it does reaches a run, and it draws no randomness of one. It handles every input at once; its time passes by `pass` alone.
 *
 * A subclass says which actors it has, what its store holds, and calls `start` at the end of its constructor.
 */
import type { Address, Envelope, RandomBytes, UndeliveredReason, WriteOutcome } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { safeErrorText } from '../../core/actors/error-text.ts';
import type { AnyBehaviour, Timer } from '../../core/actors/kernel/cell.ts';
import type { DeadLetter, Found } from '../../core/actors/kernel/host.ts';
import { Kernel } from '../../core/actors/kernel/kernel.ts';
import { DueTimers } from './due-timers.ts';
import type { WriteFate } from './memory-stores.ts';

/** Its actors keep each other, or themselves, busy for ever. No trial needs more for one input. */
const tasksMax = 5_000;

export const unavailable = { kind: 'unavailable', message: 'the trial refuses it' } as const;

export abstract class ProcessCopy<M, W, R> {
  nowMs: number;
  /** Of its present start. */
  boot = '';
  /** The fates of its next writes: `answered` for those after them. An outcome is given in place of a write, which has no effect. */
  readonly fates: (WriteFate | WriteOutcome<R>)[] = [];
  /** Writes that took effect, since the trial last cleared them. */
  readonly writes: W[] = [];
  /** Texts of what its actors threw. */
  readonly bugs: string[] = [];
  /** Processes without a link: "node/1". */
  readonly unlinked = new Set<Address>();
  /** Reads, or writes, are answered by `answerHeld` alone. */
  holdsReads = false;
  holdsWrites = false;
  readsFail = false;
  readonly #role: string;
  readonly #random: RandomBytes;
  readonly #timers = new DueTimers<Timer<M, W, R>>();
  #sent: Envelope<M>[] = [];
  #held: (() => void)[] = [];
  #tasks: (() => void)[] = [];
  #kernel: Kernel<M, W, R> | undefined;
  #starts = 0;

  constructor(role: string, nowMs: number, random: RandomBytes) {
    this.#role = role;
    this.nowMs = nowMs;
    this.#random = random;
  }

  /** The actors of a start, counted from 1; `boot` is that of the start. */
  protected abstract behaviours(start: number): readonly AnyBehaviour<M, W, R>[];

  /** Performs a write in the store. */
  protected abstract outcomeOf(write: W): WriteOutcome<R>;

  /** Called when a read is asked for; what it returns is called when the read is answered. */
  protected abstract read(key: string): () => Found<R>;

  /** The reply to a message that no actor will handle. */
  protected deadLetterReply(_letter: DeadLetter, _envelope: Envelope<M>): Envelope<M> | undefined {
    return undefined;
  }

  /** Its process dies and starts again, over the same store. */
  restart(): void {
    this.#kernel?.end();
    this.#timers.clear();
    this.#held = [];
    this.#tasks = [];
    this.start();
  }

  /** Delivers a message, and handles all that follows. Returns what left the process since the last such call. */
  tell(to: Address, message: M, from: Address = 'trial'): readonly Envelope<M>[] {
    this.deliver(to, message, from);
    return this.settle();
  }

  /** Delivers a message, and handles nothing yet. */
  deliver(to: Address, message: M, from: Address = 'trial'): UndeliveredReason | undefined {
    return this.#kernel!.deliver({ from, to, message, trace: noTrace });
  }

  /** Time passes: timers that fall due fire, in their order. */
  pass(ms: number): readonly Envelope<M>[] {
    this.#timers.pass(this, ms, (timer) => {
      this.#kernel!.fired(timer);
      this.#drain();
    });
    return this.settle();
  }

  /** The store answers what it has held back. */
  answerHeld(): readonly Envelope<M>[] {
    for (const answer of this.#held.splice(0)) answer();
    return this.settle();
  }

  settle(): readonly Envelope<M>[] {
    this.#drain();
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  #drain(): void {
    for (let count = 0; this.#tasks.length > 0; count += 1) {
      if (count >= tasksMax) {
        this.bugs.push('its actors loop');
        this.restart();
        return;
      }
      this.#tasks.shift()!();
    }
  }

  protected start(): void {
    this.#starts += 1;
    this.boot = `${this.#role}#copy-${this.#starts}`;
    const kernel: Kernel<M, W, R> = new Kernel(
      {
        nowMs: () => this.nowMs,
        random: this.#random,
        ready: (cell) => void this.#tasks.push(() => kernel.turn(cell)),
        write: (pending) => {
          const fate = this.fates.shift() ?? 'answered';
          const answer = () => kernel.written(pending, this.#outcome(pending.write, fate));
          (this.holdsWrites ? this.#held : this.#tasks).push(answer);
        },
        load: (pending) => {
          const found = this.read(pending.key);
          (this.holdsReads ? this.#held : this.#tasks).push(() => kernel.found(pending, found()));
        },
        startTimer: (timer, afterMs) => this.#timers.start(timer, this.nowMs + afterMs),
        cancelTimer: (timer) => this.#timers.cancel(timer),
        send: (envelope) => {
          const [role, name] = envelope.to.split('/');
          if (this.unlinked.has(`${role}/${name}`)) return 'noRoute';
          this.#sent.push(envelope);
          return undefined;
        },
        emit: () => undefined,
        describe: () => '',
        threw: (_, error) => void this.bugs.push(safeErrorText(error)),
        deadLetter: (letter, envelope) => {
          const reply = envelope && this.deadLetterReply(letter, envelope);
          if (reply) this.#sent.push(reply);
        },
        stepped: undefined,
      },
      this.behaviours(this.#starts),
    );
    this.#kernel = kernel;
  }

  #outcome(write: W, fate: WriteFate | WriteOutcome<R>) {
    if (typeof fate !== 'string') return fate;
    if (fate === 'lost') return unavailable;
    const outcome = this.outcomeOf(write);
    if (outcome.kind === 'written') this.writes.push(write);
    return fate === 'unanswered' ? unavailable : outcome;
  }
}
