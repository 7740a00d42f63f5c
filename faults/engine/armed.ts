/**
 * One fault from its arming to its end, and the frames that it applies to.
 *
 * waiting → (its time or its step) → watching, if a point begins it → holding → over. A spell at a point goes back from
 * holding to watching until it has triggered `count` times. A momentary fault never holds.
 *
 * - `after_ms` counts from the arming, or from the beginning of `step` when both are given.
 * - Frames are counted from then on; `nth` counts all frames that the fault applies to, of any node.
 * - A fault of frames or of calls that names its `nth` and neither `count` nor `for_ms` triggers once.
 * - A call's frame carries no session name: with `session`, a call or its reply counts when its bytes contain that id.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { CallReplySchema, CallSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { encodeMessage } from '../../proto/message-encoding.ts';
import type { FaultStatus, FrameInTransit, ProcessName } from '../vocabulary/engine-contract.ts';
import type { Fault } from '../vocabulary/fault.ts';
import { countsUses, isLie, liePoints, type Nature, natures } from '../vocabulary/kinds.ts';
import { passesBy, senderOf, targetsOf } from '../vocabulary/targets.ts';
import type { Point } from '../vocabulary/trigger-points.ts';
import { isFrameless } from './checks.ts';

/** A frame that waits. Numbers rise with every frame that is held, so that the frames of two faults can be sorted. */
export interface HeldFrame extends FrameInTransit {
  readonly number: number;
}

export interface ArmedFault {
  readonly id: string;
  readonly fault: Fault;
  readonly nature: Nature;
  /** As in its file. */
  readonly targets: readonly ProcessName[];
  readonly armedMs: number;
  readonly nth: number;
  readonly countMax: number;
  phase: 'waiting' | 'watching' | 'holding' | 'over';
  /** While it waits: when it begins. Infinity: with its step. */
  beginsMs: number;
  /** While it holds. Infinity: it has no end time. */
  endsMs: number;
  overMs: number;
  /** Frames that it has counted. */
  seen: number;
  triggerCount: number;
  /** The processes that a window or spell holds now. */
  on: readonly ProcessName[];
  /** Processes that it has hit: each is reported once. */
  readonly victims: Set<ProcessName>;
  /** Peers whose half-open link was noticed. */
  readonly noticed: Set<ProcessName>;
  held: HeldFrame[];
}

export function armedFault(id: string, fault: Fault, nowMs: number): ArmedFault {
  const nature = natures[fault.fault];
  const { step, after_ms, nth } = fault.at ?? {};
  const alone = nth !== undefined && fault.for_ms === undefined;
  const once = nature === 'frames' || countsUses(fault.fault) ? alone : true;
  return {
    id,
    fault,
    nature,
    targets: targetsOf(fault),
    armedMs: nowMs,
    nth: nth ?? 1,
    countMax: fault.count ?? (once ? 1 : Number.POSITIVE_INFINITY),
    phase: 'waiting',
    beginsMs: step === undefined ? nowMs + (after_ms ?? 0) : Number.POSITIVE_INFINITY,
    endsMs: Number.POSITIVE_INFINITY,
    overMs: Number.POSITIVE_INFINITY,
    seen: 0,
    triggerCount: 0,
    on: [],
    victims: new Set(),
    noticed: new Set(),
    held: [],
  };
}

export function statusOf(armed: ArmedFault): FaultStatus {
  const { id, fault, phase, triggerCount, armedMs, endsMs } = armed;
  const state = phase === 'over' || phase === 'holding' ? phase : 'armed';
  return {
    id,
    fault,
    state,
    triggerCount,
    armedMs,
    endsMs: phase === 'holding' && endsMs < Number.POSITIVE_INFINITY ? endsMs : null,
  };
}

/** Whether a fault, in its present phase, applies to frames of this kind on this link. */
export function appliesTo(armed: ArmedFault, peer: ProcessName, direction: 'in' | 'out', point: Point): boolean {
  const { fault, phase } = armed;
  if (phase === 'watching') return isTrigger(armed, peer, direction, point);
  if (phase !== 'holding') return false;
  // FrameFilter decides whether to hold them: only frames that would overtake a held one.
  if (fault.fault === 'pause') return armed.on.includes(senderOf({ peer, direction }));
  if (fault.fault === 'partition' || fault.fault === 'half_open') {
    const wanted = fault.fault === 'partition' ? fault.direction : 'both';
    return !armed.noticed.has(peer) && armed.on.some((name) => passesBy(name, peer, direction, wanted));
  }
  return armed.nature === 'frames' && isSubject(armed, peer, direction, point);
}

/** Whether a fault with a point triggers at this frame. */
function isTrigger({ fault, targets }: ArmedFault, peer: ProcessName, direction: 'in' | 'out', point: Point): boolean {
  const { at } = fault;
  if (at?.point !== point) return false;
  if (at.of !== undefined) return passesBy(at.of, peer, direction);
  const names = targets.filter((name) => !isFrameless(name));
  return names.length === 0 || names.some((name) => passesBy(name, peer, direction));
}

/** Whether a fault of frames touches this frame. */
function isSubject({ fault, targets }: ArmedFault, peer: ProcessName, direction: 'in' | 'out', point: Point): boolean {
  const { at } = fault;
  if (at?.point !== undefined && at.point !== point) return false;
  if (at?.of !== undefined && !passesBy(at.of, peer, direction)) return false;
  if (fault.fault === 'force_receipt') return point === 'call';
  if (isLie(fault) && !liePoints[fault.fault].includes(point)) return false;
  const wanted = isLie(fault) ? 'out' : 'direction' in fault ? fault.direction : 'both';
  return targets.some((name) => passesBy(name, peer, direction, wanted));
}

/** Whether the frame is of the session that the fault names, if it names one. */
export function isOfSession({ fault }: ArmedFault, { envelope }: FrameInTransit): boolean {
  const session = fault.at?.session;
  if (session === undefined || envelope.message.session === session) return true;
  const { body } = envelope.message;
  if (body.case === 'call') return bytesOf(CallSchema, body.value).includes(session);
  return body.case === 'callReply' && bytesOf(CallReplySchema, body.value).includes(session);
}

function bytesOf(schema: DescMessage, value: unknown): Buffer {
  return Buffer.from(encodeMessage(schema, value));
}
