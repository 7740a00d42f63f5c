/** The embedded service over its real doors: real signatures, a wallet that pays, webhooks out, faults and resets. */
import { createHash } from 'node:crypto';
import { status as grpcStatus } from '@grpc/grpc-js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebhookReceiver } from '../../../clients/testing/webhook-receiver.ts';
import { slowness } from '../../../tools/check/cpu.ts';
import { type CallFailed, grpcApi } from '../../support/client.ts';
import { until } from '../../support/until.ts';
import { type Running, signature, startService } from './support/service.ts';

const digest = createHash('sha256').update('embedded').digest();
const receiverAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

let running: Running;
let receiver: WebhookReceiver;

beforeAll(async () => {
  [running, receiver] = await Promise.all([startService(), WebhookReceiver.start()]);
});
afterAll(async () => {
  await running.service.stop();
  await receiver.stop();
});

async function makeWallet() {
  const { must } = running;
  const connection = { provider: 'self_hosted', name: 'cluster', credentials: {} };
  const { id } = await must(201, 'POST', '/v1/provider-connections', connection);
  return must(201, 'POST', '/v1/wallets', { name: 'one', provider_connection_id: id, network: 'eip155:11155111' });
}

describe('an embedded service', () => {
  it('is healthy, and signs with its ready-made key what another library verifies', async () => {
    expect(await running.must(200, 'GET', '/v1/health')).toMatchObject({ status: 'ok', nodes_ready: 5 });
    const key = running.keys.find(({ scheme }) => scheme === 'mock_ecdsa')!;
    const made = await signature(running, key.walletId, digest, 'intent-1');
    expect(made.is_complete).toBe(true);
    const signed = Buffer.from(made.full_signature, 'base64');
    const publicKey = Buffer.from(key.publicKey, 'hex');
    expect(secp256k1.verify(signed, digest, publicKey, { prehash: false })).toBe(true);
    expect(secp256k1.verify(signed, createHash('sha256').update('x').digest(), publicKey, { prehash: false })).toBe(
      false,
    );
  });

  it('has every module for the banner’s tenant, issues tokens, and takes keys of signing calls', async () => {
    const { must, call } = running;
    const vault = { name: 'v', keystore_type: 'KEYSTORE_TYPE_MPC_FROST', curve: 'ed25519' };
    expect(await must(201, 'POST', '/v1/vaults', vault)).toMatchObject({ keystore_type: 'mpc_frost' });
    const issued = await must(201, 'POST', '/v1/sandbox/tokens', { name: 'second' });
    expect((await call('GET', '/v1/wallets', undefined, issued.token)).status).toBe(200);
    const begin = () => call('POST', '/v1/dkg/initiate', { threshold: 2, total_nodes: 3 }, undefined, 'one-key');
    const [first, again] = [await begin(), await begin()];
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('dates the initial policy and lists of a tenant from its first token', async () => {
    const { call, token } = running;
    for (const one of [token, 'svc_sk_test_anybodystoken0001']) {
      const dates = async () => {
        const { policies } = (await call('GET', '/v1/policies', undefined, one)).body;
        const { lists } = (await call('GET', '/v1/compliance/lists', undefined, one)).body;
        return [...policies, ...lists].map(({ created_at }: { readonly created_at: string }) => Date.parse(created_at));
      };
      const [first, ...others] = await dates();
      expect(Math.abs(Date.now() - first!)).toBeLessThan(3_600_000);
      expect(new Set(others)).toEqual(new Set([first]));
      expect(await dates()).toEqual([first, ...others]);
    }
  });

  it('pays from a wallet, and sends what happens to a receiver on loopback', async () => {
    const { must } = running;
    await must(201, 'POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
    const wallet = await makeWallet();
    const transfer = { asset: 'ETH', amount: '0.25', destination: { address: receiverAddress } };
    const intent = await must(201, 'POST', `/v1/wallets/${wallet.id}/transaction-intents`, transfer);
    await until(async () => {
      const { status } = await must(200, 'GET', `/v1/wallets/${wallet.id}/transaction-intents/${intent.id}`);
      return status === 'completed';
    }, 'the transfer is completed');
    const expected = ['wallet.created', 'transaction_intent.created', 'transaction_intent.completed'];
    await until(
      () => expected.every((type) => receiver.acknowledged().includes(type)),
      () => `events arrive: ${JSON.stringify(receiver.received)}`,
    );
    expect(receiver.received[0]!.headers['user-agent']).toBe('signmesh-webhooks/0.0.0-test');
  });

  it('loses what a fault takes, and answers again when it is over', async () => {
    const { must, call } = running;
    await must(200, 'POST', '/v1/sandbox/nodes/node-3/crash', { restart_after_ms: null });
    expect(await must(200, 'GET', '/v1/health')).toMatchObject({ status: 'degraded', nodes_ready: 4 });
    await must(200, 'POST', '/v1/sandbox/nodes/node%2F3/restart');
    expect(await must(200, 'GET', '/v1/health')).toMatchObject({ status: 'ok' });
    // On a busy machine the gateway may be back before a call meets it down: then it crashes once more.
    const crash = () => call('POST', '/v1/sandbox/nodes/gateway/crash', { restart_after_ms: 50 });
    await until(
      () =>
        crash().then(
          () => false,
          () => true,
        ),
      'the gateway is down',
    );
    await until(async () => (await call('GET', '/v1/health')).status === 200, 'the gateway is back');
  });

  it('repeats the answer of an idempotency key over gRPC', async () => {
    const client = grpcApi(running.service.grpcAddress, running.token, 'grpc-once');
    const asked = { transactionIntentId: 'grpc-once', walletId: 'sandbox-bip340', messageHash: digest };
    const first = await client.initiateSigning(asked);
    expect(await client.initiateSigning(asked)).toEqual(first);
    client.close();
  });

  it('serves gRPC, refuses while its gateway is down, and serves again', async () => {
    const { call, service, token } = running;
    const client = grpcApi(service.grpcAddress, token);
    const sign = async (intent: string) => {
      const asked = { transactionIntentId: intent, walletId: 'sandbox-bip340', messageHash: digest };
      const { signingSessionId } = await client.initiateSigning(asked);
      return client.submitSignatureShare({ signingSessionId });
    };
    const { isComplete, fullSignature } = await sign('grpc-1');
    expect(isComplete).toBe(true);
    const key = running.keys.find(({ scheme }) => scheme === 'frost_bip340')!;
    expect(schnorr.verify(fullSignature, digest, Buffer.from(key.publicKey, 'hex').subarray(1))).toBe(true);
    const isRefused = async () => {
      // Where it is down already it refuses this call too.
      await call('POST', '/v1/sandbox/nodes/gateway/crash', { restart_after_ms: 1_500 }).catch(() => undefined);
      return sign('down').then(
        () => false,
        ({ status }: CallFailed) => status === grpcStatus.UNAVAILABLE,
      );
    };
    await until(isRefused, 'the door refuses');
    await until(async () => (await client.initiateSigning({})).receipt !== undefined, 'it answers again');
    expect((await sign('grpc-2')).isComplete).toBe(true);
    client.close();
  });

  it('has every fault, also those of the simulated world alone', async () => {
    const { must } = running;
    const liar = { id: 'liar', fault: 'bad_partial', target: 'node/2' };
    await must(201, 'POST', '/v1/sandbox/faults', liar);
    await must(201, 'POST', '/v1/sandbox/faults', { id: 'slow', fault: 'store_slow', target: 'node/4', by_ms: 5 });
    const { signing_session_id: id, ...made } = await signature(running, 'sandbox-secp256k1', digest, 'with-a-liar');
    expect(made.is_complete).toBe(true);
    expect(await must(200, 'GET', '/v1/sandbox/faults/liar')).toMatchObject({ id: 'liar', state: 'holding' });
    const session = await must(200, 'GET', `/v1/sandbox/sessions/${id ?? made.receipt.session_id}`);
    expect(session.transcript.length).toBeGreaterThan(4);
    expect((await must(200, 'POST', '/v1/sandbox/faults/reset')).removed).toBe(2);
  });

  it('has API faults: answers that are refused, late, lost after their effect, and cut', async () => {
    const { must, call, service, token } = running;
    const arm = (fault: object) => must(201, 'POST', '/v1/sandbox/faults', { count: 1, ...fault });
    const route = 'POST /v1/provider-connections';
    const connect = (key: string) =>
      call('POST', '/v1/provider-connections', { provider: 'self_hosted', name: key, credentials: {} }, undefined, key);
    await arm({ fault: 'answer_status', route, status: 503, retry_after_s: 2 });
    const refused = await connect('refused');
    expect([refused.status, refused.body.error.code]).toEqual([503, 'provider_unavailable']);
    await arm({ fault: 'answer_slow', route, by_ms: 60 });
    const beganMs = performance.now();
    const slow = await connect('slow');
    expect([slow.status, performance.now() - beganMs >= 60]).toEqual([201, true]);
    for (const fault of ['answer_lost', 'answer_cut']) {
      await arm({ fault, route });
      await expect(connect(fault)).rejects.toThrow();
      // It took effect: the same request again is told so.
      const again = await connect(fault);
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    }
    const client = grpcApi(service.grpcAddress, token);
    const asked = { walletId: 'sandbox-bip340', messageHash: digest };
    const rpc = 'InitiateSigning';
    await arm({ fault: 'answer_status', rpc, status: 429 });
    await expect(client.initiateSigning(asked)).rejects.toMatchObject({ status: grpcStatus.RESOURCE_EXHAUSTED });
    for (const fault of ['answer_lost', 'answer_cut']) {
      const transactionIntentId = `grpc-${fault}`;
      await arm({ fault, rpc });
      await expect(client.initiateSigning({ ...asked, transactionIntentId })).rejects.toMatchObject({
        status: grpcStatus.UNAVAILABLE,
      });
      await until(async () => {
        const { receipt } = await client.initiateSigning({ ...asked, transactionIntentId });
        return receipt?.reasonCode === 'DUPLICATE_INTENT';
      }, 'the session of the lost answer');
    }
    await arm({ fault: 'answer_slow', rpc, by_ms: 60 });
    const sinceMs = performance.now();
    expect((await client.initiateSigning({ ...asked, transactionIntentId: 'grpc-slow' })).receipt).toBeDefined();
    expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(60);
    client.close();
    await must(200, 'POST', '/v1/sandbox/faults/reset');
  });

  it('advances its clock, goes back to a snapshot, and keeps the later of their clocks', async () => {
    const { must, call } = running;
    const { id: snapshot } = await must(201, 'POST', '/v1/sandbox/snapshots', { name: 'before' });
    const { id } = await makeWallet();
    const begun = Date.parse((await must(200, 'GET', '/v1/sandbox/clock')).now);
    const { now, offset_ms: offsetMs } = await must(200, 'POST', '/v1/sandbox/clock', { advance_s: 3_600 });
    expect([offsetMs, Date.parse(now) - begun >= 3_600_000]).toEqual([3_600_000, true]);
    expect((await must(200, 'GET', `/v1/wallets/${id}`)).id).toBe(id);
    const { id: later } = await must(201, 'POST', '/v1/sandbox/snapshots', { name: 'later' });
    await must(200, 'POST', `/v1/sandbox/snapshots/${snapshot}/restore`);
    expect((await call('GET', `/v1/wallets/${id}`)).status).toBe(404);
    expect((await must(200, 'GET', '/v1/sandbox/clock')).offset_ms).toBe(3_600_000);
    expect((await signature(running, 'sandbox-secp256k1', digest, 'after-restore')).is_complete).toBe(true);
    await must(200, 'POST', '/v1/sandbox/reset');
    expect((await must(200, 'GET', '/v1/sandbox/clock')).offset_ms).toBe(0);
    await must(200, 'POST', `/v1/sandbox/snapshots/${later}/restore`);
    expect((await must(200, 'GET', '/v1/sandbox/clock')).offset_ms).toBe(3_600_000);
    expect((await must(200, 'GET', `/v1/wallets/${id}`)).id).toBe(id);
    await must(204, 'DELETE', `/v1/sandbox/snapshots/${later}`);
    expect((await call('POST', `/v1/sandbox/snapshots/${later}/restore`)).status).toBe(404);
    await must(200, 'POST', `/v1/sandbox/snapshots/${snapshot}/restore`);
  });

  it('answers for sessions that ended long ago, which its Redis has packed, and after a snapshot of them', async () => {
    const { must, service } = running;
    await must(200, 'POST', '/v1/sandbox/reset');
    const first = await signature(running, 'sandbox-secp256k1', digest, 'first-of-many');
    for (let made = 0; made < 110; made += 1) await signature(running, 'sandbox-secp256k1', digest, `many-${made}`);
    const stored = service.world.redis.space.snapshot();
    expect(stored.filter(({ value }) => value.kind === 'packed').length).toBeGreaterThan(20);
    const { id: snapshot } = await must(201, 'POST', '/v1/sandbox/snapshots', { name: 'packed' });
    await must(200, 'POST', '/v1/sandbox/reset');
    await must(200, 'POST', `/v1/sandbox/snapshots/${snapshot}/restore`);
    const id = first.receipt.session_id;
    expect(await must(200, 'GET', `/v1/sessions/${id}`)).toMatchObject({
      id,
      state: 'RECEIPT_STATE_BACKEND_COMPLETED',
    });
    const again = await must(200, 'POST', '/v1/signing/share', { signing_session_id: id });
    expect(again.full_signature).toBe(first.full_signature);
    const { events } = await must(200, 'GET', '/v1/events?limit=100');
    const sequences = events.map(({ sequence }: { sequence: number }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 100 }, (_, index) => sequences[0] + index));
  });

  it('refreshes its ready-made keys; a reset gives them their first shares again', async () => {
    const { must, keys } = running;
    const versionOf = async (id: string) => (await must(200, 'GET', `/v1/sandbox/sessions/${id}`)).key_version;
    for (const { walletId: id, publicKey } of keys) {
      const made = await must(200, 'POST', `/v1/sandbox/keys/${id}/refresh`, { version: 2 });
      expect(made).toMatchObject({ state: 'RECEIPT_STATE_BACKEND_COMPLETED', public_key: publicKey });
      expect((await signature(running, id, digest, `refreshed ${id}`)).is_complete).toBe(true);
    }
    await must(200, 'POST', '/v1/sandbox/reset');
    for (const { walletId: id } of keys) {
      expect(await versionOf(id)).toBe(1);
      expect((await signature(running, id, digest, `reset ${id}`)).is_complete).toBe(true);
    }
  });

  it('resets in less than 100 ms, and keeps its tokens and ready-made keys', async () => {
    const { must } = running;
    const { id } = await makeWallet();
    const cpuMs = [];
    for (let round = 0; round < 3; round += 1) {
      const before = process.cpuUsage();
      await must(200, 'POST', '/v1/sandbox/reset');
      const { user, system } = process.cpuUsage(before);
      cpuMs.push((user + system) / 1_000);
    }
    // Time on the processor, and the least: what a busy machine adds is not the reset's.
    expect(Math.min(...cpuMs)).toBeLessThan(100 * slowness());
    expect((await running.call('GET', `/v1/wallets/${id}`)).status).toBe(404);
    const made = await signature(running, 'sandbox-ed25519', digest, 'intent-1');
    expect(made.is_complete).toBe(true);
  });
});
