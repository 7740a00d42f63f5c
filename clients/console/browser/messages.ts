/** The messages of GET /v1/sandbox/stream, as far as the console reads them. */
import type { SandboxEvent, SandboxFault, SandboxNode } from '../../client/generated-api.ts';

export interface StreamSession {
  readonly tenant: string;
  readonly session: string;
  readonly kind: 'dkg' | 'signing';
  readonly cluster: number;
  /** `open`: also while a caller has to continue it. */
  readonly state: 'open' | 'completed' | 'failed';
  readonly reason_code: string | null;
  readonly attempt: number;
  readonly nodes: readonly number[];
  readonly culprits: readonly number[];
  /** Ids of the faults that touched its frames. */
  readonly faults: readonly string[];
  readonly frames: number;
  readonly began_ms: number;
  readonly last_ms: number;
  /** How much of it the recording still has. */
  readonly retained: 'all' | 'some';
}

export interface Figures {
  readonly over_ms: number;
  readonly frames: number;
  readonly bytes: number;
  readonly began: number;
  readonly completed: number;
  readonly failed: number;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
  readonly processes: readonly {
    /** All names in one process of the system. */
    readonly processes: readonly string[];
    /** Of one core. */
    readonly cpu: number | null;
    readonly resident_bytes: number | null;
  }[];
}

export interface Hello {
  readonly kind: 'hello';
  readonly world: 'process' | 'embedded';
  readonly version: string;
  readonly began_at: string | null;
  readonly clusters: readonly { readonly number: number; readonly threshold: number; readonly nodes: number }[];
  readonly processes: readonly SandboxNode[];
  readonly faults: readonly SandboxFault[];
  readonly sessions: readonly StreamSession[];
  readonly missing: readonly { readonly topic: string; readonly why: string }[];
  readonly lost: boolean;
  readonly next: string;
}

export interface Batch {
  readonly kind: 'batch';
  readonly events: readonly SandboxEvent[];
  readonly positions: readonly number[];
  readonly sessions?: readonly StreamSession[];
  readonly processes?: readonly SandboxNode[];
  readonly faults?: readonly SandboxFault[];
  readonly figures?: Figures;
  /** Events and sessions that did not fit, by topic. */
  readonly left_out: Readonly<Partial<Record<string, number>>>;
  readonly lost: boolean;
  readonly next: string;
}
