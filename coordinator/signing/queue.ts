/**
 * The client calls of a signing session that wait for their answer: first in the inbox, then in the round, by what they
 * want. No function changes values in place, so that a step whose write is refused loses no call.
 */
import type { ClientCall } from '../contract/messages.ts';

export type SubmitCall = Extract<ClientCall, { method: 'submitSignatureShare' }>;

/** A caller's partial instead of a node's. */
export interface Offer {
  readonly call: SubmitCall;
  readonly nodeId: number;
  readonly partial: Uint8Array;
}

export interface Queue {
  /** Calls not handled yet, oldest first. */
  readonly inbox: readonly ClientCall[];
  /** Calls that want the whole signature. */
  readonly gathers: readonly SubmitCall[];
  /** Calls that want one node's partial, or supplied it and wait for the write; by node, oldest first. */
  readonly steps: ReadonlyMap<number, readonly SubmitCall[]>;
  readonly offers: readonly Offer[];
}

const noSteps: Queue['steps'] = new Map();

export const emptyQueue: Queue = { inbox: [], gathers: [], steps: noSteps, offers: [] };

/** A call in the round waits. */
export function hasCalls({ gathers, steps, offers }: Queue): boolean {
  return gathers.length > 0 || steps.size > 0 || offers.length > 0;
}

/** The calls in the round. */
export function roundCalls({ gathers, steps, offers }: Queue): SubmitCall[] {
  return [...gathers, ...[...steps.values()].flat(), ...offers.map((offer) => offer.call)];
}

/** Every call that waits for its answer. */
export function waitingCalls(queue: Queue): ClientCall[] {
  return [...roundCalls(queue), ...queue.inbox];
}

/** The calls in the round have been answered. */
export function roundAnswered({ inbox }: Queue): Queue {
  return { inbox, gathers: [], steps: noSteps, offers: [] };
}

export function withStep(queue: Queue, nodeId: number, call: SubmitCall, first = false): Queue {
  const calls = queue.steps.get(nodeId) ?? [];
  return { ...queue, steps: new Map(queue.steps).set(nodeId, first ? [call, ...calls] : [...calls, call]) };
}

/** Whether a call that wants this node's partial waits for the same keyed request. */
export function isAwaited({ steps }: Queue, nodeId: number, { requestDigest }: ClientCall): boolean {
  const calls = requestDigest === '' ? undefined : steps.get(nodeId);
  return calls?.some((call) => call.requestDigest === requestDigest) === true;
}

export function withoutSteps(queue: Queue, nodeIds: readonly number[]): Queue {
  if (!nodeIds.some((id) => queue.steps.has(id))) return queue;
  return { ...queue, steps: new Map([...queue.steps].filter(([id]) => !nodeIds.includes(id))) };
}

/** The calls in the round of which this holds. */
export function roundFiltered(queue: Queue, isRetained: (call: SubmitCall) => boolean): Queue {
  const gathers = queue.gathers.filter(isRetained);
  const offers = queue.offers.filter(({ call }) => isRetained(call));
  const steps = [...queue.steps].map(([id, calls]) => [id, calls.filter(isRetained)] as const);
  return { ...queue, gathers, offers, steps: new Map(steps.filter(([, calls]) => calls.length > 0)) };
}
