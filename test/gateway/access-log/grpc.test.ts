/** The access log of the gRPC door: one line for each call, also for those that no handler of ours ever sees. */
import { connect } from 'node:http2';
import { create, toBinary } from '@bufbuild/protobuf';
import { Metadata, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { InitiateSigningRequestSchema } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { grpcMessageBytesMax } from '../../../proto/limits.ts';
import { proof } from '../../support/fake-coordinator.ts';
import { auth, grpcCall, openGateway, type TestGateway, testToken } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { lineOf, linesOf } from './support.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openGateway();
});
afterAll(() => gateway.stop());

const initiate = '/svc.mesh.v1.MpcWalletService/InitiateSigning';
const bytesOf = (correlationId = '') =>
  toBinary(InitiateSigningRequestSchema, create(InitiateSigningRequestSchema, { context: { correlationId } }));

const call = async (path: string, bytes: Uint8Array, metadata: Record<string, string> = auth, options = {}) =>
  grpcCall(await gateway.grpcClient(), path, bytes, metadata, options);

/** The id in an answer, wherever grpc-js shows it: initial metadata, or the only headers of an error. */
const idIn = ({ initial, error }: Awaited<ReturnType<typeof grpcCall>>): unknown =>
  initial.get('x-request-id')[0] ?? (error?.metadata as Metadata | undefined)?.get('x-request-id')[0];

describe('a call', () => {
  test('leaves its receipt, its caller and its trace', async () => {
    gateway.tokens.put('svc_sk_test_tokenOfAnAuditor1234', { tenant: 'tn_audit', id: 'tok_audit' });
    const receipt = { ...proof.receipt, state: 6, reasonCode: 'DUPLICATE_INTENT', sessionId: 'sig_7' };
    gateway.coordinator.answer = () => ({ response: { ...proof, receipt } });
    const answer = await call(initiate, bytesOf('order 7'), {
      authorization: 'Bearer svc_sk_test_tokenOfAnAuditor1234',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'x-request-id': 'my-request-7',
      'signmesh-call': '1',
    });
    gateway.coordinator.answer = () => ({ response: proof });
    expect(answer.error).toBeUndefined();
    expect(answer.initial.get('x-request-id')).toEqual(['my-request-7']);
    expect(await lineOf(gateway.requests, 'my-request-7')).toEqual({
      level: 'info',
      request_id: 'my-request-7',
      door: 'grpc',
      route: initiate,
      status: 200,
      grpc_status: 'OK',
      duration_ms: expect.any(Number),
      tenant: 'tn_audit',
      token_id: 'tok_audit',
      reason_code: 'DUPLICATE_INTENT',
      receipt_state: 'REPLAY_REJECTED',
      receipt_id: 'rcp_1',
      session_id: 'sig_7',
      correlation_id: 'order 7',
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    });
  });

  test.each<[string, string, Uint8Array, Record<string, string>, object]>([
    [
      'without a token',
      initiate,
      bytesOf(),
      {},
      { grpc_status: 'UNAUTHENTICATED', reason_code: 'AUTHENTICATION_FAILED' },
    ],
    [
      'that does not decode',
      initiate,
      Buffer.from([255]),
      auth,
      { grpc_status: 'INVALID_ARGUMENT', reason_code: 'INVALID_REQUEST' },
    ],
    [
      'that is too large',
      initiate,
      new Uint8Array(grpcMessageBytesMax + 1),
      auth,
      { grpc_status: 'RESOURCE_EXHAUSTED', reason_code: 'RESOURCE_EXHAUSTED' },
    ],
    [
      'of a method that does not exist',
      '/svc.mesh.v1.MpcWalletService/Burn',
      bytesOf(),
      auth,
      { grpc_status: 'UNIMPLEMENTED', reason_code: 'UNIMPLEMENTED', path: '/svc.mesh.v1.MpcWalletService/Burn' },
    ],
    [
      'for the health',
      '/grpc.health.v1.Health/Check',
      new Uint8Array(),
      {},
      { level: 'debug', grpc_status: 'OK', route: '/grpc.health.v1.Health/Check' },
    ],
    [
      'for the health of nothing',
      '/grpc.health.v1.Health/Check',
      Buffer.from('\n\u0001x'),
      {},
      { level: 'info', grpc_status: 'NOT_FOUND' },
    ],
  ])('%s leaves a line, and its answer has the id', async (_, path, bytes, metadata, line) => {
    const answer = await call(path, bytes, metadata);
    expect(idIn(answer)).toMatch(/^req_/);
    const found = await lineOf(gateway.requests, idIn(answer));
    expect(found).toMatchObject({ door: 'grpc', ...line });
    expect(status[answer.error?.code ?? 0]).toBe(found.grpc_status);
    expect(found).not.toHaveProperty('receipt_id');
  });

  test('without the scope leaves a line with its tenant', async () => {
    const token = 'svc_sk_test_poorTokenOfSomeone123';
    gateway.tokens.put(token, { tenant: 'tn_poor', id: 'tok_poor', scopes: ['wallets:read'] });
    const answer = await call(initiate, bytesOf(), { authorization: `Bearer ${token}` });
    expect(await lineOf(gateway.requests, idIn(answer))).toMatchObject({
      grpc_status: 'PERMISSION_DENIED',
      reason_code: 'INSUFFICIENT_SCOPE',
      tenant: 'tn_poor',
      token_id: 'tok_poor',
    });
  });

  test('whose caller left, and one whose deadline passed, leave lines', async () => {
    gateway.coordinator.answer = () => 'silence';
    const sent = gateway.coordinator.sent.length;
    const cancelWhen = gateway.coordinator.sentCount(sent + 1);
    await call(initiate, bytesOf(), { ...auth, 'x-request-id': 'left-in-between' }, { cancelWhen });
    const left = await lineOf(gateway.requests, 'left-in-between');
    expect(left).toMatchObject({ aborted: true, route: initiate, tenant: expect.any(String) });
    expect(left).not.toHaveProperty('grpc_status');
    // On a busy machine a deadline may pass before the call reaches the gateway: then it leaves no line.
    const sentBefore = gateway.coordinator.sent.length;
    let id = '';
    for (let withinMs = 100; gateway.coordinator.sent.length === sentBefore; withinMs *= 2) {
      id = `came-too-late-${withinMs}`;
      await call(initiate, bytesOf(), { ...auth, 'x-request-id': id }, { deadline: Date.now() + withinMs });
    }
    expect(await lineOf(gateway.requests, id)).toMatchObject({ route: initiate });
    gateway.coordinator.answer = () => ({ response: proof });
  });
});

