/** The access log of the HTTP door: one line for each request, whatever becomes of it, under the id in its answer. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { httpBodyBytesMax } from '../../../proto/limits.ts';
import { CallErrorCode, proof } from '../../support/fake-coordinator.ts';
import { auth, openGateway, type TestGateway, testToken } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { lineOf, linesOf } from './support.ts';

let gateway: TestGateway;
let port: number;
beforeAll(async () => {
  gateway = await openGateway();
  await gateway.http.listen({ host: '127.0.0.1', port: 0 });
  port = (gateway.http.server.address() as { port: number }).port;
});
afterAll(() => gateway.stop());

const json = { 'content-type': 'application/json' };
const initiate = '/v1/signing/initiate';
const limited = 'svc_sk_test_limitedTokenOfSomeone';

interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload?: string;
}

async function ask({ method = 'POST', url = initiate, headers = {}, payload }: Asked) {
  const options = { method, url, headers: { ...auth, ...headers }, ...(payload !== undefined && { payload }) };
  return gateway.http.inject(options);
}

describe('a request', () => {
  test('of the signing API leaves its receipt, its caller and its trace', async () => {
    gateway.tokens.put(limited, { tenant: 'tn_audit', id: 'tok_audit' });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const receipt = { ...proof.receipt, state: 2, reasonCode: 'WALLET_KEY_NOT_FOUND', sessionId: 'sig_7' };
    gateway.coordinator.answer = () => ({ response: { ...proof, receipt } });
    const answer = await ask({
      url: `${initiate}?a=b`,
      headers: { ...json, traceparent, 'x-request-id': 'my-request-7', authorization: `Bearer ${limited}` },
      payload: JSON.stringify({ wallet_id: 'w', context: { correlation_id: 'order 7' } }),
    });
    gateway.coordinator.answer = () => ({ response: proof });
    expect(answer.headers['x-request-id']).toBe('my-request-7');
    expect(await lineOf(gateway.requests, 'my-request-7')).toEqual({
      level: 'info',
      request_id: 'my-request-7',
      door: 'http',
      method: 'POST',
      route: initiate,
      path: initiate,
      status: 200,
      duration_ms: expect.any(Number),
      tenant: 'tn_audit',
      token_id: 'tok_audit',
      reason_code: 'WALLET_KEY_NOT_FOUND',
      receipt_state: 'DENIED',
      receipt_id: 'rcp_1',
      session_id: 'sig_7',
      correlation_id: 'order 7',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    });
  });

  test.each<[string, Asked, object]>([
    [
      'to an unknown path',
      { url: '/v1/none?x=1', method: 'GET' },
      { status: 404, reason_code: 'NOT_FOUND', path: '/v1/none' },
    ],
    ['without a token', { headers: { authorization: '' } }, { status: 401, reason_code: 'AUTHENTICATION_FAILED' }],
    ['with another method', { method: 'PUT' }, { status: 405, reason_code: 'METHOD_NOT_ALLOWED', route: initiate }],
    ['that is no JSON', { headers: json, payload: '{' }, { status: 400, reason_code: 'INVALID_REQUEST' }],
    ['that does not decode', { headers: json, payload: '{"wallet_id":1}' }, { status: 400, issue: 'wrong_type' }],
    [
      'of another type',
      { headers: { 'content-type': 'text/plain' }, payload: 'x' },
      { status: 415, error_code: 'invalid_request', reason_code: 'UNSUPPORTED_MEDIA_TYPE' },
    ],
    [
      'that is too large',
      { headers: json, payload: ' '.repeat(httpBodyBytesMax + 1) },
      { status: 413, reason_code: 'MESSAGE_TOO_LARGE' },
    ],
    [
      'whose path is no URL',
      { url: '/v1/%zz', method: 'GET' },
      { status: 400, reason_code: 'INVALID_REQUEST', path: '/v1/%zz' },
    ],
    ['for the health', { url: '/v1/health', method: 'GET' }, { level: 'debug', status: 200, route: '/v1/health' }],
  ])('%s leaves a line', async (_, asked, line) => {
    const answer = await ask(asked);
    const found = await lineOf(gateway.requests, answer.headers['x-request-id']);
    expect(found).toMatchObject({ door: 'http', method: asked.method ?? 'POST', ...line });
    expect(found.status).toBe(answer.statusCode);
    expect(found).not.toHaveProperty('receipt_id');
  });

  test('without the scope leaves a line with its tenant', async () => {
    gateway.tokens.put(limited, { tenant: 'tn_poor', id: 'tok_poor', scopes: ['wallets:read'] });
    gateway.clock.offsetMs += 60_000;
    const answer = await ask({ headers: { ...json, authorization: `Bearer ${limited}` }, payload: '{}' });
    expect(answer.statusCode).toBe(403);
    expect(await lineOf(gateway.requests, answer.headers['x-request-id'])).toMatchObject({
      status: 403,
      reason_code: 'INSUFFICIENT_SCOPE',
      tenant: 'tn_poor',
      token_id: 'tok_poor',
    });
  });

  test('that the coordinator refuses leaves a line', async () => {
    gateway.coordinator.answer = () => ({ error: CallErrorCode.OVERLOADED });
    const answer = await ask({ headers: json, payload: '{}' });
    gateway.coordinator.answer = () => ({ response: proof });
    expect(await lineOf(gateway.requests, answer.headers['x-request-id'])).toMatchObject({
      status: 429,
      error_code: 'rate_limited',
      reason_code: 'OVERLOADED',
    });
  });

  test('whose caller left leaves a line that says so', async () => {
    gateway.coordinator.answer = () => 'silence';
    const sent = gateway.coordinator.sent.length;
    const leaving = new AbortController();
    const gone = fetch(`http://127.0.0.1:${port}${initiate}`, {
      method: 'POST',
      headers: { ...auth, ...json, 'x-request-id': 'left-in-between' },
      body: '{}',
      signal: leaving.signal,
    }).catch(() => 'gone');
    await gateway.coordinator.sentCount(sent + 1);
    leaving.abort();
    expect(await gone).toBe('gone');
    const line = await lineOf(gateway.requests, 'left-in-between');
    expect(line).toMatchObject({ aborted: true, route: initiate, tenant: expect.any(String) });
    expect(line).not.toHaveProperty('status');
    gateway.coordinator.answer = () => ({ response: proof });
  });
});

/** What comes back on a connection that sent this. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

const requestIdOf = (answer: string): string => /^x-request-id: (\S+)/im.exec(answer)?.[1] ?? 'none';

describe('what is no request', () => {
  test.each([
    ['is not HTTP', 'hello\r\n\r\n', { status: 400, reason_code: 'INVALID_REQUEST' }],
    ['has headers without an end', `GET / HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(20_000)}\r\n\r\n`, { status: 431 }],
    ['asks for a tunnel', 'CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n', { status: 400 }],
  ])('leaves a line when it %s', async (_, text, line) => {
    const answer = await raw(text);
    const found = await lineOf(gateway.requests, requestIdOf(answer));
    expect(found).toMatchObject({ door: 'http', ...line });
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${String(found.status)} `));
  });

  test('names no host', async () => {
    const answer = await raw('GET /v1/health HTTP/1.1\r\nconnection: close\r\n\r\n');
    expect(await lineOf(gateway.requests, requestIdOf(answer))).toMatchObject({ status: 400, route: '/v1/health' });
  });
});

test('a body that breaks off in HTTP itself leaves one line, with the id of its request', async () => {
  const before = linesOf(gateway.requests).length;
  const answer = await raw(
    `POST ${initiate} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testToken}\r\ncontent-type: application/json\r\n` +
      'x-request-id: broken-chunk\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  );
  expect(requestIdOf(answer)).toBe('broken-chunk');
  expect(await lineOf(gateway.requests, 'broken-chunk')).toMatchObject({
    status: 400,
    route: initiate,
    reason_code: 'INVALID_REQUEST',
  });
  const next = await ask({ headers: json, payload: '{}' });
  await lineOf(gateway.requests, next.headers['x-request-id']);
  expect(linesOf(gateway.requests)).toHaveLength(before + 2);
});

test('a hundred requests leave a hundred lines, each under the id of its own answer', async () => {
  const before = gateway.requests.length;
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask({ headers: json, payload: '{}' })));
  await until(() => gateway.requests.length >= before + 100, 'a hundred lines');
  const ids = linesOf(gateway.requests.slice(before)).map(({ request_id }) => request_id);
  expect(new Set(ids)).toEqual(new Set(answers.map(({ headers }) => headers['x-request-id'])));
  expect(ids).toHaveLength(100);
});

test('no line holds a token, wherever its caller put it, nor a query, nor a body', async () => {
  const secret = 'whsec_c2VjcmV0c2VjcmV0';
  const answers = await Promise.all([
    ask({ method: 'GET', url: `/v1/${testToken}/x?token=${testToken}&${secret}` }),
    ask({ headers: { ...json, 'x-request-id': testToken }, payload: '{}' }),
    ask({
      headers: json,
      payload: JSON.stringify({
        wallet_id: 'the-body-of-a-caller',
        human_approval_witness: Buffer.from('witness').toString('base64'),
        context: { correlation_id: `Bearer ${testToken} ${secret}` },
      }),
    }),
    ask({ headers: json, payload: `{"${testToken}":1,"wallet_id":5}` }),
  ]);
  await lineOf(gateway.requests, answers.at(-1)!.headers['x-request-id']);
  await until(() => linesOf(gateway.requests).some(({ path }) => path === '/v1/svc_sk_test_…/x'), 'the path, cut');
  const text = JSON.stringify(linesOf(gateway.requests));
  expect(text).toContain('"correlation_id":"Bearer svc_sk_test_… whsec_…"');
  const witness = Buffer.from('witness').toString('base64');
  for (const hidden of [testToken, limited, testToken.slice(14), secret, 'token=', 'the-body-of', witness]) {
    expect(text).not.toContain(hidden);
  }
});
