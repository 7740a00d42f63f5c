/**
 * What decides the fate of frames, writes and processes, as both worlds use it: the simulator asks it at every frame and
 * performs what it orders in virtual time; the live fault plane does the same with sockets and signals. Pure: time and
 * randomness are handed in, and nothing is performed here.
 */
import type { WireEnvelope } from '../proto/wire.ts';
import type { Fault, FaultKind } from './fault.ts';
import type { Point } from './points.ts';

/** "node/3", "coordinator", "gateway", "worker", "redis", "receiver". */
export type ProcessName = string;

/** A frame between the coordinator and `peer`, about to leave its sender. */
export interface FrameInTransit {
  /** "node/<id>" or "gateway". */
  readonly peer: ProcessName;
  /** From the peer's side: `out` leaves it, `in` goes to it. */
  readonly direction: 'in' | 'out';
  readonly point: Point;
  readonly envelope: WireEnvelope;
}

export interface Arrival {
  readonly envelope: WireEnvelope;
  /** On top of what the link takes anyway. */
  readonly afterMs: number;
  /** It arrives so that it does not decode: the receiver closes the link. */
  readonly damage?: 'corrupt' | 'truncate';
  /** It may overtake frames that were sent before it. */
  readonly unordered?: boolean;
}

/** What becomes of a frame. Without arrivals it is lost, or held for a later `deliver`. */
export interface FrameVerdict {
  readonly arrivals: readonly Arrival[];
  /** To be performed in this order, after the arrivals were put on their way. */
  readonly orders: readonly Order[];
  /** Ids of the faults that touched it. */
  readonly faults: readonly string[];
}

/** What the world shall do. */
export type Order =
  /** `restartAfterMs` null: it stays down. */
  | {
      readonly kind: 'crash';
      readonly process: ProcessName;
      readonly loseState: boolean;
      readonly restartAfterMs: number | null;
    }
  /** Keep a copy of what its store holds now, under this name; forget it. */
  | { readonly kind: 'copyStore' | 'dropCopy'; readonly process: ProcessName; readonly copy: string }
  /** It ends, and comes back with the copy in its store. */
  | {
      readonly kind: 'rollBack';
      readonly process: ProcessName;
      readonly copy: string;
      readonly restartAfterMs: number;
    }
  | { readonly kind: 'pause' | 'resume'; readonly process: ProcessName }
  /** The link of a peer carries nothing, heartbeats neither, from now on or no more. The engine holds or loses its frames. */
  | { readonly kind: 'silence'; readonly process: ProcessName; readonly on: boolean }
  /** Another process asks for the link of this one with its identity, and keeps it when it gets it; or no more. */
  | { readonly kind: 'secondProcess'; readonly process: ProcessName; readonly on: boolean }
  /** Frames that were held. */
  | {
      readonly kind: 'deliver';
      readonly peer: ProcessName;
      readonly direction: 'in' | 'out';
      readonly envelopes: readonly WireEnvelope[];
    }
  /** The clock of a process is now off by this much in all. */
  | { readonly kind: 'clock'; readonly process: ProcessName; readonly offsetMs: number }
  | { readonly kind: 'redis'; readonly up: boolean }
  | { readonly kind: 'worker'; readonly stalled: boolean }
  | { readonly kind: 'queue'; readonly what: 'double_delivery' | 'poison_job' }
  /** How the webhook receiver behaves from now on; undefined: well. */
  | { readonly kind: 'receiver'; readonly behaviour: ReceiverBehaviour | undefined }
  /** For reports. `victims`: of `fired`, the processes that it hit. */
  | {
      readonly kind: 'fired' | 'ended';
      readonly id: string;
      readonly fault: FaultKind;
      readonly victims?: readonly ProcessName[];
    };

export interface ReceiverBehaviour {
  readonly status?: number;
  readonly slowMs?: number;
  readonly reset?: boolean;
}

/** What becomes of a write: `lost` before it took hold, `unanswered` after it did. */
export interface WriteVerdict {
  readonly fate: 'answered' | 'lost' | 'unanswered';
  readonly delayMs: number;
}

export interface FaultStatus {
  readonly id: string;
  readonly fault: Fault;
  readonly state: 'armed' | 'holding' | 'over';
  readonly strikes: number;
  readonly armedMs: number;
  /** null: no end of its own. */
  readonly endsMs: number | null;
}

export interface FaultEngine {
  /** Nothing is armed: frames and writes need not be shown to it. */
  readonly idle: boolean;
  /** Returns its id, and what is to be done at once. Throws FaultError when it makes no sense for this cluster. */
  arm(fault: Fault, nowMs: number): { readonly id: string; readonly orders: readonly Order[] };
  /** Removes a fault and ends what it holds; undefined: there is none of that id. */
  disarm(id: string, nowMs: number): readonly Order[] | undefined;
  /** Removes all: everything that is held is delivered, what is paused goes on. Clocks that jumped stay. */
  clear(nowMs: number): readonly Order[];
  /** Those that are over stay listed for a while. */
  list(nowMs: number): readonly FaultStatus[];
  /** A step of a scenario begins, for triggers that name it. */
  step(name: string, nowMs: number): readonly Order[];
  frame(frame: FrameInTransit, nowMs: number): FrameVerdict;
  /** A process is about to write to its store; `write` of the coordinator and of nodes. */
  write(process: ProcessName, nowMs: number): WriteVerdict;
  /** Whether reads of this process fail now. */
  readsFail(process: ProcessName, nowMs: number): boolean;
  /** When it wants to be woken, in ms of the clock that is handed in; Infinity: not at all. */
  nextWakeMs(): number;
  wake(nowMs: number): readonly Order[];
  /** Clocks that jumped are right again: whoever calls has set them himself. */
  rightClocks(): void;
  /** A link came up anew: what was held of the old one is lost. */
  linkDown(peer: ProcessName): void;
}
