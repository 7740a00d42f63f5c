/** A cluster beside the first. */
export interface GatewayCluster {
  /** wss://host:port, or ws:// where plain links may be; undefined: the registry in Redis says it. */
  readonly coordinatorUrl: string | undefined;
  readonly roster: Roster;
  /** Secret. */
  readonly joinSecret: Uint8Array;
}

/** The configuration of a gateway process. The command line fills it from flags, variables and cluster files. */
import type { LinkTls } from '../core/actors/live/link-tls.ts';
import { redisAddress } from '../core/redis/address.ts';
import type { ClusterEnvironment, Roster } from '../proto/roster.ts';
import type { SandboxControl } from '../scenarios/faults/control.ts';
import { tokenEnvironment } from './auth/token-format.ts';
import { tenantPattern } from './auth/token-store.ts';
import type { ApiServerTls } from './http/server-tls.ts';
import type { LoadLimits } from './limits/load-control.ts';
import type { RateLimitConfig } from './limits/rate-limits.ts';
import type { ConsoleFiles } from './serve/console.ts';
import type { ReadyMadeKeys } from './signing/wallet-terms.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface GatewayConfig {
  readonly environment: ClusterEnvironment;
  readonly httpHost: string;
  /** 0: any free port. */
  readonly httpPort: number;
  readonly grpcHost: string;
  readonly grpcPort: number;
  /** TLS of REST and gRPC; undefined: they are plain. */
  readonly apiServerTls?: ApiServerTls | undefined;
  /** wss://host:port, or ws:// where plain links may be. */
  readonly coordinatorUrl: string;
  /** Its certificate for links; undefined: they are plain. */
  readonly linkTls?: LinkTls | undefined;
  /** Plain links to other hosts are allowed. */
  readonly plainLinks?: boolean;
  /** core/redis/address.ts. */
  readonly redisUrl: string;
  /** A write is done only when this many replicas have it; undefined: 0. */
  readonly redisReplicas?: number;
  /** Of cluster 1, as are the coordinator's URL and the join secret. */
  readonly roster: Roster;
  readonly furtherClusters?: readonly GatewayCluster[];
  /** 32 bytes, secret: the seed of the identity that all gateways share. */
  readonly identitySeed: Uint8Array;
  /** Secret. */
  readonly joinSecret: Uint8Array;
  /** 32 bytes, secret: keys the hashes under which tokens are stored. The same for all gateways, for ever. */
  readonly tokenKey: Uint8Array;
  /** 32 bytes, secret: the Ed25519 seed that signs policy receipts. The same for all gateways. */
  readonly receiptSeed: Uint8Array;
  /** 32 bytes, secret: seals the records in Redis (wallets/store/secrets/record-seal.ts). The same for all gateways and workers. */
  readonly recordKey: Uint8Array;
  /** The directory of the keys that seal credentials (wallets/store/secrets/file-key-ring.ts). */
  readonly credentialKeysDir: string;
  /** Milliseconds between two blocks of the simulated chains. */
  readonly chainBlockMs: number;
  /** Deadline of a request to a hosted provider; undefined: its own default. */
  readonly providerTimeoutMs?: number;
  /** Intents that this gateway moves on at a time; undefined: its own default. */
  readonly intentConcurrency?: number;
  /** Connections of each door at once, at most; undefined: 10,000. */
  readonly connectionsMax?: number;
  /** Origins of browsers' pages that may call the HTTP API, or "*"; undefined: in a sandbox those of this machine, else none. */
  readonly corsOrigins?: readonly string[];
  /** Further names under which a sandbox's HTTP API answers, or "*". */
  readonly allowedHosts?: readonly string[];
  /** What it takes on at once; undefined: its own defaults. */
  readonly load?: LoadLimits;
  /** Bytes that a tenant may store before what is new is refused; undefined: no bound. */
  readonly tenantBytesMax?: number;
  /** false: calls are not counted (load tests). */
  readonly rateLimit: RateLimitConfig | false;
  /** Sandbox only: test tokens that were never issued open a tenant of their own. */
  readonly acceptAnyTestToken: boolean;
  /** Sandbox only: the operator decides by hand who may use modules that are PLANNED. */
  readonly modulesByOperator?: boolean;
  /** Sandbox only: a fixed token of a fixed tenant, with every scope. Secret. */
  readonly bannerToken?: { readonly token: string; readonly tenant: string };
  /** Sandbox only: the banner's token if it is public, so that the page of the API offers it. Never a secret one. */
  readonly publicToken?: string;
  /** Of the console, which a sandbox alone serves. */
  readonly consoleFiles?: ConsoleFiles;
  /** Sandbox only: a second fixed token of the banner's tenant, so that one person can try approvals. Secret. */
  readonly approverToken?: string;
  /** Sandbox only: DKG sessions of the banner's tenant whose keys have one scheme from the start. */
  readonly readyMadeKeys?: ReadyMadeKeys;
  /** Sandbox only: the process supervisor. Without it, operations that need it answer 503. */
  readonly sandboxControl?: SandboxControl;
  /** A line in the log for every request, at level info. */
  readonly accessLog: boolean;
  readonly logLevel: LogLevel;
}

