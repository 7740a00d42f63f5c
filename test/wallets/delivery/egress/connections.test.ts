/** Connections that are reused between deliveries reach no address that a new one would not reach. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Connections } from '../../../../wallets/delivery/egress/connections.ts';
import { type Resolver, sendTo } from '../../../../wallets/delivery/egress/send.ts';
import { until } from '../../../support/until.ts';

let server: Server;
let port: number;
let sockets: Set<unknown>;
let requests: number;
let connections: Connections;
let addresses: readonly string[];
const resolver: Resolver = async () => addresses;

beforeEach(async () => {
  [sockets, requests, connections, addresses] = [new Set(), 0, new Connections(), ['127.0.0.1']];
  server = createServer((request, response) => {
    sockets.add(request.socket);
    requests += 1;
    request.resume().on('end', () => response.writeHead(request.url === '/refuse' ? 500 : 204).end());
  });
  // The client believes the server, up to a limit of its own: 10 s, which no test waits.
  server.keepAliveTimeout = 3_600_000;
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  await connections.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const send = (path = '/', timeoutMs = 60_000) =>
  sendTo(
    { url: `http://hooks.test:${port}${path}`, headers: {}, body: Buffer.from('{}'), timeoutMs },
    { environment: 'sandbox', resolver, connections },
  );

test('deliveries one after the other share connections, whatever they are answered', async () => {
  for (let n = 0; n < 20; n += 1) expect((await send(n % 2 === 0 ? '/' : '/refuse')).kind).toBe('answered');
  expect(requests).toBe(20);
  // An answer may be told a moment before its connection is free again.
  expect(sockets.size).toBeLessThanOrEqual(2);
});

test('deliveries at the same time do not wait for each other', async () => {
  await Promise.all(Array.from({ length: 20 }, () => send()));
  expect(requests).toBe(20);
  expect(sockets.size).toBe(20);
});

test('a name that has come to mean an address that is not allowed is refused, though a connection is open', async () => {
  await send();
  addresses = ['169.254.169.254'];
  expect(await send()).toMatchObject({ kind: 'failed', code: 'address_not_allowed' });
  addresses = ['127.0.0.1', '169.254.169.254'];
  expect(await send()).toMatchObject({ kind: 'failed', code: 'address_not_allowed' });
  expect(requests).toBe(1);
});

test('a name that has come to mean another address is called there, on a connection of its own', async () => {
  await send();
  addresses = ['127.0.0.2'];
  expect((await send()).kind).toBe('answered');
  const reached = [...sockets].map((socket) => (socket as { localAddress?: string }).localAddress);
  expect(reached.map((address) => address?.replace('::ffff:', ''))).toEqual(['127.0.0.1', '127.0.0.2']);
});

test('a connection that its server closed is not used again', async () => {
  await send();
  const pool = connections.to(`http://hooks.test:${port}`, '127.0.0.1', 60_000);
  expect(pool.stats.connected).toBe(1);
  server.closeAllConnections();
  await until(() => pool.stats.connected === 0, 'the client has seen the end');
  expect(await send()).toMatchObject({ kind: 'answered', status: 204 });
  expect(sockets.size).toBe(2);
});

test('a request that is given up takes its connection with it', async () => {
  server.removeAllListeners('request');
  server.on('request', (request) => {
    sockets.add(request.socket);
    requests += 1;
  });
  // On a busy machine a request may be given up before it reaches the server: then it shows nothing.
  for (let timeoutMs = 50; requests < 2; timeoutMs *= 2) {
    expect(await send('/', timeoutMs)).toMatchObject({ kind: 'failed', code: 'timeout' });
  }
  expect(sockets.size).toBe(requests);
});

test('another origin at the same address has connections of its own', async () => {
  const hosts: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    hosts.push(request.headers.host);
    request.resume().on('end', () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => other.listen(0, '0.0.0.0', resolve));
  try {
    await send();
    const url = `http://other.test:${(other.address() as AddressInfo).port}/`;
    const request = { url, headers: {}, body: Buffer.from('{}'), timeoutMs: 60_000 };
    await sendTo(request, { environment: 'sandbox', resolver, connections });
    expect([requests, hosts]).toEqual([1, [new URL(url).host]]);
  } finally {
    await connections.stop();
    await new Promise((resolve) => other.close(resolve));
  }
});
