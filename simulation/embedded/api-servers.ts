/** The real API servers of an embedded service: REST and gRPC, on sockets, before the gateway of its world. */
import type { AddressInfo } from 'node:net';
import { type Log, systemPorts } from '../../core/actors/live/ports.ts';
import type { RequestWatcher } from '../../gateway/access-log/access-log.ts';
import { RequestIds } from '../../gateway/api/request-id.ts';
import type { GrpcApiServer } from '../../gateway/grpc/server.ts';
import { buildApiServer } from '../../gateway/http/app.ts';
import type { Serve } from '../../gateway/serve/contract.ts';
import type { ReadyMadeKeys } from '../../gateway/signing/wallet-terms.ts';
import type { CustodyWorld } from '../service/custody-world.ts';
import { faultyGrpc } from './api-faults.ts';
import { admissionThrough, CallsThrough, type HealthThrough, keyedThrough, walletsThrough } from './gateway-proxy.ts';

export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface ApiServerOptions {
  readonly world: CustodyWorld;
  readonly health: HealthThrough;
  readonly serve: Serve;
  readonly http: ListenAddress;
  readonly grpc: ListenAddress;
  readonly log: Log;
  readonly readyMadeKeys: ReadyMadeKeys;
  readonly requests: RequestWatcher | undefined;
}

export interface ApiServers {
  /** host:port. */
  readonly http: string;
  readonly grpc: string;
  /** The gateway has died: ends every connection. */
  cut(): void;
  stop(): Promise<void>;
}

/** Why an API server does not open: one sentence for the person who started it. */
export class ApiServerError extends Error {
  override readonly name = 'ApiServerError';
  readonly listener: ListenAddress & { readonly what: string; readonly variable: string };

  constructor(listener: ApiServerError['listener'], cause: unknown) {
    const { what, variable, host, port } = listener;
    const text = cause instanceof Error ? cause.message : String(cause);
    super(`the ${what} server cannot listen on ${addressOf(host, port)} (${variable}): ${text}`, { cause });
    this.listener = listener;
  }
}

export async function openApiServers(options: ApiServerOptions): Promise<ApiServers> {
  const { world, serve, http, grpc, log, requests } = options;
  const requestIds = new RequestIds(systemPorts);
  const app = await buildApiServer({ serve, requestIds, timers: systemPorts.timers, log, requests });
  app.server.on('connection', (socket) => {
    if (world.gatewayAt('gateway') === undefined) socket.destroy();
  });
  try {
    await app.listen(http);
  } catch (error) {
    throw new ApiServerError({ ...http, what: 'REST', variable: 'SIGNMESH_HTTP_PORT' }, error);
  }
  const { door, port } = await openGrpc(options, requestIds).catch(async (error: unknown) => {
    await app.close();
    throw new ApiServerError({ ...grpc, what: 'gRPC', variable: 'SIGNMESH_GRPC_PORT' }, error);
  });
  return {
    http: addressOf(http.host, (app.server.address() as AddressInfo).port),
    grpc: addressOf(grpc.host, port),
    cut: () => {
      app.server.closeAllConnections();
      door.server.drain(addressOf(grpc.host, port), 0);
    },
    stop: async () => {
      door.announceStop();
      app.server.closeAllConnections();
      door.server.forceShutdown();
      await app.close();
    },
  };
}

async function openGrpc(
  options: ApiServerOptions,
  requestIds: RequestIds,
): Promise<{ door: GrpcApiServer; port: number }> {
  const { world, health, grpc, log, readyMadeKeys, requests } = options;
  const [{ grpcCredentials }, { buildGrpc }] = await Promise.all([
    import('../../gateway/grpc/credentials.ts'),
    import('../../gateway/grpc/server.ts'),
  ]);
  const door = buildGrpc({
    admission: admissionThrough(world),
    calls: new CallsThrough(world),
    keyed: keyedThrough(world),
    wallets: walletsThrough(world),
    cluster: health,
    timers: systemPorts.timers,
    ...{ requestIds, log, readyMadeKeys, requests },
  });
  faultyGrpc(door.server, (request) => world.apiServerVerdict(request));
  const port = await new Promise<number>((resolve, reject) => {
    door.server.bindAsync(addressOf(grpc.host, grpc.port), grpcCredentials(undefined), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { door, port };
}

function addressOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
