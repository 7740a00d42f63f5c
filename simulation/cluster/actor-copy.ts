/**
 * One actor of a coordinator by itself, for trials of checkers: it handles every input at once, and its time passes by `pass` alone.
 * What it sends to others comes back to the trial. A fork begins from the same state, so that a trial can try one input after
 * another in one state.
 *
 * It runs the actor without the kernel of process-copy.ts, since a kernel cannot fork: its cells, and the timers, tasks, reads and
 * writes that its host holds, refer to one another. Here an actor is its state, its inputs, and its timers by name. The laws of
 * core/actors/contract.ts that trials rely on hold here too: a step with a write takes effect when the write does, and an actor that
 * throws restarts from its record.
 */

import { type CoordinatorBehaviour, coordinatorBehaviours } from '../../coordinator/behaviours.ts';
import type { SessionConfig } from '../../coordinator/contract/config.ts';
import {
  type CoordinatorEffect,
  type CoordinatorInput,
  type CoordinatorMessage,
  type CoordinatorWrite,
  clusterAddress,
  isLocal,
} from '../../coordinator/contract/messages.ts';
import type { Address } from '../../core/actors/contract.ts';
import { noTrace } from '../../core/actors/contract.ts';
import { safeErrorText } from '../../core/actors/error-text.ts';
import type { WireMessage } from '../../proto/wire.ts';
import { DueTimers } from './due-timers.ts';
import { completed } from './frame-codec.ts';
import type { WriteFate } from './memory-stores.ts';
import { unavailable } from './process-copy.ts';
import type { StoreAtRest } from './store-at-rest.ts';

export interface ActorCopyOptions {
  readonly address: Address;
  readonly config: SessionConfig;
  readonly store: StoreAtRest;
  readonly nowMs: number;
  readonly random: (length: number) => Uint8Array;
  /** Of its coordinator; 1 by default. */
  readonly fence?: number;
}

export interface SentMessage {
  readonly to: Address;
  readonly message: CoordinatorMessage;
}

type OwnInput = Exclude<CoordinatorInput, { kind: 'persistRefused' }>;

/** An actor that takes more steps than this for one message loops. */
const stepsMax = 2_000;
const quota = { kind: 'conflict', code: 'QUOTA', current: undefined } as const;

export class ActorCopy {
  nowMs: number;
  store: StoreAtRest;
  /** The linked nodes: who watches them gets this list, and each new one. undefined: watchers get no answer. */
  ready: readonly number[] | undefined;
  /** The fate of its next writes; `answered` for those after them. */
  readonly fates: WriteFate[] = [];
  /** Writes that took effect, since the trial last cleared them. */
  readonly writes: CoordinatorWrite[] = [];
  /** Texts of what it threw. */
  readonly bugs: string[] = [];
  /** Reads are answered by `answerHeld` alone, each with the record as it is then. */
  holdsReads = false;
  readsFail = false;
  /** The store refuses a client's new sessions: its tenant has no space. */
  isFull = false;
  /** Its next start reads no record: who told it knows that there is none. */
  isFresh = false;
  readonly #options: ActorCopyOptions;
  readonly #behaviour: CoordinatorBehaviour;
  readonly #inputs: CoordinatorInput[] = [];
  #timers = new DueTimers<string>();
  #reads: string[] = [];
  /** undefined: it is not in memory. */
  #state: { readonly of: unknown } | undefined;
  #watches = false;
  #sent: SentMessage[] = [];

  constructor(options: ActorCopyOptions, behaviour: CoordinatorBehaviour = behaviourFor(options)) {
    this.#options = options;
    this.#behaviour = behaviour;
    this.nowMs = options.nowMs;
    this.store = options.store;
  }

  get isInMemory(): boolean {
    return this.#state !== undefined;
  }

  /**
   * Another actor in the same state, by default with a store of its own as it is now. Not of an actor that changes its state in
   * place.
   */
  fork(store: StoreAtRest = this.store.fork()): ActorCopy {
    const fork = new ActorCopy({ ...this.#options, store }, this.#behaviour);
    fork.nowMs = this.nowMs;
    fork.ready = this.ready;
    fork.#state = this.#state;
    fork.#watches = this.#watches;
    fork.#timers = this.#timers.fork();
    return fork;
  }

  /** Its process dies: what it does next, it does from its record. */
  restart(): void {
    this.#evict();
    this.#inputs.length = 0;
  }

  /** Handles a message and all that follows; returns what it sent to others since the last such call. */
  tell(message: CoordinatorMessage, from: Address = 'trial'): readonly SentMessage[] {
    this.queue(message, from);
    return this.settle();
  }

  /** The message waits in the mailbox until the next call. */
  queue(message: CoordinatorMessage, from: Address = 'trial'): void {
    const given = isLocal(message) ? message : completed({ from, to: '', message, trace: noTrace }).message;
    this.#inputs.push({ kind: 'message', from, message: given, trace: noTrace });
  }

  /** Another set of nodes is linked. */
  link(ready: readonly number[]): readonly SentMessage[] {
    this.ready = ready;
    return this.#watches ? this.tell({ kind: 'nodesChanged', ready, suspects: [] }, clusterAddress) : [];
  }

  /** Time passes: timers that fall due fire, in their order. */
  pass(ms: number): readonly SentMessage[] {
    this.#timers.pass(this, ms, (name) => {
      this.#inputs.push({ kind: 'timer', name });
      this.#drain();
    });
    return this.settle();
  }

