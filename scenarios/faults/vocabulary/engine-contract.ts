/**
 * The contract of the fault engine, which decides the fate of frames, writes and processes in both worlds. The simulator
 * asks it at every frame and performs its orders in virtual time; the live fault injector does the same with sockets and
 * signals. Pure: callers supply time and randomness, and the engine performs nothing.
 */
import type { WireEnvelope } from '../../../proto/wire.ts';
import type { Fault, FaultKind } from './fault.ts';
import type { HsmFailure, VendorFailure } from './fault-parts.ts';
import type { Point, PortName } from './trigger-points.ts';

/** "node/3", "coordinator", "gateway", "gateway/2", "worker", "redis", "receiver", "provider". */
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

export interface FrameArrival {
  readonly envelope: WireEnvelope;
  /** In addition to the link's own latency. */
  readonly afterMs: number;
  /** It arrives undecodable: the receiver closes the link. */
  readonly damage?: 'corrupt' | 'truncate';
  /** It may overtake frames that were sent before it. */
  readonly unordered?: boolean;
}

/** The fate of a frame. Without arrivals it is lost, or held for a later `deliver`. */
export interface FrameVerdict {
  readonly arrivals: readonly FrameArrival[];
  /** To be performed in this order, after sending the arrivals. */
  readonly orders: readonly Order[];
  /** Ids of the faults that touched it. */
  readonly faults: readonly string[];
}

/** An instruction to the world. */
export type Order =
  /** `restartAfterMs` null: it stays down. */
  | {
      readonly kind: 'crash';
      readonly process: ProcessName;
      readonly loseState: boolean;
      readonly restartAfterMs: number | null;
    }
  /** Copies the process's store under this name, or deletes that copy. */
  | { readonly kind: 'copyStore' | 'dropCopy'; readonly process: ProcessName; readonly copy: string }
  /** The process ends, and restarts with the copy as its store. */
  | {
      readonly kind: 'rollBack';
      readonly process: ProcessName;
      readonly copy: string;
      readonly restartAfterMs: number;
    }
  | { readonly kind: 'pause' | 'resume'; readonly process: ProcessName }
  /** `on`: the link of a peer carries nothing, not even heartbeats. The engine holds or drops its frames. */
  | { readonly kind: 'silence'; readonly process: ProcessName; readonly on: boolean }
  /**
   * `on`: another process connects with this one's identity, and keeps the link if it gets it. A second coordinator takes over
   * the gateway, and the first one runs until `on` is false.
   */
  | { readonly kind: 'secondProcess'; readonly process: ProcessName; readonly on: boolean }
  /** Releases held frames. */
  | {
      readonly kind: 'deliver';
      readonly peer: ProcessName;
      readonly direction: 'in' | 'out';
      readonly envelopes: readonly WireEnvelope[];
    }
  /** Sets the total offset of a process's clock. */
  | { readonly kind: 'clock'; readonly process: ProcessName; readonly offsetMs: number }
  | { readonly kind: 'redis'; readonly up: boolean }
  | { readonly kind: 'worker'; readonly stalled: boolean }
  | { readonly kind: 'queue'; readonly what: 'double_delivery' | 'poison_job' }
  /** Sets the behaviour of the webhook receiver; undefined: it behaves well. */
  | { readonly kind: 'receiver'; readonly behaviour: ReceiverBehaviour | undefined }
  /** Sets the behaviour of the simulated vendor; undefined: it behaves well. */
  | { readonly kind: 'vendor'; readonly conduct: VendorFaultConduct | undefined }
  /** For reports. `victims`: the processes that a `fired` fault hit. */
  | {
      readonly kind: 'fired' | 'ended';
      readonly id: string;
      readonly fault: FaultKind;
      readonly victims?: readonly ProcessName[];
    };

export interface VendorFaultConduct {
  readonly by: VendorFailure;
  readonly by_ms?: number | undefined;
}

export interface ReceiverBehaviour {
  readonly status?: number;
  readonly slowMs?: number;
  readonly reset?: boolean;
}

/** The fate of a write: `lost` before it took effect, `unanswered` after it did. */
export interface WriteVerdict {
  readonly fate: 'answered' | 'lost' | 'unanswered';
  readonly delayMs: number;
}

