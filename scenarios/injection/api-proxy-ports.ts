/** What the proxies before a gateway's doors share, and the embedded service with them: they perform faults of the doors. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { grpcRefusalOf, isUntouched } from '../faults/api-fault-answers.ts';
import type { ApiServerRequest, ApiServerVerdict } from '../faults/vocabulary/engine-contract.ts';

export interface ApiProxyOptions {
  /** Where callers come; port 0: any. */
  readonly listen: ApiServerAddress;
  /** Where the gateway listens now; undefined: nowhere yet. */
  readonly upstream: () => ApiServerAddress | undefined;
  /** Asked once for each request of the API. */
  readonly evaluate: (request: ApiServerRequest) => ApiServerVerdict;
}

export interface ApiServerAddress {
  readonly host: string;
  readonly port: number;
}

export const untouched: ApiServerVerdict = { fate: 'answered', delayMs: 0, faults: [] };

export function pauseFor(ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms).unref());
}

const api = /^\/svc\.mesh\.v1\.\w+\/(\w+)$/;

/**
 * Performs the faults of a gRPC call at its stream; health and reflection always pass. `evaluate` may return undefined: no fault
 * is armed. False: the call is refused. True: the caller passes it to its server, whose answer meets the fault.
 */
export function performOnRpc(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  evaluate: (request: ApiServerRequest) => ApiServerVerdict | undefined,
): boolean {
  const rpc = api.exec(headers[':path'] ?? '')?.[1];
  const verdict = rpc === undefined ? undefined : evaluate({ door: 'grpc', rpc });
  if (verdict?.fate === 'refused') {
    void refuse(stream, verdict);
    return false;
  }
  if (verdict !== undefined && !isUntouched(verdict)) holdAnswer(stream, verdict);
  return true;
}

async function refuse(stream: ServerHttp2Stream, verdict: ApiServerVerdict): Promise<void> {
  stream.on('error', () => undefined);
  stream.resume();
  await pauseFor(verdict.delayMs);
  if (stream.destroyed) return;
  const { code, details } = grpcRefusalOf(verdict);
  const headers = {
    ':status': 200,
    'content-type': 'application/grpc',
    'grpc-status': String(code),
    'grpc-message': details,
  };
  stream.respond(headers, { endStream: true });
}

/**
 * Holds the server's writes back until it has written everything: the call has its effect. A lost or cut answer ends the whole
 * connection, as a broken network does.
 */
function holdAnswer(stream: ServerHttp2Stream, { fate, delayMs }: ApiServerVerdict): void {
  const own = {
    respond: stream.respond.bind(stream),
    write: stream.write.bind(stream) as (piece: Buffer, written: () => void) => boolean,
    end: stream.end.bind(stream) as (piece: Buffer) => unknown,
  };
  let head: Parameters<ServerHttp2Stream['respond']> = [];
  const pieces: Buffer[] = [];
  const finish = async (): Promise<void> => {
    await pauseFor(delayMs);
    if (stream.destroyed) return;
    if (fate === 'lost') {
      stream.session?.destroy();
      return;
    }
    own.respond(...head);
    const body = Buffer.concat(pieces);
    if (fate === 'answered') {
      if (head[1]?.endStream !== true) own.end(body);
      return;
    }
    own.write(body.subarray(0, Math.ceil(body.length / 2)), () => stream.session?.destroy());
  };
  Object.assign(stream, {
    respond: (...given: typeof head) => {
      head = given;
      if (given[1]?.endStream === true) void finish();
    },
    write: (piece: Buffer, ...rest: unknown[]) => {
      pieces.push(piece);
      const written = rest.at(-1);
      if (typeof written === 'function') process.nextTick(written);
      return true;
    },
    end: () => {
      void finish();
      return stream;
    },
  });
}
