/** The access log of the wallet API and the sandbox API: every operation leaves one line under its own pattern. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isStreaming } from '../../../gateway/api/route-table.ts';
import { startWalletService, type WalletService, walletToken } from '../../support/wallet-service.ts';
import { lineOf, linesOf } from './support.ts';

let service: WalletService;
beforeAll(async () => {
  service = await startWalletService();
  service.tokens.put(walletToken, { tenant: 'tn_acme', id: 'tok_acme' });
});
afterAll(() => service?.stop());

test('every operation leaves one line, with its pattern, its tenant and the id in its answer', async () => {
  const routes = service.api.routes.filter((route) => !isStreaming(route));
  expect(routes.length).toBeGreaterThan(60);
  for (const { method, path } of routes) {
    const url = path.replace(/:[A-Za-z]+/g, 'wal_unknown');
    const answer = await service.call(method, url, method === 'GET' ? {} : { body: {} });
    const line = await lineOf(service.requests, answer.headers['x-request-id']);
    expect(line).toMatchObject({ level: 'info', door: 'http', method, route: path, path: url, status: answer.status });
    if (answer.status >= 400) {
      expect(line.error_code).toBe(answer.body.error.code);
      expect(line.reason_code).toMatch(/^[A-Z_]+$/);
    }
    if (!path.includes('well-known')) expect(line).toMatchObject({ tenant: 'tn_acme', token_id: 'tok_acme' });
  }
});

test('a refusal names the first issue, and a change its trace', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const credentials = { api_key: 'a-key-that-must-not-be-logged', api_secret: 'a-secret-that-must-not-be-logged' };
  const body = { provider: 'copper', name: 'x', credentials, unknown: 1 };
  const refused = await service.call('POST', '/v1/provider-connections', { body, headers: { traceparent } });
  expect(await lineOf(service.requests, refused.headers['x-request-id'])).toMatchObject({
    status: 400,
    error_code: 'invalid_request',
    issue: 'unknown_field',
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    correlation_id: refused.headers['x-request-id'],
  });
  const made = await service.call('POST', '/v1/provider-connections', {
    body: { provider: 'copper', name: 'x', credentials },
  });
  expect(made.status).toBe(201);
  await lineOf(service.requests, made.headers['x-request-id']);
  const text = JSON.stringify(linesOf(service.requests));
  for (const hidden of [walletToken, ...Object.values(credentials)]) expect(text).not.toContain(hidden);
});
