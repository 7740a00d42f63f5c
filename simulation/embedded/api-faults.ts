/**
 * API faults of an embedded service, injected at its own servers: late answers, answers lost after their effect or cut in their
 * body, and refusals. While no fault is armed, requests pass unchanged.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import type { Serve, ServeResponse } from '../../gateway/serve/contract.ts';
import { faultsHeader, isFaultyPath, refusalOf } from '../../scenarios/faults/api-fault-answers.ts';
import type { ApiServerRequest, ApiServerVerdict } from '../../scenarios/faults/vocabulary/engine-contract.ts';
import { isUntouched, pauseFor, performOnRpc } from '../../scenarios/injection/api-proxy-ports.ts';

/** undefined: no fault is armed. */
export type ApiFaults = (request: ApiServerRequest) => ApiServerVerdict | undefined;

const touched = new WeakMap<ServeResponse, 'severed' | 'refused'>();

/** `severed`: a client gets none or only a part of it. `refused`: no gateway has seen the request. */
export function faultOf(response: ServeResponse): 'severed' | 'refused' | undefined {
  return touched.get(response);
}

/** `serve` with faults, for the HTTP server. */
export function faultyServe(serve: Serve, faults: ApiFaults): Serve {
  return async (request) => {
    const [path = ''] = request.target.split('?', 1);
    const verdict = isFaultyPath(path) ? faults({ door: 'http', method: request.method, path }) : undefined;
    if (verdict === undefined || isUntouched(verdict)) return serve(request);
    const { fate, delayMs } = verdict;
    request.headers[faultsHeader] = verdict.faults.join();
    if (fate === 'refused') {
      await pauseFor(delayMs);
      const refusal = refusalOf(verdict, request.entry?.requestId ?? '');
      touched.set(refusal, 'refused');
      return refusal;
    }
    const response = await serve(request);
    await pauseFor(delayMs);
    if (fate === 'answered') return response;
    const broken = brokenOff(response, fate === 'cut');
    touched.set(broken, 'severed');
    return broken;
  };
}

/** Ends the connection in place of the answer, or within its body. */
function brokenOff({ status, headers, body = '', stream }: ServeResponse, hasBegun: boolean): ServeResponse {
  return {
    ...{ status, headers },
    stream: async function* (cut) {
      if (hasBegun) {
        const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
        if (stream === undefined) yield text.slice(0, Math.floor(text.length / 2));
        else yield* firstOf(stream(cut));
        // The part is sent before the connection ends.
        await new Promise((resolve) => setImmediate(resolve));
      }
      cut();
    },
  };
}

async function* firstOf(pieces: AsyncIterableIterator<string>): AsyncGenerator<string> {
  const { done, value } = await pieces.next();
  if (done !== true) yield value;
  await pieces.return?.();
}

// --- gRPC ----------------------------------------------------------------------------------------------------------

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
