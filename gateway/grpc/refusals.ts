/**
 * Refusals for load, as soon as the headers of a call are there: grpc-js would first build a call, read its message and write
 * twice. Only calls whose token is cached and has the scope are refused here; all others go on to grpc-js, which answers them
 * as ever.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import type { GrpcAccess } from '../access-log/grpc-access.ts';
import { requestIdHeader } from '../api/request-id.ts';
import { signingMethods } from '../api/signing-methods.ts';
import type { Admission } from '../auth/admission.ts';
import { toStatus } from './status.ts';

/** What `Admission` tells at once. */
export type LoadRefusals = Pick<Admission, 'mayRefuse' | 'refusedForLoad'>;

export interface RefusalDeps {
  readonly admission: LoadRefusals;
  readonly access: GrpcAccess;
}

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: readonly unknown[]) => void;
interface Inner {
  on(event: string, listener: OnStream): unknown;
}

/** A part of grpc-js's server that its types hide; the version is exact. */
interface WithStreams {
  _setupHandlers(http2Server: Inner, interceptors: unknown): void;
}

const requirements = new Map(signingMethods.map(({ grpcPath, requirement }) => [grpcPath, requirement]));

/** Before anything else listens to its streams. */
export function refuseForLoad(server: Server, deps: RefusalDeps): void {
  const inner = server as unknown as WithStreams;
  const setUp = inner._setupHandlers;
  inner._setupHandlers = (http2Server, interceptors) => {
    const { on } = http2Server;
    http2Server.on = (event, listener) => {
      const behind: OnStream = (stream, headers, ...rest) => {
        if (!isRefused(stream, headers, deps)) listener.call(http2Server, stream, headers, ...rest);
      };
      return on.call(http2Server, event, event === 'stream' ? behind : listener);
    };
    setUp.call(server, http2Server, interceptors);
    http2Server.on = on;
  };
}

function isRefused(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { admission, access }: RefusalDeps,
): boolean {
  if (!admission.mayRefuse) return false;
  const { ':path': path = '', 'content-type': type = '', authorization } = headers;
  const requirement = requirements.get(path);
  if (requirement === undefined || !type.startsWith('application/grpc')) return false;
  const refused = admission.refusedForLoad(() => authorization, requirement);
  if (refused === undefined) return false;
  const entry = access.entryAt(headers);
  if (entry !== undefined) {
    entry.principal = refused.principal;
    entry.error = refused.error;
  }
  const { code, details, metadata } = toStatus(refused.error, String(headers[requestIdHeader]));
  stream.on('error', () => undefined);
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-status': String(code),
      'grpc-message': encodeURI(details),
      ...metadata.toHttp2Headers(),
    },
    { endStream: true },
  );
  // Its message is of no use: the stream ends with it.
  stream.resume();
  return true;
}
