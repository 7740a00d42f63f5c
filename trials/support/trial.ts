/**
 * Trials: at random moments of a run a checker starts processes or actors of its own beside it (simulation/cluster/process-copy.ts,
 * simulation/cluster/actor-copy.ts), gives them requests and failures, and compares every answer with the rules of docs/protocol.md. The run does
 * not notice. Copies of nodes begin with the store of their node; coordinators and their actors have stores of their own.
 *
 * A trial is a few random steps; each wrong request comes in a state in which the right one works, so that only its own fault can
 * be the reason of the refusal.
 */
import type { WireBodyInit, WireMessage } from '../../proto/wire.ts';
import type { Draw } from '../../simulation/cluster/draw.ts';
import type { Identities } from '../../simulation/cluster/identities.ts';
import type { NodeCopy } from '../../simulation/cluster/node-copy.ts';

/** What a trial draws from, and the run that it is beside. */
export interface Trial {
  readonly draw: Draw;
  /** Of the roster. */
  readonly nodesTotal: number;
  readonly identities: Identities;
  /** Whether the nodes accept client-supplied dealers. */
  readonly allowsDealers: boolean;
  readonly random: (length: number) => Uint8Array;
  /** Unique in the run. */
  readonly name: string;
  /** A further process of the node, over a copy of its store. */
  copyOf(nodeId: number): NodeCopy;
}

/** What a process or an actor did in a trial contradicts the protocol. Only the checker catches it. */
export class Contradiction extends Error {
  override readonly name = 'Contradiction';
}

export function must(holds: boolean, text: () => string): asserts holds {
  if (!holds) throw new Contradiction(text());
}

export const trialTenant = 'tn_trial';

/** One answer to one request; undefined: none. Several, or a bug in the node, contradict the protocol. */
export function oneAnswer(copy: NodeCopy, answers: readonly WireMessage[], about: string): WireBodyInit | undefined {
  must(copy.bugs.length === 0, () => `node ${copy.nodeId} threw at ${about}: ${copy.bugs.join('; ')}`);
  must(answers.length <= 1, () => `node ${copy.nodeId} answers ${about} ${answers.length} times`);
  return answers[0]?.body;
}

/** Bytes as hex, numbers as text: for comparing answers. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'bigint') return String(inner);
    return inner instanceof Uint8Array ? Buffer.from(inner).toString('hex') : inner;
  });
}

/** A copy with one byte changed. */
export function changed(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  if (copy.length > 0) copy[copy.length - 1]! ^= 1;
  return copy;
}
