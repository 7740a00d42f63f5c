/** gRPC faults of an embedded service, injected at its own server. While no fault is armed, calls pass unchanged. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { performOnRpc } from '../../scenarios/injection/api-proxy-ports.ts';
import type { ApiFaults } from '../service/faulty-serve.ts';

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

interface StreamServer {
  on(event: string, listener: OnStream): unknown;
}

/** An internal part of grpc-js's server that its types hide; the version is pinned. */
interface WithStreams {
  _setupHandlers(http2Server: StreamServer, interceptors: unknown): void;
}

/** Call it before the server is bound. Health and reflection always pass. */
export function faultyGrpc(server: Server, faults: ApiFaults): void {
  const inner = server as unknown as WithStreams;
  const setUp = inner._setupHandlers;
  inner._setupHandlers = (http2Server, interceptors) => {
    const listeners: OnStream[] = [];
    const own = http2Server.on;
    http2Server.on = (event, listener) => {
      if (event === 'stream') listeners.push(listener);
      else own.call(http2Server, event, listener);
      return http2Server;
    };
    setUp.call(server, http2Server, interceptors);
    http2Server.on = own;
    http2Server.on('stream', (stream, headers) => {
      if (performOnRpc(stream, headers, faults)) for (const listener of listeners) listener(stream, headers);
    });
  };
}
