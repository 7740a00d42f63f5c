/**
 * The actor contract: the definition of an actor, and its effects on the world.
 *
 * An actor gets one input at a time and answers with a step: its next state and a list of effects, as data. It never awaits,
 * reads no clock and draws no randomness itself: the context provides both. The kernel (kernel/) performs the effects, in a
 * live process or a simulated one. It knows nothing of signing: messages, writes and records are type parameters.
 *
 * The law of durability: a step with a `persist` effect takes effect only when its write is durable. Until then the actor gets
 * no other input; then the kernel adopts the step's state and performs the other effects in order. If the write is refused,
 * neither state nor effects apply, and the actor gets `persistRefused` in its old state, with the input that the refused step
 * had handled. So nothing that depends on a write can leave the process before the write is durable.
 */

/** Names an actor, not its location: "coordinator", "node/3", "session/<tenant>/<session>". Segments are joined by "/". */
export type Address = string;

/** The trace data that a message carries across every hop. */
export interface Trace {
  readonly correlationId: string;
  /** W3C traceparent, or empty. */
  readonly traceparent: string;
}

export const noTrace: Trace = Object.freeze({ correlationId: '', traceparent: '' });

export interface Envelope<M> {
  readonly from: Address;
  readonly to: Address;
  readonly message: M;
  readonly trace: Trace;
}

/** Why a message did not reach its mailbox. The sender gets it back as an `undelivered` input. */
export type UndeliveredReason =
  /** This process has no such actor, and no link to it. */
  | 'noRoute'
  /** The receiver's bounded mailbox is full. */
  | 'mailboxFull'
  /** The link's send buffer is full. */
  | 'linkFull'
  /** A peer sent what no actor asked it for. */
  | 'unasked';

/** Why a write had no effect. */
export type Refusal<R> =
  /** Compare-and-set failed: `current` is the stored record (undefined: none). */
  | { readonly kind: 'conflict'; readonly code: string; readonly current: R | undefined }
  /** The outcome of the write is unknown: reload the record before answering anything about it. */
  | { readonly kind: 'unavailable'; readonly message: string };

export type Input<M, W, R> =
  | OwnInput<M, R>
  /** `input`: the input of the refused step, which the old state has not handled. After several refusals, the first. */
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
  /** To the sender of the present message, with its trace. */
  | { readonly kind: 'reply'; readonly message: M }
  /** At most one a step. See the law of durability above. */
  | { readonly kind: 'persist'; readonly write: W }
  /** Reads one record; answered by `loaded` or `loadFailed`. */
  | { readonly kind: 'load'; readonly key: string }
  /** One timer a name: starting it again resets it. */
  | { readonly kind: 'startTimer'; readonly name: string; readonly afterMs: number }
  | { readonly kind: 'cancelTimer'; readonly name: string }
  /** An observation for logs, metrics, traces and checkers. Never a secret. */
  | { readonly kind: 'emit'; readonly event: ActorEvent }
  /** Evict the actor; its next message starts it from its durable record. */
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

/** The kernel passes this with every input. */
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
  /** Messages of others are refused while so many inputs wait. */
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

declare const time: unique symbol;
/** Milliseconds since the Unix epoch by the service's time, which a sandbox moves (docs/time.md). */
export type ServiceMs = number & { readonly [time]?: 'service' };
/** Milliseconds since the Unix epoch by the machine's clock, which no sandbox moves. Neither type takes the other. */
export type MachineMs = number & { readonly [time]: 'machine' };

/** The Clock port: the service's time. */
export interface Clock {
  nowMs(): ServiceMs;
}

/** The Timers port: the machine's time. */
export interface Timers {
  /** For what others compare with clocks of their own, such as HTTP dates. */
  epochMs(): MachineMs;
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
  /** Returns undefined when it has sent the message, or the reason why not. Never throws. */
  send(envelope: Envelope<M>): UndeliveredReason | undefined;
}
