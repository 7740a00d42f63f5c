import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Client, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shiftSystemClock } from '../../core/actors/live/ports.ts';
import { signingMethods } from '../../gateway/api/signing-methods.ts';
import { InitiateSigningRequestSchema } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { CallErrorCode, healthyCluster, proof } from '../support/fake-coordinator.ts';
import { auth, errorDetails, grpcCall, openGateway, type TestGateway } from '../support/gateway.ts';

const share = '/svc.mesh.v1.MpcWalletService/SubmitSignatureShare';
const nothing = new Uint8Array();

describe('the gRPC door of the signing API', () => {
  let gateway: TestGateway;
  let client: Client;
  beforeAll(async () => {
    gateway = await openGateway();
    client = await gateway.grpcClient();
  });
  afterAll(() => gateway.stop());
  afterEach(() => {
    gateway.coordinator.answer = () => ({ response: proof });
    gateway.coordinator.refuse = undefined;
    gateway.coordinator.link(true);
    gateway.coordinator.status(healthyCluster);
  });

  it.each(signingMethods.map((method) => [method.name, method] as const))('answers %s', async (_, method) => {
    const { error, response, initial } = await grpcCall(client, method.grpcPath, nothing);
    expect(error).toBeUndefined();
    expect(fromBinary(method.response, response!)).toMatchObject({ receipt: { receiptId: 'rcp_1' } });
    expect(gateway.coordinator.last.call.request.case).toBe(method.method);
    expect(initial.get('x-request-id')[0]).toMatch(/^req_[0-9a-f-]{36}$/);
  });

  it('drops the fields of a request that this contract does not know', async () => {
    const known = toBinary(InitiateSigningRequestSchema, create(InitiateSigningRequestSchema, { walletId: 'w' }));
    const later = Buffer.concat([known, Buffer.from([0xf8, 0x07, 0x01])]);
    const { error } = await grpcCall(client, '/svc.mesh.v1.MpcWalletService/InitiateSigning', later);
    expect(error).toBeUndefined();
    const { request } = gateway.coordinator.last.call;
    expect(request).toEqual({ case: 'initiateSigning', value: fromBinary(InitiateSigningRequestSchema, known) });
  });

  it('keeps a well-formed request id and replaces another', async () => {
    const kept = await grpcCall(client, share, nothing, { ...auth, 'x-request-id': 'order_42-abc' });
    expect(kept.initial.get('x-request-id')).toEqual(['order_42-abc']);
    const replaced = await grpcCall(client, share, nothing, { ...auth, 'x-request-id': 'a b' });
    expect(replaced.initial.get('x-request-id')[0]).toMatch(/^req_/);
  });

  it('hands on traceparent, correlation id and deadline', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const deadline = Date.now() + 20_000;
    await grpcCall(client, share, nothing, { ...auth, traceparent, 'x-request-id': 'order_42-abc' }, { deadline });
    const { trace, call } = gateway.coordinator.last;
    expect(trace).toMatchObject({ traceparent, correlationId: 'order_42-abc' });
    // The client sends the time that is left, and the gateway counts it from the call's arrival.
    expect(call.leftMs).toBeGreaterThanOrEqual(deadline - 1 - Date.now());
    expect(call.leftMs).toBeLessThanOrEqual(20_000);
  });

  it.each([20_000, 90_000_000, -20_000])(
    'counts a deadline by the machine, whose clock a sandbox moves by %d ms',
    async (offsetMs) => {
      shiftSystemClock(offsetMs);
      try {
        const { error } = await grpcCall(client, share, nothing, auth, { deadline: Date.now() + 15_000 });
        expect(error).toBeUndefined();
        expect(gateway.coordinator.last.call.leftMs).toBeLessThanOrEqual(15_000);
      } finally {
        shiftSystemClock(0);
      }
    },
  );

  describe('what fails at the transport', () => {
    it.each<[string, Uint8Array]>([
      ['a cut length', new Uint8Array([0x0a, 0x05, 0x61])],
      ['a bad tag', new Uint8Array([0x00])],
      ['the wrong wire type', new Uint8Array([0x0f])],
      ['invalid UTF-8', new Uint8Array([0x0a, 0x01, 0xff])],
      ['an endless varint', new Uint8Array(11).fill(0xff)],
    ])('answers INVALID_ARGUMENT to bytes with %s', async (_, bytes) => {
      const sent = gateway.coordinator.sent.length;
      const { error, initial } = await grpcCall(client, share, bytes);
      expect(error?.code).toBe(status.INVALID_ARGUMENT);
      expect(errorDetails(error)).toMatchObject({ reason: 'INVALID_REQUEST', domain: 'signmesh' });
      expect(initial.get('x-request-id')[0]).toMatch(/^req_/);
      expect(gateway.coordinator.sent.length).toBe(sent);
    });

    it.each<[string, Record<string, string>]>([
      ['no token', {}],
      ['a token that is none', { authorization: 'Bearer nonsense' }],
      ['another scheme', { authorization: 'Basic c3ZjOng=' }],
      ['a live token in a sandbox', { authorization: 'Bearer svc_sk_live_0123456789' }],
    ])('answers UNAUTHENTICATED to %s', async (_, metadata) => {
      const { error, initial } = await grpcCall(client, share, nothing, metadata);
      expect(error?.code).toBe(status.UNAUTHENTICATED);
      expect(errorDetails(error).reason).toBe('AUTHENTICATION_FAILED');
      expect(initial.get('x-request-id')[0]).toMatch(/^req_/);
    });

    it('answers INVALID_ARGUMENT to half a million empty commitments, before they are decoded', async () => {
      const bytes = Buffer.alloc(2 ** 20 - 100);
      for (let at = 0; at < bytes.length; at += 2) bytes[at] = 0x2a;
      const { length: before } = gateway.coordinator.sent;
      const { error } = await grpcCall(client, '/svc.mesh.v1.MpcWalletService/ExchangeDkgShares', bytes);
      expect(error?.code).toBe(status.INVALID_ARGUMENT);
      expect(gateway.coordinator.sent).toHaveLength(before);
    });

    it('answers PERMISSION_DENIED without the scope', async () => {
      gateway.tokens.putScoped('svc_sk_test_dkgonly000000', ['signing:dkg']);
      const metadata = { authorization: 'Bearer svc_sk_test_dkgonly000000' };
      const { error } = await grpcCall(client, share, nothing, metadata);
      expect(error?.code).toBe(status.PERMISSION_DENIED);
      expect(errorDetails(error).reason).toBe('INSUFFICIENT_SCOPE');
      expect(error?.details).toContain('signing:share');
      const allowed = await grpcCall(client, '/svc.mesh.v1.MpcWalletService/InitiateDkg', nothing, metadata);
      expect(allowed.error).toBeUndefined();
    });

    it.each<[string, CallErrorCode, status, string, number | undefined]>([
      ['a full queue', CallErrorCode.OVERLOADED, status.RESOURCE_EXHAUSTED, 'OVERLOADED', 1],
      ['a store that is away', CallErrorCode.UNAVAILABLE, status.UNAVAILABLE, 'UNAVAILABLE', 1],
      [
        'a deadline that passed',
        CallErrorCode.DEADLINE_EXCEEDED,
        status.DEADLINE_EXCEEDED,
        'DEADLINE_EXCEEDED',
        undefined,
      ],
      ['a bug', CallErrorCode.INTERNAL, status.INTERNAL, 'INTERNAL_ERROR', undefined],
      ['a malformed request', CallErrorCode.MALFORMED, status.INVALID_ARGUMENT, 'INVALID_REQUEST', undefined],
    ])('reports %s', async (_, error, code, reason, retryS) => {
      gateway.coordinator.answer = () => ({ error });
      const answer = await grpcCall(client, share, nothing);
      expect(answer.error?.code).toBe(code);
      expect(errorDetails(answer.error)).toMatchObject({ reason, retryS });
    });

    it('answers UNAVAILABLE without a coordinator, also to calls that wait when it is lost', async () => {
      gateway.coordinator.answer = () => 'silence';
      const sent = gateway.coordinator.sent.length;
      const waiting = grpcCall(client, share, nothing);
      await gateway.coordinator.sentCount(sent + 1);
      gateway.coordinator.link(false);
      expect((await waiting).error?.code).toBe(status.UNAVAILABLE);
      expect((await grpcCall(client, share, nothing)).error?.code).toBe(status.UNAVAILABLE);
    });

    it('answers DEADLINE_EXCEEDED when the client’s deadline passes, and forgets the call', async () => {
      gateway.coordinator.answer = () => 'silence';
      const { error } = await grpcCall(client, share, nothing, auth, { deadline: Date.now() + 60 });
      expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
      await expect.poll(() => gateway.room.calls.inFlight).toBe(0);
    });

    it('forgets a call that its client cancels', async () => {
      gateway.coordinator.answer = () => 'silence';
      const sent = gateway.coordinator.sent.length;
      const cancelWhen = gateway.coordinator.sentCount(sent + 1);
      const { error } = await grpcCall(client, share, nothing, auth, { cancelWhen });
      expect(error?.code).toBe(status.CANCELLED);
      await expect.poll(() => gateway.room.calls.inFlight).toBe(0);
    });

    it('answers RESOURCE_EXHAUSTED to a message above 1 MiB, and takes one just below', async () => {
      const ofBytes = (length: number) =>
        toBinary(
          InitiateSigningRequestSchema,
          create(InitiateSigningRequestSchema, { messageHash: new Uint8Array(length) }),
        );
      const path = '/svc.mesh.v1.MpcWalletService/InitiateSigning';
      const refused = await grpcCall(client, path, ofBytes(1_048_577));
      expect(refused.error?.code).toBe(status.RESOURCE_EXHAUSTED);
      expect((await grpcCall(client, path, ofBytes(1_048_000))).error).toBeUndefined();
    });

    it('answers UNIMPLEMENTED to a method that is none', async () => {
      const { error } = await grpcCall(client, '/svc.mesh.v1.MpcWalletService/Sign', nothing);
      expect(error?.code).toBe(status.UNIMPLEMENTED);
    });
  });
});
