/**
 * A coordinator process of its own, over a store of its own: for trials of checkers. Nothing that it does reaches a run, and it draws
 * no randomness of one. It handles every input at once; its time passes by `pass` alone.
 */
import type { Address, Envelope, RandomBytes, UndeliveredReason, WriteOutcome } from '../actors/contract.ts';
import { noTrace } from '../actors/contract.ts';
import { safeErrorText } from '../actors/error-text.ts';
import type { Timer } from '../actors/kernel/cell.ts';
import type { PendingLoad, PendingWrite } from '../actors/kernel/host.ts';
import { Kernel } from '../actors/kernel/kernel.ts';
import { coordinatorBehaviours } from '../coordinator/behaviours.ts';
import type { SessionConfig } from '../coordinator/contract/config.ts';
import {
  type CoordinatorMessage,
  type CoordinatorRecord,
  type CoordinatorWrite,
  isLocal,
} from '../coordinator/contract/messages.ts';
import { failureReply } from '../coordinator/failure-replies.ts';
import { throughCodec } from './frame-codec.ts';
import {
  type MemoryCoordinatorStore,
  memoryCoordinatorStore,
  type SyncStore,
  type WriteFate,
} from './memory-stores.ts';

type Sent = Envelope<CoordinatorMessage>;
type CoordinatorKernel = Kernel<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>;
type Pending = PendingWrite<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>;

export interface CoordinatorCopyOptions {
  readonly config: Omit<SessionConfig, 'coordinatorBoot'>;
  readonly nowMs: number;
  readonly random: RandomBytes;
}

const unavailable = { kind: 'unavailable', message: 'the trial refuses it' } as const;

export class CoordinatorCopy {
  readonly store: MemoryCoordinatorStore = memoryCoordinatorStore();
  nowMs: number;
  /** Of its present start. */
  boot = '';
  /** The fates of its next writes: `answered` for those after them. An outcome is given in place of a write, which has no effect. */
  readonly fates: (WriteFate | WriteOutcome<CoordinatorRecord>)[] = [];
  /** Writes that took effect, since the trial last cleared them. */
  readonly writes: CoordinatorWrite[] = [];
  /** Texts of what its actors threw. */
  readonly bugs: string[] = [];
  /** By key: what a read shows instead of what is stored. */
  readonly shown = new Map<string, CoordinatorRecord>();
  /** Processes without a link: "node/1". */
  readonly unlinked = new Set<Address>();
  /** Reads, or writes, are answered by `answerHeld` alone. */
  holdsReads = false;
  holdsWrites = false;
  readsFail = false;
  readonly #options: CoordinatorCopyOptions;
  readonly #timers = new Map<Timer<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>, number>();
  #sent: Sent[] = [];
  #held: (() => void)[] = [];
  #tasks: (() => void)[] = [];
  #starts = 0;
  #own: SyncStore<CoordinatorWrite, CoordinatorRecord>;
  #kernel: CoordinatorKernel;

  constructor(options: CoordinatorCopyOptions) {
    this.#options = options;
    this.nowMs = options.nowMs;
    this.#own = this.store.as(1);
    this.#kernel = this.#start();
  }

  /** Its process dies and starts again, over the same store. */
  restart(): void {
    this.#kernel.end();
    this.#timers.clear();
    this.#held = [];
    this.#tasks = [];
    this.#kernel = this.#start();
  }

  /** Delivers a message, and handles all that follows. Returns what left the process since the last such call. */
  tell(from: Address, to: Address, message: CoordinatorMessage): readonly Sent[] {
    this.deliver(from, to, message);
    return this.settle();
  }

  /** Delivers a message, and handles nothing yet. */
  deliver(from: Address, to: Address, message: CoordinatorMessage): UndeliveredReason | undefined {
    const envelope = { from, to, message, trace: noTrace };
    return this.#kernel.deliver(isLocal(message) ? envelope : throughCodec({ ...envelope, message }, 'none').envelope);
  }

  /** Time passes: timers that fall due fire, in their order. */
  pass(ms: number): readonly Sent[] {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, atMs]) => atMs <= untilMs).sort(([, a], [, b]) => a - b)[0];
      if (due === undefined) break;
      const [timer, atMs] = due;
      this.#timers.delete(timer);
      this.nowMs = Math.max(this.nowMs, atMs);
      this.#kernel.fired(timer);
      this.#drain();
    }
    this.nowMs = untilMs;
    return this.settle();
  }

  /** The store answers what it has held back. */
  answerHeld(): readonly Sent[] {
    for (const answer of this.#held.splice(0)) answer();
    return this.settle();
  }

  settle(): readonly Sent[] {
    this.#drain();
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  #drain(): void {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) task();
  }

  #start(): CoordinatorKernel {
    this.#starts += 1;
    this.boot = `coordinator#copy-${this.#starts}`;
    this.#own = this.store.as(this.#starts);
    const { config, random } = this.#options;
    const kernel: CoordinatorKernel = new Kernel(
      {
        nowMs: () => this.nowMs,
        random,
        ready: (cell) => void this.#tasks.push(() => kernel.turn(cell)),
        write: (pending) => this.#write(kernel, pending),
        load: (pending) => this.#load(kernel, pending),
        startTimer: (timer, afterMs) => void this.#timers.set(timer, this.nowMs + afterMs),
        cancelTimer: (timer) => void this.#timers.delete(timer),
        send: (envelope) => {
          const [role, name] = envelope.to.split('/');
          if (this.unlinked.has(`${role}/${name}`)) return 'noRoute';
          this.#sent.push(envelope);
          return undefined;
        },
        emit: () => undefined,
        describe: () => '',
        threw: (_, error) => void this.bugs.push(safeErrorText(error)),
        deadLetter: ({ cause }, envelope) => {
          const reply = envelope && failureReply(envelope, cause);
          if (reply) this.#sent.push(reply);
        },
        stepped: undefined,
      },
      coordinatorBehaviours({ ...config, coordinatorBoot: this.boot }, 'simulated'),
    );
    return kernel;
  }

  #write(kernel: CoordinatorKernel, pending: Pending): void {
    const fate = this.fates.shift() ?? 'answered';
    const answer = () => kernel.written(pending, this.#outcome(pending.write, fate));
    (this.holdsWrites ? this.#held : this.#tasks).push(answer);
  }

  #outcome(write: CoordinatorWrite, fate: WriteFate | WriteOutcome<CoordinatorRecord>) {
    if (typeof fate !== 'string') return fate;
    if (fate === 'lost') return unavailable;
    const outcome = this.#own.writeNow(write);
    if (outcome.kind === 'written') this.writes.push(write);
    return fate === 'unanswered' ? unavailable : outcome;
  }

  #load(
    kernel: CoordinatorKernel,
    pending: PendingLoad<CoordinatorMessage, CoordinatorWrite, CoordinatorRecord>,
  ): void {
    const { key } = pending;
    const answer = () =>
      kernel.found(pending, this.readsFail ? unavailable : { record: this.shown.get(key) ?? this.#own.loadNow(key) });
    (this.holdsReads ? this.#held : this.#tasks).push(answer);
  }
}
