/**
 * The requests of a sandbox's gateway to the process supervisor, and its answers: the sandbox API in process
 * terms. `signmesh up` answers it over the channel of its gateway. JSON values; times in milliseconds since the Unix epoch.
 */

import type { RunEvent } from './recording.ts';
import type { LeftOut, SandboxWorld, SeenSession, StreamPosition, StreamTopic, Totals } from './stream.ts';
import type { FaultStatus, ReceiverBehaviour } from './vocabulary/engine-contract.ts';
import type { Fault } from './vocabulary/fault.ts';

export interface NodeStatus {
  /** "node/1" … and "coordinator", "gateway", "worker", "redis"; of further clusters "cluster/2/node/1", "cluster/2/coordinator". */
  readonly process: string;
  readonly state: 'running' | 'paused' | 'down' | 'starting';
  readonly pid: number | null;
  readonly restarts: number;
  readonly startedMs: number | null;
  /** Nodes: whether its link to the coordinator is up. */
  readonly linked: boolean | null;
  readonly clockOffsetMs: number;
  /** Memory of the whole process; null: it is down, or the system does not report it. */
  readonly residentBytes: number | null;
  /** CPU time of the whole process since it started; null likewise. */
  readonly cpuMs: number | null;
  /** All names in this operating system process: nodes may share one. */
  readonly together: readonly string[];
}

export interface SnapshotStatus {
  readonly id: string;
  readonly name: string;
  readonly takenMs: number;
  readonly bytes: number;
}

/** A scenario file that runs on the sandbox, or ran last. */
export interface ScenarioStatus {
  readonly scenario: string;
  /** `ended`: by a caller. `broken`: the sandbox no longer answered it. */
  readonly state: 'running' | 'passed' | 'failed' | 'violated' | 'stuck' | 'ended' | 'broken';
  readonly startedMs: number;
  /** null: it runs. */
  readonly endedMs: number | null;
  readonly steps: number;
  readonly begun: number;
  /** The step that began last. */
  readonly step: string | null;
  /** Why it did not pass. */
  readonly cause: string;
}

/** One frame of a session, as the fault injector saw it pass. */
export type TranscriptFrame = Extract<RunEvent, { kind: 'frame' }>;

export interface StreamTakes {
  /** undefined: from now on. */
  readonly after?: StreamPosition;
  readonly topics: readonly StreamTopic[];
  /** Frames and sessions of this tenant alone. */
  readonly tenant?: string;
  /** Of events and sessions, as JSON. */
  readonly bytesMax: number;
  /** For news, when there are none. */
  readonly waitMs: number;
  /** Also what has not changed: for the first message. It does not wait. */
  readonly whole: boolean;
  readonly figures: boolean;
}

export interface StreamGives {
  readonly about: SandboxWorld;
  readonly events: readonly RunEvent[];
  /** Of each event. */
  readonly positions: readonly number[];
  /** Those that changed; with `whole` the newest ones. */
  readonly sessions: readonly SeenSession[];
  /** All, when one changed. */
  readonly processes?: readonly NodeStatus[];
  readonly faults?: readonly ArmedStatus[];
  readonly totals?: Totals;
  /** null: none ran. */
  readonly scenario: ScenarioStatus | null;
  readonly leftOut: LeftOut;
  readonly lost: boolean;
  readonly next: StreamPosition;
}

