/** The console's files as a gateway serves them: where, to whom, under which policy; and that they are small. */
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { consoleFiles } from '../../clients/console/files.ts';
import { type GatewayOptions, openGateway, testToken } from '../support/gateway.ts';

async function opened(options: GatewayOptions = {}) {
  const gateway = await openGateway({ consoleFiles, publicToken: testToken, ...options });
  onTestFinished(() => gateway.stop());
  return async (url: string, host = 'localhost:8080', method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
    gateway.http.inject({ url, method, headers: { host } });
}

const assetsIn = (page: string) => [...page.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path]) => path!);

it('a sandbox has the page at /, which loads its own files alone', async () => {
  const ask = await opened();
  const page = await ask('/');
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers).toMatchObject({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  expect(page.body).not.toMatch(/https?:|<style|\sstyle=|\son\w+=|<script(?! type="module" src=)/i);
  const assets = assetsIn(page.body);
  expect(assets.map((path) => path.split('.').at(-1)).sort()).toEqual(['css', 'js', 'json']);
  /** The files below /console/ that are loaded with these, and their sizes together. */
  const load = async (paths: readonly string[], imports: RegExp): Promise<number> => {
    const loaded = new Set<string>();
    let bytes = gzipSync(page.body).length;
    for (const wanted = [...paths]; wanted.length > 0; ) {
      const path = wanted.pop()!;
      if (loaded.has(path)) continue;
      loaded.add(path);
      const asset = await ask(path);
      expect([path, asset.statusCode]).toEqual([path, 200]);
      expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(asset.headers['x-content-type-options']).toBe('nosniff');
      bytes += gzipSync(asset.rawPayload).length;
      if (path.endsWith('.js')) for (const [, name] of asset.body.matchAll(imports)) wanted.push(`/console/${name}`);
    }
    return bytes;
  };
  const first = await load(assets, /(?:from|import)"\.\/([\w-]+\.js)"/g);
  const all = await load(assets, /(?:from|import\(?)"\.\/([\w-]+\.js)"/g);
  expect(first).toBeLessThan(60_000);
  expect(all).toBeLessThan(120_000);
  // The panels beside the first are no part of the first load.
  expect(all - first).toBeGreaterThan(20_000);
  expect((await ask('/', 'localhost', 'HEAD')).body).toBe('');
  expect((await ask('/', 'localhost', 'POST')).statusCode).toBe(405);
});

it('only a public token is in the page, and only where the page is this machine’s', async () => {
  const ask = await opened();
  for (const host of ['localhost', '127.0.0.1:8080', '[::1]:1', 'app.localhost'])
    expect((await ask('/', host)).body).toContain(`content="${testToken}"`);
  for (const host of ['10.0.0.7:8080', 'gateway', '192.168.1.1']) {
    const { statusCode, body } = await ask('/', host);
    expect([host, statusCode, body.includes(testToken)]).toEqual([host, 200, false]);
  }
  const secret = await openGateway({ consoleFiles });
  onTestFinished(() => secret.stop());
  expect((await secret.http.inject({ url: '/', headers: { host: 'localhost' } })).body).not.toMatch(/svc_sk|token"/);
});

it('a file that does not exist is a 404 of this API', async () => {
  const ask = await opened();
  for (const path of ['/console/', '/console/console-0000000000000000.js', '/console/../config', '/console']) {
    const { statusCode, body } = await ask(path);
    expect([path, statusCode, JSON.parse(body).error.code]).toEqual([path, 404, 'not_found']);
  }
});

it('in production there is no page and no file of it', async () => {
  const [asset = ''] = assetsIn((await (await opened())('/')).body);
  const gateway = await openGateway({ consoleFiles, environment: 'production' });
  onTestFinished(() => gateway.stop());
  for (const url of ['/', asset]) expect((await gateway.http.inject({ url })).statusCode).toBe(404);
});
