/**
 * The messages between `signmesh up` and a role process over the child's channel, besides "ready" and the questions of a
 * sandbox's gateway (scenarios/faults/control.ts). The role answers each order when it is done.
 */

/**
 * The variable with the ports that a process must not take when it may choose, separated by commas: another listener of the same
 * `up` has each. Not a setting: only `up` sets it.
 */
export const reservedPortsVariable = 'SM_RESERVED_PORTS';

/** The variable with the clock offset of a starting process, in milliseconds. Not a setting: only `up` sets it. */
export const clockOffsetVariable = 'SM_CLOCK_OFFSET_MS';

/** The message a role process sends through its channel when it serves. */
export const readyMessage = 'ready';

export type ProcessOrder =
  /** Sets the process's clock offset from now on. */
  | { readonly kind: 'clock'; readonly offsetMs: number }
  /** The role releases everything: links, stores, ports. The process continues. */
  | { readonly kind: 'quiesce' }
  /** The role starts again, as in a new process. */
  | { readonly kind: 'resume' }
  /** The state of the cluster was replaced: the role drops everything that it remembers of it. */
  | { readonly kind: 'restored' };

export interface OrderMessage {
  readonly kind: 'order';
  readonly id: number;
  readonly order: ProcessOrder;
}

export interface DoneMessage {
  readonly kind: 'done';
  readonly id: number;
  /** The reason why it failed. */
  readonly error?: string;
}

/** The thing that a role waits for before it is ready; undefined: nothing now. For people. */
export interface WaitingMessage {
  readonly kind: 'waiting';
  readonly what?: string;
}

/** The ports at which a role listens, by the variable of each. It comes before "ready", and again when one has changed. */
export interface ListensMessage {
  readonly kind: 'listens';
  readonly ports: Readonly<Record<string, number>>;
}

/** The role cannot start: the port of this variable is taken. It waits for its end. */
export interface PortTakenMessage {
  readonly kind: 'portTaken';
  readonly variable: string;
  /** For people: the port, the holder and the remedy. */
  readonly line: string;
}

export function isListensMessage(message: unknown): message is ListensMessage {
  const { kind, ports } = (message ?? {}) as Partial<ListensMessage>;
  return kind === 'listens' && typeof ports === 'object';
}

export function isPortTakenMessage(message: unknown): message is PortTakenMessage {
  const { kind, variable, line } = (message ?? {}) as Partial<PortTakenMessage>;
  return kind === 'portTaken' && typeof variable === 'string' && typeof line === 'string';
}

export function isWaitingMessage(message: unknown): message is WaitingMessage {
  const { kind, what } = (message ?? {}) as Partial<WaitingMessage>;
  return kind === 'waiting' && (what === undefined || typeof what === 'string');
}

export function isOrderMessage(message: unknown): message is OrderMessage {
  const { kind, id, order } = (message ?? {}) as Partial<OrderMessage>;
  return kind === 'order' && typeof id === 'number' && typeof order === 'object';
}

export function isDoneMessage(message: unknown): message is DoneMessage {
  const { kind, id } = (message ?? {}) as Partial<DoneMessage>;
  return kind === 'done' && typeof id === 'number';
}
