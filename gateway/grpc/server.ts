/** The gRPC server, built and not listening: the signing service, health (grpc.health.v1) and reflection. */
import { Server, setLogger } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';
import type { Timers } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { MpcWalletService } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { grpcMessageBytesMax } from '../../proto/limits.ts';
import type { RequestWatcher } from '../access-log/access-log.ts';
import { GrpcAccess } from '../access-log/grpc-access.ts';
import { connectionsDefaultMax } from '../http/connections.ts';
import type { ApiServerTls } from '../http/server-tls.ts';
import type { ClusterView } from '../signing/cluster-view.ts';
import { endHalfOpenStreams } from './half-open.ts';
import { addReflection } from './reflection.ts';
import { type LoadRefusals, refuseForLoad } from './refusals.ts';
import { addSigningService, type SigningServiceDeps } from './signing-service.ts';

export interface GrpcDeps extends Omit<SigningServiceDeps, 'access'> {
  readonly cluster: Pick<ClusterView, 'onHealth'>;
  readonly timers: Timers;
  /** Receives one line a call; undefined: no log. */
  readonly requests?: RequestWatcher | undefined;
  /** How long a client may take to send a request: 30 s by default. */
  readonly requestTimeoutMs?: number;
  readonly connectionsMax?: number;
  /** Answers refusals for load before grpc-js has built their calls; undefined: `admission` alone refuses. */
  readonly loadRefusals?: LoadRefusals;
  /** Whether the server uses TLS: its refusals are logged. */
  readonly tls?: ApiServerTls | undefined;
}

/** How long a client may take to send a request. */
const requestTimeoutDefaultMs = 30_000;

/**
 * Calls at once of one connection. A well-behaved client holds back further ones (RFC 9113 §5.1.2), one that does not loses its
 * connection: all frames that have arrived are handled in one turn, so without a bound one caller without a token could fill the
 * memory, and stop every other call for seconds.
 */
const streamsMax = 1_000;

/** The whole server, and the one service by name. */
export const healthServices: readonly string[] = ['', MpcWalletService.typeName];

const options = {
  'grpc.max_receive_message_length': grpcMessageBytesMax,
  'grpc.max_send_message_length': grpcMessageBytesMax,
  'grpc.max_concurrent_streams': streamsMax,
  // Detects silent clients, and frees the places of their calls.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 10_000,
  // An idle connection is closed; a client opens another with its next call.
  'grpc.max_connection_idle_ms': 300_000,
};

export interface GrpcApiServer {
  readonly server: Server;
  /** Tells watchers that no more calls are wanted here. */
  readonly announceStop: () => void;
}

export function buildGrpc(deps: GrpcDeps): GrpcApiServer {
  setLogger(linesOfGrpc(deps.log));
  const server = new Server(options);
  const access = new GrpcAccess(deps.requests, deps.timers, deps.requestIds);
  if (deps.loadRefusals !== undefined) refuseForLoad(server, { admission: deps.loadRefusals, access });
  access.watch(server);
  endHalfOpenStreams(server, {
    timers: deps.timers,
    requestTimeoutMs: deps.requestTimeoutMs ?? requestTimeoutDefaultMs,
    connectionsMax: deps.connectionsMax ?? connectionsDefaultMax,
    ...(deps.tls && { tlsLog: deps.log }),
  });
  addSigningService(server, { ...deps, access });
  const health = new HealthImplementation();
  let stopping = false;
  const say = (serving: boolean): void => {
    for (const service of healthServices) health.setStatus(service, serving ? 'SERVING' : 'NOT_SERVING');
  };
  deps.cluster.onHealth((state) => {
    if (!stopping) say(state !== 'unavailable');
  });
  health.addToServer(server);
  addReflection(server);
  return {
    server,
    announceStop: () => {
      stopping = true;
      say(false);
    },
  };
}

/** grpc-js writes to stderr by itself; its logger is one for the whole process. */
function linesOfGrpc(log: Log): Partial<Console> {
  const say = (...parts: unknown[]): void => log.debug({ grpc: parts.join(' ') }, 'grpc-js');
  return { debug: say, info: say, error: say };
}
