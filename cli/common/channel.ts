/**
 * What `signmesh up` and a role process say to each other through the child's channel, beside "ready" and what a
 * sandbox's gateway asks (faults/control.ts). Each order is answered when it is done.
 */

/** The variable that carries a clock's offset to a process that starts, in milliseconds. No setting: `up` alone sets it. */
export const clockOffsetVariable = 'SM_CLOCK_OFFSET_MS';

export type Order =
  /** The process's clock is off by this much from now on. */
  | { readonly kind: 'clock'; readonly offsetMs: number }
  /** The role releases everything: links, stores, ports. The process stays. */
  | { readonly kind: 'quiesce' }
  /** The role starts again, as a process that was started anew would. */
  | { readonly kind: 'resume' }
  /** The state of the cluster is another: what is remembered of it is worth nothing. */
  | { readonly kind: 'restored' };

export interface OrderMessage {
  readonly kind: 'order';
  readonly id: number;
  readonly order: Order;
}

export interface DoneMessage {
  readonly kind: 'done';
  readonly id: number;
  /** Why it was not. */
  readonly error?: string;
}

/** What a role waits for before it is ready; undefined: nothing any more. For people. */
export interface WaitingMessage {
  readonly kind: 'waiting';
  readonly what?: string;
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
