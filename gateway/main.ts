/**
 * A gateway process: builds the HTTP and gRPC servers over one admission and one set of calls to coordinators, and listens. It
 * holds no session state; any gateway of the cluster serves any call. Processes may start in any order: without a coordinator
 * or Redis it answers 503, and health gives the reason.
 */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Timers } from '../core/actors/contract.ts';
import { type Log, systemPorts } from '../core/actors/live/ports.ts';
import { RedisWatch } from '../core/actors/live/redis-watch.ts';
import { watchedConnection } from '../core/redis/connect.ts';
import { RedisClusters } from '../core/redis/redis-clusters.ts';
import { noTelemetry, type Telemetry } from '../core/telemetry/port.ts';
import { uuidV7 } from '../proto/ids.ts';
import { BullQueue } from '../wallets/delivery/deliveries/bull-queue.ts';
import { tokenReports } from '../wallets/store/tampered.ts';
import { writeAccessLines } from './access-log/access-lines.ts';
import { allOf } from './access-log/access-log.ts';
import { gatheredLines } from './access-log/gathered-lines.ts';
import { RequestIds } from './api/request-id.ts';
import { packageVersion } from './api/version.ts';
import { Admission } from './auth/admission.ts';
import { Authenticator } from './auth/authenticator.ts';
import { SandboxTokens } from './auth/sandbox-tokens.ts';
import { TokenStore } from './auth/token-store.ts';
import { assertGatewayConfig, type GatewayConfig } from './config.ts';
import { grpcCredentials } from './grpc/credentials.ts';
import { buildGrpc, type GrpcApiServer } from './grpc/server.ts';
import { buildHttp } from './http/app.ts';
import { listenBacklog } from './http/connections.ts';
import { LoadControl } from './limits/load-control.ts';
import { RedisRateLimits } from './limits/rate-limits.ts';
import { liveClusterLinks } from './live-cluster-links.ts';
import { liveWalletPorts } from './live-wallet-ports.ts';
import { openRedis } from './redis.ts';
import { Inboxes } from './sandbox/inboxes.ts';
import { RequestLog } from './sandbox/request-log.ts';
import { sandboxSessions } from './sandbox/sessions.ts';
import type { ClusterView } from './signing/cluster-view.ts';
import { connectClusters } from './signing/connect.ts';
import { KeyedCalls } from './signing/keyed-calls.ts';
import { makeClusterSigner } from './signing/live-cluster-signer.ts';
import { makeVaultCluster } from './signing/live-vault-cluster.ts';
import { sessionReads } from './signing/session-reads.ts';
import { UnfrozenCalls } from './signing/unfrozen-calls.ts';
import { measureGateway } from './telemetry/gateway.ts';
import { measureRequests } from './telemetry/requests.ts';
import { composeWalletApi } from './wallet-api.ts';

export interface RunningGateway {
  /** e.g. "127.0.0.1:8080". */
  readonly httpAddress: string;
  readonly grpcAddress: string;
  /**
   * The stored state was restored or reset: clears caches, ends event streams so that their readers reconnect, and registers
   * the sandbox's tokens again. Resolves when that is done or has failed.
   */
  onRestored(): Promise<void>;
  /** Takes no new connections, waits up to 5 s for calls under way, then closes everything. Repeatable. */
  stop(): Promise<void>;
}

/** Why a gateway did not start: one sentence for the person who started it. */
export class GatewayStartError extends Error {
  override readonly name = 'GatewayStartError';
  /** The server that could not listen. */
  readonly listener: GatewayListener;

  constructor(message: string, listener: GatewayListener, cause: unknown) {
    super(message, { cause });
    this.listener = listener;
  }
}

export interface GatewayListener {
  readonly host: string;
  readonly port: number;
  readonly what: 'REST' | 'gRPC';
  readonly variable: string;
}

const drainMs = 5_000;
const role = 'gateway';

