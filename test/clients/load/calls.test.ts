/** How the generator tells refusals apart: the service's rate limit, a full queue, and what may have had an effect. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { Server as GrpcServer, Metadata, ServerCredentials, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from 'vitest';
import { failureOf, LoadCallFailed } from '../../../clients/load/calls/call-failed.ts';
import { grpcCaller } from '../../../clients/load/calls/grpc.ts';
import { httpClient } from '../../../clients/load/calls/http.ts';
import { restCaller } from '../../../clients/load/calls/rest.ts';
import { isLoopback } from '../../../clients/load/calls/service.ts';
import type { SigningCaller } from '../../../clients/load/calls/signing-caller.ts';
import { HealthProbe } from '../../../clients/load/measure/health.ts';
import { ErrorInfoSchema } from '../../../proto/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../proto/gen/google/rpc/status_pb.ts';
import { until } from '../../support/until.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function failure(door: SigningCaller) {
  closing.push(() => door.close());
  const error = await door.submitShare('sig_1').then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeDefined();
  return failureOf(error);
}

describe('over REST', () => {
  async function answering(statusCode: number, headers: Record<string, string>, body: string): Promise<SigningCaller> {
    const server: Server = createServer((_request, response) => response.writeHead(statusCode, headers).end(body));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    return restCaller(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'token', 1);
  }
  const limited = { 'ratelimit-policy': '"signing";q=2000;w=10', ratelimit: '"signing";r=0;t=9', 'retry-after': '9' };

  test('a used-up allowance is the rate limit, with its terms', async () => {
    expect(await failure(await answering(429, limited, '{"error":{"code":"rate_limited"}}'))).toEqual({
      code: '429 RATE_LIMITED',
      effect: 'none',
      limit: { policy: 'signing', quota: 2000, windowS: 10 },
    });
  });

  test('a 429 with calls left is a full queue', async () => {
    const headers = { ...limited, ratelimit: '"signing";r=12;t=9' };
    expect(await failure(await answering(429, headers, '{}'))).toEqual({ code: '429 OVERLOADED', effect: 'none' });
  });

  test.each([
    [503, 'provider_unavailable', 'unknown'],
    [504, 'provider_unavailable', 'unknown'],
    [404, 'not_found', 'none'],
  ])('a %i may have had an effect, or not', async (code, word, effect) => {
    const body = JSON.stringify({ error: { code: word } });
    expect(await failure(await answering(code, {}, body))).toEqual({ code: `${code} ${word}`, effect });
  });

  test('a refused connection had none', async () => {
    const door = await answering(200, {}, '{}');
    await closing.shift()!();
    expect(await failure(door)).toEqual({ code: 'ECONNREFUSED', effect: 'none' });
  });
});

describe('connections', () => {
  async function counting() {
    const held: ServerResponse[] = [];
    let connections = 0;
    const server = createServer((_request, response) => held.push(response)).on('connection', () => {
      connections += 1;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answerOne = async () => {
      await until(() => held.length > 0, 'a call');
      held.shift()!.end('ok');
    };
    return { url, held, answerOne, count: () => connections };
  }

  test('are no more than calls under way, nor than allowed; the others wait', async () => {
    const { url, held, answerOne, count } = await counting();
    const client = httpClient(url, 'token', 2);
    closing.unshift(() => client.close());
    for (let call = 0; call < 3; call += 1) {
      const [answer] = await Promise.all([client.send('GET', '/'), answerOne()]);
      expect(answer).toMatchObject({ status: 200, text: 'ok' });
    }
    expect(count()).toBe(1);
    const calls = Promise.all(Array.from({ length: 4 }, () => client.send('GET', '/')));
    await until(() => held.length === 2, 'two calls');
    for (let call = 0; call < 4; call += 1) await answerOne();
    expect((await calls).map(({ text }) => text)).toEqual(Array(4).fill('ok'));
    expect(count()).toBe(2);
  });

  test('of health are new each time, and its slowest answer is of the stage alone', async () => {
    const { url, held, answerOne, count } = await counting();
    const probe = new HealthProbe(url);
    const ending = new AbortController();
    const running = probe.run(ending.signal);
    await answerOne();
    await answerOne();
    await until(() => held.length > 0, 'a third question');
    expect(count()).toBe(3);
    expect(probe.stage().max).toBeGreaterThan(0);
    expect(probe.stage().max).toBe(0);
    ending.abort();
    await running;
  });
});

describe('over gRPC', () => {
  async function answering(code: status, reason: string): Promise<SigningCaller> {
    const server = new GrpcServer();
    const asTheyAre = (bytes: Buffer) => bytes;
    const path = '/svc.mesh.v1.MpcWalletService/SubmitSignatureShare';
    const method = { path, requestStream: false, responseStream: false };
    const codecs = {
      ...{ requestSerialize: asTheyAre, requestDeserialize: asTheyAre },
      ...{ responseSerialize: asTheyAre, responseDeserialize: asTheyAre },
    };
    server.addService(
      { submit: { ...method, ...codecs } },
      {
        submit: (_call: unknown, answer: (error: object) => void) => {
          const metadata = new Metadata();
          const info = create(ErrorInfoSchema, { reason });
          const details = create(StatusSchema, { details: [anyPack(ErrorInfoSchema, info)] });
          metadata.set('grpc-status-details-bin', Buffer.from(toBinary(StatusSchema, details)));
          metadata.set('ratelimit-policy', '"signing";q=2000;w=10');
          answer({ code, metadata });
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    closing.push(() => server.forceShutdown());
    return grpcCaller(`127.0.0.1:${port}`, 'token');
  }

  test('RATE_LIMITED is the rate limit, OVERLOADED a full queue', async () => {
    expect(await failure(await answering(status.RESOURCE_EXHAUSTED, 'RATE_LIMITED'))).toEqual({
      code: 'RESOURCE_EXHAUSTED RATE_LIMITED',
      effect: 'none',
      limit: { policy: 'signing', quota: 2000, windowS: 10 },
    });
    expect(await failure(await answering(status.RESOURCE_EXHAUSTED, 'OVERLOADED'))).toEqual({
      code: 'RESOURCE_EXHAUSTED OVERLOADED',
      effect: 'none',
    });
  });

  test('UNAVAILABLE may have had an effect', async () => {
    expect(await failure(await answering(status.UNAVAILABLE, 'UNAVAILABLE'))).toEqual({
      code: 'UNAVAILABLE',
      effect: 'unknown',
    });
  });
});

test('a failure says what reports count', () => {
  expect(failureOf(new LoadCallFailed({ code: 'X', effect: 'none' }))).toEqual({ code: 'X', effect: 'none' });
  expect(failureOf(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))).toMatchObject({ effect: 'unknown' });
});

test.each([
  ['http://127.0.0.1:8080', true],
  ['http://localhost:8080/', true],
  ['http://[::1]:8080', true],
  ['127.0.0.1:50051', true],
  ['http://10.0.0.1:8080', false],
  ['https://127.0.0.1.example.com', false],
  ['http://localhost.example.com', false],
  ['http://user:127.0.0.1@example.com', false],
  ['example.com:50051', false],
])('%s is this machine: %s', (place, expected) => {
  expect(isLoopback(place)).toBe(expected);
});
