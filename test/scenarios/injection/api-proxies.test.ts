/** The proxies before the doors, between real callers and a real server behind them: what passes as it came, and what breaks. */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect, createServer as createHttp2, type Http2Server } from 'node:http2';
import { type AddressInfo, connect as connectRaw } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import type { ApiServerRequest, ApiServerVerdict } from '../../../scenarios/faults/vocabulary/engine-contract.ts';
import { GrpcProxy } from '../../../scenarios/injection/grpc-proxy.ts';
import { HttpProxy } from '../../../scenarios/injection/http-proxy.ts';
import { until } from '../../support/until.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const listen = { host: '127.0.0.1', port: 0 };
const passed: ApiServerVerdict = { fate: 'answered', delayMs: 0, faults: [] };

async function portOf(server: Server | Http2Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
  readonly body: string;
}

/** A gateway that answers everything with a 418 of its own, bodies unread. */
function decidingItself(server: Server): void {
  const own = { 'x-own': 'gateway' };
  const answer = (_: IncomingMessage, response: ServerResponse) => response.writeHead(418, own).end();
  const raw = (socket: Duplex) => socket.end('HTTP/1.1 418 Own\r\nx-own: gateway\r\n\r\n');
  server.removeAllListeners('request');
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, answer);
  server.on('clientError', (_, socket) => raw(socket)).on('connect', (_, socket) => raw(socket));
}

async function httpDoor(verdict: Partial<ApiServerVerdict> = {}, change: (server: Server) => void = () => undefined) {
  const effects: Seen[] = [];
  const asked: ApiServerRequest[] = [];
  /** Answers whose caller has disconnected, as the server behind the door sees it. */
  const broken: string[] = [];
  const server = createServer({ requireHostHeader: false }, async (message, answer) => {
    answer.once('close', () => {
      if (!answer.writableFinished) broken.push(message.url ?? '');
    });
    let body = '';
    for await (const piece of message) body += piece;
    const { method = '', url = '', rawHeaders } = message;
    effects.push({ method, url, headers: rawHeaders, body });
    if (url === '/v1/events/stream') {
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.write(`: heartbeat\nid: 1\n\n${'x'.repeat(200)}`);
      return;
    }
    const text = JSON.stringify({ body });
    const length = Buffer.byteLength(text);
    answer
      .writeHead(201, { 'content-type': 'application/json', 'content-length': length, 'x-request-id': 'req_1' })
      .end(text);
  });
  change(server);
  const address = { host: '127.0.0.1', port: await portOf(server) };
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const door = new HttpProxy({
    listen,
    upstream: () => address,
    evaluate: (request) => {
      asked.push(request);
      return { ...passed, ...verdict };
    },
  });
  const url = `http://127.0.0.1:${await door.start()}`;
  closing.push(() => door.stop());
  return { url, effects, asked, broken };
}

/** All that comes back to these bytes until the connection ends. */
function heardFrom(url: string, bytes: string): Promise<string> {
  const socket = connectRaw(Number(new URL(url).port), '127.0.0.1');
  closing.push(() => socket.destroy());
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  socket.write(bytes);
  return new Promise((resolve) => socket.once('close', () => resolve(heard)));
}

const post = { method: 'POST', body: '{"amount": "1"}', headers: { 'content-type': 'application/json' } };

