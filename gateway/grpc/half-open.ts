/**
 * A deadline for what a gRPC client sends: a stream that its client has not ended in time is answered DEADLINE_EXCEEDED and
 * closed, as a slow HTTP request is. grpc-js has none: a call that never ends its message would stay for ever. The
 * bounds of connections, open and waiting, stand here too.
 */
import type { Http2SecureServer, ServerHttp2Stream } from 'node:http2';
import { type Server, status } from '@grpc/grpc-js';
import type { Timers } from '../../core/actors/contract.ts';
import type { Log } from '../../core/actors/live/ports.ts';
import { listenBacklog } from '../http/connections.ts';
import { logTlsRefusals } from '../http/server-tls.ts';

export interface HalfOpenOptions {
  readonly timers: Timers;
  readonly requestTimeoutMs: number;
  readonly connectionsMax: number;
  /** For handshakes of TLS that were refused; undefined: the door is plain. */
  readonly tlsLog?: Log;
}

/** RFC 9113 §7. */
const cancelCode = 0x8;

interface Inner extends Omit<Http2SecureServer, 'listen'> {
  maxConnections: number;
  listen(address: object, ...rest: readonly unknown[]): unknown;
}

/** A part of grpc-js's server that its types hide; the version is exact. */
interface WithStreams {
  _setupHandlers(http2Server: Inner, interceptors: unknown): void;
}

/** Before the server is bound. */
export function endHalfOpenStreams(server: Server, options: HalfOpenOptions): void {
  const inner = server as unknown as WithStreams;
  const setUp = inner._setupHandlers;
  inner._setupHandlers = (http2Server, interceptors) => {
    http2Server.maxConnections = options.connectionsMax;
    const listen = http2Server.listen.bind(http2Server);
    http2Server.listen = (address, ...rest) => listen({ ...address, backlog: listenBacklog }, ...rest);
    if (options.tlsLog !== undefined) logTlsRefusals(http2Server, 'gRPC', options.tlsLog);
    http2Server.on('stream', (stream) => watch(stream, options));
    setUp.call(server, http2Server, interceptors);
  };
}

function watch(stream: ServerHttp2Stream, { timers, requestTimeoutMs }: HalfOpenOptions): void {
  if (stream.endAfterHeaders) return;
  const cancel = timers.start(requestTimeoutMs, () => {
    if (stream.closed || stream.destroyed) return;
    if (!stream.headersSent) {
      const trailersOnly = {
        ':status': 200,
        'content-type': 'application/grpc+proto',
        'grpc-status': String(status.DEADLINE_EXCEEDED),
        'grpc-message': 'the request did not arrive in time',
      };
      stream.respond(trailersOnly, { endStream: true });
    }
    stream.close(cancelCode);
  });
  stream.once('end', cancel);
  stream.once('close', cancel);
}
