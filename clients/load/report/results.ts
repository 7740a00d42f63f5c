/** The result of a load run, as in its JSON. Times in milliseconds, rates a second, memory in bytes. */
import type { RateLimit } from '../calls/call-failed.ts';
import type { Latency } from '../measure/histogram.ts';
import type { ProcessFigures, ProcessPoint } from '../measure/monitor.ts';
import type { LoadPoint, StageFigures } from '../measure/recorder.ts';
import type { SelfFigures } from '../measure/self.ts';
import type { OperationName, RunStage } from '../plan/plan.ts';
import type { ThresholdResult } from '../plan/threshold.ts';
import type { Check } from '../verdict/check.ts';

export interface StageResult extends StageFigures {
  readonly stage: RunStage;
  /** Since the load began. */
  readonly beganMs: number;
  readonly tookMs: number;
  /** Requested arrivals a second; null: closed. */
  readonly requestedRate: number | null;
  /** Completed operations a second. */
  readonly achievedRate: number;
  /** Answers of `GET /v1/health`. */
  readonly health: Latency;
  readonly self: SelfFigures;
  /** The reasons why the figures are the generator's and not the service's; empty: they are the service's. */
  readonly saturation: readonly string[];
  /** By process of the service; empty where it is not on this machine. */
  readonly processes: Readonly<Record<string, ProcessFigures>>;
  /** CPU of the service's processes for each completed operation; null: unknown. */
  readonly cpuMsPerOperation: number | null;
  /** Of a soak; null: another stage, or too short. */
  readonly drift: StageDrift | null;
}

/** Medians of the first and the last quarter of a stage. */
export interface StageDrift {
  readonly p50: { readonly first: number; readonly last: number };
  readonly p99: { readonly first: number; readonly last: number };
  readonly serviceRssBytes: { readonly first: number; readonly last: number };
}

export interface SeriesPoint extends LoadPoint {
  readonly processes: ProcessPoint;
  /** The part of the time in which the generator's event loop was not idle. */
  readonly generator: number;
}

/** A fault that was armed during the load. */
export interface FaultWindow {
  readonly id: string;
  readonly fault: string;
  readonly target: string;
  /** The begin of its effect; null: it never had one. */
  readonly beganMs: number | null;
  /** null: its effect lasted until the load ended. */
  readonly endedMs: number | null;
  readonly triggerCount: number;
}

export interface Recovery {
  readonly holds: boolean;
  /** From the end of the load until health was ok and latency was back; null: they did not recover. */
  readonly tookMs: number | null;
  /** Medians of single operations, before the load and at the end of the check. */
  readonly beforeP50Ms: number;
  readonly afterP50Ms: number;
  readonly health: string;
  readonly text: string;
}

export interface LimitHit {
  readonly limit: RateLimit;
  readonly refused: number;
}

export interface Comparison {
  readonly name: string;
  readonly before: number;
  readonly now: number;
  readonly ratio: number;
  readonly verdict: 'better' | 'same' | 'worse' | 'unclear';
}

export interface LoadReport {
  readonly schema: 'signmesh-load/1';
  readonly name: string;
  readonly startedAt: string;
  readonly tookMs: number;
  /** The run was ended early. */
  readonly interrupted: boolean;
  readonly target: { readonly url: string; readonly api: string; readonly version: string };
  readonly machine: {
    readonly node: string;
    readonly cpu: string;
    readonly cores: number;
    readonly memoryBytes: number;
  };
  readonly model: string;
  readonly mix: Readonly<Partial<Record<OperationName, number>>>;
  readonly inFlightMax: number;
  readonly stages: readonly StageResult[];
  readonly series: readonly SeriesPoint[];
  readonly faults: readonly FaultWindow[];
  /** Rate limits of the service that refused calls. */
  readonly limits: readonly LimitHit[];
  /** Single operations, one after the other, before the load. */
  readonly unloaded: Latency;
  readonly recovery: Recovery;
  readonly correctness: { readonly holds: boolean; readonly checks: readonly Check[] };
  readonly thresholds: readonly ThresholdResult[];
  /** undefined: no baseline was given. */
  readonly baseline: { readonly startedAt: string; readonly comparisons: readonly Comparison[] } | undefined;
}
