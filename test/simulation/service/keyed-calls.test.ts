/** The five signing calls under an Idempotency-Key, over REST and gRPC, and what dies between the effect and its answer. */
import { createHash } from 'node:crypto';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { beforeEach, describe, expect, test } from 'vitest';
import { signingMethods } from '../../../gateway/api/signing-methods.ts';
import {
  InitiateSigningRequestSchema,
  InitiateSigningResponseSchema,
} from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { Client } from '../../../simulation/service/client.ts';
import { CustodyWorld } from '../../../simulation/service/custody-world.ts';

const digest = createHash('sha256').update('keyed').digest();
const message_hash = digest.toString('base64');
const paths = {
  initiateDkg: '/v1/dkg/initiate',
  exchangeDkgShares: '/v1/dkg/shares',
  initiateSigning: '/v1/signing/initiate',
  submitSignatureShare: '/v1/signing/share',
  resumeSession: '/v1/sessions/resume',
} as const;
type Name = keyof typeof paths;

let world: CustodyWorld;
let token: string;
let client: Client;
let intents = 0;

beforeEach(async () => {
  world = new CustodyWorld({
    seed: 'keyed',
    keepTrace: false,
    cryptography: 'model',
    codec: 'none',
    nodes: 3,
    gateways: 2,
  });
  token = await world.token({ tenant: 'tn_keyed', environment: 'sandbox', name: 'owner' });
  client = world.client(token);
  await plain('initiateDkg', { session_id: 'key', threshold: 2, total_nodes: 3 });
  await plain('exchangeDkgShares', { session_id: 'key' });
});

/** One request; without a key by default. */
async function once(name: Name, body: object, key?: string) {
  const answer = await world.run(client.once('gateway', 'POST', paths[name], body, key));
  if (answer === undefined) throw new Error('the gateway gave no answer');
  return answer;
}

const plain = async (name: Name, body: object) => (await once(name, body)).body;

const signing = (more: object = {}) => {
  intents += 1;
  return { transaction_intent_id: `intent-${intents}`, wallet_id: 'key', message_hash, ...more };
};

/** A call that changes a session, and the reason code of its answer. */
const calls: Readonly<Record<Name, () => Promise<readonly [body: object, code: string]>>> = {
  initiateDkg: async () => [{ threshold: 2, total_nodes: 3 }, 'SESSION_ACCEPTED'],
  exchangeDkgShares: async () => {
    await plain('initiateDkg', { session_id: 'other', threshold: 2, total_nodes: 3 });
    return [{ session_id: 'other' }, 'DKG_COMPLETED'];
  },
  initiateSigning: async () => [signing(), 'SESSION_ACCEPTED'],
  submitSignatureShare: async () => {
    const { signing_session_id } = await plain('initiateSigning', signing());
    return [{ signing_session_id, node_id: 1 }, 'SHARE_ACCEPTED'];
  },
  resumeSession: async () => {
    const { signing_session_id: session_id, checkpoint } = await plain(
      'initiateSigning',
      signing({ approval_mode: 'HUMAN_REQUIRED' }),
    );
    const { resume_token } = checkpoint;
    return [{ session_id, resume_token, human_approval_witness: 'YQ==' }, 'SESSION_RESUMED'];
  },
};
const names = Object.keys(paths) as readonly Name[];

const sessions = async () => (await world.run(client.call('GET', '/v1/sessions?limit=100'))).body.sessions.length;

