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
import { type ApiProxyOptions, performOnRpc } from './api-proxy-ports.ts';

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
    if (!performOnRpc(stream, headers, this.#options.evaluate)) return;
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
    answerWith(stream, forwarded);
  }
}

/** Trailers come before the end of the data is told, and the caller's are sent when it is. */
function answerWith(stream: ServerHttp2Stream, forwarded: ClientHttp2Stream): void {
  let trailers: IncomingHttpHeaders = {};
  let hasHead = false;
  forwarded.once('trailers', (received) => {
    trailers = received;
  });
  forwarded.once('response', (headers, flags) => {
    hasHead = true;
    if (stream.destroyed) return;
    // END_STREAM: headers are all of the answer.
    if ((flags & 1) === 1) {
      stream.respond(headers, { endStream: true });
      return;
    }
    stream.once('wantTrailers', () => stream.sendTrailers(trailers));
    stream.respond(headers, { waitForTrailers: true });
    forwarded.pipe(stream);
  });
  forwarded.once('close', () => {
    if (!hasHead && !stream.destroyed) stream.close(forwarded.rstCode);
  });
}