describe('the HTTP door', () => {
  test('passes requests and answers as they came, and asks about each once', async () => {
    const { url, effects, asked } = await httpDoor();
    const response = await fetch(`${url}/v1/wallets?x=1`, { ...post, headers: { ...post.headers, 'X-Own': 'Käse' } });
    expect([response.status, response.headers.get('x-request-id')]).toEqual([201, 'req_1']);
    expect(await response.json()).toEqual({ body: post.body });
    expect(effects).toMatchObject([{ method: 'POST', url: '/v1/wallets?x=1', body: post.body }]);
    expect(effects[0]!.headers).toContain('Käse');
    expect(asked).toEqual([{ door: 'http', method: 'POST', path: '/v1/wallets' }]);
  });

  test.each([
    ['a missing host', 'GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['an unknown expectation', 'GET /v1/me HTTP/1.1\r\nHost: a\r\nExpect: more\r\nConnection: close\r\n\r\n'],
    ['bytes that are not HTTP', 'no HTTP\r\n\r\n'],
    ['CONNECT', 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n'],
    [
      'a body that it has not asked for',
      'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
    ],
  ])('leaves %s to the gateway', async (_, bytes) => {
    const { url } = await httpDoor({}, decidingItself);
    const socket = connectRaw(Number(new URL(url).port), '127.0.0.1');
    closing.push(() => socket.destroy());
    let heard = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard += text;
    });
    socket.write(bytes);
    await until(() => heard.includes('x-own: gateway'), 'the answer of the gateway');
    expect(heard).toMatch(/^HTTP\/1\.1 418 /);
  });

  test('bytes behind a request do not come before its answer', async () => {
    const { url } = await httpDoor({ delayMs: 50 });
    const heard = await heardFrom(url, 'GET /v1/me HTTP/1.1\r\nHost: a\r\n\r\nno HTTP\r\n\r\n');
    expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 201']);
  });

  test('passes every header, as many as there are', async () => {
    const { url, effects } = await httpDoor({}, (server) => {
      server.maxHeadersCount = 0;
    });
    const many = 'a: 1\r\n'.repeat(2_100);
    await heardFrom(url, `GET / HTTP/1.1\r\nHost: a\r\n${many}Last: one\r\nConnection: close\r\n\r\n`);
    expect(effects[0]?.headers).toContain('Last');
  });

  test('serves many requests of one connection over connections that last', async () => {
    const { url, effects } = await httpDoor();
    for (let turn = 0; turn < 30; turn += 1) expect((await fetch(url)).status).toBe(201);
    expect(effects).toHaveLength(30);
  });

  test('passes a stream piece by piece, and its end when the caller disconnects', async () => {
    const { url, broken } = await httpDoor();
    const scope = new AbortController();
    const response = await fetch(`${url}/v1/events/stream`, { signal: scope.signal });
    const reader = response.body!.getReader();
    expect(Buffer.from((await reader.read()).value!).toString()).toContain('heartbeat');
    scope.abort();
    await expect(reader.read()).rejects.toThrow();
    await until(() => broken.length === 1, 'the stream behind the door has ended, too');
  });

  test('keeps the headers of one connection from the other', async () => {
    const { url, effects } = await httpDoor();
    await new Promise((resolve, reject) => {
      const headers = { connection: 'close', 'proxy-connection': 'keep-alive', te: 'trailers', 'x-own': '1' };
      request(`${url}/v1/wallets`, { headers }).once('response', resolve).once('error', reject).end();
    });
    const names = effects[0]!.headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names).toContain('x-own');
    expect(names).not.toEqual(expect.arrayContaining(['te']));
    expect(names).not.toEqual(expect.arrayContaining(['proxy-connection']));
  });

  test('refuses without effect, with status and Retry-After, as the service writes errors', async () => {
    const { url, effects } = await httpDoor({ fate: 'refused', status: 429, retryAfterS: 3 });
    const response = await fetch(`${url}/v1/wallets`, post);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '3']);
    expect(await response.json()).toMatchObject({ error: { code: 'rate_limited' } });
    expect(effects).toEqual([]);
  });

  test('loses an answer after its effect: the connection breaks', async () => {
    const { url, effects } = await httpDoor({ fate: 'lost' });
    await expect(fetch(`${url}/v1/wallets`, post)).rejects.toThrow('fetch failed');
    expect(effects).toHaveLength(1);
  });

  test.each(['/v1/wallets', '/v1/events/stream'])(
    'cuts the body of %s after its head and a part of it',
    async (path) => {
      const { url, effects } = await httpDoor({ fate: 'cut' });
      const given = await new Promise<IncomingMessage>((resolve, reject) => {
        request(`${url}${path}`).once('response', resolve).once('error', reject).end();
      });
      let body = '';
      given.on('data', (piece) => {
        body += piece;
      });
      const error = await new Promise<Error>((resolve) => given.once('error', resolve));
      expect((error as NodeJS.ErrnoException).code).toBe('ECONNRESET');
      expect(body.length).toBeGreaterThan(0);
      // Half of what has a length.
      if (path === '/v1/wallets') expect(body).toHaveLength(Math.floor('{"body":""}'.length / 2));
      expect(given.complete).toBe(false);
      expect(effects).toHaveLength(1);
    },
  );

  test('answers late', async () => {
    const { url, effects } = await httpDoor({ delayMs: 120 });
    const beganMs = performance.now();
    expect((await fetch(`${url}/v1/wallets`, post)).status).toBe(201);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(115);
    expect(effects).toHaveLength(1);
  });

  test('never touches what steers the sandbox, nor its health', async () => {
    const { url, asked } = await httpDoor({ fate: 'lost' });
    for (const path of ['/v1/sandbox/faults', '/v1/sandbox/faults/reset', '/v1/health']) {
      expect((await fetch(url + path)).status).toBe(201);
    }
    expect(asked).toEqual([]);
  });

  test('breaks the connection of a caller whose gateway is down', async () => {
    const door = new HttpProxy({ listen, upstream: () => ({ host: '127.0.0.1', port: 9 }), evaluate: () => passed });
    const port = await door.start();
    closing.push(() => door.stop());
    await expect(fetch(`http://127.0.0.1:${port}/v1/wallets`)).rejects.toThrow('fetch failed');
  });
});

