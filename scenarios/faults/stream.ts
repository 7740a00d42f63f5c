/** What a page sees of a running sandbox, by topics: GET /v1/sandbox/stream. */
import type { RunEvent } from './recording.ts';

export const streamTopics = ['frames', 'processes', 'faults', 'sessions', 'deliveries', 'figures', 'requests'] as const;
export type StreamTopic = (typeof streamTopics)[number];

export const topicOf: Readonly<Record<RunEvent['kind'], keyof LeftOut>> = {
  frame: 'frames',
  process: 'processes',
  fault: 'faults',
  violation: 'faults',
  actor: 'sessions',
  state: 'sessions',
  step: 'sessions',
  delivery: 'deliveries',
};

/** A session as its frames and answers show it. Times as `atMs` of events. */
export interface SeenSession {
  readonly tenant: string;
  readonly session: string;
  readonly kind: 'dkg' | 'signing';
  readonly cluster: number;
  readonly state: 'open' | 'completed' | 'failed';
  readonly reasonCode: string | null;
  readonly attempt: number;
  readonly nodes: readonly number[];
  /** Ids of faults that touched its frames. */
  readonly faults: readonly string[];
  readonly frames: number;
  readonly beganMs: number;
  readonly lastMs: number;
  /** Of its frames. */
  readonly retained: 'all' | 'some';
  /** It failed, blamed a node or met a fault. */
  readonly isNotable: boolean;
}

/** A place in a recording, which another life of its process does not continue. */
export interface StreamPosition {
  readonly beganMs: number;
  readonly position: number;
}

/** Events and sessions that did not fit. */
export type LeftOut = Partial<Record<Exclude<StreamTopic, 'figures' | 'requests'>, number>>;

/** What does not change while it runs. */
export interface SandboxWorld {
  readonly world: 'process' | 'embedded';
  readonly clusters: readonly { readonly number: number; readonly threshold: number; readonly nodes: number }[];
}

/** Since the recording began. */
export interface Totals extends SessionTotals {
  /** By processes of the system, which may hold several by name. */
  readonly usage: readonly {
    readonly processes: readonly string[];
    readonly residentBytes: number | null;
    readonly cpuMs: number | null;
  }[];
}

export interface SessionTotals {
  readonly frames: number;
  readonly bytes: number;
  readonly began: number;
  readonly completed: number;
  readonly failed: number;
  /** From the first to the last frame, of retained sessions that completed within the last second. */
  readonly tookMs: readonly number[];
}