/** A call of a port, about to leave its gateway or worker. */
export interface PortCallMade {
  readonly process: ProcessName;
  readonly port: PortName;
  /** e.g. "store/commit.lua", "webhooks", a URL, "fireblocks". */
  readonly call: string;
}

/**
 * The fate of a call: `lost` before it took effect, `unanswered` after it did, `refused` without effect and with an answer
 * that says so, `twice`: its receiver gets it twice.
 */
export interface PortVerdict {
  readonly fate: 'answered' | 'lost' | 'unanswered' | 'refused' | 'twice';
  readonly delayMs: number;
  /** To perform before the call leaves; if its process is then down, it makes no call. */
  readonly before: readonly Order[];
  /** To perform after it has left. */
  readonly after: readonly Order[];
}

/** A request to a gateway, before it is answered. */
export type ApiServerRequest =
  /** `path` without the query. */
  | { readonly door: 'http'; readonly method: string; readonly path: string }
  /** `rpc`: the method's name without its service. */
  | { readonly door: 'grpc'; readonly rpc: string };

/**
 * The fate of a request. `refused`: it gets a refusal, without effect. `lost`, `cut`: it takes effect, and its connection ends
 * before its answer, or in the middle of the body.
 */
export interface ApiServerVerdict {
  readonly fate: 'answered' | 'refused' | 'lost' | 'cut';
  /** Of `refused`. */
  readonly status?: number;
  readonly retryAfterS?: number;
  /** The delay of the answer, or of its end. */
  readonly delayMs: number;
  /** Ids of the faults that touched it. */
  readonly faults: readonly string[];
}

export interface FaultStatus {
  readonly id: string;
  readonly fault: Fault;
  readonly state: 'armed' | 'holding' | 'over';
  /** The number of its triggers. */
  readonly triggerCount: number;
  readonly armedMs: number;
  /** null: it has no end time. */
  readonly endsMs: number | null;
}

export interface FaultEngine {
  /** Nothing is armed: callers need not report frames and writes. */
  readonly idle: boolean;
  /** Returns its id and the orders to perform now. Throws FaultError when this cluster cannot have such a fault. */
  arm(fault: Fault, nowMs: number): { readonly id: string; readonly orders: readonly Order[] };
  /** Removes a fault and ends its effects. Undefined: no fault has that id. */
  disarm(id: string, nowMs: number): readonly Order[] | undefined;
  /** Removes all faults: held frames are delivered, paused processes continue. Clocks that jumped keep their offset. */
  clear(nowMs: number): readonly Order[];
  /** Lists all faults; one that is over stays listed for 10 minutes. */
  list(nowMs: number): readonly FaultStatus[];
  /** Reports that a step of the scenario begins: it starts the faults whose trigger names it. */
  step(name: string, nowMs: number): readonly Order[];
  frame(frame: FrameInTransit, nowMs: number): FrameVerdict;
  /** A process is about to write to its store; `write` of the coordinator and of nodes. */
  write(process: ProcessName, nowMs: number): WriteVerdict;
  /** A gateway or worker calls a port; of a simulated world with the wallet API. */
  portCall(call: PortCallMade, nowMs: number): PortVerdict;
  /** A request has arrived at the gateway; the next orders contain its `fired` and `ended`. */
  request(request: ApiServerRequest, nowMs: number): ApiServerVerdict;
  /** Whether reads of this process fail now. */
  readsFail(process: ProcessName, nowMs: number): boolean;
  /** Whether the coordinator's store has this condition now. */
  storeShows(what: 'store_tampered' | 'store_full', nowMs: number): boolean;
  /** The present failure of this node's PKCS#11 token; undefined: it works. */
  hsmFails(process: ProcessName, nowMs: number): HsmFailure | undefined;
  /** When to call `wake` next, in ms of the caller's clock. Infinity: no wake is due. */
  nextWakeMs(): number;
  wake(nowMs: number): readonly Order[];
  /** Clears clock jumps: the caller has corrected the clocks. */
  rightClocks(): void;
  /** Reports that a link was replaced: held frames of the old link are lost. */
  linkDown(peer: ProcessName): void;
}