  answerHeld(): readonly SentMessage[] {
    for (const key of this.#reads.splice(0)) this.#read(key);
    return this.settle();
  }

  settle(): readonly SentMessage[] {
    this.#drain();
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  #drain(): void {
    try {
      for (let steps = 0; this.#inputs.length > 0; steps += 1) {
        if (steps > stepsMax) throw new Error('the actor loops');
        this.#handle(this.#inputs.shift()!);
      }
    } catch (error) {
      this.bugs.push(safeErrorText(error));
      this.restart();
    }
  }

  #handle(input: CoordinatorInput): void {
    const { address, random } = this.#options;
    const context = { self: address, nowMs: this.nowMs, random };
    if (this.#state === undefined) {
      // What an evicted actor was owed is lost with it.
      if (input.kind !== 'message') return;
      const name = this.#behaviour.durableKey(address);
      const record = name === undefined || this.isFresh ? undefined : this.store.load(name);
      this.isFresh = false;
      const started = this.#behaviour.start(record, context);
      this.#state = { of: started.state };
      for (const effect of started.effects) this.#perform(effect);
    }
    const { state, effects } = this.#behaviour.receive(this.#state.of, input, context);
    const persist = effects.find((effect) => effect.kind === 'persist');
    if (persist?.kind === 'persist' && !this.#write(persist.write, input)) return;
    this.#state = { of: state };
    for (const effect of effects) this.#perform(effect);
  }

  /** Returns whether the step takes effect. */
  #write(write: CoordinatorWrite, input: CoordinatorInput): boolean {
    const fate = this.fates.shift() ?? 'answered';
    const refuses = this.isFull && write.kind === 'create' && write.counted;
    const stored = () => (refuses ? quota : this.store.write(write, this.#options.fence ?? 1));
    const outcome = fate === 'lost' ? unavailable : stored();
    if (outcome.kind === 'written') this.writes.push(write);
    if (outcome.kind === 'written' && fate === 'answered') return true;
    const refusal = outcome.kind === 'written' ? unavailable : outcome;
    const handled: OwnInput = input.kind === 'persistRefused' ? input.input : input;
    this.#inputs.unshift({ kind: 'persistRefused', write, refusal, input: handled });
    return false;
  }

  #perform(effect: CoordinatorEffect): void {
    switch (effect.kind) {
      case 'send':
        this.#send(effect.to, effect.message);
        break;
      case 'load':
        if (this.holdsReads) this.#reads.push(effect.key);
        else this.#read(effect.key);
        break;
      case 'startTimer':
        this.#timers.start(effect.name, this.nowMs + effect.afterMs);
        break;
      case 'cancelTimer':
        this.#timers.cancel(effect.name);
        break;
      case 'stop':
        this.#evict();
        break;
      default:
        break;
    }
  }

  #send(to: Address, message: CoordinatorMessage): void {
    if (to === this.#options.address) {
      this.#inputs.push({ kind: 'message', from: to, message, trace: noTrace });
      return;
    }
    if (to !== clusterAddress || !isLocal(message)) {
      this.#sent.push({ to, message });
      return;
    }
    if (message.kind === 'watch' || message.kind === 'unwatch') this.#watches = message.kind === 'watch';
    if (message.kind !== 'watch' || this.ready === undefined) return;
    const told = { kind: 'nodesChanged', ready: this.ready, suspects: [] } as const;
    this.#inputs.push({ kind: 'message', from: clusterAddress, message: told, trace: noTrace });
  }

  #read(key: string): void {
    this.#inputs.push(
      this.readsFail
        ? { kind: 'loadFailed', key, message: unavailable.message }
        : { kind: 'loaded', key, record: this.store.load(key) },
    );
  }

  #evict(): void {
    this.#state = undefined;
    this.#watches = false;
    this.#timers.clear();
    this.#reads = [];
  }
}

function behaviourFor({ address, config }: ActorCopyOptions): CoordinatorBehaviour {
  const found = coordinatorBehaviours(config, 'trial').find(
    ({ prefix }) => address === prefix || address.startsWith(`${prefix}/`),
  );
  if (found === undefined) throw new Error(`no actor is at ${address}`);
  return found;
}

/** The frames to nodes and gateways among what an actor sent. */
export function framesOf(sent: readonly SentMessage[]): { readonly to: Address; readonly message: WireMessage }[] {
  return sent.flatMap(({ to, message }) => (isLocal(message) ? [] : [{ to, message }]));
}
