/** The options of a simulated cluster. */

import type { SessionConfig } from '../../coordinator/contract/config.ts';
import type { CoordinatorWrite } from '../../coordinator/contract/messages.ts';
import type { Envelope, RandomBytes } from '../../core/actors/contract.ts';
import type { SandboxKeys } from '../../nodes/dkg/party.ts';
import type { NodeWrite } from '../../nodes/records/records.ts';
import type { Sharing } from '../../proto/roster.ts';
import type { WireEnvelope, WireMessage } from '../../proto/wire.ts';
import type { RunEvent } from '../../scenarios/faults/recording.ts';
import type { FaultEngine } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import type { Fault } from '../../scenarios/faults/vocabulary/fault.ts';
import type { ExternalProcesses } from './external-processes.ts';
import type { Codec } from './frame-codec.ts';
import type { WriteFate } from './memory-stores.ts';
import type { Observation } from './observation.ts';
import type { SharedWorld } from './shared.ts';
import type { SimVendorOptions } from './vendor.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface SimOptions {
  readonly seed: string;
  /** A new one by default, at `worldBeganMs`. */
  readonly time?: VirtualTime;
  /** Randomness by label; by default a stream of the seed for each. A restarted process finds that of "identity/…" and "resume-key" again. */
  readonly randomOf?: (label: string) => RandomBytes;
  /** The cryptography that health reports; "simulated" by default. */
  readonly cryptoBackend?: string;
  /** The durable state has seen this many starts of each process: boots are never reused. 0 by default. */
  readonly startsBefore?: number;
  /** Keys whose polynomials come from a seed, as those of a live sandbox; none by default. */
  readonly readyMade?: Omit<SandboxKeys, 'seed'> & { readonly seedOf: (nodeId: number) => Uint8Array };
  /** 5 by default. */
  readonly nodes?: number;
  /** The sharing of a key that requests none; 3 of 5 by default, of fewer nodes where there are fewer, as `signmesh init` has it. */
  readonly sharing?: Sharing | undefined;
  /** Whether a node accepts client-supplied dealers; all do by default, as the nodes of a sandbox. */
  readonly clientDealers?: (nodeId: number) => boolean;
  readonly config?: Partial<Omit<SessionConfig, 'roster' | 'coordinatorBoot'>>;
  /** Sees every frame to and from nodes, and to the gateway, and decides its fate; before any fault does. */
  readonly onFrame?: (envelope: Envelope<WireMessage>) => FrameFate;
  /** The fate of the coordinator's writes, and of a node's. */
  readonly onCoordinatorWrite?: (write: CoordinatorWrite) => WriteFate;
  readonly onNodeWrite?: (nodeId: number, write: NodeWrite) => WriteFate;

  /** Armed when the cluster is up. */
  readonly faults?: readonly Fault[];
  /** Replaces the engine of scenarios/faults/engine.ts. */
  readonly engine?: FaultEngine;
  /** The latency of a frame; 1 ms by default. Drawn for each, in whole milliseconds. */
  readonly latency?: { readonly minMs: number; readonly maxMs: number };
  /** A silent link is dead after this time; 6,000 by default, as three heartbeats are. */
  readonly linkTimeoutMs?: number;
  /** The coordinator learns this late that the link of a dead node is gone, perhaps after the node's next start. At once by default. */
  readonly linkNewsMs?: number | undefined;
  /** Messages that wait for one session or key of the coordinator; the actors' own limits by default. */
  readonly mailboxMax?: number | undefined;
  /** The coordinator scans for expired sessions, every second as a live one. Off by default: see `sweep`. */
  readonly sweeping?: boolean;
  /** The interval of the scans; one second by default. */
  readonly sweepEveryMs?: number | undefined;
  /** Adds a receiver of webhooks, and a worker that delivers every event to it. */
  readonly receiver?: boolean;
  /** Pauses after the first, second, … failed try; 200, 1,000 and 5,000 ms by default. */
  readonly deliveryScheduleMs?: readonly number[];
  /** When an actor throws: end the run (default), or record it and restart the actor, as in the live world. */
  readonly onBug?: 'throw' | 'record';

  /** The vendor of MPC_VENDOR keys. */
  readonly vendor?: SimVendorOptions;

  /**
   * Of the clusters of one world (clusters.ts), which open them when all are made: number and shared parts. By default cluster 1 of its own
   * world, which is open at once.
   */
  readonly number?: number;
  readonly shared?: SharedWorld;

  /** Processes of another room. One named "gateway" or "worker" replaces the world's own. */
  readonly external?: ExternalProcesses;
  /** The number of gateways and workers among them, for faults that name one. */
  readonly externalCounts?: { readonly gateways: number; readonly workers: number };

  readonly observe?: (observation: Observation) => void;
  readonly record?: (event: RunEvent) => void;
  /** The text of a frame for `record`; by default the text of the reports. */
  readonly frameText?: (envelope: WireEnvelope) => string;
  /** Whether `trace` and `events` are kept; true by default. */
  readonly keepTrace?: boolean;
  /** 'none': frames are not encoded, which is faster; 'bytes' by default. */
  readonly codec?: Codec;
}

/** true: it arrives. false: it is lost. Otherwise its replacements, each with its own delay. */
export type FrameFate =
  | boolean
  | Envelope<WireMessage>
  | readonly { readonly envelope: Envelope<WireMessage>; readonly afterMs: number }[];

/** An actor threw. */
export interface Bug {
  readonly address: string;
  /** Without anything that could be a secret. */
  readonly text: string;
}
