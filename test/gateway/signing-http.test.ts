import type { AddressInfo } from 'node:net';
import { createConnection } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { signingMethods } from '../../gateway/api/signing-methods.ts';
import { CallErrorCode, healthyCluster, proof } from '../support/fake-coordinator.ts';
import { auth, openGateway, type TestGateway } from '../support/gateway.ts';

const requestIdPattern = /^req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const foreignCharsets = ['utf-16', 'latin1', '"UTF-16LE"', 'utf-8; charset=utf-16'].map(
  (charset) => `application/json; charset=${charset}`,
);
const ownCharsets = ['utf-8', 'UTF-8', '"utf-8"', 'utf-8; profile=x'].map(
  (charset) => `application/json; charset=${charset}`,
);

describe('the HTTP door of the signing API', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await openGateway();
  });
  afterAll(() => gateway.stop());
  afterEach(() => {
    gateway.coordinator.answer = () => ({ response: proof });
    gateway.coordinator.refuse = undefined;
    gateway.coordinator.link(true);
    gateway.coordinator.status(healthyCluster);
  });

  const post = (url: string, payload: string | object | Buffer, headers: Record<string, string> = {}) =>
    gateway.http.inject({
      method: 'POST',
      url,
      payload,
      headers: { 'content-type': 'application/json', ...auth, ...headers },
    });

  it('serves the five paths of the contract', () => {
    expect(signingMethods.map(({ name, httpPath }) => [name, httpPath])).toEqual([
      ['InitiateDkg', '/v1/dkg/initiate'],
      ['ExchangeDkgShares', '/v1/dkg/shares'],
      ['InitiateSigning', '/v1/signing/initiate'],
      ['SubmitSignatureShare', '/v1/signing/share'],
      ['ResumeSession', '/v1/sessions/resume'],
    ]);
  });

  it.each(signingMethods.map((method) => [method.name, method] as const))(
    'answers %s with every field in snake_case',
    async (_, method) => {
      const answer = await post(method.httpPath, {});
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.headers['x-request-id']).toMatch(requestIdPattern);
      expect(Object.keys(answer.json()).sort()).toEqual(method.response.fields.map((field) => field.name).sort());
      expect(gateway.coordinator.last.call.request.case).toBe(method.method);
      expect(gateway.coordinator.last.tenant).toMatch(/^tn_[a-z2-7]{26}$/);
    },
  );

  it('writes bytes as base64, int64 as strings and enums as names', async () => {
    gateway.coordinator.answer = () => ({
      response: {
        signingSessionId: 'sig_1',
        isComplete: true,
        fullSignature: new Uint8Array([1, 2, 255]),
        recoveryId: new Uint8Array([1]),
        receipt: { state: 8, approvalMode: 1, keystoreType: 4, epoch: 9_007_199_254_740_993n, resumable: false },
        checkpoint: { state: 8, epoch: 3n, createdAtEpochMs: 1_790_000_000_000n },
      },
    });
    const answer = await post('/v1/signing/share', {});
    expect(answer.json()).toEqual({
      signing_session_id: 'sig_1',
      is_complete: true,
      full_signature: 'AQL/',
      recovery_id: 'AQ==',
      receipt: {
        receipt_id: '',
        state: 'RECEIPT_STATE_BACKEND_COMPLETED',
        approval_mode: 'DIRECT_ALLOWED',
        reason_code: '',
        message: '',
        correlation_id: '',
        session_id: '',
        contract_version: '',
        client_name: '',
        client_version: '',
        epoch: '9007199254740993',
        checkpoint_id: '',
        resumable: false,
        keystore_type: 'KEYSTORE_TYPE_MPC_FROST',
        backend_route: '',
      },
      checkpoint: {
        checkpoint_id: '',
        epoch: '3',
        created_at_epoch_ms: '1790000000000',
        state: 'RECEIPT_STATE_BACKEND_COMPLETED',
        resume_token: '',
      },
    });
  });

  it('writes sub-messages that are not set as null', async () => {
    gateway.coordinator.answer = () => ({ response: {} });
    expect((await post('/v1/sessions/resume', {})).json()).toEqual({
      session_id: '',
      state: 'RECEIPT_STATE_UNSPECIFIED',
      epoch: '0',
      receipt: null,
      checkpoint: null,
    });
  });

  it('takes an ed25519 message of 65,536 bytes', async () => {
    const message = Buffer.alloc(65_536, 5);
    const answer = await post('/v1/signing/initiate', { message_hash: message.toString('base64') });
    expect(answer.statusCode).toBe(200);
    expect(gateway.coordinator.last.request.messageHash).toEqual(new Uint8Array(message));
  });

  describe('request ids', () => {
    it('keeps a well-formed inbound one', async () => {
      const answer = await post('/v1/signing/share', {}, { 'x-request-id': 'order_42-abc' });
      expect(answer.headers['x-request-id']).toBe('order_42-abc');
    });

    it.each(['short', 'has space in it', 'x'.repeat(129), 'naïve-request-id'])('replaces %j', async (inbound) => {
      const answer = await post('/v1/signing/share', {}, { 'x-request-id': inbound });
      expect(answer.headers['x-request-id']).toMatch(requestIdPattern);
    });

    it('stands in the body of every error', async () => {
      const answer = await post('/v1/signing/share', '{', { 'x-request-id': 'order_42-abc' });
      expect(answer.json().error.request_id).toBe('order_42-abc');
      expect(answer.headers['x-request-id']).toBe('order_42-abc');
    });
  });

  describe('traces', () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

    it('takes traceparent from the header when the body has none', async () => {
      await post('/v1/signing/share', {}, { traceparent });
      expect(gateway.coordinator.last.trace.traceparent).toBe(traceparent);
    });

    it('prefers the body', async () => {
      await post('/v1/signing/share', { context: { traceparent: 'mine', correlation_id: 'c-1' } }, { traceparent });
      expect(gateway.coordinator.last.trace).toMatchObject({ traceparent: 'mine', correlationId: 'c-1' });
    });

    it('drops a malformed header and goes by the request id where there is no correlation id', async () => {
      const answer = await post('/v1/signing/share', {}, { traceparent: '00-nonsense' });
      expect(gateway.coordinator.last.trace).toMatchObject({
        traceparent: '',
        correlationId: answer.headers['x-request-id'],
      });
    });

    it('gives the call 30 s', async () => {
      await post('/v1/signing/share', {});
      expect(gateway.coordinator.last.call.leftMs).toBe(30_000);
    });
  });

  describe('bodies that are not understood', () => {
    it.each<[string, string | Buffer]>([
      ['empty', ''],
      ['null', 'null'],
      ['an array', '[]'],
      ['a string', '"x"'],
      ['a number', '7'],
      ['cut short', '{"session_id":'],
      ['not JSON', 'session_id=1'],
      ['two documents', '{}{}'],
      ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
      ['nested 65 deep', `{"x":${'['.repeat(64)}${']'.repeat(64)}}`],
      ['a nesting bomb', '['.repeat(200_000)],
      ['a bomb of objects', '{"a":'.repeat(40_000)],
      ['ambiguous: it gives a key twice', '{"node_id":1,"node_id":2}'],
    ])('refuses a body that is %s', async (_, body) => {
      const sentBefore = gateway.coordinator.sent.length;
      const answer = await post('/v1/signing/share', body);
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error).toMatchObject({ code: 'invalid_request' });
      expect(answer.headers['x-request-id']).toBe(answer.json().error.request_id);
      expect(gateway.coordinator.sent.length).toBe(sentBefore);
    });

    it('counts no brackets within strings, however their quotes are escaped, and all outside', async () => {
      const open = '['.repeat(80);
      const close = ']'.repeat(80);
      expect((await post('/v1/signing/share', `{"x":"\\"${open}"}`)).statusCode).toBe(200);
      expect((await post('/v1/signing/share', `{"x":"\\\\\\"${open}"}`)).statusCode).toBe(200);
      expect((await post('/v1/signing/share', `{"x":"\\\\","y":${open}${close},"z":"\\""}`)).statusCode).toBe(400);
    });

    it('names the fields at fault', async () => {
      const answer = await post('/v1/signing/initiate', { walletId: 7, context: { client: { client_name: [] } } });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error).toEqual({
        code: 'invalid_request',
        message: 'the body does not decode as InitiateSigningRequest: wallet_id takes a string',
        details: [
          { field: 'wallet_id', issue: 'wrong_type', message: 'takes a string' },
          { field: 'context.client.client_name', issue: 'wrong_type', message: 'takes a string' },
        ],
        request_id: answer.headers['x-request-id'],
      });
    });

    it('refuses what is not base64 with its path, before anything sees it', async () => {
      const { length: before } = gateway.coordinator.sent;
      for (const [url, body, field] of [
        ['/v1/signing/initiate', { message_hash: 'aGVsbG8=\n' }, 'message_hash'],
        ['/v1/signing/initiate', { messageHash: 'aGVsbG8==' }, 'message_hash'],
        ['/v1/signing/share', { partial_signature: 'YWJj=' }, 'partial_signature'],
        ['/v1/dkg/shares', { commitments: ['AQ==', 'AR=='] }, 'commitments[1]'],
      ] as const) {
        const answer = await post(url, body);
        expect(answer.statusCode).toBe(400);
        const { code, details } = answer.json().error;
        expect([code, details]).toMatchObject(['invalid_request', [{ field, issue: 'invalid_base64' }]]);
      }
      const { message } = (await post('/v1/signing/initiate', { message_hash: 'aGVsbG8=\n' })).json().error;
      expect(message).toMatch(/message_hash has a line end.*base64 -w0.*printf/);
      expect(gateway.coordinator.sent).toHaveLength(before);
    });

    it('refuses a list of more entries than anything needs, before it is decoded', async () => {
      const { length: before } = gateway.coordinator.sent;
      const answer = await post('/v1/dkg/shares', { commitments: Array(80_000).fill('') });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error.details).toEqual([{ field: 'commitments', issue: 'too_many' }]);
      expect(gateway.coordinator.sent).toHaveLength(before);
      expect((await post('/v1/dkg/shares', { commitments: Array(100).fill('AA==') })).statusCode).toBe(200);
    });

    it('refuses half of a surrogate pair', async () => {
      const answer = await post('/v1/signing/share', '{"signing_session_id":"\\uD800"}');
      expect(answer.json().error.details).toMatchObject([{ field: 'signing_session_id', issue: 'invalid_utf8' }]);
    });

    it('refuses a compressed body with 415, and takes one that says it is not', async () => {
      expect((await post('/v1/signing/share', '{}', { 'content-encoding': 'gzip' })).statusCode).toBe(415);
      expect((await post('/v1/signing/share', '{}', { 'content-encoding': 'identity' })).statusCode).toBe(200);
      // As a transfer coding too: Node would undo only the chunks.
      expect((await post('/v1/signing/share', '{}', { 'transfer-encoding': 'gzip, chunked' })).statusCode).toBe(415);
      expect((await post('/v1/signing/share', '{}', { 'transfer-encoding': 'Chunked' })).statusCode).toBe(200);
    });

    it('refuses a call without any body', async () => {
      const answer = await gateway.http.inject({ method: 'POST', url: '/v1/signing/share', headers: auth });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error.message).toContain('empty');
    });

    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/xml',
      'application/jsonx',
      'nonsense',
      ...foreignCharsets,
    ])('refuses the content type %s with 415', async (type) => {
      const answer = await post('/v1/signing/share', '{}', { 'content-type': type });
      expect(answer.statusCode).toBe(415);
      expect(answer.json().error.code).toBe('invalid_request');
    });

    it.each(['application/json', ...ownCharsets, 'Application/JSON'])('takes %s', async (type) => {
      expect((await post('/v1/signing/share', '{}', { 'content-type': type })).statusCode).toBe(200);
    });

    it('refuses more than 256 KiB with 413, and takes exactly that', async () => {
      const padded = (bytes: number) => `{"x":"${'a'.repeat(bytes - 8)}"}`;
      expect((await post('/v1/signing/share', padded(262_144))).statusCode).toBe(200);
      const answer = await post('/v1/signing/share', padded(262_145));
      expect(answer.statusCode).toBe(413);
      expect(answer.json().error.code).toBe('invalid_request');
      expect(answer.headers['x-request-id']).toMatch(requestIdPattern);
    });

    it('is not disturbed by unknown fields, prototype keys and brackets within strings', async () => {
      const body = `{"__proto__":{"node_id":9},"constructor":{"prototype":{}},"node_id":2,
        "unknown":[{"a":null}],"signing_session_id":"[[{{\\"\\\\"}`;
      const answer = await post('/v1/signing/share', body);
      expect(answer.statusCode).toBe(200);
      expect(gateway.coordinator.last.request).toMatchObject({ nodeId: 2, signingSessionId: '[[{{"\\' });
      expect(({} as Record<string, unknown>).node_id).toBeUndefined();
    });
  });

  describe('paths and methods', () => {
    it.each(['/', '/v1', '/v1/nothing', '/v1/signing/share/', '/v1/signing/share/x', '/V1/signing/share'])(
      'answers 404 to POST %s',
      async (url) => {
        const answer = await post(url, {});
        expect(answer.statusCode).toBe(404);
        expect(answer.json().error.code).toBe('not_found');
        expect(answer.headers['x-request-id']).toMatch(requestIdPattern);
      },
    );

    it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'] as const)(
      'answers 405 to %s on a path that takes POST',
      async (method) => {
        const answer = await gateway.http.inject({ method, url: '/v1/signing/share' });
        expect(answer.statusCode).toBe(405);
        expect(answer.headers.allow).toBe('POST');
        expect(answer.headers['x-request-id']).toMatch(requestIdPattern);
        if (method !== 'HEAD') expect(answer.json().error.code).toBe('invalid_request');
      },
    );

    it('answers 405 to a POST on health, whatever its body', async () => {
      const answer = await post('/v1/health', 'x', { 'content-type': 'text/plain' });
      expect(answer.statusCode).toBe(405);
      expect(answer.headers.allow).toBe('GET, HEAD');
    });

    it('answers 400 to a path that is no URL', async () => {
      const answer = await gateway.http.inject({ method: 'GET', url: '/v1/%E0%A4%A' });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().error.code).toBe('invalid_request');
      expect(answer.headers['x-request-id']).toMatch(requestIdPattern);
    });
  });

  describe('what fails behind the door', () => {
    it.each<[string, CallErrorCode, number, string]>([
      ['a full queue', CallErrorCode.OVERLOADED, 429, 'rate_limited'],
      ['a store that is away', CallErrorCode.UNAVAILABLE, 503, 'provider_unavailable'],
      ['a deadline that passed', CallErrorCode.DEADLINE_EXCEEDED, 504, 'provider_unavailable'],
      ['a bug', CallErrorCode.INTERNAL, 500, 'internal_error'],
      ['a request that the coordinator cannot decode', CallErrorCode.MALFORMED, 400, 'invalid_request'],
    ])('reports %s', async (_, error, status, code) => {
      gateway.coordinator.answer = () => ({ error, message: 'because' });
      const answer = await post('/v1/signing/share', {});
      expect(answer.statusCode).toBe(status);
      expect(answer.json().error).toMatchObject({ code, request_id: answer.headers['x-request-id'] });
      expect(answer.headers['retry-after']).toBe(status === 429 || status === 503 ? '1' : undefined);
    });

    it('says nothing of a bug but logs it', async () => {
      gateway.coordinator.answer = () => ({ error: CallErrorCode.INTERNAL, message: 'undefined is not a function' });
      const answer = await post('/v1/signing/share', {});
      expect(answer.body).not.toContain('undefined');
      expect(gateway.lines.at(-1)).toMatchObject({
        level: 'error',
        fields: { request_id: answer.headers['x-request-id'] },
      });
    });

    it('answers 500 when the coordinator’s response is to another kind of call', async () => {
      gateway.coordinator.answer = () => ({ response: proof, of: 'resumeSession' });
      expect((await post('/v1/signing/share', {})).statusCode).toBe(500);
    });

    it('answers 503 when no coordinator is connected', async () => {
      gateway.coordinator.link(false);
      const answer = await post('/v1/signing/share', {});
      expect(answer.statusCode).toBe(503);
      expect(answer.json().error.code).toBe('provider_unavailable');
      expect(answer.headers['retry-after']).toBe('1');
    });

    it.each(['linkFull', 'mailboxFull'] as const)('answers 429 when the way is full (%s)', async (reason) => {
      gateway.coordinator.refuse = reason;
      expect((await post('/v1/signing/share', {})).statusCode).toBe(429);
    });

    it('answers 503 at once to every waiting call when the link is lost', async () => {
      gateway.coordinator.answer = () => 'silence';
      const sent = gateway.coordinator.sent.length;
      const waiting = [1, 2, 3].map(() => post('/v1/signing/share', {}));
      await gateway.coordinator.sentCount(sent + 3);
      gateway.coordinator.link(false);
      for (const answer of await Promise.all(waiting)) {
        expect(answer.statusCode).toBe(503);
        expect(answer.json().error.message).toContain('unknown');
      }
      expect(gateway.room.calls.inFlight).toBe(0);
    });
  });

  describe('over a socket', () => {
    let port: number;
    beforeAll(async () => {
      await gateway.http.listen({ host: '127.0.0.1', port: 0 });
      port = (gateway.http.server.address() as AddressInfo).port;
    });

    /** Sends raw bytes, returns all that comes back until the server closes. */
    const raw = (text: string, { endsAtOnce = false } = {}): Promise<string> =>
      new Promise((resolve, reject) => {
        let received = '';
        const socket = createConnection(port, '127.0.0.1', () => (endsAtOnce ? socket.end(text) : socket.write(text)));
        socket.on('data', (chunk) => {
          received += chunk;
        });
        socket.on('close', () => resolve(received));
        socket.on('error', reject);
      });

    it.each<[string, string, number]>([
      ['that is not HTTP', 'HELLO\r\n\r\n', 400],
      ['with a bad header', 'GET / HTTP/1.1\r\nno colon\r\n\r\n', 400],
      ['with headers beyond measure', `GET / HTTP/1.1\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`, 431],
      ['without a host', 'GET /v1/health HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
      ['with two hosts', 'GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400],
      ['that wants a proxy', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ])('answers a request %s with the error body and a request id', async (_, text, status) => {
      const received = await raw(text);
      expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      const requestId = /x-request-id: (\S+)/i.exec(received)?.[1];
      expect(requestId).toMatch(requestIdPattern);
      const body = JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4));
      expect(body.error).toMatchObject({ code: 'invalid_request', request_id: requestId });
    });

    it('answers a request whose body was cut short, when its client still listens', async () => {
      const received = await raw(
        `POST /v1/signing/share HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
        { endsAtOnce: true },
      );
      expect(received).toMatch(/^HTTP\/1.1 400 /);
      expect(/x-request-id: (\S+)/i.exec(received)?.[1]).toMatch(requestIdPattern);
    });

    it('answers a complete request before the bytes behind it that are none', async () => {
      const body = '{"signing_session_id": "sig_1"}';
      const sent = gateway.coordinator.sent.length;
      let received = '';
      const socket = createConnection(port, '127.0.0.1');
      const isClosed = new Promise((resolve) => socket.once('close', resolve));
      socket.setEncoding('utf8').on('data', (text: string) => {
        received += text;
      });
      gateway.coordinator.answer = () => 'silence';
      socket.write(
        `POST /v1/signing/share HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}HELLO\r\n\r\n`,
      );
      await gateway.coordinator.sentCount(sent + 1);
      socket.write('HELLO\r\n\r\n'.repeat(1_000));
      await fetch(`http://127.0.0.1:${port}/v1/health`);
      gateway.coordinator.reply(gateway.coordinator.last, { response: proof });
      await isClosed;
      expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    });

    it('refuses two authorization headers', async () => {
      const line = `Authorization: ${auth.authorization}\r\n`;
      const received = await raw(
        `POST /v1/signing/share HTTP/1.1\r\nHost: x\r\n${line}${line}Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
      );
      expect(received).toMatch(/^HTTP\/1.1 401 /);
    });

    it('sees a second authorization header behind 2,000 others', async () => {
      const line = `Authorization: ${auth.authorization}\r\n`;
      const received = await raw(
        `POST /v1/signing/share HTTP/1.1\r\nHost: x\r\n${line}${'a:\r\n'.repeat(2_100)}${line}Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
      );
      expect(received).toMatch(/^HTTP\/1.1 401 /);
    });

    it.each([
      ['HTTP/1.0 without a host', 'GET /v1/health HTTP/1.0\r\n\r\n'],
      ['an unknown expectation', 'GET /v1/health HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n'],
    ])('serves %s', async (_, text) => {
      const received = await raw(text);
      expect(received).toMatch(/^HTTP\/1.1 200 /);
      expect(/x-request-id: (\S+)/i.exec(received)?.[1]).toMatch(requestIdPattern);
    });

    it('gives a call’s place free when its client goes away', async () => {
      gateway.coordinator.answer = () => 'silence';
      const sent = gateway.coordinator.sent.length;
      const socket = createConnection(port, '127.0.0.1', () =>
        socket.write(
          `POST /v1/signing/share HTTP/1.1\r\nHost: x\r\nAuthorization: ${auth.authorization}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
        ),
      );
      await gateway.coordinator.sentCount(sent + 1);
      expect(gateway.room.calls.inFlight).toBe(1);
      socket.destroy();
      await expect.poll(() => gateway.room.calls.inFlight).toBe(0);
      // A late answer finds no waiting call and is dropped.
      gateway.coordinator.reply(gateway.coordinator.last, { response: proof });
    });
  });
});

describe('the bound on calls under way', () => {
  it('refuses the call beyond it with 429 and sends nothing', async () => {
    const gateway = await openGateway({ inFlightMax: 2 });
    gateway.coordinator.answer = () => 'silence';
    const post = () => gateway.http.inject({ method: 'POST', url: '/v1/signing/share', payload: {}, headers: auth });
    const waiting = [post(), post()];
    await gateway.coordinator.sentCount(2);
    const refused = await post();
    expect(refused.statusCode).toBe(429);
    expect(refused.json().error.code).toBe('rate_limited');
    expect(refused.headers['retry-after']).toBe('1');
    expect(gateway.coordinator.sent.length).toBe(2);
    for (const sent of gateway.coordinator.sent) gateway.coordinator.reply(sent, { response: proof });
    expect((await Promise.all(waiting)).map((answer) => answer.statusCode)).toEqual([200, 200]);
    await gateway.stop();
  });
});
