/** The configuration of a coordinator process. The command line reads it from the environment and the data directory. */
import type { LinkTls } from '../../core/actors/live/link-tls.ts';
import type { Roster } from '../../proto/roster.ts';

export interface Lifetimes {
  /** Milliseconds, by the Clock port. */
  readonly signingMs: number;
  readonly pendingMs: number;
  readonly dkgMs: number;
}

/** The configuration of the pure actors. */
export interface SessionConfig {
  /** Secret, 32 bytes: the key of resume tokens. */
  readonly resumeKey: Uint8Array;
  readonly roster: Roster;
  readonly lifetimes: Lifetimes;
  /** How long a call waits for unreachable nodes. */
  readonly nodesWaitMs: number;
  /** The timeout after which a silent node is replaced. */
  readonly partialTimeoutMs: number;
  /** A fresh id for every start of the process. */
  readonly coordinatorBoot: string;
  /** Whether gateways may inspect sessions and preview partials. */
  readonly sandbox: boolean;
  /** The ready-made keys of a sandbox: nodes 1 to n deal them, and no others. */
  readonly readyMade?: { readonly tenant: string; readonly sessions: readonly string[] } | undefined;
  /**
   * The first size of a pool's batches of nonces (default 32; it doubles while a pool runs low). A world that starts a thousand
   * clusters a second uses fewer.
   */
  readonly nonceBatchFirst?: number;
  /** A session without calls for this long leaves memory (default 60,000); the next call loads it. */
  readonly idleMs?: number;
  /** Calls that one session keeps waiting, at most (default 256). */
  readonly callsWaitingMax?: number;
}

export interface CoordinatorConfig extends Omit<SessionConfig, 'coordinatorBoot'> {
  /** Secret, the coordinator's Ed25519 seed, 32 bytes. */
  readonly identitySeed: Uint8Array;
  /** Secret, shared by the members of the cluster. */
  readonly joinSecret: Uint8Array;
  readonly listenHost: string;
  /** 0: a free one. */
  readonly listenPort: number;
  /** Its certificate for links; undefined: they are plain. */
  readonly linkTls?: LinkTls | undefined;
  /** The address for other processes, if it differs from the listening address. */
  readonly announcedUrl: string | undefined;
  readonly redisUrl: string;
  /** Bytes that a tenant may store before clients' new sessions are refused; undefined: no bound. */
  readonly tenantBytesMax?: number;
  /** A write is durable only when so many replicas have it; undefined: 0. */
  readonly redisReplicas?: number;
  readonly logLevel: string;
}