describe.each(names)('%s', (name) => {
  test('gets its first answer again, and another body is refused', async () => {
    const [body, code] = await calls[name]();
    const first = await once(name, body, 'k');
    expect([first.status, first.body.receipt.reason_code]).toEqual([200, code]);
    expect(first.headers['idempotent-replayed']).toBeUndefined();
    const count = await sessions();
    const again = await once(name, body, 'k');
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const other = await once(name, { ...body, context: { correlation_id: 'other' } }, 'k');
    expect([other.status, other.body.error.details[0].issue]).toEqual([409, 'idempotency_key_reused']);
    expect(await sessions()).toBe(count);
  });

  test.each<Fault>([
    {
      ...{ fault: 'crash', target: ['gateway', 'gateway/2'], restart_after_ms: 300 },
      at: { port: 'redis', call: 'store/settle-idempotent.lua' },
    },
    { fault: 'crash', target: 'coordinator', at: { point: 'call_reply' }, restart_after_ms: 300 },
  ])('has one effect and its session’s answer when $target dies before the answer is stored', async (fault) => {
    const [body, code] = await calls[name]();
    const count = await sessions();
    world.clusters.arm(fault);
    const { body: answer } = await world.run(client.call('POST', paths[name], body, 'k'));
    expect(world.clusters.faultStatuses().map(({ triggerCount }) => triggerCount)).not.toContain(0);
    const codes = name === 'submitSignatureShare' ? [code, 'SESSION_ACCEPTED'] : [code];
    expect(codes).toContain(answer.receipt.reason_code);
    expect(answer.receipt.state).not.toBe('RECEIPT_STATE_REPLAY_REJECTED');
    expect(await sessions()).toBe(count + (name.startsWith('initiate') ? 1 : 0));
  });
});

test('what changed no session is not stored: the same key is free for another body', async () => {
  const missing = await once('submitSignatureShare', { signing_session_id: 'sig_none' }, 'k');
  expect(missing.body.receipt.reason_code).toBe('SESSION_NOT_FOUND');
  const unsupported = { context: { client: { contract_version: '9' } } };
  const [body] = await calls.initiateSigning();
  const refused = await once('initiateSigning', { ...body, ...unsupported }, 'k');
  expect(refused.body.receipt.reason_code).toBe('CONTRACT_VERSION_UNSUPPORTED');
  const opened = await once('initiateSigning', body, 'k');
  expect(opened.body.receipt.reason_code).toBe('SESSION_ACCEPTED');
  const second = await once('initiateSigning', body, 'k2');
  expect(second.body.receipt.reason_code).toBe('DUPLICATE_INTENT');
  expect((await once('initiateSigning', body, 'k2')).headers['idempotent-replayed']).toBeUndefined();
  expect((await once('initiateSigning', body, '')).status).toBe(400);
  expect((await once('initiateSigning', body, 'x'.repeat(256))).status).toBe(400);
});

test('a forced state opened a session: it is stored', async () => {
  const body = signing({ mock_directive: 'MOCK_DIRECTIVE_FORCE_DENIED' });
  const first = await once('initiateSigning', body, 'k');
  expect((await once('initiateSigning', body, 'k')).body).toEqual(first.body);
});

test('a step that failed a session which can be resumed is made anew under its key', async () => {
  const { signing_session_id } = await plain('initiateSigning', signing());
  for (const node of [1, 2]) world.clusters.arm({ fault: 'pause', target: `node/${node}`, for_ms: 15_000 } as Fault);
  const failed = await once('submitSignatureShare', { signing_session_id }, 'k');
  expect(failed.body.receipt).toMatchObject({ reason_code: 'QUORUM_UNAVAILABLE', resumable: true });
  await world.advance(15_000);
  const { resume_token } = failed.body.checkpoint;
  const resumed = await once('resumeSession', { session_id: signing_session_id, resume_token }, 'r');
  expect(resumed.body.receipt.reason_code).toBe('SESSION_RESUMED');
  const signed = await once('submitSignatureShare', { signing_session_id }, 'k');
  expect([signed.body.is_complete, signed.headers['idempotent-replayed']]).toEqual([true, undefined]);
  // The used token's answer comes before RESUME_TOKEN_REUSED.
  const again = await once('resumeSession', { session_id: signing_session_id, resume_token }, 'r');
  expect(again.body).toEqual(resumed.body);
});

