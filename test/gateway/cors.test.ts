/** Pages of other origins (CORS): which may call the API, and what a browser hears of the others. */
import { afterEach, describe, expect, test } from 'vitest';
import { loadSettings } from '../../cli/settings/config.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';

const page = 'https://app.example.com';
let gateway: TestGateway;

async function open(...corsOrigins: readonly string[]): Promise<void> {
  gateway = await openGateway(corsOrigins.length === 0 ? {} : { corsOrigins });
}

function ask(method: 'GET' | 'POST' | 'OPTIONS', url: string, headers: Record<string, string>) {
  return gateway.http.inject({ method, url, headers });
}

const preflight = (origin: string) => ({
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,idempotency-key',
});

afterEach(() => gateway.stop());

describe('a page of a listed origin', () => {
  test.each([[[page]], [['http://localhost:3000', page]], [['*']]])('may call: %j', async (origins) => {
    await open(...origins);
    const asked = await ask('OPTIONS', '/v1/signing/initiate', preflight(page));
    expect(asked.statusCode).toBe(204);
    expect(asked.headers).toMatchObject({ 'access-control-allow-origin': page, vary: 'origin' });
    expect(asked.headers['x-request-id']).toMatch(/^req_/);
    expect(asked.headers['access-control-allow-methods']).toContain('PATCH');
    for (const name of ['authorization', 'content-type', 'idempotency-key', 'last-event-id']) {
      expect(asked.headers['access-control-allow-headers']).toContain(name);
    }
    expect(asked.headers).not.toHaveProperty('access-control-allow-credentials');
  });

  test('reads answers and errors, with their headers', async () => {
    await open(page);
    const health = await ask('GET', '/v1/health', { origin: page });
    const refused = await ask('POST', '/v1/signing/initiate', { origin: page });
    expect([health.statusCode, refused.statusCode]).toEqual([200, 401]);
    for (const { headers } of [health, refused]) {
      expect(headers).toMatchObject({ 'access-control-allow-origin': page, vary: 'origin' });
      expect(headers['access-control-expose-headers']).toContain('x-request-id');
    }
  });

  test('asks with OPTIONS alone as any client does: 405', async () => {
    await open(page);
    expect((await ask('OPTIONS', '/v1/health', { origin: page })).statusCode).toBe(405);
  });
});

describe('a page of another origin', () => {
  test.each(['https://evil.example', 'https://app.example.com.evil.example', 'http://app.example.com', 'null'])(
    '%s hears nothing that lets a browser through',
    async (origin) => {
      await open(page);
      const asked = await ask('OPTIONS', '/v1/signing/initiate', preflight(origin));
      const read = await ask('GET', '/v1/health', { origin });
      expect([asked.statusCode, read.statusCode]).toEqual([405, 200]);
      for (const { headers } of [asked, read]) {
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
        expect(headers.vary).toBe('origin');
      }
    },
  );

  test('without the setting no answer speaks of origins', async () => {
    gateway = await openGateway({ environment: 'production' });
    const { headers } = await ask('GET', '/v1/health', { origin: page });
    expect(Object.keys(headers).filter((name) => /^(access-control-.*|vary)$/.test(name))).toEqual([]);
  });
});

test.each([
  ['https://app.example.com', true],
  ['http://localhost:3000, https://app.example.com', true],
  ['*', true],
  ['https://app.example.com/', false],
  ['https://app.example.com/path', false],
  ['app.example.com', false],
  ['null', false],
  ['https://*.example.com', false],
])('SIGNMESH_CORS_ORIGINS=%s', async (value, isRight) => {
  await open();
  const load = () => loadSettings({ SIGNMESH_CORS_ORIGINS: value }).settings.SIGNMESH_CORS_ORIGINS;
  if (isRight) expect(load()).toEqual(value.split(',').map((part) => part.trim()));
  else expect(load).toThrow('SIGNMESH_CORS_ORIGINS');
});