const initiate = '/svc.mesh.v1.MpcWalletService/InitiateSigning';

async function grpcCaller(verdict: Partial<ApiServerVerdict> = {}) {
  const effects: string[] = [];
  const asked: ApiServerRequest[] = [];
  const sessions = { open: 0 };
  const server = createHttp2();
  server.on('session', (session) => {
    sessions.open += 1;
    session.once('close', () => {
      sessions.open -= 1;
    });
  });
  server.on('stream', (stream, headers) => {
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('error', () => undefined);
    stream.once('end', () => {
      effects.push(`${headers[':path']} ${Buffer.concat(pieces).toString()}`);
      if (headers['x-fails'] !== undefined) {
        stream.respond({ ':status': 200, 'grpc-status': '16' }, { endStream: true });
        return;
      }
      stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'x-request-id': 'req_1' },
        { waitForTrailers: true },
      );
      stream.end('an answer of many bytes');
    });
  });
  const address = { host: '127.0.0.1', port: await portOf(server) };
  closing.push(() => server.close());
  const door = new GrpcProxy({
    listen,
    upstream: () => address,
    evaluate: (request) => {
      asked.push(request);
      return { ...passed, ...verdict };
    },
  });
  const session = connect(`http://127.0.0.1:${await door.start()}`);
  session.on('error', () => undefined);
  closing.push(
    () => door.stop(),
    () => session.destroy(),
  );
  const call = (path = initiate, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<Called>((resolve) => {
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
      const called: Called = { head: {}, trailers: {}, body: '', broke: false };
      stream.once('response', (head) => Object.assign(called.head, head));
      stream.once('trailers', (trailers) => Object.assign(called.trailers, trailers));
      stream.on('data', (piece) => {
        called.body += piece;
      });
      stream.once('error', () => {
        called.broke = true;
      });
      stream.once('close', () =>
        resolve({ ...called, broke: called.broke || !stream.readableEnded || session.destroyed }),
      );
      stream.end('a request');
    });
  return { call, effects, asked, sessions, session };
}

interface Called {
  readonly head: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  body: string;
  broke: boolean;
}

describe('the gRPC door', () => {
  test('passes headers, bytes and trailers as they came, and asks about calls of the API alone', async () => {
    const { call, effects, asked } = await grpcCaller();
    const called = await call();
    expect(called).toMatchObject({ head: { 'x-request-id': 'req_1' }, trailers: { 'grpc-status': '0' }, broke: false });
    expect(called.body).toBe('an answer of many bytes');
    expect((await call('/grpc.health.v1.Health/Check')).body).toBe(called.body);
    expect(effects).toEqual([`${initiate} a request`, '/grpc.health.v1.Health/Check a request']);
    expect(asked).toEqual([{ door: 'grpc', rpc: 'InitiateSigning' }]);
  });

  test('passes an answer that is headers alone', async () => {
    const { call } = await grpcCaller();
    expect(await call(initiate, { 'x-fails': '1' })).toMatchObject({
      head: { 'grpc-status': '16' },
      body: '',
      broke: false,
    });
  });

  test.each([
    [429, '8'],
    [503, '14'],
    [504, '4'],
    [418, '2'],
  ])('refuses without effect: %i is the status %s', async (status, expected) => {
    const { call, effects } = await grpcCaller({ fate: 'refused', status });
    expect(await call()).toMatchObject({ head: { 'grpc-status': expected }, body: '' });
    expect(effects).toEqual([]);
  });

  test('loses an answer after its effect', async () => {
    const { call, effects } = await grpcCaller({ fate: 'lost' });
    expect(await call()).toMatchObject({ head: {}, body: '', broke: true });
    await until(() => effects.length === 1, 'the effect');
  });

  test('cuts an answer in its body', async () => {
    const { call, effects } = await grpcCaller({ fate: 'cut' });
    const called = await call();
    expect(called).toMatchObject({ trailers: {}, broke: true });
    expect(called.body.length).toBeLessThan('an answer of many bytes'.length);
    expect(effects).toHaveLength(1);
  });

  test('answers late, whole', async () => {
    const { call } = await grpcCaller({ delayMs: 120 });
    const beganMs = performance.now();
    expect(await call()).toMatchObject({ body: 'an answer of many bytes', trailers: { 'grpc-status': '0' } });
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(115);
  });

  test('closes its connection to the gateway with that of its caller', async () => {
    const { call, sessions, session } = await grpcCaller();
    await call();
    expect(sessions.open).toBe(1);
    session.destroy();
    await until(() => sessions.open === 0, 'the connection behind the door is closed');
  });
});
