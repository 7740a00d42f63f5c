/**
 * `serveRpc` without a socket and the real gRPC server answer alike: every method, with good requests, each refusal on
 * the way in, and each outcome of the coordinator. One gateway gets the same call both ways; status, details, metadata and
 * bytes are equal.
 */
import type { Client } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SigningMethod, signingMethods } from '../../gateway/api/signing-methods.ts';
import { toStatus } from '../../gateway/grpc/status.ts';
import { CallErrorCode, proof } from '../support/fake-coordinator.ts';
import { auth, grpcCall, openGateway, type TestGateway } from '../support/gateway.ts';

interface Answer {
  readonly code: number;
  readonly details: string;
  readonly statusDetails: string;
  readonly initial: Readonly<Record<string, unknown>>;
  readonly message: string;
}

const requestId = { 'x-request-id': 'order_42-abc' };
const limited = 'svc_sk_test_overItsLimit0000';
const poor = 'svc_sk_test_hasNoScopeAtAll';

let gateway: TestGateway;
let client: Client;
beforeAll(async () => {
  gateway = await openGateway({
    limits: {
      consume: async (tenant, limitClass) => {
        const allowed = tenant !== 'tn_limited';
        return { allowed, policy: `"${limitClass}";q=9;w=10`, state: `"${limitClass}";r=8;t=10`, resetS: 7 };
      },
    },
  });
  gateway.tokens.put(limited, { id: 'tok_limited', tenant: 'tn_limited' });
  gateway.tokens.putScoped(poor, []);
  client = await gateway.grpcClient();
});
afterAll(() => gateway.stop());

async function ofServer(method: SigningMethod, bytes: Uint8Array, metadata: Record<string, string>): Promise<Answer> {
  const { error, response, initial } = await grpcCall(client, method.grpcPath, bytes, metadata);
  const [details] = error?.metadata.get('grpc-status-details-bin') ?? [];
  return {
    code: error?.code ?? 0,
    details: error?.details ?? '',
    statusDetails: Buffer.from(details ?? '').toString('hex'),
    initial: Object.fromEntries(Object.keys(initial.getMap()).map((key) => [key, initial.get(key)[0]])),
    message: response?.toString('hex') ?? '',
  };
}

function ofServe(method: SigningMethod, message: Uint8Array, metadata: Record<string, string>): Promise<Answer> {
  return new Promise((resolve) => {
    let initial: Readonly<Record<string, unknown>> = {};
    const nothing = { code: 0, details: '', statusDetails: '', message: '' };
    gateway.rpc(
      {
        ...{ method, message, entry: undefined, isCancelled: false, leftMs: Number.POSITIVE_INFINITY },
        metadata: (key) => metadata[key],
        onCancelled: () => undefined,
      },
      {
        initial: (entries) => {
          initial = entries;
        },
        answered: (bytes) => resolve({ ...nothing, initial, message: Buffer.from(bytes).toString('hex') }),
        failed: (error, id) => {
          const { code, details, metadata: trailer } = toStatus(error, id);
          const [packed] = trailer.get('grpc-status-details-bin');
          const statusDetails = Buffer.from(packed as Buffer).toString('hex');
          resolve({ ...nothing, initial, code, details, statusDetails });
        },
      },
    );
  });
}

/** Those of HTTP/2 that Node adds. */
function withoutTransport({ initial: { date: _, 'content-type': __, ...initial }, ...answer }: Answer): Answer {
  return { ...answer, initial };
}

const none = new Uint8Array();
const calls: readonly (readonly [string, Uint8Array, Record<string, string>])[] = [
  ['an empty request', none, auth],
  ['bytes that do not decode', new Uint8Array([0x0a, 0x05, 0x61]), auth],
  ['a field that the contract does not know', new Uint8Array([0xf8, 0x07, 0x01]), auth],
  ['no token', none, {}],
  ['a token that is none', none, { authorization: 'Bearer nonsense' }],
  ['a token without scopes', none, { authorization: `Bearer ${poor}` }],
  ['a tenant over its limit', none, { authorization: `Bearer ${limited}` }],
];

describe.each(signingMethods.map((method) => [method.name, method] as const))('%s', (_, method) => {
  it.each(calls)('answers alike to %s', async (_name, bytes, metadata) => {
    const sent = { ...metadata, ...requestId };
    const [server, serve] = await Promise.all([ofServer(method, bytes, sent), ofServe(method, bytes, sent)]);
    expect(serve).toEqual(withoutTransport(server));
    expect(serve.initial['x-request-id']).toBe('order_42-abc');
  });

  it.each(Object.values(CallErrorCode).filter((code): code is CallErrorCode => typeof code === 'number' && code > 0))(
    'answers alike when the coordinator answers %s',
    async (code) => {
      gateway.coordinator.answer = () => ({ error: code, message: 'so it is' });
      try {
        const sent = { ...auth, ...requestId };
        const [server, serve] = [await ofServer(method, none, sent), await ofServe(method, none, sent)];
        expect(serve).toEqual(withoutTransport(server));
        expect(serve.code).toBeGreaterThan(0);
      } finally {
        gateway.coordinator.answer = () => ({ response: proof });
      }
    },
  );
});
