/**
 * The actor contract: what an actor is, and what it may ask of the world.
 *
 * An actor gets one input at a time and answers with a step: its next state and a list of effects, as data. It never
 * awaits, reads no clock and draws no randomness of its own: both are handed in with the context. The kernel (kernel/)
 * performs the effects, in a live process or a simulated one. It knows nothing of signing: messages, writes and records
 * are type parameters.
 *
 * The law of durability: a step with a `persist` effect takes hold only when its write is durable. Until then the actor
 * gets no other input; then the kernel adopts the step's state and performs the other effects in order. If the write is
 * refused, neither state nor effects take hold and the actor gets `persistRefused` in its old state, with the input that
 * the refused step had handled. So nothing that depends on a write can leave the process before the write is durable.
 */

/** Says who, not where: "coordinator", "node/3", "session/<tenant>/<session>". Segments are joined by "/". */
export type Address = string;

/** What travels with a message across every hop. */
export interface Trace {
  readonly correlationId: string;
  /** W3C traceparent, or empty. */
  readonly traceparent: string;
  /** Milliseconds since the Unix epoch at which the caller stops waiting; 0: never. */
  readonly deadlineMs: number;
}

export const noTrace: Trace = Object.freeze({ correlationId: '', traceparent: '', deadlineMs: 0 });

export interface Envelope<M> {
  readonly from: Address;
  readonly to: Address;
  readonly message: M;
  readonly trace: Trace;
}

/** Why a message did not reach its mailbox. The sender gets it back as an `undelivered` input. */
export type UndeliveredReason =
  /** No such actor here, and no link towards it. */
  | 'noRoute'
  /** The receiver's bounded mailbox is full. */
  | 'mailboxFull'
  /** The link's send buffer is full. */
  | 'linkFull';

/** Why a write did not take hold. */
export type Refusal<R> =
  /** Compare-and-set failed: `current` is the record that stands there (undefined: none). */
  | { readonly kind: 'conflict'; readonly code: string; readonly current: R | undefined }
  /** Whether the write took hold is unknown: reload before saying anything about this record. */
  | { readonly kind: 'unavailable'; readonly message: string };

export type Input<M, W, R> =
  | OwnInput<M, R>
  /** `input`: what the refused step had handled; the old state knows nothing of it. After several refusals, the first. */
  | {
      readonly kind: 'persistRefused';
      readonly write: W;
      readonly refusal: Refusal<R>;
      readonly input: OwnInput<M, R>;
    };

/** Every input but a refused write. */
export type OwnInput<M, R> =
  | { readonly kind: 'message'; readonly from: Address; readonly message: M; readonly trace: Trace }
  | { readonly kind: 'timer'; readonly name: string }
  | { readonly kind: 'loaded'; readonly key: string; readonly record: R | undefined }
  | { readonly kind: 'loadFailed'; readonly key: string; readonly message: string }
  | { readonly kind: 'undelivered'; readonly to: Address; readonly message: M; readonly reason: UndeliveredReason };

export type Effect<M, W> =
  /** `fresh`: the sender knows that the receiver has no durable record yet; it starts without a load. */
  | {
      readonly kind: 'send';
      readonly to: Address;
      readonly message: M;
      readonly trace?: Trace;
      readonly fresh?: boolean;
    }
  /** To the sender of the message that is being handled, with its trace. */
  | { readonly kind: 'reply'; readonly message: M }
  /** At most one a step. See the law of durability above. */
  | { readonly kind: 'persist'; readonly write: W }
  /** Reads one record; answered by `loaded` or `loadFailed`. */
  | { readonly kind: 'load'; readonly key: string }
  /** One timer a name: starting it again moves it. */
  | { readonly kind: 'startTimer'; readonly name: string; readonly afterMs: number }
  | { readonly kind: 'cancelTimer'; readonly name: string }
  /** Something worth knowing, for logs, metrics, traces and checkers. Never a secret. */
  | { readonly kind: 'emit'; readonly event: ActorEvent }
  /** Forget the actor; its next message starts it from its durable record. */
  | { readonly kind: 'stop' };

/** An observation. `type` is a stable dotted name; `fields` are plain public values. */
export interface ActorEvent {
  readonly type: string;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, string | number | boolean | readonly number[] | readonly string[]>>;
}

export interface Step<S, M, W> {
  readonly state: S;
  readonly effects: readonly Effect<M, W>[];
}

/** What the kernel hands in with every input. */
export interface Context {
  /** This actor's own address. */
  readonly self: Address;
  /** The Clock port, milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** The Rng port: `length` fresh bytes. */
  readonly random: (length: number) => Uint8Array;
}

/**
 * A kind of actor. `prefix` is the first segments of the addresses it serves ("session", "registry"); the kernel
 * starts an actor at the first message to its address.
 */
export interface Behaviour<S, M, W, R> {
  readonly prefix: string;
  /** Inputs waiting, at most. */
  readonly mailboxMax: number;
  /** The record to read before the actor starts; undefined: none. */
  readonly durableKey: (self: Address) => string | undefined;
  /** The state to start (and, after a bug, to restart) from. Pure; effects such as timers come with the step. */
  readonly start: (record: R | undefined, context: Context) => Step<S, M, W>;
  readonly receive: (state: S, input: Input<M, W, R>, context: Context) => Step<S, M, W>;
}

/** The Store port. Implementations reject (throw) only when the store cannot be reached. */
export interface Store<W, R> {
  load(key: string): Promise<R | undefined>;
  write(write: W): Promise<WriteOutcome<R>>;
}

export type WriteOutcome<R> =
  | { readonly kind: 'written' }
  | { readonly kind: 'conflict'; readonly code: string; readonly current: R | undefined };

/** The Clock port. */
export interface Clock {
  nowMs(): number;
}

/** The Timers port: how time passes, as opposed to the time of day that a Clock tells. */
export interface Timers {
  /** Milliseconds since a fixed moment, never set back: for durations and deadlines within one process. */
  elapsedMs(): number;
  /** Runs `run` once, after `afterMs`. The returned function cancels that; repeatable. */
  start(afterMs: number, run: () => void): Cancel;
}

export type Cancel = () => void;

/** The Rng port. */
export type RandomBytes = (length: number) => Uint8Array;

/** The ports that every asynchronous room takes. The live ones are in live/ports.ts. */
export interface Ports {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: RandomBytes;
}

/** Takes messages to actors that live elsewhere. */
export interface Transport<M> {
  /** Returns undefined when the message is on its way, or why it is not. Never throws. */
  send(envelope: Envelope<M>): UndeliveredReason | undefined;
}