/** Throws an Error that names the setting, never its value. */
export function assertGatewayConfig(config: GatewayConfig): void {
  const { rateLimit, bannerToken, publicToken, approverToken, environment, intentConcurrency } = config;
  need(isPort(config.httpPort), 'httpPort must be 0 to 65535');
  need(isPort(config.grpcPort), 'grpcPort must be 0 to 65535');
  need(/^wss?:\/\//.test(config.coordinatorUrl), 'coordinatorUrl must be a ws:// or wss:// URL');
  need(redisAddress(config.redisUrl) !== undefined, 'redisUrl must be a redis:// URL');
  need(config.identitySeed.length === 32, 'identitySeed must have 32 bytes');
  need(config.joinSecret.length >= 16, 'joinSecret must have 16 bytes or more');
  need(config.tokenKey.length === 32, 'tokenKey must have 32 bytes');
  need(config.receiptSeed.length === 32, 'receiptSeed must have 32 bytes');
  need(config.recordKey.length === 32, 'recordKey must have 32 bytes');
  need(config.credentialKeysDir !== '', 'credentialKeysDir must name a directory');
  need(isWhole(config.chainBlockMs, 10, 600_000), 'chainBlockMs must be a whole number from 10 to 600000');
  need(
    intentConcurrency === undefined || isWhole(intentConcurrency, 1, 100_000),
    'intentConcurrency must be a whole number from 1',
  );
  if (rateLimit !== false) {
    for (const key of ['windowS', 'reads', 'writes', 'signing'] as const) {
      need(Number.isInteger(rateLimit[key]) && rateLimit[key] > 0, `rateLimit.${key} must be a whole number above 0`);
    }
  }
  need(!(environment === 'production' && config.acceptAnyTestToken), 'acceptAnyTestToken works only in a sandbox');
  if (bannerToken !== undefined) {
    need(environment === 'sandbox', 'bannerToken works only in a sandbox');
    need(tokenEnvironment(bannerToken.token) === 'sandbox', 'bannerToken.token must be a svc_sk_test_ token');
    need(tenantPattern.test(bannerToken.tenant), 'bannerToken.tenant must be 1 to 64 characters of A-Z a-z 0-9 _ -');
  }
  need(publicToken === undefined || publicToken === bannerToken?.token, 'publicToken must be bannerToken.token');
  if (approverToken !== undefined) {
    need(bannerToken !== undefined, 'approverToken needs a bannerToken');
    need(tokenEnvironment(approverToken) === 'sandbox', 'approverToken must be a svc_sk_test_ token');
    need(approverToken !== bannerToken?.token, 'approverToken must differ from bannerToken.token');
  }
  need(config.readyMadeKeys === undefined || environment === 'sandbox', 'readyMadeKeys works only in a sandbox');
  need(config.sandboxControl === undefined || environment === 'sandbox', 'sandboxControl works only in a sandbox');
}

/** What a worker process must be told. */
export interface WorkerConfig {
  readonly environment: ClusterEnvironment;
  /** core/redis/address.ts. */
  readonly redisUrl: string;
  /** A write is done only when this many replicas have it; undefined: 0. */
  readonly redisReplicas?: number;
  /** The directory of the keys that seal webhooks' secrets. */
  readonly credentialKeysDir: string;
  /** As in `GatewayConfig`. */
  readonly recordKey: Uint8Array;
  /** Milliseconds between two blocks of the simulated chains. */
  readonly chainBlockMs: number;
  /** Sandbox only: pauses after the first, second, … failed try of a delivery; undefined: the usual ones. */
  readonly retryScheduleMs?: readonly number[];
  readonly logLevel: LogLevel;
}

/** Throws an Error that names the setting, never its value. */
export function assertWorkerConfig({ environment, redisUrl, recordKey, retryScheduleMs }: WorkerConfig): void {
  need(recordKey.length === 32, 'recordKey must have 32 bytes');
  need(redisAddress(redisUrl) !== undefined, 'redisUrl must be a redis:// URL');
  if (retryScheduleMs === undefined) return;
  need(environment === 'sandbox', 'retryScheduleMs works only in a sandbox');
  need(
    retryScheduleMs.every((pauseMs) => isWhole(pauseMs, 1, 7 * 24 * 3_600_000)),
    'retryScheduleMs must be whole numbers from 1',
  );
}

function isPort(port: number): boolean {
  return isWhole(port, 0, 65_535);
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

function need(holds: boolean, message: string): void {
  if (!holds) throw new Error(`gateway: ${message}`);
}
