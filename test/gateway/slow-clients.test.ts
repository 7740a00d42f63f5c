/** Clients that are slow, silent or many harm only themselves: real sockets against a gateway. */
import { connect as connectHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect, type Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, expect, it } from 'vitest';
import { auth, grpcCall, openGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

let gateway: TestGateway | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await gateway?.stop();
  gateway = undefined;
});

async function listening(options: Parameters<typeof openGateway>[0]): Promise<{ app: TestGateway; port: number }> {
  gateway = await openGateway(options);
  await gateway.http.listen({ host: '127.0.0.1', port: 0 });
  return { app: gateway, port: (gateway.http.server.address() as AddressInfo).port };
}

/** A connection that has sent `text`; what it received, and whether it is over. */
function client(port: number, text: string) {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  const seen = { socket, received: '', closed: false };
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    seen.received += String(chunk);
  });
  socket.on('close', () => {
    seen.closed = true;
  });
  if (text !== '') socket.write(text);
  return seen;
}

const initiate = (body: string) =>
  `POST /v1/signing/initiate HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;

it('a client that does not send its body, or does not read its answer, holds no place', async () => {
  const { app, port } = await listening({ load: { inHandMax: 1, waitMs: 60_000 } });
  const slow = Array.from({ length: 20 }, () => client(port, initiate('{}')));
  const deaf = client(port, `${initiate('{}')}{}`);
  deaf.socket.pause();
  await until(() => app.coordinator.sent.length === 1, 'the call of the client that does not read is sent');
  const { statusCode } = await app.http.inject({
    method: 'POST',
    url: '/v1/signing/initiate',
    headers: auth,
    payload: {},
  });
  expect(statusCode).toBe(200);
  expect(slow.every(({ received }) => received === '')).toBe(true);
  expect(app.coordinator.sent).toHaveLength(2);
});

it('requests that trickle in are answered 408 in time', async () => {
  const { port } = await listening({ requestTimeoutMs: 100 });
  const trickling = [client(port, 'GET /v1/health HT'), client(port, initiate('{}')), client(port, '')];
  await until(() => trickling.every(({ closed }) => closed), 'all are closed');
  expect(trickling[0]!.received).toContain('HTTP/1.1 408');
  expect(trickling[1]!.received).toContain('HTTP/1.1 408');
});

it('at the bound of connections a new one takes the place of the one that was idle for longest', async () => {
  const { app, port } = await listening({ connectionsMax: 5 });
  app.coordinator.answer = () => 'silence';
  const busy = client(port, `${initiate('{}')}{}`);
  await until(() => app.coordinator.sent.length === 1, 'one call is under way');
  const idle: ReturnType<typeof client>[] = [];
  for (let count = 0; count < 30; count += 1) {
    const one = client(port, '');
    idle.push(one);
    await until(() => one.socket.readyState === 'open' || one.closed, 'it is connected');
  }
  const probe = client(port, 'GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => probe.received.includes('HTTP/1.1 200'), 'health answers');
  await until(() => idle.slice(0, 27).every(({ closed }) => closed), 'the longest idle are closed');
  expect(busy.closed).toBe(false);
});

it('where every connection has a request under way, a new one is closed', async () => {
  const { app, port } = await listening({ connectionsMax: 2 });
  app.coordinator.answer = () => 'silence';
  const busy = [client(port, `${initiate('{}')}{}`), client(port, `${initiate('{}')}{}`)];
  await until(() => app.coordinator.sent.length === 2, 'both calls are under way');
  const late = client(port, '');
  await until(() => late.closed, 'the new connection is closed');
  expect(busy.some(({ closed }) => closed)).toBe(false);
});

/** The error code in the frame GOAWAY (RFC 9113 §6.8) of what a server has sent. */
function goAway(frames: Buffer): Buffer | undefined {
  for (let at = 0; at < frames.length; at += 9 + frames.readUIntBE(at, 3)) {
    if (frames[at + 3] === 7) return frames.subarray(at + 13, at + 17);
  }
  return undefined;
}

it('a gRPC client that opens streams without end loses its connection; other calls go on', async () => {
  gateway = await openGateway({});
  const other = await gateway.grpcClient();
  const [, port] = other.getChannel().getTarget().split(':').slice(-2);
  const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  // Names by their numbers in HPACK's static table (RFC 7541, appendix A), values as texts of less than 128 bytes.
  const field = (name: readonly number[], value: string) => [...name, value.length, ...Buffer.from(value)];
  const path = '/svc.mesh.v1.MpcWalletService/InitiateSigning';
  const post = [0x83, 0x86, ...field([0x04], path), ...field([0x01], 'x'), ...field([0x0f, 0x10], 'application/grpc')];
  const headers = Buffer.from(post);
  const settings = [frame(4, 0, 0, Buffer.alloc(0)), frame(4, 1, 0, Buffer.alloc(0))];
  const flood = Array.from({ length: 1_100 }, (_, index) => frame(1, 4, 2 * index + 1, headers));
  const attacker = client(Number(port), '');
  const received: Buffer[] = [];
  attacker.socket.on('data', (bytes) => received.push(bytes));
  attacker.socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), ...settings, ...flood]));
  await until(() => attacker.closed, 'the connection of the client is closed');
  // With an error: a client that is silent loses it later, and with none.
  expect(goAway(Buffer.concat(received))).not.toEqual(Buffer.alloc(4));
  const { error } = await grpcCall(other, path, new Uint8Array());
  expect(error).toBeUndefined();
});

it('a gRPC stream whose client never ends its request is answered DEADLINE_EXCEEDED and closed; other calls go on', async () => {
  gateway = await openGateway({ requestTimeoutMs: 1_000 });
  const app = gateway;
  const other = await app.grpcClient();
  const target = other.getChannel().getTarget().replace('dns:', '');
  const path = '/svc.mesh.v1.MpcWalletService/InitiateSigning';
  // One that has ended its request waits for its answer for longer.
  const { answer } = app.coordinator;
  app.coordinator.answer = () => 'silence';
  const patient = grpcCall(other, path, new Uint8Array());
  await until(() => app.coordinator.sent.length === 1, 'a call is under way');
  const session = connectHttp2(`http://${target}`);
  session.on('error', () => undefined);
  const streams = [undefined, Buffer.from([0, 0, 0, 0, 9, 1])].map((part) => {
    const stream = session.request(
      { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...auth },
      { endStream: false },
    );
    const seen = { grpcStatus: '', closed: false };
    stream.on('error', () => undefined);
    stream.on('response', (headers) => {
      seen.grpcStatus = String(headers['grpc-status']);
    });
    stream.on('close', () => {
      seen.closed = true;
    });
    stream.resume();
    if (part !== undefined) stream.write(part);
    return seen;
  });
  await until(() => streams.every(({ closed }) => closed), 'both streams are closed');
  expect(streams.map(({ grpcStatus }) => grpcStatus)).toEqual(
    Array.from({ length: 2 }, () => String(status.DEADLINE_EXCEEDED)),
  );
  session.destroy();
  const [sent] = app.coordinator.sent;
  app.coordinator.reply(sent!, answer(sent!));
  expect((await patient).error).toBeUndefined();
  expect(app.coordinator.sent).toHaveLength(1);
});
