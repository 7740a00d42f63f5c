/** What the panel of requests says of one, and how it is sent again. */
import { describe, expect, test } from 'vitest';
import type { SandboxRequest, SandboxRequestLine } from '../../../clients/client/index.ts';
import {
  callAgain,
  hasFailed,
  hindranceOf,
  intentOf,
  listedRequests,
  nameOf,
  outcomeOf,
  prettyJson,
  whyOfRequest,
} from '../../../clients/console/browser/requests/requests.ts';
import { curlOf } from '../../../clients/console/browser/shared/call.ts';

const body = (value: unknown, more = {}) => {
  const text = JSON.stringify(value);
  return { text, bytes: text.length, is_whole: true, masked: [], ...more };
};
const request = (more: Partial<SandboxRequest> = {}): SandboxRequest => ({
  ...{ id: '1', tenant: 'tn_1', began_at: '2026-11-21T09:30:00.000Z', duration_ms: 2, door: 'http', method: 'POST' },
  ...{ route: '/v1/wallets/:id/transaction-intents', status: 201, grpc_status: null, aborted: false, error_code: null },
  ...{ field: null, reason_code: null, receipt_state: null, session: null, request_id: 'req_1', is_replay: false },
  ...{ rate_limit_left: 7, faults: [], target: '/v1/wallets/wal_1/transaction-intents', idempotency_key: 'order-1' },
  ...{ user_agent: null, error_message: null, body: body({ amount: '1' }), answer: null },
  ...more,
});
const reasons = { KEY_CLOSED: { text: 'the key is closed', helps: 'make another key' } };

describe('a request', () => {
  test('has failed by its status, its receipt, or because its caller left', () => {
    expect(hasFailed(request())).toBe(false);
    expect(hasFailed(request({ status: 404 }))).toBe(true);
    expect(hasFailed(request({ receipt_state: 'DENIED', status: 200 }))).toBe(true);
    expect(hasFailed(request({ aborted: true }))).toBe(true);
    expect(outcomeOf(request({ receipt_state: 'DENIED', status: 200 }))).toEqual(['200 DENIED', 'failed']);
    expect(outcomeOf(request({ door: 'grpc', status: 200, grpc_status: 'OK' }))).toEqual(['OK', 'completed']);
    expect(outcomeOf(request({ door: 'grpc', status: 200, grpc_status: 'UNAVAILABLE' }))).toEqual([
      'UNAVAILABLE',
      'failed',
    ]);
    expect(nameOf(request({ door: 'grpc', route: '/svc.mesh.v1.MpcWalletService/InitiateDkg' }))).toBe('InitiateDkg');
    expect(nameOf(request({ route: null }))).toBe('POST unknown path');
  });

  test('says in a sentence what was wrong, which fault touched it, and what to do', () => {
    expect(whyOfRequest(request(), reasons)).toBe('');
    const refused = {
      status: 400,
      error_code: 'invalid_request',
      field: 'amount',
      error_message: 'the request is not valid',
    };
    expect(whyOfRequest(request(refused), reasons)).toBe(
      'Refused with invalid_request (field amount): the request is not valid.',
    );
    const denied = { status: 200, receipt_state: 'DENIED', reason_code: 'KEY_CLOSED', faults: ['flt_1'] };
    expect(whyOfRequest(request(denied), reasons)).toBe(
      'Its receipt says KEY_CLOSED: the key is closed. make another key. The fault flt_1 touched it.',
    );
    expect(whyOfRequest(request({ is_replay: true }), reasons)).toMatch(/^The answer of an earlier request/);
    expect(whyOfRequest(request({ aborted: true }), reasons)).toMatch(/^The caller left/);
  });

  test('is sent again as it was, under its own key where that is asked', () => {
    const once = callAgain(request(), false)!;
    expect(curlOf(once.requests[0]!, 'http://h')).toBe(
      [
        "curl -sS -X POST 'http://h/v1/wallets/wal_1/transaction-intents' \\",
        '  -H "Authorization: Bearer $SIGNMESH_TOKEN" \\',
        "  -H 'Content-Type: application/json' \\",
        `  -d '{"amount":"1"}'`,
      ].join('\n'),
    );
    const again = callAgain(request(), true)!;
    expect(curlOf(again.requests[0]!, 'http://h')).toContain("-H 'Idempotency-Key: order-1'");
    const list = { method: 'GET', route: '/v1/wallets', target: '/v1/wallets?limit=2', body: null };
    expect(callAgain(request(list), false)!.program).toEqual(['await client.wallets.list({ limit: 2 });']);
    expect(again.program).toEqual([
      "await client.intents.create('wal_1', { amount: '1' }, { idempotencyKey: 'order-1' });",
    ]);
  });

  test('is not sent again when the page does not know all of it', () => {
    expect(hindranceOf(request({ body: body({}, { masked: ['credentials'], is_whole: false }) }))).toContain(
      'credentials',
    );
    expect(hindranceOf(request({ body: body({}, { is_whole: false }) }))).toContain('as a whole');
    expect(hindranceOf(request({ door: 'grpc' }))).toContain('gRPC');
    expect(callAgain(request({ door: 'grpc' }), false)).toBeUndefined();
  });

  test('leads to its transfer', () => {
    const id = 'txi_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e';
    expect(intentOf(request({ answer: body({ id }) }))).toBe(id);
    expect(intentOf(request())).toBeUndefined();
    expect(prettyJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(prettyJson('{"a":')).toBe('{"a":');
  });
});

test('requests are listed newest first, by filter and words', () => {
  const requests: SandboxRequestLine[] = [
    request({ id: '1' }),
    request({ id: '2', status: 400, field: 'amount' }),
    request({ id: '3', is_replay: true, faults: ['flt_9'] }),
  ];
  const ids = (...[words, filter]: [string, Parameters<typeof listedRequests>[2]]) =>
    listedRequests({ requests }, words, filter).map(({ id }) => id);
  expect(ids('', 'all')).toEqual(['3', '2', '1']);
  expect([ids('', 'failed'), ids('', 'replays'), ids('', 'faulty')]).toEqual([['2'], ['3'], ['3']]);
  expect([ids('AMOUNT', 'all'), ids('flt_9', 'all'), ids('flt_9', 'failed')]).toEqual([['2'], ['3'], []]);
});