/** Throws GatewayStartError when a port is not available; then no part keeps running. */
export async function runGateway(config: GatewayConfig, telemetry: Telemetry = noTelemetry): Promise<RunningGateway> {
  assertGatewayConfig(config);
  const { clock, timers, random } = systemPorts;
  const lines = gatheredLines(pino.destination({ fd: process.stdout.fd, sync: false }), timers);
  process.prependListener('exit', lines.flush);
  const log = pino({ level: config.logLevel, base: { role } }, lines);
  const redis = openRedis(config.redisUrl, log, config.redisReplicas);
  const store = new TokenStore(redis, config.tokenKey, systemPorts);
  const registry = new RedisClusters(redis);
  const links = liveClusterLinks(config, registry, uuidV7(clock.nowMs(), random), log);
  const { readyMadeKeys: readyMade } = config;
  const { tracer, metrics } = telemetry;
  const room = { clusters: links.clusters, registry, readyMade, clock, timers, random, log, tracer };
  const rooms = connectClusters(room);
  const { cluster } = rooms;
  const calls = new UnfrozenCalls(rooms.calls, () => walletPorts.store);
  measureGateway(metrics, { calls, cluster });
  const watch = watchRedis(redis, config.redisUrl, cluster, log);
  const { environment, acceptAnyTestToken, tokenKey } = config;
  const sandboxTokens = registerSandboxTokens(redis, store, config, cluster, timers, log);
  const authenticator = new Authenticator({
    ...{ environment, acceptAnyTestToken, tokenKey, store, clock, timers, log },
    ...(sandboxTokens && { reserved: sandboxTokens }),
    onTampered: (tenant, id, reason) => reports.report(tenant, 'token', id, reason),
  });
  const limits = config.rateLimit === false ? undefined : new RedisRateLimits(redis, config.rateLimit, timers, log);
  const probe = () => redis.ping().catch(() => undefined);
  const load = new LoadControl({ timers, probe, ...(config.load && { limits: config.load }) });
  const admission = new Admission(authenticator, limits, timers, load);
  const version = packageVersion();
  const seen = environment === 'sandbox' ? new RequestLog(timers) : undefined;
  const inboxes = environment === 'sandbox' ? new Inboxes({ random, timers }) : undefined;
  // Made when a page asks for it.
  let hooks: BullQueue | undefined;
  const deliveries = () => {
    hooks ??= new BullQueue({ redis, log });
    return hooks.counts();
  };
  const sandbox = {
    ...{ version, control: config.sandboxControl, sessions: sandboxSessions({ calls, cluster }), tokens: store },
    ...{ requests: seen, inboxes, queues: { calls: () => calls.inFlight, deliveries } },
  };
  const { credentialKeysDir, recordKey } = config;
  const clusters = {
    signer: makeClusterSigner({ calls }),
    vaultCluster: makeVaultCluster({ calls, sharing: config.roster.sharing }),
    sessions: sessionReads(calls, cluster),
  };
  const walletPorts = liveWalletPorts({
    ...{ redis, credentialKeysDir, recordKey, log, tenantBytesMax: config.tenantBytesMax },
    ...clusters,
  });
  const reports = tokenReports(walletPorts);
  const wallets = composeWalletApi(walletPorts, {
    config,
    admission,
    tokens: store,
    rateLimits: config.rateLimit === false ? undefined : config.rateLimit,
    load,
    ...(environment === 'sandbox' && { sandbox }),
  });
  const { publicToken, readyMadeKeys, consoleFiles } = config;
  const page = {
    version,
    consoleFiles,
    inboxes,
    control: config.sandboxControl,
    ...(publicToken !== undefined && { publicToken }),
  };
  const writesAccess = config.accessLog && log.isLevelEnabled('info');
  const requests = allOf([
    telemetry.isOn ? measureRequests(telemetry) : undefined,
    writesAccess ? writeAccessLines({ to: lines, timers, role, isDebug: log.isLevelEnabled('debug') }) : undefined,
    seen,
  ]);
  const keys = readyMadeKeys && { readyMadeKeys };
  const requestIds = new RequestIds(systemPorts);
  const bounds = config.connectionsMax !== undefined && { connectionsMax: config.connectionsMax };
  const doors = {
    tls: config.apiServerTls,
    admission,
    calls,
    cluster,
    timers,
    requestIds,
    log,
    requests,
    wallets: wallets.store,
    keyed: new KeyedCalls(wallets.deps),
    ...keys,
    ...bounds,
  };
  const { corsOrigins, allowedHosts } = config;
  const isLate = () => load.isLate;
  const http = await buildHttp({ ...doors, ...page, corsOrigins, allowedHosts, environment, rest: wallets, isLate });
  const grpc = buildGrpc({ ...doors, loadRefusals: admission });
  const onRestored = async () => {
    authenticator.clearCache();
    limits?.restored();
    rooms.restored();
    await wallets.restored();
    await sandboxTokens?.register();
    log.info({ event: 'gateway.restored' }, 'the stored data was restored or reset: caches are cleared');
  };
  const stop = once(async () => {
    watch.stop();
    sandboxTokens?.stop();
    await Promise.all([wallets.stop(), closeApiServers(http, grpc, rooms.calls)]);
    await links.stop();
    await closeRedis(redis);
    log.info({}, 'gateway stopped');
    lines.flush();
    process.off('exit', lines.flush);
  });

  links.start();
  try {
    const httpAddress = await listenHttp(http, config);
    const grpcAddress = await listenGrpc(grpc, config);
    // Where `up` runs the workers beside it; elsewhere they may be on other machines.
    if (config.sandboxControl !== undefined && config.apiServerTls === undefined) inboxes?.reachedAt(httpAddress);
    wallets.start();
    log.info({ http: httpAddress, grpc: grpcAddress, environment }, 'gateway listens');
    return { httpAddress, grpcAddress, onRestored, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listenHttp(http: FastifyInstance, { httpHost, httpPort }: GatewayConfig): Promise<string> {
  try {
    await http.listen({ host: httpHost, port: httpPort, backlog: listenBacklog });
  } catch (error) {
    throw startError({ host: httpHost, port: httpPort, what: 'REST', variable: 'SIGNMESH_HTTP_PORT' }, error);
  }
  return formatAddress(httpHost, (http.server.address() as AddressInfo).port);
}

async function listenGrpc(
  { server }: GrpcApiServer,
  { grpcHost, grpcPort, apiServerTls }: GatewayConfig,
): Promise<string> {
  try {
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(formatAddress(grpcHost, grpcPort), grpcCredentials(apiServerTls), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    return formatAddress(grpcHost, port);
  } catch (error) {
    throw startError({ host: grpcHost, port: grpcPort, what: 'gRPC', variable: 'SIGNMESH_GRPC_PORT' }, error);
  }
}

function startError(listener: GatewayListener, error: unknown): GatewayStartError {
  const { host, port, what, variable } = listener;
  const text = error instanceof Error ? error.message : String(error);
  return new GatewayStartError(
    `the ${what} server cannot listen on ${formatAddress(host, port)} (${variable}): ${text}`,
    listener,
    error,
  );
}

/** Both servers drain together; calls that are not done in time are cut. */
async function closeApiServers(
  http: FastifyInstance,
  grpc: GrpcApiServer,
  calls: { stop(graceMs: number): Promise<void> },
): Promise<void> {
  grpc.announceStop();
  const httpClosed = http.close();
  const grpcClosed = new Promise<void>((resolve) => {
    grpc.server.tryShutdown(() => resolve());
  });
  await calls.stop(drainMs);
  // Answers are in the sockets' buffers: one turn lets them leave. Open health watches would keep gRPC running for ever.
  await new Promise((resolve) => setImmediate(resolve));
  http.server.closeIdleConnections();
  const cut = setTimeout(() => {
    http.server.closeAllConnections();
    grpc.server.forceShutdown();
  }, 250);
  await Promise.all([httpClosed, grpcClosed]);
  clearTimeout(cut);
}

async function closeRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await redis.quit().catch(() => {});
  redis.disconnect();
}

/** Health says `degraded` while what is stored cannot be changed. */
function watchRedis(redis: Redis, url: string, cluster: ClusterView, log: Log): RedisWatch {
  return new RedisWatch({
    ...{ redis: watchedConnection(redis), url, log },
    probeKey: 'sm:probe:gateway',
    onChange: (refusal) => {
      cluster.hinder('redis', refusal && { health: 'degraded', reason: `Redis ${refusal.text}` });
    },
  });
}

/** undefined: this environment has none. Health is `unavailable` until they are registered. */
function registerSandboxTokens(
  redis: Redis,
  store: TokenStore,
  { bannerToken: banner, approverToken, tokenKey }: GatewayConfig,
  cluster: ClusterView,
  timers: Timers,
  log: Log,
): SandboxTokens | undefined {
  if (banner === undefined) return undefined;
  cluster.hinder('start', { health: 'unavailable', reason: 'the sandbox’s own tokens are not registered yet' });
  const onRegistered = () => cluster.hinder('start', undefined);
  const tokens = new SandboxTokens({ store, tokenKey, banner, approverToken, timers, log, onRegistered });
  redis.on('ready', () => tokens.register());
  return tokens;
}

function formatAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function once<T>(action: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= action();
    return running;
  };
}
