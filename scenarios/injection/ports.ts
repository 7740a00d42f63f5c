/**
 * What the injector needs of the process supervisor. Processes are named as in faults: "node/3", "coordinator",
 * "gateway", "worker" (all workers), "redis".
 */
import type { NodeStatus, ScenarioStatus, SnapshotStatus } from '../faults/control.ts';

export type ProcessStatus = Omit<NodeStatus, 'linked' | 'clockOffsetMs'>;

export interface Crash {
  /** Its store is removed while it is down. */
  readonly loseState: boolean;
  /** null: it stays down until a restart. */
  readonly restartAfterMs: number | null;
}

export interface ProcessControl {
  list(): readonly ProcessStatus[];
  /** SIGKILL at once; resolves when it is gone. One that is down already stays so for the time that is given now. */
  crash(process: string, crash: Crash): Promise<void>;
  /** Ends what runs, in order; resolves when its successor is ready. Resumes a paused process. */
  restart(process: string): Promise<void>;
  /** SIGSTOP. False: the process does not exist. */
  pause(process: string): boolean;
  /** SIGCONT. */
  resume(process: string): void;
  /** Its clock is off by so much, now and after every restart. Resolves when it knows; a paused one hears of it later. */
  setClock(process: string, offsetMs: number): Promise<void>;
}

/** Runs scenario files on the sandbox, one at a time. */
export interface ScenarioHost {
  /** Of the one that runs, or ran last; undefined: none did. */
  readonly status: ScenarioStatus | undefined;
  /** `resets`: the sandbox starts afresh first. Throws ControlError; then nothing has happened. */
  start(file: string, resets: boolean): Promise<ScenarioStatus>;
  /** Resolves when the sandbox is healed. Throws not_found. */
  end(): Promise<ScenarioStatus>;
}

/** The queue of webhook deliveries. */
export interface QueueControl {
  /** The newest job is there twice. */
  doubleDelivery(): Promise<void>;
  /** A job that makes no sense. */
  poisonJob(): Promise<void>;
}

/** The clocks of one cluster, which outlive the process that moves them: a clock that went back would let events run backwards. */
export interface StoredClocks {
  /** As an earlier process left them. */
  readonly offsetMs: number;
  /** By process, beside the offset of all. */
  readonly ownMs: Readonly<Record<string, number>>;
  /** Durable when it returns. */
  store(offsetMs: number, ownMs: Readonly<Record<string, number>>): void;
}

/** States of the whole cluster, kept beside it. Processes that are paused or down are brought up before a return. */
export interface SnapshotControl {
  take(name: string, clockOffsetMs: number): Promise<SnapshotStatus>;
  list(): readonly SnapshotStatus[];
  /** Of the clock when it was taken. Throws not_found. */
  clockOffsetMs(id: string): number;
  /** Rejects with not_found. */
  restore(id: string): Promise<SnapshotStatus>;
  delete(id: string): SnapshotStatus;
  /** Deletes everything but access tokens; makes the ready-made keys again. */
  reset(): Promise<void>;
}
