/**
 * The HTTP server's access lines. It follows a request from its arrival to the close of its response, so that 404s, unparsable
 * bodies and disconnected callers get a line too. A request that Node's parser refuses gets its line where its answer is
 * written (http/errors.ts).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Timers } from '../../core/actors/contract.ts';
import { callTrace } from '../api/call-trace.ts';
import type { ServiceError } from '../api/errors/service-error.ts';
import { AccessEntry, type RequestWatcher } from './access-log.ts';

export class HttpAccess {
  readonly #watcher: RequestWatcher;
  readonly #timers: Timers;
  /** The request that a connection is at. */
  readonly #current = new WeakMap<Socket, AccessEntry>();

  constructor(watcher: RequestWatcher, timers: Timers) {
    this.#watcher = watcher;
    this.#timers = timers;
  }

  /** `target`: of the request line. */
  begin(entry: AccessEntry, request: IncomingMessage, response: ServerResponse, target: string): void {
    const { headers, socket } = request;
    const traceparent = this.#watcher.begun(entry, onlyText(headers.traceparent));
    if (traceparent !== undefined) headers.traceparent = traceparent;
    entry.headers = headers;
    entry.target = target;
    if (socket !== undefined) this.#current.set(socket, entry);
    let isOut = false;
    response.once('finish', () => {
      isOut = true;
    });
    response.once('close', () => {
      if (socket !== undefined && this.#current.get(socket) === entry) this.#current.delete(socket);
      this.#end(entry, request, response, target, isOut);
    });
  }

  /** A request that was answered as it arrived. */
  answered(entry: AccessEntry, request: IncomingMessage, target: string, status: number): void {
    const { headers } = request;
    const traceparent = this.#watcher.begun(entry, onlyText(headers.traceparent));
    if (traceparent !== undefined) headers.traceparent = traceparent;
    entry.headers = headers;
    entry.target = target;
    this.#told(entry, request, target, status, request.destroyed);
  }

  /**
   * The connection is about to get this answer, which `serve` did not make. Returns the id of the request that it belongs to,
   * or undefined when there was none: then `refused` writes its line.
   */
  interrupt(socket: Socket, error: ServiceError): string | undefined {
    const entry = this.#current.get(socket);
    if (entry === undefined) return undefined;
    entry.error = error;
    return entry.requestId;
  }

  /** An answer without a request. */
  refused(requestId: string, error: ServiceError): void {
    const endedMs = this.#timers.elapsedMs();
    const entry = new AccessEntry(requestId, endedMs);
    entry.error = error;
    this.#watcher.ended(entry, { door: 'http', status: error.entry.http, endedMs, aborted: false, isProbe: false });
  }

  #end(entry: AccessEntry, request: IncomingMessage, response: ServerResponse, target: string, isOut: boolean): void {
    const status = response.headersSent ? response.statusCode : entry.error?.entry.http;
    this.#told(entry, request, target, status, !isOut);
  }

  #told(
    entry: AccessEntry,
    request: IncomingMessage,
    target: string,
    status: number | undefined,
    aborted: boolean,
  ): void {
    const { route } = entry;
    // The signing calls have looked into their bodies for it already.
    entry.trace ??= callTrace({}, onlyText(request.headers.traceparent), entry.requestId);
    this.#watcher.ended(entry, {
      door: 'http',
      endedMs: this.#timers.elapsedMs(),
      method: request.method,
      route,
      path: target.split('?', 1)[0],
      status,
      aborted,
      isProbe: route === '/v1/health' && status === 200,
    });
  }
}

function onlyText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
