/**
 * The state of one fault from its arming to its end; trigger.ts tells which frames it applies to.
 *
 * waiting → (its time or its step) → watching, if a point begins it → holding → over. A spell at a point goes back from
 * holding to watching until it has triggered `count` times. A momentary fault never holds.
 *
 * - `after_ms` counts from the arming, or from the beginning of `step` when both are given.
 * - Frames are counted from then on; `nth` counts all frames that the fault applies to, of any node.
 * - A fault of frames or of calls that names its `nth` and neither `count` nor `for_ms` triggers once.
 * - A call's frame carries no session name: with `session`, a call or its reply counts when its bytes contain that id.
 */
import type { FaultStatus, FrameInTransit, ProcessName } from '../vocabulary/engine-contract.ts';
import type { Fault } from '../vocabulary/fault.ts';
import { countsUses, type Nature, natures } from '../vocabulary/kinds.ts';
import { targetsOf } from '../vocabulary/targets.ts';

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
