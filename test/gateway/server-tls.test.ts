/** The doors over TLS: REST, gRPC and /metrics, with and without certificates of clients, and what a wrong client meets. */
import { get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { serveMetrics } from '../../core/telemetry/metrics-server.ts';
import { prometheusMetrics } from '../../core/telemetry/prometheus.ts';
import { grpcCredentials } from '../../gateway/grpc/credentials.ts';
import { TestAuthority, validity } from '../support/certificates.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { patienceMs, until } from '../support/until.ts';

const authority = new TestAuthority();
const clients = new TestAuthority('clients');
const { cert, key } = authority.issue({ hosts: ['localhost', '127.0.0.1'], usage: ['server'] });
const tls = { cert, key };
const mutual = { ...tls, clientCa: clients.ca };
const client = clients.issue({ title: 'a client' });

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function open(
  apiServerTls: typeof tls | typeof mutual,
  options = {},
): Promise<{ gateway: TestGateway; port: number }> {
  const gateway = await openGateway({ tls: apiServerTls, ...options });
  cleanUps.push(() => gateway.stop());
  await gateway.http.listen({ host: '127.0.0.1', port: 0 });
  return { gateway, port: (gateway.http.server.address() as AddressInfo).port };
}

/** The status, or the code of the error. */
function ask(port: number, path: string, options: object = {}): Promise<number | string> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path, ca: authority.ca, agent: false, ...options }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

const refusals = ({ lines }: TestGateway, door = 'HTTP') =>
  lines.filter(({ message, fields }) => message === 'a client was refused' && fields.door === door);

describe('REST', () => {
  it('speaks TLS from 1.2 on, and has no plain answer', async () => {
    const { gateway, port } = await open(tls);
    expect(await ask(port, '/v1/health')).toBe(200);
    expect(await ask(port, '/v1/health', { maxVersion: 'TLSv1.2' })).toBe(200);
    expect(await ask(port, '/v1/health', { ca: clients.ca })).toMatch(/UNABLE_TO|SELF_SIGNED/);
    let heard = '';
    const plain = connectPlain(port, '127.0.0.1', () => plain.write('GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n'));
    plain.on('data', (data) => (heard += data.toString('latin1'))).on('error', () => undefined);
    await new Promise((resolve) => plain.once('close', resolve));
    expect(heard).not.toContain('HTTP/1.1');
    await until(() => refusals(gateway).some(({ fields }) => fields.code === 'NOT_TLS'), 'the log names it');
    expect(await ask(port, '/v1/health')).toBe(200);
  });

  const wrong = [
    ['no certificate', 'NO_CERTIFICATE', {}],
    ['one of another authority', 'UNKNOWN_AUTHORITY', authority.issue({})],
    ['an expired one', 'CERTIFICATE_EXPIRED', clients.issue({}, validity(-3, -1))],
    ['a server’s', 'CERTIFICATE_PURPOSE', clients.issue({ usage: ['server'] })],
  ] as const;
  it.each(wrong)('with a CA of clients it refuses %s by name: %s', async (_, code, shown) => {
    const { gateway, port } = await open(mutual);
    const { cert: own, key: ownKey } = { cert: undefined, key: undefined, ...shown };
    expect(await ask(port, '/v1/health', { cert: own, key: ownKey })).not.toBe(200);
    await until(() => refusals(gateway).some(({ fields }) => fields.code === code), `the log says ${code}`);
    expect(await ask(port, '/v1/health', { cert: client.cert, key: client.key })).toBe(200);
  });

  it('bounds connections as a plain door does: one with a request under way stays, the idle ones make room', async () => {
    const { port } = await open(tls, { connectionsMax: 3 });
    const idle = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const socket = connectTls({ port, host: '127.0.0.1', ca: authority.ca });
        await new Promise((resolve) => socket.on('error', () => undefined).once('secureConnect', resolve));
        return socket;
      }),
    );
    expect(await ask(port, '/v1/health')).toBe(200);
    await until(
      () => idle.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length >= 1,
      'one made room',
    );
    for (const socket of idle) socket.destroy();
  });
});

describe('gRPC', () => {
  it('speaks TLS with what REST has, and logs by name whom it refuses', async () => {
    const gateway = await openGateway({ tls: mutual });
    cleanUps.push(() => gateway.stop());
    const port = await gateway.listenGrpc(grpcCredentials(mutual));
    const pem = (text: string) => Buffer.from(text);
    const ready = (creds: ReturnType<typeof credentials.createSsl>): Promise<boolean> => {
      const grpc = new Client(`localhost:${port}`, creds, { 'grpc.initial_reconnect_backoff_ms': 60_000 });
      cleanUps.push(() => grpc.close());
      return new Promise((resolve) =>
        grpc.waitForReady(Date.now() + patienceMs(), (error) => resolve(error === undefined)),
      );
    };
    expect(await ready(credentials.createSsl(pem(authority.ca), pem(client.key), pem(client.cert)))).toBe(true);
    const plain = connectPlain(port, '127.0.0.1', () => plain.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    await new Promise((resolve) =>
      plain
        .on('error', () => undefined)
        .resume()
        .once('close', resolve),
    );
    const bare = connectTls({ port, host: '127.0.0.1', ca: authority.ca, ALPNProtocols: ['h2'] });
    bare.on('error', () => undefined).resume();
    const codes = () => refusals(gateway, 'gRPC').map(({ fields }) => fields.code);
    await until(() => codes().includes('NOT_TLS') && codes().includes('NO_CERTIFICATE'), 'both are named');
  });
});

describe('/metrics', () => {
  it('speaks TLS with the same files', async () => {
    const server = await serveMetrics(prometheusMetrics({ role: 'node' }), '127.0.0.1', 0, mutual);
    cleanUps.push(() => server.stop());
    expect(server.url).toMatch(/^https:/);
    const port = Number(new URL(server.url).port);
    expect(await ask(port, '/metrics', { cert: client.cert, key: client.key })).toBe(200);
    expect(await ask(port, '/metrics')).not.toBe(200);
  });
});
