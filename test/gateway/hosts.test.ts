/** DNS rebinding: the names under which a sandbox answers, over a real socket and without one. */
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { isLoopbackOrigin } from '../../gateway/api/hosts.ts';
import { type GatewayOptions, openGateway } from '../support/gateway.ts';

async function opened(options: GatewayOptions = {}) {
  const gateway = await openGateway(options);
  onTestFinished(() => gateway.stop());
  await gateway.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = gateway.http.server.address() as AddressInfo;
  return (host: string, path = '/v1/nothing', headers: Record<string, string> = {}) =>
    new Promise<{ status: number; body: string; headers: Record<string, unknown> }>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, headers: { ...headers, host } }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text;
        });
        response.on('end', () => resolve({ status: response.statusCode!, body, headers: response.headers }));
      });
      sent.on('error', reject).end();
    });
}

const own = [
  ...['127.0.0.1', '127.0.0.1:8080', '10.1.2.3:1', '[::1]', '[::1]:8080', '[fe80::1]:80', '0.0.0.0'],
  ...['localhost', 'localhost:1', 'LOCALHOST:80', 'app.localhost', 'a.b.localhost:3', 'host.docker.internal:8080'],
  ...['gateway', 'gateway:8080', 'my-host'],
];
const foreign = [
  ...['evil.example', 'evil.example:8080', 'rebind.localhost.evil.example', '127.0.0.1.evil.example', 'localhost.evil'],
  ...[
    'xlocalhost.com',
    'host.docker.internal.evil.example',
    '1.2.3',
    '127.0.0.1.',
    'localhost.:80',
    '[::1].evil.example',
  ],
  ...['evil.example:80:localhost', 'user@evil.example', '[evil.example]'],
  // No names: a browser takes the first for evil.example.
  ...['evil.example/.localhost', 'evil.example?.localhost', 'a b', 'a..localhost', '.localhost', '[::1', '::1]', ':80'],
];

it('a sandbox answers to addresses and local names, whatever the port', async () => {
  const ask = await opened();
  for (const host of own) expect([host, (await ask(host)).status]).toEqual([host, 404]);
});

it('others get 421, with the error body of this API, a request id and the name of the variable', async () => {
  const ask = await opened();
  for (const host of foreign) {
    const { status, body, headers } = await ask(host, '/v1/nothing', { 'x-forwarded-host': 'localhost' });
    expect([host, status]).toEqual([host, 421]);
    expect(JSON.parse(body)).toMatchObject({
      error: { code: 'invalid_request', message: expect.stringContaining('SIGNMESH_ALLOWED_HOSTS') },
    });
    expect(headers['x-request-id']).toMatch(/^req_/);
  }
  expect((await ask('evil.example', '/v1/health')).status).not.toBe(421);
  expect((await ask('evil.example', '/v1/health/')).status).toBe(421);
});

it('a page of another site gets no preflight either', async () => {
  const ask = await opened({ corsOrigins: ['*'] });
  const preflight = { origin: 'http://evil.example', 'access-control-request-method': 'POST' };
  expect((await ask('evil.example', '/v1/wallets', preflight)).status).toBe(421);
});

it('takes the names that it is told, in any case, and any with "*"', async () => {
  const named = await opened({ allowedHosts: ['Sandbox.Example.com'] });
  expect((await named('sandbox.example.com:443')).status).toBe(404);
  expect((await named('other.example.com')).status).toBe(421);
  const any = await opened({ allowedHosts: ['*'] });
  expect((await any('evil.example')).status).toBe(404);
});

it('production does not check', async () => {
  const ask = await opened({ environment: 'production' });
  expect((await ask('evil.example')).status).toBe(404);
});

it('a sandbox takes the pages of its own machine, unless it is told which', async () => {
  const ask = await opened();
  const allowed = async (origin: string, by = ask) =>
    (await by('localhost', '/v1/nothing', { origin })).headers['access-control-allow-origin'];
  for (const origin of ['http://localhost:3000', 'https://app.localhost', 'http://127.0.0.1:5173', 'http://[::1]:1']) {
    expect(await allowed(origin)).toBe(origin);
  }
  for (const origin of ['http://evil.example', 'http://localhost.evil.example', 'null', 'http://10.0.0.1']) {
    expect(await allowed(origin)).toBeUndefined();
    expect(isLoopbackOrigin(origin)).toBe(false);
  }
  expect(await allowed('http://localhost:3000', await opened({ corsOrigins: ['https://a.example'] }))).toBeUndefined();
  expect(await allowed('http://localhost:3000', await opened({ environment: 'production' }))).toBeUndefined();
});
