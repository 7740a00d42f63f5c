/**
 * The gRPC server's request ids and access lines, for every call that reaches it: the signing methods, health, reflection,
 * methods that do not exist, and messages that grpc-js refuses by itself.
 *
 * grpc-js shows the latter neither to handlers nor to interceptors, so this module listens to the HTTP/2 streams below it: its
 * listener gets a stream first, sets its request id in the headers that grpc-js then reads, and reads the status when the
 * stream closes. `signmesh-call` carries the number under which a handler finds the entry of its call; a caller's own entry of
 * that name is overwritten.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type Metadata, type Server, status as statuses } from '@grpc/grpc-js';
import type { Timers } from '../../core/actors/contract.ts';
import { callTrace } from '../api/call-trace.ts';
import { type RequestIds, requestIdHeader } from '../api/request-id.ts';
import { AccessEntry, type RequestWatcher } from './access-log.ts';

const callHeader = 'signmesh-call';

/** A part of grpc-js's server that its types hide; the version is exact, and a test sees every kind of line. */
interface WithStreams {
  _setupHandlers(
    http2Server: {
      on(event: 'stream', listener: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): void;
    },
    interceptors: unknown,
  ): void;
}

export class GrpcAccess {
  readonly #watcher: RequestWatcher | undefined;
  readonly #timers: Timers;
  readonly #requestIds: RequestIds;
  readonly #open = new Map<string, AccessEntry>();
  #calls = 0;

  /** Without an observer calls still get request ids. */
  constructor(watcher: RequestWatcher | undefined, timers: Timers, requestIds: RequestIds) {
    this.#watcher = watcher;
    this.#timers = timers;
    this.#requestIds = requestIds;
  }

  /** Before the server is bound. */
  watch(server: Server): void {
    const inner = server as unknown as WithStreams;
    const setUp = inner._setupHandlers;
    if (typeof setUp !== 'function') throw new Error('this version of grpc-js creates its streams differently');
    inner._setupHandlers = (http2Server, interceptors) => {
      http2Server.on('stream', (stream, headers) => this.#begin(stream, headers));
      setUp.call(server, http2Server, interceptors);
    };
  }

  /** The entry of a call in progress, by its metadata; undefined: there is no observer. */
  entryOf(metadata: Metadata): AccessEntry | undefined {
    return this.#open.get(String(metadata.get(callHeader)[0]));
  }

  /** As `entryOf`, by the headers of its stream. */
  entryAt(headers: IncomingHttpHeaders): AccessEntry | undefined {
    return this.#open.get(String(headers[callHeader]));
  }

  #begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const requestId = this.#requestIds.of(headers[requestIdHeader]);
    headers[requestIdHeader] = requestId;
    answerWith(stream, requestId);
    if (this.#watcher === undefined) return;
    const entry = new AccessEntry(requestId, this.#timers.elapsedMs());
    const traceparent = this.#watcher.begun(entry, onlyText(headers.traceparent));
    if (traceparent !== undefined) headers.traceparent = traceparent;
    entry.headers = headers;
    this.#calls += 1;
    const call = String(this.#calls);
    headers[callHeader] = call;
    this.#open.set(call, entry);
    stream.once('close', () => {
      this.#open.delete(call);
      this.#end(entry, stream, headers);
    });
  }

  #end(entry: AccessEntry, { sentHeaders, sentTrailers }: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const code = sentTrailers?.['grpc-status'] ?? sentHeaders?.['grpc-status'];
    const grpcStatus = code === undefined ? undefined : (statuses[Number(code)] ?? String(code));
    const status = sentHeaders?.[':status'];
    const { ':path': route = '', traceparent } = headers;
    entry.trace ??= callTrace({}, onlyText(traceparent), entry.requestId);
    this.#watcher!.ended(entry, {
      door: 'grpc',
      endedMs: this.#timers.elapsedMs(),
      // The path of a method that does not exist is the caller's text.
      ...(grpcStatus === 'UNIMPLEMENTED' ? { path: route } : { route }),
      status: status === undefined ? undefined : Number(status),
      grpcStatus,
      // A request that is not gRPC gets only an HTTP status.
      aborted: code === undefined && (status === undefined || Number(status) === 200),
      isProbe: grpcStatus === 'OK' && isProbe(route),
    });
  }
}

function onlyText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function isProbe(route: string): boolean {
  return route.startsWith('/grpc.health.') || route.startsWith('/grpc.reflection.');
}

/** Whatever answers first, the request id goes with it. */
function answerWith(stream: ServerHttp2Stream, requestId: string): void {
  const { respond } = stream;
  stream.respond = (headers: OutgoingHttpHeaders = {}, options) => {
    headers[requestIdHeader] ??= requestId;
    respond.call(stream, headers, options);
  };
}
