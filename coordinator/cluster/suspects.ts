/**
 * Which nodes were silent or much slower than others, or gave something wrong, a short while ago: draws take those nodes last, so that one bad node
 * costs one signature its timeout and not every signature.
 *
 * A suspicion ends by itself. Each further fault within `memoryMs` doubles its length, up to `longestMs`, so that a node
 * that stays bad is tried ever more rarely. Suspicion is no blame: it excludes a node from nothing, and a node that alone
 * completes a quorum is drawn all the same.
 *
 * Memory only; owned by the cluster actor, changed in place.
 */

import type { NodeFault } from '../contract/messages.ts';

/** The length of a first suspicion, its upper bound, and how long a past one counts. Milliseconds. */
const firstMs = 10_000;
const longestMs = 320_000;
const memoryMs = 600_000;

interface Suspicion {
  readonly untilMs: number;
  readonly lengthMs: number;
  readonly reason: NodeFault;
}

export type Suspects = Map<number, Suspicion>;

/**
 * Records a fault of a node. Returns when the suspicion ends, or undefined when the node was under suspicion already: many
 * sessions report the same silence, and that counts once.
 */
export function suspect(suspects: Suspects, nodeId: number, reason: NodeFault, nowMs: number): number | undefined {
  const before = suspects.get(nodeId);
  if (before !== undefined && nowMs < before.untilMs) {
    suspects.set(nodeId, { ...before, untilMs: Math.max(before.untilMs, nowMs + before.lengthMs) });
    return undefined;
  }
  const isRemembered = before !== undefined && nowMs - before.untilMs < memoryMs;
  const lengthMs = isRemembered ? Math.min(longestMs, before.lengthMs * 2) : firstMs;
  suspects.set(nodeId, { untilMs: nowMs + lengthMs, lengthMs, reason });
  return nowMs + lengthMs;
}

export function isSuspect(suspects: Suspects, nodeId: number, nowMs: number): boolean {
  const found = suspects.get(nodeId);
  return found !== undefined && nowMs < found.untilMs;
}

/** A new process of the node answers for itself: its predecessor's silence is forgotten, wrong values are not. */
export function restarted(suspects: Suspects, nodeId: number): void {
  const reason = suspects.get(nodeId)?.reason;
  if (reason === 'silent' || reason === 'slow') suspects.delete(nodeId);
}

/** Ascending by node id. */
export function suspectNodes(suspects: Suspects, nowMs: number): number[] {
  return [...suspects.keys()].filter((nodeId) => isSuspect(suspects, nodeId, nowMs)).sort((a, b) => a - b);
}