test('duplicates that arrive together have one effect and one answer', async () => {
  const body = signing();
  const count = await sessions();
  const both = await world.run(
    Promise.all(
      (['gateway', 'gateway', 'gateway/2'] as const).map((to) =>
        client.once(to, 'POST', paths.initiateSigning, body, 'k'),
      ),
    ),
  );
  expect(new Set(both.map((one) => JSON.stringify(one?.body))).size).toBe(1);
  expect(both.filter((one) => one?.headers['idempotent-replayed'] === 'true')).toHaveLength(2);
  expect(await sessions()).toBe(count + 1);
});

/** The same call as `rest`, over gRPC. */
async function rpc(rest: ReturnType<typeof signing>, more: object = {}) {
  const method = signingMethods.find((one) => one.method === 'initiateSigning')!;
  const asked = { transactionIntentId: rest.transaction_intent_id, walletId: 'key', messageHash: digest };
  const message = toBinary(InitiateSigningRequestSchema, create(InitiateSigningRequestSchema, { ...asked, ...more }));
  const metadata = { authorization: `Bearer ${token}`, 'idempotency-key': 'k' };
  return await world.run(world.callRpc('gateway/2', { method, message, metadata }));
}

/** How a writer to Redis changes the record of a key, which holds the hash of its body and the answer. */
const forgeries: Readonly<Record<string, (mark: Readonly<Record<string, string>>) => Record<string, string>>> = {
  'another text': () => ({ a: 'garbage' }),
  'no text': () => ({ a: '' }),
  'one character changed': ({ a = '' }) => ({ a: `${a.slice(0, -4)}AAAA` }),
  'the hash of another body': () => ({ b: 'f'.repeat(64) }),
};

/** The only key's record. */
async function mark() {
  const redis = world.redis.client();
  const [, [key = '']] = await redis.scan('0', 'MATCH', '*:idem:*', 'COUNT', 100_000);
  return { redis, key };
}

async function forge(change: (typeof forgeries)[string]): Promise<void> {
  const { redis, key } = await mark();
  await redis.hset(key, change(await redis.hgetall(key)));
}

describe.each(names)('a stored answer of %s', (name) => {
  test.each(Object.entries(forgeries))(
    'that has %s is refused by name, and nothing is signed',
    async (what, change) => {
      const [body] = await calls[name]();
      await once(name, body, 'k');
      const count = await sessions();
      await forge(change);
      const { status: code, body: told } = await once(name, body, 'k');
      // The hash alone says that the key stands for another request.
      const issue = what === 'the hash of another body' ? 'idempotency_key_reused' : 'store_tampered';
      expect([code, told.error.details[0].issue]).toEqual([409, issue]);
      expect(await sessions()).toBe(count);
    },
  );
});

test('a stored answer to another body is refused by name, over gRPC too', async () => {
  const [first, second] = [signing(), signing()];
  await once('initiateSigning', second, 'k');
  const { redis, key } = await mark();
  const hash = (await redis.hget(key, 'b'))!;
  await redis.del(key);
  await once('initiateSigning', first, 'k');
  await redis.hset(key, 'b', hash);
  const { status: code, body } = await once('initiateSigning', second, 'k');
  expect([code, body.error.details[0].issue]).toEqual([409, 'store_tampered']);
  const details = expect.stringContaining('something else than this service changed it in Redis');
  expect(await rpc(second)).toMatchObject({ code: status.DATA_LOSS, details });
});

test('gRPC shares the keys of REST', async () => {
  const rest = signing();
  const first = await once('initiateSigning', rest, 'k');
  const again = await rpc(rest);
  if (again.code !== status.OK) throw new Error(again.details);
  expect(fromBinary(InitiateSigningResponseSchema, again.message).signingSessionId).toBe(first.body.signing_session_id);
  expect(again.initial['idempotent-replayed']).toBe('true');
  expect(await rpc(rest, { walletId: 'other' })).toMatchObject({
    code: status.ALREADY_EXISTS,
    reason: 'IDEMPOTENCY_KEY_REUSED',
  });
});