test('a stream leaves its line when it ends', async () => {
  const client = await gateway.grpcClient();
  const metadata = new Metadata();
  metadata.set('x-request-id', 'reflection-1');
  const asTheyAre = (bytes: Buffer) => bytes;
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const stream = client.makeBidiStreamRequest<Buffer, Buffer>(path, asTheyAre, asTheyAre, metadata);
  const ended = new Promise((resolve) => stream.on('status', resolve));
  stream.on('data', () => stream.end());
  stream.write(Buffer.from('3a00', 'hex'));
  await ended;
  expect(await lineOf(gateway.requests, 'reflection-1')).toMatchObject({
    level: 'debug',
    grpc_status: 'OK',
    route: path,
  });
});

test('a request that is no gRPC leaves its HTTP status', async () => {
  const { getChannel } = await gateway.grpcClient();
  const session = connect(
    `http://${getChannel
      .call(await gateway.grpcClient())
      .getTarget()
      .replace(/^.*:(?=127)/, '')}`,
  );
  const stream = session.request({ ':method': 'POST', ':path': initiate, 'content-type': 'text/plain' });
  const headers = await new Promise<Record<string, unknown>>((resolve) => stream.on('response', resolve));
  stream.end();
  session.close();
  expect(headers).toMatchObject({ ':status': 415, 'x-request-id': expect.stringMatching(/^req_/) });
  const line = await lineOf(gateway.requests, headers['x-request-id']);
  expect(line).toMatchObject({ status: 415, route: initiate });
  expect(line).not.toHaveProperty('aborted');
});

test('calls at once leave a line each, with the receipt of their own answer', async () => {
  gateway.coordinator.answer = ({ trace }) => ({
    response: { ...proof, receipt: { ...proof.receipt, receiptId: `rcp_${trace.correlationId}` } },
  });
  const before = gateway.requests.length;
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => call(initiate, bytesOf(`c-${index}`))));
  gateway.coordinator.answer = () => ({ response: proof });
  await until(() => gateway.requests.length >= before + 50, 'fifty lines');
  const lines = linesOf(gateway.requests.slice(before));
  expect(new Set(lines.map(({ request_id }) => request_id))).toEqual(new Set(answers.map(idIn)));
  for (const { receipt_id, correlation_id } of lines) expect(receipt_id).toBe(`rcp_${String(correlation_id)}`);
});

test('no line holds a token, wherever its caller put it', async () => {
  await call(initiate, bytesOf(`Bearer ${testToken}`), { ...auth, 'x-request-id': testToken });
  await call(`/${testToken}/X`, bytesOf());
  await until(() => linesOf(gateway.requests).some(({ path }) => path === '/svc_sk_test_…/X'), 'the path, cut');
  await until(() => linesOf(gateway.requests).some(({ request_id }) => request_id === 'svc_sk_test_…'), 'the id, cut');
  expect(JSON.stringify(linesOf(gateway.requests))).not.toContain(testToken.slice(12));
});
