/**
 * What the definition of a fault demands, read without the engine's code: which frames it concerns, when it begins, how often it
 * triggers, and which processes it hits.
 */

import type { WireEnvelope } from '../../proto/wire.ts';
import type { Fault, FaultKind } from '../../scenarios/faults/vocabulary/fault.ts';
import { byzantineKinds, coordinatorKinds } from '../../scenarios/faults/vocabulary/kinds.ts';

/** A frame as faults name it: between the coordinator and `peer`; `out`: it leaves the peer. */
export interface Passing {
  readonly peer: string;
  readonly direction: 'in' | 'out';
  readonly point: string;
  readonly session: string;
}

const lies: ReadonlySet<string> = new Set([...byzantineKinds, ...coordinatorKinds]);
/** They touch frames one by one, without changing what a frame says. */
const linkKinds: ReadonlySet<string> = new Set('slow delay drop duplicate reorder hold corrupt truncate'.split(' '));
/** They trigger once, or `count` times at a point. */
const processKinds: ReadonlySet<string> = new Set(
  'crash rollback clock_jump double_delivery poison_job pause clock_skew redis_gone worker_stalled'.split(' '),
);
/** They begin once and hold. */
const windowKinds: ReadonlySet<string> = new Set('partition half_open second_process second_coordinator'.split(' '));

export function isLie(kind: FaultKind): boolean {
  return lies.has(kind);
}

export function isOfLinks(kind: FaultKind): boolean {
  return linkKinds.has(kind);
}

/** It touches frames one by one, at most `count` times. */
export function isOfFrames(kind: FaultKind): boolean {
  return linkKinds.has(kind) || lies.has(kind) || kind === 'force_receipt';
}

/** It hits processes, at its time or at a frame. */
export function hitsProcesses(kind: FaultKind): boolean {
  return processKinds.has(kind) || windowKinds.has(kind);
}

/** The most triggers of a fault. */
export function triggersMax({ fault, at, count, for_ms: forMs }: Fault): number {
  if (windowKinds.has(fault)) return 1;
  if (processKinds.has(fault)) return count ?? 1;
  if (count !== undefined) return count;
  return isOfFrames(fault) && at?.nth !== undefined && forMs === undefined ? 1 : Number.POSITIVE_INFINITY;
}

/** When it begins; undefined: with a step of the scenario. */
export function beginsMs({ at }: Fault, armedMs: number): number | undefined {
  return at?.step === undefined ? armedMs + (at?.after_ms ?? 0) : undefined;
}

const targetNames = new WeakMap<Fault, readonly string[]>();

/** Every frame asks for them, so a fault keeps them. */
export function namesOf(fault: Fault): readonly string[] {
  let names = targetNames.get(fault);
  if (names === undefined) {
    names = namesIn(fault);
    targetNames.set(fault, names);
  }
  return names;
}

function namesIn(fault: Fault): readonly string[] {
  if (!('target' in fault)) return fault.fault === 'force_receipt' ? ['gateway'] : [];
  return [fault.target].flat();
}

/** Whether a fault of frames, a partition or a half-open link concerns this frame. */
export function concerns(fault: Fault, frame: Passing): boolean {
  const { at } = fault;
  if (isOfFrames(fault.fault) && !isAt(fault, frame)) return false;
  if (fault.fault === 'force_receipt') return frame.point === 'call';
  if (isOfFrames(fault.fault) && at?.of !== undefined && !passes(at.of, frame)) return false;
  const wanted = isLie(fault.fault) ? 'out' : ('direction' in fault && fault.direction) || 'both';
  return namesOf(fault).some((name) => passes(name, frame, wanted));
}

/** Whether the frame is one at which a fault of processes waits to begin. */
export function isAwaited(fault: Fault, frame: Passing): boolean {
  const { at } = fault;
  if (at?.point === undefined || !isAt(fault, frame)) return false;
  if (at.of !== undefined) return passes(at.of, frame);
  const names = namesOf(fault).filter((name) => /^(node\/|coordinator|gateway)/.test(name));
  return names.length === 0 || names.some((name) => passes(name, frame));
}

/** The processes that a trigger hits; undefined: the frame's node, or those that the kind itself names. */
export function hitsExactly(fault: Fault): readonly string[] | undefined {
  const names = namesOf(fault);
  return names.length === 0 || names.includes('node/*') ? undefined : names;
}

function isAt({ at }: Fault, { point, session }: Passing): boolean {
  if (at?.point !== undefined && at.point !== point) return false;
  // Calls name their session in their content.
  return at?.session === undefined || at.session === session || point === 'call' || point === 'call_reply';
}

/** Whether a frame goes through this process; `wanted` as the process sees it. */
function passes(name: string, { peer, direction }: Passing, wanted: string = 'both'): boolean {
  if (name === 'coordinator') return wanted === 'both' || (wanted === 'in') === (direction === 'out');
  if (name !== peer && !(name === 'node/*' && peer.startsWith('node/'))) return false;
  return wanted === 'both' || wanted === direction;
}

const pointNames = new Map<string, string>();

function pointName(messageCase: string): string {
  let name = pointNames.get(messageCase);
  if (name === undefined) {
    name = messageCase.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    pointNames.set(messageCase, name);
  }
  return name;
}

const sides = /^(node\/\d+|gateway)/;

/** undefined: a frame of no link that faults know. */
export function passingOf({ from, to, message }: WireEnvelope): Passing | undefined {
  const sender = sides.exec(from)?.[0];
  const peer = sender ?? sides.exec(to)?.[0];
  if (peer === undefined) return undefined;
  return {
    peer,
    direction: sender === undefined ? 'in' : 'out',
    point: pointName(message.body.case),
    session: message.session,
  };
}
