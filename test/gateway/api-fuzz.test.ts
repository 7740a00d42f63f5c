/** Whatever comes through a door, the gateway answers, says whose fault it is, and stays up. */

import { type Client, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signingMethods } from '../../gateway/api/signing-methods.ts';
import { codePoint } from '../support/code-point.ts';
import { auth, grpcCall, openGateway, type TestGateway } from '../support/gateway.ts';
import { runs } from '../support/thorough.ts';

let gateway: TestGateway;
let client: Client;
beforeAll(async () => {
  gateway = await openGateway();
  client = await gateway.grpcClient();
});
afterAll(() => gateway.stop());

/** What a path holds unescaped (RFC 3986, section 3.3). */
const unescaped = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@";
const anyMethod = fc.constantFrom(...signingMethods);
const fieldNames = [...new Set(signingMethods.flatMap(({ request }) => request.fields.map((field) => field.name)))];
const anyKey = fc.oneof(
  fc.constantFrom(...fieldNames),
  fc.constantFrom('__proto__', 'constructor', 'context'),
  fc.string(),
);
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.bigInt().map(Number),
    fc.string({ unit: codePoint }),
    fc.base64String(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(anyKey, tie('value'), { maxKeys: 6 }),
  ),
})).value;

describe('the HTTP door', () => {
  const answersAlways = async (url: string, payload: string | Buffer): Promise<number> => {
    const headers = { 'content-type': 'application/json', ...auth };
    const answer = await gateway.http.inject({ method: 'POST', url, payload, headers });
    expect([200, 400], answer.body).toContain(answer.statusCode);
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    if (answer.statusCode === 400) expect(answer.json().error.code).toBe('invalid_request');
    return answer.statusCode;
  };

  it('answers 200 or 400 to any JSON', async () => {
    await fc.assert(
      fc.asyncProperty(anyMethod, fc.dictionary(anyKey, anyJson, { maxKeys: 8 }), async ({ httpPath }, body) => {
        await answersAlways(httpPath, JSON.stringify(body));
      }),
      { numRuns: runs(60, 200) },
    );
  });

  it('answers 200 or 400 to any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(anyMethod, fc.uint8Array({ minLength: 1, maxLength: 200 }), async ({ httpPath }, bytes) => {
        await answersAlways(httpPath, Buffer.from(bytes));
      }),
      { numRuns: runs(50, 150) },
    );
  });

  it('answers 4xx to any path, any method and any headers', async () => {
    const headerName = fc.constantFrom(
      'authorization',
      'x-request-id',
      'traceparent',
      'content-type',
      'accept',
      'x-other',
    );
    const pathCharacter = fc.oneof(
      { arbitrary: fc.constantFrom(...unescaped), weight: 10 },
      { arbitrary: codePoint.map(encodeURIComponent), weight: 1 },
    );
    const path = fc.array(fc.string({ unit: pathCharacter })).map((parts) => parts.map((part) => `/${part}`).join(''));
    const headerValue = fc.string({ maxLength: 40 }).map((text) => text.replace(/[^\x20-\x7e]/g, '?'));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
        path,
        fc.dictionary(headerName, headerValue),
        async (method, path, headers) => {
          const answer = await gateway.http.inject({ method: method as 'GET', url: `/${path}`, headers, payload: 'x' });
          expect(answer.statusCode).toBeGreaterThanOrEqual(400);
          expect(answer.statusCode).toBeLessThan(500);
          expect(answer.json().error.request_id).toBe(answer.headers['x-request-id']);
        },
      ),
      { numRuns: runs(50, 150) },
    );
  });
});

describe('the gRPC door', () => {
  const answersAlways = async (path: string, bytes: Uint8Array): Promise<void> => {
    const { error, initial } = await grpcCall(client, path, bytes);
    expect([undefined, status.INVALID_ARGUMENT]).toContain(error?.code);
    expect(initial.get('x-request-id')[0]).toMatch(/^req_/);
  };

  it('answers OK or INVALID_ARGUMENT to any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(anyMethod, fc.uint8Array({ maxLength: 200 }), ({ grpcPath }, bytes) =>
        answersAlways(grpcPath, bytes),
      ),
      { numRuns: runs(50, 150) },
    );
  });

  it('answers OK or INVALID_ARGUMENT to bytes that look like fields', async () => {
    const field = fc
      .tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom(0, 2), fc.uint8Array({ maxLength: 20 }))
      .map(([number, type, bytes]) => [(number << 3) | type, ...(type === 2 ? [bytes.length] : []), ...bytes]);
    await fc.assert(
      fc.asyncProperty(anyMethod, fc.array(field, { maxLength: 6 }), ({ grpcPath }, fields) =>
        answersAlways(grpcPath, new Uint8Array(fields.flat())),
      ),
      { numRuns: runs(50, 150) },
    );
  });
});

it('nothing of it was a bug', () => {
  expect(gateway.lines.filter((line) => line.level === 'error')).toEqual([]);
});
