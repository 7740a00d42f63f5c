/** One life of a simulated gateway: the live composition over the ports of the world. */
import type { Redis } from 'ioredis';
import type { Log } from '../../core/actors/live/ports.ts';
import { firstCluster } from '../../core/redis/clusters.ts';
import { RedisClusters } from '../../core/redis/redis-clusters.ts';
import { RequestIds } from '../../gateway/api/request-id.ts';
import type { Route } from '../../gateway/api/route.ts';
import { Admission } from '../../gateway/auth/admission.ts';
import { Authenticator } from '../../gateway/auth/authenticator.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { type RpcListener, type RpcRequest, serveRpc } from '../../gateway/grpc/serve-rpc.ts';
import { LoadControl } from '../../gateway/limits/load-control.ts';
import { type RateLimitConfig, RedisRateLimits } from '../../gateway/limits/rate-limits.ts';
import { redisWalletPorts } from '../../gateway/redis-wallet-ports.ts';
import type { Inboxes } from '../../gateway/sandbox/inboxes.ts';
import type { RequestLog } from '../../gateway/sandbox/request-log.ts';
import { sandboxSessions } from '../../gateway/sandbox/sessions.ts';
import type { Serve } from '../../gateway/serve/contract.ts';
import { makeServe, type ServeDeps } from '../../gateway/serve/serve.ts';
import { connectClusters } from '../../gateway/signing/connect.ts';
import type { CoordinatorLink, LinkListener } from '../../gateway/signing/coordinator-port.ts';
import { KeyedCalls } from '../../gateway/signing/keyed-calls.ts';
import { makeClusterSigner } from '../../gateway/signing/live-cluster-signer.ts';
import { makeVaultCluster } from '../../gateway/signing/live-vault-cluster.ts';
import { orderIssuer } from '../../gateway/signing/order-issuer.ts';
import { sessionReads } from '../../gateway/signing/session-reads.ts';
import type { Calls } from '../../gateway/signing/signing-calls.ts';
import { UnfrozenCalls } from '../../gateway/signing/unfrozen-calls.ts';
import { composeWalletApi, type WalletApiConfig, type WalletPorts } from '../../gateway/wallet-api.ts';
import type { Roster } from '../../proto/roster.ts';
import type { WireMessage } from '../../proto/wire.ts';
import type { SandboxControl } from '../../scenarios/faults/control.ts';
import type { ReconQueue } from '../../wallets/companions/recon/public.ts';
import type { TenantStore } from '../../wallets/store/contract.ts';
import type { StorePorts } from '../../wallets/store/redis-tenant-store.ts';
import type { KeyRing } from '../../wallets/store/secrets/key-ring.ts';
import { tokenReports } from '../../wallets/store/tampered.ts';
import type { ProcessLife } from './process-life.ts';
import type { Queues } from './queues.ts';

/** The ports of a world with outside clients for its gateways. */
export interface ServedGateway
  extends Pick<
    ServeDeps,
    'version' | 'publicToken' | 'docsPage' | 'consoleFiles' | 'corsOrigins' | 'allowedHosts' | 'readyMadeKeys'
  > {
  readonly control: SandboxControl;
  /** Of its servers. */
  readonly requests: RequestLog;
  readonly inboxes: Inboxes;
  /** An interceptor of its clients' calls to the coordinator. */
  readonly through?: (calls: Calls) => Calls;
  readonly acceptAnyTestToken: boolean;
}

/** A cluster as a gateway reaches it. */
export interface SimulatedClusterLink {
  readonly roster: Roster;
  readonly send: CoordinatorLink['send'];
}

/** The configuration of every gateway and worker of a world. */
export type WorldConfig = WalletApiConfig & Pick<StorePorts, 'recordKey'>;

export interface GatewayParts {
  /** By number, from 1. */
  readonly clusters: readonly SimulatedClusterLink[];
  /** 32 bytes: of the identity that all gateways share. Secret. */
  readonly identitySeed: Uint8Array;
  readonly redis: Redis;
  readonly providers: Pick<WalletPorts, 'custodianRecords' | 'custodianBooks'>;
  readonly ring: KeyRing;
  readonly reconQueue: ReconQueue;
  /** Of the world. */
  readonly queues: Queues;
  readonly config: WorldConfig;
  /** undefined: calls are unlimited. */
  readonly rateLimits: RateLimitConfig | undefined;
  readonly log: Log;
  readonly served: ServedGateway | undefined;
  /** Answers that do not match their schemas are errors. */
  readonly checkResponses: boolean;
  /** Keys that cluster 1 makes. */
  readonly readyMade: { readonly tenant: string; readonly sessions: readonly string[] } | undefined;
}

