/**
 * Nodes that were recently silent, much slower than others, or sent a wrong value. Draws select these nodes last, so that a bad
 * node delays one signature by a timeout and not every signature.
 *
 * A suspicion ends by itself. Each further fault within `memoryMs` doubles its length, up to `longestMs`, so that a node that
 * stays bad is tried more and more rarely. Suspicion is not blame: it excludes no node, and a draw still selects a suspect that
 * it needs for a quorum.
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
 * Records a fault of a node. Returns the end of the suspicion, or undefined if the node was already suspected: many sessions
 * report the same silence, which counts once.
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

/** A new process of the node clears the silence of its predecessor, but not its wrong values. */
export function restarted(suspects: Suspects, nodeId: number): void {
  const reason = suspects.get(nodeId)?.reason;
  if (reason === 'silent' || reason === 'slow') suspects.delete(nodeId);
}

/** Ascending by node id. */
export function suspectNodes(suspects: Suspects, nowMs: number): number[] {
  return [...suspects.keys()].filter((nodeId) => isSuspect(suspects, nodeId, nowMs)).sort((a, b) => a - b);
}
