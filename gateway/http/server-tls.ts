/** TLS of the HTTP and gRPC servers: the required client certificates, and the log of refused clients. */
import type { ServerOptions } from 'node:https';
import type { Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { refusalOf, withoutResumption } from '../../core/actors/live/link-tls.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { RefusalLog } from '../../core/actors/live/refusal-log.ts';

/** Certificate, key and optionally the authority of clients, for REST and gRPC. PEM texts; `key` is secret. */
export interface ApiServerTls {
  readonly cert: string;
  readonly key: string;
  /** Clients need a certificate of it; undefined: none. */
  readonly clientCa?: string | undefined;
}

const handshakeTimeoutMs = 5_000;

export function apiServerOptions({ cert, key, clientCa }: ApiServerTls): ServerOptions {
  return {
    ...{ cert, key, handshakeTimeout: handshakeTimeoutMs },
    minVersion: 'TLSv1.2',
    ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: true, ...withoutResumption }),
  };
}

/** A refused handshake has no request, so no line of the access log. Probes that connect and say nothing get no line. */
export function logTlsRefusals(
  server: Pick<Server, 'on' | 'removeAllListeners'>,
  door: 'HTTP' | 'gRPC',
  log: Log,
): void {
  const refusals = new RefusalLog(log, 'a client was refused');
  // Node's own listener would hand the broken socket to the answers for malformed HTTP.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    socket.destroy();
    const refusal = refusalOf(error, socket);
    if (refusal !== undefined) refusals.refused({ ...refusal, door });
  });
}