export interface SimGateway extends Pick<ServeDeps, 'admission' | 'calls' | 'cluster' | 'keyed'> {
  readonly serve: Serve;
  /** A gRPC call, without its socket. */
  rpc(request: RpcRequest, listener: RpcListener): void;
  readonly store: TenantStore;
  readonly routes: readonly Route[];
  /** The stored state was restored: drops its caches. */
  restored(): Promise<void>;
  /** From the coordinator of this cluster. */
  arrived(cluster: number, message: WireMessage): void;
  /** The link to it came up, or was lost. */
  linked(cluster: number, up: boolean): void;
}

/** Not the package's version: a run does not depend on it. */
const version = '0.0.0-world';

export function startGateway(life: ProcessLife, parts: GatewayParts): SimGateway {
  const {
    clusters,
    identitySeed,
    redis,
    providers,
    ring,
    reconQueue,
    queues,
    config,
    rateLimits,
    log,
    served,
    readyMade,
  } = parts;
  const { checkResponses } = parts;
  const { ports } = life;
  const { clock, timers, random } = ports;
  const { environment, tokenKey } = config;
  const links = clusters.map(({ send }) => new SimLink(send));
  const rooms = connectClusters({
    clusters: new Map(
      clusters.map(({ roster }, index) => [
        index + firstCluster,
        { link: links[index]!, roster, orders: orderIssuer({ roster, identitySeed, random }) },
      ]),
    ),
    registry: new RedisClusters(redis),
    readyMade: readyMade && {
      tenant: readyMade.tenant,
      schemes: Object.fromEntries(readyMade.sessions.map((session) => [session, true])),
    },
    ...{ clock, timers, random, log },
  });
  const { cluster } = rooms;
  const calls = new UnfrozenCalls(rooms.calls, () => api.store);
  const tokens = new TokenStore(redis, tokenKey, ports);
  const authenticator = new Authenticator({
    ...{ environment, tokenKey, clock, timers, log },
    acceptAnyTestToken: served?.acceptAnyTestToken ?? environment === 'sandbox',
    store: tokens,
    onTampered: (tenant, id, reason) => reports.report(tenant, 'token', id, reason),
  });
  const load = new LoadControl({ timers, probe: () => redis.ping().catch(() => undefined) });
  const limits = rateLimits && new RedisRateLimits(redis, rateLimits, timers, log);
  const admission = new Admission(authenticator, limits, timers, load);
  const api = composeWalletApi(
    {
      ...redisWalletPorts(redis, { ...ports, recordKey: config.recordKey, log }),
      ...providers,
      ...{ ring, reconQueue, log },
      signer: makeClusterSigner({ calls }),
      vaultCluster: makeVaultCluster({ calls, sharing: clusters[0]!.roster.sharing }),
      sessions: sessionReads(calls, cluster),
    },
    {
      config: readyMade === undefined ? config : { ...config, bannerToken: { tenant: readyMade.tenant } },
      admission,
      tokens,
      rateLimits,
      load,
      checkResponses,
      ...(environment === 'sandbox' && {
        sandbox: {
          ...{ version: served?.version ?? version, control: served?.control },
          ...{ requests: served?.requests, inboxes: served?.inboxes },
          ...{ sessions: sandboxSessions({ calls, cluster }), tokens },
          queues: { calls: () => calls.inFlight, deliveries: async () => queues.webhooks.counts },
        },
      }),
    },
  );
  const reports = tokenReports({ ...ports, store: api.store });
  const clientCalls = served?.through?.(calls) ?? calls;
  const signing = {
    ...{ admission, calls: clientCalls, log, wallets: api.store, requestIds: new RequestIds(ports), timers },
    keyed: new KeyedCalls(api.deps),
    ...(served?.readyMadeKeys && { readyMadeKeys: served.readyMadeKeys }),
  };
  // Without sockets no browser reaches it: every name is right, unless it is served from some.
  const names = { allowedHosts: ['*'] };
  const serve = makeServe({ ...{ environment, cluster, timers, version }, ...names, ...served, ...signing, rest: api });
  api.start();
  return {
    ...{ serve, admission, calls: clientCalls, cluster, store: api.store, routes: api.routes, keyed: signing.keyed },
    rpc: (request, listener) => serveRpc(signing, request, listener),
    restored: () => {
      authenticator.clearCache();
      limits?.restored();
      rooms.restored();
      return api.restored();
    },
    arrived: (from, message) => links[from - firstCluster]!.arrived(message),
    linked: (to, up) => links[to - firstCluster]!.linked(up),
  };
}

/** The gateway's end of its link to a coordinator. */
class SimLink implements CoordinatorLink {
  readonly send: CoordinatorLink['send'];
  #listener: LinkListener | undefined;

  constructor(send: CoordinatorLink['send']) {
    this.send = send;
  }

  listen(listener: LinkListener): void {
    this.#listener = listener;
    listener.onStatus(false);
  }

  arrived(message: WireMessage): void {
    // A message off the wire is complete: the codec completed it.
    this.#listener?.onMessage(message as Parameters<LinkListener['onMessage']>[0]);
  }

  linked(up: boolean): void {
    this.#listener?.onStatus(up);
  }
}
