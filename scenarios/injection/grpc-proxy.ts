/**
 * Stands before a gateway's gRPC door: streams of HTTP/2 pass as they came, with a connection to the gateway for each of a
 * caller's, and faults of the door are performed on calls of `svc.mesh.v1`. Health and reflection always pass.
 *
 * A lost answer, and one that is cut, end the whole connection, as a broken network does: its other calls fail too.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { grpcRefusalOf } from '../faults/api-fault-answers.ts';
import type { ApiServerVerdict } from '../faults/vocabulary/engine-contract.ts';
import { type ApiProxyOptions, pauseFor, untouched } from './api-proxy-ports.ts';

const api = /^\/svc\.mesh\.v1\.\w+\/(\w+)$/;

export class GrpcProxy {
  readonly #options: ApiProxyOptions;
  readonly #sessions = new Map<ServerHttp2Session, ClientHttp2Session>();
  #server: Http2Server | undefined;

  constructor(options: ApiProxyOptions) {
    this.#options = options;
  }

  /** Resolves with the port. */
  start(): Promise<number> {
    const server = createServer();
    this.#server = server;
    server.on('session', (session) => this.#accept(session));
    server.on('sessionError', () => undefined);
    server.on('stream', (stream, headers) => this.#serve(stream, headers));
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#options.listen, () => resolve((server.address() as AddressInfo).port));
    });
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const session of this.#sessions.keys()) session.destroy();
    await closed;
  }

  #accept(session: ServerHttp2Session): void {
    const address = this.#options.upstream();
    if (address === undefined) {
      session.destroy();
      return;
    }
    const { host, port } = address;
    const upstream = connect(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
    this.#sessions.set(session, upstream);
    upstream.on('error', () => undefined);
    upstream.once('close', () => session.destroy());
    session.once('close', () => {
      this.#sessions.delete(session);
      upstream.destroy();
    });
  }

  #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', () => undefined);
    const upstream =
      stream.session === undefined ? undefined : this.#sessions.get(stream.session as ServerHttp2Session);
    const rpc = api.exec(headers[':path'] ?? '')?.[1];
    const verdict = rpc === undefined ? untouched : this.#options.evaluate({ door: 'grpc', rpc });
    if (verdict.fate === 'refused') {
      stream.resume();
      pauseFor(verdict.delayMs).then(() => refuse(stream, verdict));
      return;
    }
    if (upstream === undefined || upstream.destroyed) {
      stream.session?.destroy();
      return;
    }
    const forwarded = upstream.request(headers, { endStream: false });
    stream.pipe(forwarded);
    stream.once('close', () => {
      if (!forwarded.closed) forwarded.close(stream.rstCode);
    });
    forwarded.on('error', () => undefined);
    answerWith(stream, forwarded, verdict);
  }
}

/** Trailers come before the end of the data is told, and the caller's are sent when it is. */
function answerWith(stream: ServerHttp2Stream, forwarded: ClientHttp2Stream, verdict: ApiServerVerdict): void {
  const { fate, delayMs } = verdict;
  let trailers: IncomingHttpHeaders = {};
  const pieces: Buffer[] = [];
  let head: { readonly headers: IncomingHttpHeaders; readonly isAll: boolean } | undefined;
  const isTouched = fate !== 'answered' || delayMs > 0;
  const respond = (): void => {
    if (head === undefined || stream.destroyed) return;
    if (head.isAll) {
      stream.respond(head.headers, { endStream: true });
      return;
    }
    stream.once('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond(head.headers, { waitForTrailers: true });
  };
  forwarded.once('trailers', (received) => {
    trailers = received;
  });
  forwarded.once('response', (headers, flags) => {
    // END_STREAM: headers are all of the answer.
    head = { headers, isAll: (flags & 1) === 1 };
    if (isTouched) return;
    respond();
    if (!head.isAll) forwarded.pipe(stream);
  });
  forwarded.once('close', () => {
    if (head === undefined && !stream.destroyed) stream.close(forwarded.rstCode);
  });
  if (!isTouched) return;
  forwarded.on('data', (piece: Buffer) => pieces.push(piece));
  forwarded.once('end', async () => {
    await pauseFor(delayMs);
    if (fate === 'lost') return stream.session?.destroy();
    respond();
    const body = Buffer.concat(pieces);
    if (fate === 'answered') return head?.isAll === true ? undefined : stream.end(body);
    stream.write(body.subarray(0, Math.ceil(body.length / 2)), () => stream.session?.destroy());
  });
}

function refuse(stream: ServerHttp2Stream, verdict: ApiServerVerdict): void {
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