/** Each method with its arguments and result. */
export interface ControlMethods {
  'faults.create': {
    readonly takes: { readonly fault: Fault; readonly expiresInMs: number };
    readonly gives: { readonly fault: ArmedStatus };
  };
  'faults.list': { readonly takes: Record<string, never>; readonly gives: { readonly faults: readonly ArmedStatus[] } };
  'faults.delete': { readonly takes: { readonly id: string }; readonly gives: { readonly fault: ArmedStatus } };
  'faults.reset': { readonly takes: Record<string, never>; readonly gives: { readonly removed: number } };
  /** A step of a scenario begins. */
  'faults.step': { readonly takes: { readonly step: string }; readonly gives: Record<string, never> };
  'processes.list': {
    readonly takes: Record<string, never>;
    readonly gives: { readonly processes: readonly NodeStatus[] };
  };
  /** `restart`: also starts stopped processes. Answered when done; for a start, when the process is ready. */
  'processes.act': {
    readonly takes: {
      readonly process: string;
      readonly action: 'crash' | 'restart' | 'pause' | 'resume';
      readonly loseState?: boolean;
      /** For a crash; null: it stays down. */
      readonly restartAfterMs?: number | null;
    };
    readonly gives: { readonly process: NodeStatus };
  };
  'transcript.get': {
    readonly takes: { readonly tenant: string; readonly session: string; readonly limit: number };
    readonly gives: { readonly frames: readonly TranscriptFrame[]; readonly truncated: boolean };
  };
  /** The fault injector's recording from a position on. */
  'recording.read': {
    readonly takes: { readonly after: number; readonly limit: number };
    readonly gives: {
      readonly events: readonly RunEvent[];
      /** Of each event. */
      readonly positions: readonly number[];
      readonly next: number;
      readonly lost: boolean;
      readonly beganMs: number;
    };
  };
  /** The frames of one session, as far as they are retained. */
  'recording.session': {
    readonly takes: { readonly tenant: string; readonly session: string };
    readonly gives: ControlMethods['recording.read']['gives'];
  };
  /** What is new for a page; waits for it. */
  'stream.read': { readonly takes: StreamTakes; readonly gives: StreamGives };
  /** The behaviour that the scenario's own webhook receiver must show now; null: it behaves well. */
  'receiver.get': {
    readonly takes: Record<string, never>;
    readonly gives: { readonly behaviour: ReceiverBehaviour | null };
  };
  'clock.get': {
    readonly takes: Record<string, never>;
    readonly gives: { readonly offsetMs: number; readonly nowMs: number };
  };
  /** Advances every process's clock. */
  'clock.advance': {
    readonly takes: { readonly byMs: number };
    readonly gives: { readonly offsetMs: number; readonly nowMs: number };
  };
  'snapshots.take': {
    readonly takes: { readonly name: string };
    readonly gives: { readonly snapshot: SnapshotStatus };
  };
  'snapshots.list': {
    readonly takes: Record<string, never>;
    readonly gives: { readonly snapshots: readonly SnapshotStatus[] };
  };
  'snapshots.restore': {
    readonly takes: { readonly id: string };
    readonly gives: { readonly snapshot: SnapshotStatus; readonly tookMs: number };
  };
  'snapshots.delete': {
    readonly takes: { readonly id: string };
    readonly gives: { readonly snapshot: SnapshotStatus };
  };
  /** Runs a scenario file; answered before its first step. */
  'scenarios.start': {
    readonly takes: { readonly file: string; readonly reset: boolean };
    readonly gives: { readonly scenario: ScenarioStatus };
  };
  'scenarios.get': {
    readonly takes: Record<string, never>;
    readonly gives: { readonly scenario: ScenarioStatus | null };
  };
  /** Answered when the sandbox is healed. */
  'scenarios.end': { readonly takes: Record<string, never>; readonly gives: { readonly scenario: ScenarioStatus } };
  /** As after the first start: no faults, no data except access tokens, correct clocks. */
  reset: { readonly takes: Record<string, never>; readonly gives: { readonly tookMs: number } };
}

export type ArmedStatus = FaultStatus & { readonly expiresMs: number };
export type ControlMethod = keyof ControlMethods;
export type ControlTakes<M extends ControlMethod> = ControlMethods[M]['takes'];
export type ControlGives<M extends ControlMethod> = ControlMethods[M]['gives'];

/** The reason why a request failed. `invalid` names the field. */
export interface ControlFault {
  readonly code: 'invalid' | 'not_found' | 'conflict' | 'unavailable' | 'unsupported';
  readonly message: string;
  readonly field?: string;
}

/** The port through which a gateway calls the supervisor. */
export interface SandboxControl {
  ask<M extends ControlMethod>(method: M, takes: ControlTakes<M>): Promise<ControlGives<M>>;
}

/** The error with which `ask` rejects. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
  readonly fault: ControlFault;
  constructor(fault: ControlFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** One request and its answer on the channel between a child process and its parent. */
export interface ControlRequest {
  readonly kind: 'control';
  readonly id: number;
  readonly method: ControlMethod;
  readonly takes: unknown;
}
export interface ControlAnswer {
  readonly kind: 'controlled';
  readonly id: number;
  readonly gives?: unknown;
  readonly fault?: ControlFault;
}
