/** The two times: each use that docs/time.md lists, while a sandbox's clock is 25 hours ahead, or further. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { create as message, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { ensureCertificates } from '../../../cli/cluster-files/certificates.ts';
import { ensureClusterMaterial } from '../../../cli/cluster-files/cluster-material.ts';
import { coordinatorConfig } from '../../../cli/role-configs.ts';
import { loadSettings } from '../../../cli/settings/config.ts';
import { CallGate } from '../../../coordinator/call-gate.ts';
import { type Clock, type Envelope, type MachineMs, noTrace, type Timers } from '../../../core/actors/contract.ts';
import { shiftSystemClock, systemClock, systemRandom, systemTimers } from '../../../core/actors/live/ports.ts';
import { writeAccessLines } from '../../../gateway/access-log/access-lines.ts';
import { signingMethods } from '../../../gateway/api/signing-methods.ts';
import { heartbeatKey } from '../../../gateway/worker-heartbeat.ts';
import type { WireMessage } from '../../../proto/wire.ts';
import { MemoryRedis } from '../../../simulation/redis/memory-redis.ts';
import type { ClientAnswer } from '../../../simulation/service/client.ts';
import { CustodyWorld, type WorldOptions } from '../../../simulation/service/custody-world.ts';
import { signDelivery } from '../../../wallets/delivery/deliveries/webhook-signature.ts';
import { RedisCustodianRecords } from '../../../wallets/providers/simulated/redis-custodian-records.ts';
import { create, update } from '../../../wallets/store/changes.ts';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { temporaryFolder } from '../../cli/support/temporary.ts';
import { eventFor, next, thing, thingId, thingType } from '../../support/store.ts';
import { testRecordKey } from '../../support/store-ports.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';
import { openTenant, pay } from './support/payments.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const aheadMs = 25 * hourMs;

function worldOf(seed: string, options: Partial<WorldOptions> = {}): CustodyWorld {
  return new CustodyWorld({ seed, keepTrace: false, cryptography: 'model', codec: 'none', ...options });
}

/** A world with a tenant, asked over one client. */
async function open(seed: string, options?: Partial<WorldOptions>) {
  const world = worldOf(seed, options);
  const tenant = await openTenant(world);
  const { client, wallets, webhook } = tenant;
  const call = (method: string, path: string, body?: object, key?: string): Promise<ClientAnswer> =>
    world.run(client.call(method, path, body, key));
  const must = async (method: string, path: string, body?: object) => {
    const answer = await call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const ahead = (ms = aheadMs) => world.cluster.advance(ms);
  const intents = `/v1/wallets/${wallets[0]!.id}/transaction-intents`;
  const transfer = (amount: string) => ({ asset: 'ETH', amount, destination: { address: wallets[1]!.address } });
  /** Requests of the webhook so far. */
  const sent = () => world.receivers.received.filter(({ url }) => url === webhook.url);
  const until = (condition: () => boolean, withinMs = 60_000) => world.loop.until(condition, withinMs);
  /** The last delivery of the webhook. */
  const delivery = async () => (await must('GET', `/v1/webhooks/${webhook.id}/deliveries?limit=1`)).deliveries[0];
  return { world, tenant, call, must, ahead, intents, transfer, sent, until, delivery, webhook, wallets };
}

/** A store over a Redis by itself, each with its own time. */
function storeOf(bytesMax?: number) {
  const at = { serviceMs: 1_800_000_000_000, machineMs: 1_800_000_000_000 as MachineMs };
  const redis = new MemoryRedis({ nowMs: () => at.machineMs }).client();
  const ports = { clock: { nowMs: () => at.serviceMs }, random: systemRandom, recordKey: testRecordKey };
  const store = new RedisTenantStore(redis, ports, bytesMax);
  const pass = (ms: number) => {
    at.serviceMs += ms;
    at.machineMs = (at.machineMs + ms) as MachineMs;
  };
  return { at, redis, store, pass };
}

const quiet = { role: 'gateway', isDebug: false };

const checks: Readonly<Record<string, readonly ['machine' | 'service', () => Promise<void> | void]>> = {
  'deadlines of calls': [
    'machine',
    async () => {
      const { world, ahead } = await open('deadline');
      ahead();
      const token = await world.token({ tenant: 'tn_calls' });
      const method = signingMethods.find(({ name }) => name === 'InitiateDkg')!;
      const terms: Record<string, unknown> = { sessionId: 'k', threshold: 2, totalNodes: 3 };
      const request = message(method.request, terms);
      const answer = await world.run(
        world.callRpc('gateway', {
          ...{ method, message: toBinary(method.request, request), deadlineMs: 15_000 },
          metadata: { authorization: `Bearer ${token}` },
        }),
      );
      expect(answer.code).toBe(status.OK);
    },
  ],
  'timeouts of requests': [
    'machine',
    async () => {
      const { world, webhook, until, ahead, must, sent, delivery } = await open('timeout');
      ahead();
      world.receivers.answer(webhook.url, ['never', 200]);
      await must('POST', `/v1/webhooks/${webhook.id}/ping`, {});
      await until(() => sent().length === 2);
      const { latency_ms: tookMs } = (await delivery()).attempts[0];
      expect(tookMs).toBeGreaterThanOrEqual(15_000);
      expect(tookMs).toBeLessThan(16_000);
    },
  ],
  'webhook-timestamp': [
    'machine',
    async () => {
      const { world, webhook, until, ahead, must, sent } = await open('timestamp');
      ahead();
      await must('POST', `/v1/webhooks/${webhook.id}/ping`, {});
      await until(() => sent().length === 1);
      const { headers, atMs } = sent()[0]!;
      expect(Math.abs(Number(headers['webhook-timestamp']) * 1_000 - atMs)).toBeLessThan(2_000);
      expect(world.nowMs - atMs).toBeLessThan(60_000);
    },
  ],
  'dates in `Retry-After`': [
    'machine',
    async () => {
      const { world, webhook, until, ahead, must, sent, delivery } = await open('retry-after');
      ahead();
      world.receivers.attend(webhook.url, async () => {
        world.time.woken();
        return { status: 503, retryAfter: new Date(Math.floor(world.nowMs) + 600_000).toUTCString() };
      });
      await must('POST', `/v1/webhooks/${webhook.id}/ping`, {});
      await until(() => sent().length === 1);
      await world.advance(1_000);
      const pauseMs = Date.parse((await delivery()).next_attempt_at) - (world.nowMs + aheadMs);
      expect(pauseMs).toBeGreaterThan(590_000);
      expect(pauseMs).toBeLessThanOrEqual(600_000);
    },
  ],
  certificates: [
    'machine',
    () => {
      const dataDir = temporaryFolder();
      shiftSystemClock(100 * 365 * dayMs);
      try {
        const roster = ensureClusterMaterial(dataDir, 2, 2, 'sandbox');
        ensureCertificates(dataDir, [roster], new Date());
        const { settings } = loadSettings({
          ...{ SIGNMESH_DATA_DIR: dataDir, REDIS_URL: 'redis://127.0.0.1:1', SIGNMESH_LINK_TLS: 'on' },
        });
        expect(coordinatorConfig(settings).linkTls).toBeDefined();
      } finally {
        shiftSystemClock(0);
      }
    },
  ],
  'admission and load': [
    'machine',
    async () => {
      const timers = new VirtualTimers();
      const delivered: Envelope<WireMessage>[] = [];
      const deliver = (envelope: Envelope<WireMessage>) => void delivered.push(envelope);
      const gate = new CallGate({ timers, deliver, refuse: () => undefined });
      const envelope = (callId: bigint) => {
        const value = { callId, leftMs: 1_000, request: { case: 'initiateSigning' } };
        const body = { case: 'call', value };
        const sent = { tenant: 'acme', session: '', attempt: 0, body } as unknown as WireMessage;
        return { from: 'gateway/one', to: 'coordinator', message: sent, trace: noTrace };
      };
      // Three quarters of 256 places: the next call waits.
      for (let id = 1n; id <= 193n; id += 1n) gate.deliver(envelope(id));
      await timers.advance(200);
      shiftSystemClock(aheadMs);
      try {
        const body = { case: 'callReply', value: { callId: 1n } };
        const reply = { tenant: '', session: '', attempt: 0, body } as unknown as WireMessage;
        gate.sent({ from: 'coordinator', to: 'gateway/one', message: reply, trace: noTrace });
      } finally {
        shiftSystemClock(0);
      }
      expect(delivered).toHaveLength(193);
    },
  ],
  'rate limits': [
    'machine',
    async () => {
      const rateLimits = { windowS: 10, reads: 3, writes: 100, signing: 100 };
      const world = worldOf('rates', { rateLimits });
      const heard: number[] = [];
      const note = ({ status }: { readonly status: number }) => void heard.push(status);
      const options = { triesMax: 1, sent: () => note };
      const client = world.client(await world.token({ tenant: 'tn_rates' }), options);
      const read = async () => {
        await world.run(client.call('GET', '/v1/wallets').catch(() => undefined));
        return heard.at(-1);
      };
      expect([await read(), await read(), await read(), await read()]).toEqual([200, 200, 200, 429]);
      world.cluster.advance(aheadMs);
      expect(await read()).toBe(429);
      await world.advance(10_000);
      expect(await read()).toBe(200);
    },
  ],
  'leases of idempotent requests': [
    'machine',
    async () => {
      const { at, store } = storeOf();
      const begin = (machineMs: number) =>
        store.beginIdempotent('t', 'key', 'body', at.serviceMs, machineMs as MachineMs).then(({ kind }) => kind);
      expect(await begin(at.machineMs)).toBe('run');
      at.serviceMs += aheadMs;
      expect(await begin(at.machineMs + 14_999)).toBe('running');
      expect(await begin(at.machineMs + 15_000)).toBe('run');
    },
  ],
  'ages of caches': [
    'machine',
    async () => {
      const world = worldOf('caches');
      const { token, record } = await world.issue({ tenant: 'tn_caches' });
      const client = world.client(token, { triesMax: 1 });
      const read = async () => (await world.run(client.call('GET', '/v1/wallets'))).status;
      world.cluster.advance(aheadMs);
      expect(await read()).toBe(200);
      // The clock goes back, as at the end of a fault.
      world.cluster.rightClocks();
      await world.revoke('tn_caches', record.id);
      await world.advance(5_000);
      expect(await read()).toBe(401);
    },
  ],
  'bytes stored': [
    'machine',
    async () => {
      const { at, store, pass } = storeOf(2_000);
      const put = async () => {
        const change = { puts: [create(thingType, thing(thingId(at.serviceMs), { note: 'x'.repeat(900) }), hourMs)] };
        const outcome = await store.commit('t', { ...change, counted: true });
        return outcome.committed ? 'written' : outcome.refusal.kind;
      };
      expect([await put(), await put(), await put()]).toEqual(['written', 'written', 'full']);
      at.serviceMs += aheadMs;
      expect(await put()).toBe('full');
      pass(2 * hourMs);
      expect(await put()).toBe('written');
    },
  ],
  'log lines': [
    'machine',
    () => {
      const lines: string[] = [];
      const log = writeAccessLines({ to: { write: (line) => lines.push(line) }, timers: systemTimers, ...quiet });
      shiftSystemClock(aheadMs);
      try {
        log.ended({} as never, { status: 200, tookMs: 1, isProbe: false } as never);
      } finally {
        shiftSystemClock(0);
      }
      expect(Math.abs(JSON.parse(lines[0]!).time - Date.now())).toBeLessThan(hourMs);
    },
  ],
  heartbeats: [
    'machine',
    async () => {
      const { at, redis, pass } = storeOf();
      await redis.set(heartbeatKey('host'), '1', 'PX', 10_000);
      at.serviceMs += aheadMs;
      expect(await redis.exists(heartbeatKey('host'))).toBe(1);
      pass(10_000);
      expect(await redis.exists(heartbeatKey('host'))).toBe(0);
    },
  ],
  'simulated custodians and chains keep': [
    'machine',
    async () => {
      const { at, redis, pass } = storeOf();
      const records = new RedisCustodianRecords(redis, 'fireblocks');
      await records.putOnce('t', 'tx', 'id', 'first', 31 * dayMs);
      at.serviceMs += 32 * dayMs;
      expect((await records.find('t', 'tx', 'id'))?.value).toBe('first');
      pass(31 * dayMs);
      expect(await records.find('t', 'tx', 'id')).toBeUndefined();
    },
  ],
  'sessions end': [
    'service',
    async () => {
      const { must, ahead, world } = await open('sessions');
      const session = await signingSession(must, 'ended');
      ahead();
      await world.advance(2_000);
      const { receipt } = await must('POST', '/v1/signing/share', { signing_session_id: session });
      expect(receipt.reason_code).toBe('SESSION_EXPIRED');
    },
  ],
  'sessions and guards of intents are retained': [
    'service',
    async () => {
      const { must, call, ahead } = await open('retained');
      const session = await signingSession(must, 'again');
      await must('POST', '/v1/signing/share', { signing_session_id: session });
      const found = async () => (await call('GET', `/v1/sessions/${session}`)).status;
      ahead(31 * dayMs - hourMs);
      expect(await found()).toBe(200);
      ahead(2 * hourMs);
      expect(await found()).toBe(404);
      // Its intent is free.
      expect(await signingSession(must, 'again', 'again-key')).not.toBe(session);
    },
  ],
  'idempotency keys end': [
    'service',
    async () => {
      const { call, ahead } = await open('keys');
      const make = async () =>
        (await call('POST', '/v1/provider-connections', { provider: 'self_hosted', name: 'x', credentials: {} }, 'k'))
          .body.id;
      const first = await make();
      ahead(24 * hourMs - 60_000);
      expect(await make()).toBe(first);
      ahead(60_000);
      expect(await make()).not.toBe(first);
    },
  ],
  'records and claims end': [
    'service',
    async () => {
      const { must, call, ahead } = await open('records');
      const rules = [{ id: 'all', effect: 'allow', when: 'true' }];
      const { id } = await must('POST', '/v1/policies', { name: 'ops', rules });
      await must('POST', '/v1/policies', { name: 'ops', rules: [{ ...rules[0], effect: 'deny' }] });
      const first = async () => (await call('GET', `/v1/policies/${id}?version=1`)).status;
      ahead(30 * dayMs - hourMs);
      expect(await first()).toBe(200);
      ahead(2 * hourMs);
      expect(await first()).toBe(404);
      const { at, store } = storeOf();
      const claim = () => store.commit('t', { guards: [{ kind: 'claim', name: 'n', lifetimeMs: dayMs }] });
      const [made, refused] = [await claim(), await claim()];
      at.serviceMs += aheadMs;
      expect([made, refused, await claim()].map(({ committed }) => committed)).toEqual([true, false, true]);
      const brief = thing(thingId(at.serviceMs));
      await store.commit('t', { puts: [create(thingType, brief, dayMs)] });
      at.serviceMs += dayMs;
      expect(await store.read('t', thingType, brief.id)).toBeUndefined();
      const late = await store.commit('t', { puts: [update(thingType, brief, next(brief))] });
      expect(late.committed).toBe(false);
    },
  ],
  'tokens expire': [
    'service',
    async () => {
      const world = worldOf('tokens');
      const client = world.client(await world.token({ tenant: 'tn_tokens', lifetimeMs: dayMs }), { triesMax: 1 });
      const read = async () => (await world.run(client.call('GET', '/v1/wallets'))).status;
      expect(await read()).toBe(200);
      world.cluster.advance(aheadMs);
      expect(await read()).toBe(401);
    },
  ],
  'intents expire': [
    'service',
    async () => {
      const { call, must, ahead, intents, transfer, world } = await open('intents');
      const made = await call('POST', intents, transfer('0.2'), 'pending');
      expect(made.body.status).toBe('pending_approval');
      ahead();
      await world.advance(60_000);
      expect((await must('GET', `${intents}/${made.body.id}`)).status).toBe('expired');
    },
  ],
  schedules: [
    'service',
    async () => {
      const { world, webhook, until, ahead, must, sent } = await open('schedules');
      world.receivers.answer(webhook.url, [500, 500, 200]);
      await must('POST', `/v1/webhooks/${webhook.id}/ping`, {});
      await until(() => sent().length === 2);
      // The next try is due in five minutes.
      await world.advance(5_000);
      ahead();
      expect(await until(() => sent().length === 3)).toBe(true);
      expect(sent().at(-1)!.atMs - sent().at(-2)!.atMs).toBeLessThan(120_000);
    },
  ],
  'secrets and suspensions of webhooks': [
    'service',
    async () => {
      const { webhook, world, ahead, must, sent } = await open('secrets');
      await must('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, {});
      const signatures = async () => {
        await must('POST', `/v1/webhooks/${webhook.id}/ping`, {});
        await world.advance(5_000);
        return sent().at(-1)!.headers['webhook-signature']!.split(' ').length;
      };
      expect(await signatures()).toBe(2);
      ahead();
      expect(await signatures()).toBe(1);
    },
  ],
  'retention of events': [
    'service',
    async () => {
      const { store } = storeOf();
      const append = async (atMs: number) => {
        for (let each = 0; each < 64; each += 1) await store.commit('t', { events: [eventFor('thg_1', { atMs })] });
        return (await store.events('t', { afterSequence: 0, limit: 1, types: [] })).floorSequence;
      };
      expect(await append(1_800_000_000_000)).toBe(1);
      expect(await append(1_800_000_000_000 + 31 * dayMs)).toBeGreaterThan(1);
    },
  ],
  timestamps: [
    'service',
    async () => {
      const { world, must, ahead } = await open('timestamps');
      ahead();
      const body = { provider: 'self_hosted', name: 'later', credentials: {} };
      const { created_at: createdAt } = await must('POST', '/v1/provider-connections', body);
      expect(Math.abs(Date.parse(createdAt) - world.nowMs - aheadMs)).toBeLessThan(60_000);
    },
  ],
  'signed receipts': [
    'service',
    async () => {
      const { world, tenant, must, ahead, intents } = await open('receipts');
      ahead();
      expect(await world.run(pay(tenant, 'paid', '0.001'))).toBe('completed');
      const { policy_receipt: receipt } = await must('GET', `${intents}/${tenant.told.get('paid')}`);
      const { iat } = JSON.parse(Buffer.from(receipt.split('.')[1], 'base64url').toString()) as { iat: number };
      expect(Math.abs(iat * 1_000 - world.nowMs - aheadMs)).toBeLessThan(60_000);
    },
  ],
};

/** The session of an intent, of a key of its own. */
async function signingSession(
  must: (method: string, path: string, body?: object) => Promise<ClientAnswer['body']>,
  intent: string,
  key = `${intent}-first`,
): Promise<string> {
  await must('POST', '/v1/dkg/initiate', { session_id: key, threshold: 2, total_nodes: 3 });
  await must('POST', '/v1/dkg/shares', { session_id: key });
  const begun = await must('POST', '/v1/signing/initiate', {
    ...{ transaction_intent_id: intent, wallet_id: key, approval_mode: 'DIRECT_ALLOWED' },
    message_hash: createHash('sha256').update(intent).digest('base64'),
  });
  return begun.signing_session_id;
}

test.each(Object.entries(checks))('%s: the time is as docs/time.md says', async (_, [, check]) => check());

test('docs/time.md lists each use once, with its time, and no other', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/time.md', import.meta.url)), 'utf8');
  const rows = [...page.matchAll(/^\| (.+?) \| (machine|service) \|/gm)].map(([, use, time]) => [
    use!.replace(/^`(webhook-timestamp)`$/, '$1'),
    time,
  ]);
  expect(rows).toEqual(Object.entries(checks).map(([use, [time]]) => [use, time]));
});

test('neither time takes the place of the other', () => {
  const takes = (_clock: Clock, _timers: Pick<Timers, 'epochMs'>): void => undefined;
  takes(systemClock, systemTimers);
  // @ts-expect-error the service's time is not the machine's
  expect(() => signDelivery([], 'evt_1', systemClock.nowMs(), new Uint8Array())).toThrow('needs a secret');
  // @ts-expect-error a number of no clock is not the machine's either
  const ofNone: MachineMs = 5;
  // @ts-expect-error the machine's time is not the service's
  const clock: Clock = { nowMs: () => systemTimers.epochMs() };
  expect([ofNone, typeof clock.nowMs()]).toEqual([5, 'number']);
});
