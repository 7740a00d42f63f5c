/**
 * Stands before a gateway's HTTP door and performs the faults of the door: requests pass as they came, and answers pass, come
 * late, are lost, are cut in their bodies, or are refusals of our own.
 *
 * It speaks HTTP/1.1 on both sides and writes a message's headers as they came, but for those of one connection.
 */
import { randomUUID } from 'node:crypto';
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { faultsHeader, isFaultyPath, refusalOf } from '../faults/api-fault-answers.ts';
import type { ApiServerVerdict } from '../faults/vocabulary/engine-contract.ts';
import { type ApiProxyOptions, pauseFor, untouched } from './api-proxy-ports.ts';

/** Of one connection, not of a message (RFC 9110, 7.6.1). */
const perConnection: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'upgrade', 'te']);
/** Of an answer without a length: its first bytes pass. */
const streamBytesPassed = 64;

export class HttpProxy {
  readonly #options: ApiProxyOptions;
  readonly #agent = new Agent({ keepAlive: true });
  #server: Server | undefined;

  constructor(options: ApiProxyOptions) {
    this.#options = options;
  }

  /** Resolves with the port. */
  start(): Promise<number> {
    const lastAnswers = new WeakMap<Socket, ServerResponse>();
    const serve = (asked: IncomingMessage, answer: ServerResponse): void => {
      lastAnswers.set(asked.socket, answer);
      this.#serve(asked, answer).catch(() => asked.socket.destroy());
    };
    // Node's own refusals have neither a request id nor a body: the gateway decides about all that comes.
    const server = createServer({ requireHostHeader: false }, serve);
    server.on('checkContinue', serve).on('checkExpectation', serve);
    server.on('clientError', ({ rawPacket }: Error & { rawPacket?: Buffer }, socket) => {
      const last = lastAnswers.get(socket as Socket);
      if (last?.req.complete && !last.writableFinished) {
        // Their answer would overtake the one to the request before them.
        socket.pause();
        last.once('close', () => socket.destroy());
      } else this.#passRaw(socket as Socket, rawPacket);
    });
    server.on('connect', ({ url }, socket) =>
      this.#passRaw(socket as Socket, Buffer.from(`CONNECT ${url} HTTP/1.1\r\n\r\n`)),
    );
    // The gateway's own limits apply: it sees the request as it comes, also its headers beyond Node's 2,000.
    server.maxHeadersCount = 0;
    server.requestTimeout = 0;
    server.headersTimeout = 0;
    server.keepAliveTimeout = 0;
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#options.listen, () => resolve((server.address() as AddressInfo).port));
    });
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const path = (asked.url ?? '/').split('?', 1)[0]!;
    const verdict = isFaultyPath(path)
      ? this.#options.evaluate({ door: 'http', method: asked.method ?? '', path })
      : untouched;
    if (verdict.fate === 'refused') return refuse(asked, answer, verdict);
    const given = await this.#forward(asked, answer, verdict.faults);
    await pauseFor(verdict.delayMs);
    if (verdict.fate === 'lost') {
      // All of the answer is here: the request has had its effect.
      for await (const _ of given);
      asked.socket.resetAndDestroy();
      return;
    }
    answer.writeHead(given.statusCode ?? 502, given.statusMessage, ofMessage(given.rawHeaders));
    if (verdict.fate === 'cut') return cut(asked, answer, given);
    given.pipe(answer);
    given.once('error', () => asked.socket.destroy());
  }

  /** Bytes that are no request to pass on: the gateway answers them as it would without a proxy. */
  #passRaw(socket: Socket, bytes: Buffer | undefined): void {
    const upstream = this.#options.upstream();
    if (upstream === undefined || bytes === undefined || !socket.writable) {
      socket.destroy();
      return;
    }
    const forwarded = connect(upstream);
    forwarded.on('error', () => socket.destroy());
    socket.on('error', () => forwarded.destroy()).once('close', () => forwarded.destroy());
    forwarded.pipe(socket);
    forwarded.write(bytes);
  }

  /** Resolves when the head of the answer is here. */
  #forward(asked: IncomingMessage, answer: ServerResponse, faults: readonly string[]): Promise<IncomingMessage> {
    const upstream = this.#options.upstream();
    if (upstream === undefined) return Promise.reject(new Error('the gateway does not listen yet'));
    return new Promise((resolve, reject) => {
      const forwarded = request({
        ...upstream,
        agent: this.#agent,
        method: asked.method ?? 'GET',
        path: asked.url ?? '/',
        headers: [...ofMessage(asked.rawHeaders), ...(faults.length === 0 ? [] : [faultsHeader, faults.join()])],
        setHost: false,
      });
      let isComplete = false;
      forwarded.once('response', (given) => {
        given.once('end', () => {
          isComplete = true;
        });
        resolve(given);
      });
      forwarded.once('error', reject);
      forwarded.once('continue', () => answer.writeContinue());
      // The caller has disconnected. A connection whose answer is complete serves the next request.
      answer.once('close', () => {
        if (!isComplete) forwarded.destroy();
      });
      asked.pipe(forwarded);
    });
  }
}

/** Name, value, name, value. */
function ofMessage(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) =>
    index % 2 === 1 || perConnection.has(name.toLowerCase()) ? [] : [name, headers[index + 1]!],
  );
}

function refuse(asked: IncomingMessage, answer: ServerResponse, verdict: ApiServerVerdict): void {
  const { status, headers, body } = refusalOf(verdict, `req_${randomUUID()}`);
  asked.resume();
  pauseFor(verdict.delayMs).then(() => answer.writeHead(status, headers).end(body));
}

/** Half of a body with a length, the beginning of another one; then a reset. */
async function cut(asked: IncomingMessage, answer: ServerResponse, given: IncomingMessage): Promise<void> {
  const length = Number(given.headers['content-length'] ?? Number.NaN);
  const bytesMax = Number.isNaN(length) ? streamBytesPassed : Math.floor(length / 2);
  let passed = 0;
  for await (const piece of given as AsyncIterable<Buffer>) {
    const part = piece.subarray(0, Math.max(0, bytesMax - passed));
    passed += part.length;
    if (part.length > 0) await new Promise<void>((resolve) => answer.write(part, () => resolve()));
    // A stream has no end to wait for; the effect of any other request is complete with its answer.
    if (Number.isNaN(length) && passed >= bytesMax) break;
  }
  answer.flushHeaders();
  asked.socket.resetAndDestroy();
}
