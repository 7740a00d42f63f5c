/**
 * Clients change things while the worker, the gateway, the coordinator and Redis are killed repeatedly. Afterwards
 * every event is in the log once, every receiver has each of its events at least once and with identical bytes, and the
 * delivery log agrees. The seed of the choices is printed. SURVIVAL_CHANGES=10000 makes it long.
 */

import type { Redis } from 'ioredis';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSecret, secretFiles } from '../../cli/cluster-files/cluster-material.ts';
import { silentLog } from '../../core/actors/live/ports.ts';
import { openRedis } from '../../gateway/redis.ts';
import {
  type DeliveryRecord,
  deliveryIdOf,
  deliveryIndex,
  deliveryType,
} from '../../wallets/delivery/deliveries/record.ts';
import { RedisOutboxStore } from '../../wallets/delivery/deliveries/redis-outbox-store.ts';
import { RedisTenantStore } from '../../wallets/store/redis-tenant-store.ts';
import type { RoleName } from '../support/cluster.ts';
import { type Made, RestClient } from '../support/rest.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { storePorts } from '../support/store-ports.ts';
import { isThorough, runs } from '../support/thorough.ts';
import { patienceMs, until } from '../support/until.ts';
import { type Received, type Receiver, startReceiver } from '../wallets/delivery/deliveries/support/receiver.ts';
import { type BookedEvent, readAll, readWhenOver, tenantOf } from './support/books.ts';
import { announcedSeed, Seeded } from './support/seeded.ts';

const clients = runs(8, 12);
/** Over all clients, at least: they go on until the killing is over. */
const changesMin = Number(process.env.SURVIVAL_CHANGES || runs(50, 300));
/** What dies at one moment. */
const moments: readonly (readonly RoleName[])[] = [
  ['worker'],
  ['redis'],
  ['worker', 'gateway'],
  ['coordinator'],
  ...(isThorough ? ([['gateway'], ['gateway', 'redis'], ['worker', 'redis'], ['worker']] as const) : []),
];
/** How often all of these moments come. */
const rounds = Math.max(1, Math.round(changesMin / 1_500));
const setUpWithinMs = 240_000 * rounds;

const network = 'eip155:11155111';
const destination = '0x00000000000000000000000000000000000b0b00';

interface Hook extends Made {
  readonly secret: string;
}

interface Endpoint {
  readonly events: readonly string[];
  readonly receiver: Receiver;
  readonly hook: Hook;
  /** The events that it must get. */
  meant: readonly BookedEvent[];
  deliveries: readonly DeliveryRecord[];
}

const seed = announcedSeed('webhooks');
let cluster: BorrowedCluster;
let api: RestClient;
let redis: Redis;
const endpoints: Endpoint[] = [];
const answers = new Map<string, string>();
let repeats = 0;
let events: readonly BookedEvent[];

beforeAll(async () => {
  cluster = await borrowCluster();
  api = new RestClient(cluster.httpUrl, cluster.token);
  const flaky = new Seeded(`${seed}/flaky`);
  await open(['*'], () => 200);
  // At most five refusals of an event: by chance one of thousands would be refused at all nine tries.
  const refusals = new Map<string, number>();
  await open(['transaction_intent.*', 'wallet.created'], ({ event: { id } }) => {
    const refused = refusals.get(id) ?? 0;
    if (refused === 5 || flaky.fraction() >= 0.3) return 204;
    refusals.set(id, refused + 1);
    return 503;
  });
  // Slow: something of it is under way at every moment.
  await open(['transaction_intent.completed'], async () => {
    await new Promise((resolve) => setTimeout(resolve, flaky.integer(0, 150)));
    return 200;
  });
  const connection = await api.made('/v1/providers/connect', { type: 'sandbox', name: 'mock', credentials: {} });
  const funded = (await readAll<Made & { network: string }>(api, '/v1/wallets', 'wallets')).find(
    (wallet) => wallet.network === network && wallet.provider_connection_id === connection.id,
  )!;

  let isOver = false;
  const killing = killAtMoments(new Seeded(`${seed}/killer`)).finally(() => {
    isOver = true;
  });
  const lanes = Array.from({ length: clients }, (_, index) =>
    change(() => isOver, `client${index + 1}`, connection.id, funded.id),
  );
  await Promise.all([killing, ...lanes]);
  await cluster.untilHealth('ok');

  await readWhenOver(api, [funded.id]);
  events = await readAll<BookedEvent>(api, '/v1/events', 'events');
  redis = openRedis(cluster.redisUrl(), silentLog);
  await until(() => redis.status === 'ready', 'a connection to Redis');
  const tenant = await tenantOf(redis, funded.id);
  const recordKey = readSecret(cluster.dataDir, secretFiles.gatewayRecord);
  const [store, hooks] = [new RedisTenantStore(redis, { ...storePorts, recordKey }), new RedisOutboxStore(redis)];
  for (const endpoint of endpoints) {
    await until(
      async () => {
        const { outstanding, retrying, behind } = await hooks.depth(tenant, endpoint.hook.id);
        return outstanding + retrying + behind === 0;
      },
      () => `all deliveries to be final; up said:\n${cluster.output}`,
    );
    const madeAt = events.find(({ type, resource }) => type === 'webhook.created' && resource.id === endpoint.hook.id);
    endpoint.meant = events.filter(
      ({ sequence, type }) => sequence > madeAt!.sequence && endpoint.events.some((filter) => matches(filter, type)),
    );
    const deliveries: DeliveryRecord[] = [];
    for (let afterId: string | undefined, more = true; more; ) {
      const page = await store.list(tenant, deliveryType, {
        indices: [deliveryIndex(endpoint.hook.id)],
        order: 'oldest',
        limit: 100,
        ...(afterId !== undefined && { afterId }),
      });
      deliveries.push(...page.items);
      [afterId, more] = [page.nextId, page.hasMore];
    }
    endpoint.deliveries = deliveries;
  }
  const total = endpoints.reduce((sum, { receiver }) => sum + receiver.received.length, 0);
  process.stdout.write(
    `webhooks: ${answers.size} changes, ${repeats} calls repeated, ${events.length} events, ${total} requests for ` +
      `${endpoints.reduce((sum, { meant }) => sum + meant.length, 0)} deliveries\n`,
  );
}, setUpWithinMs);
afterAll(async () => {
  redis?.disconnect();
  await Promise.all(endpoints.map(({ receiver }) => receiver.stop()));
  await cluster?.stop();
}, borrowWithinMs);

async function open(types: readonly string[], answer: Receiver['answer']): Promise<void> {
  const receiver = await startReceiver(answer);
  const hook = await api.made<Hook>('/v1/webhooks', { url: receiver.url, events: types });
  endpoints.push({ events: types, receiver, hook, meant: [], deliveries: [] });
}

function matches(filter: string, type: string): boolean {
  return filter === '*' || filter === type || (filter.endsWith('.*') && type.startsWith(filter.slice(0, -1)));
}

async function killAtMoments(chance: Seeded): Promise<void> {
  for (const roles of Array.from({ length: rounds }, () => moments).flat()) {
    const before = endpoints[0]!.receiver.received.length;
    await until(() => endpoints[0]!.receiver.received.length > before + 10, 'deliveries between two kills');
    await new Promise((resolve) => setTimeout(resolve, chance.integer(0, 300)));
    const dead = await Promise.all(roles.map(async (role) => [role, await cluster.kill(role)] as const));
    await Promise.all(dead.map(([role, pid]) => cluster.back(role, pid)));
  }
}

/** Wallets and transfers, each under a key of its own; what is not answered is asked again under the same key. */
async function change(isOver: () => boolean, name: string, connectionId: string, walletId: string): Promise<void> {
  const chance = new Seeded(`${seed}/${name}`);
  for (let count = 1; count <= changesMin / clients || !isOver(); count += 1) {
    const key = `${name}-${count}`;
    const made =
      chance.fraction() < 0.5
        ? await answered(key, '/v1/wallets', { name: key, provider_connection_id: connectionId, network })
        : await answered(key, `/v1/wallets/${walletId}/transaction-intents`, {
            asset: 'ETH',
            amount: '0.00001',
            destination: { address: destination },
          });
    answers.set(key, made.id);
    // The pace of the load, not a wait for anything.
    await new Promise((resolve) => setTimeout(resolve, chance.integer(200, 1_000)));
  }
}

async function answered(key: string, path: string, body: object): Promise<Made> {
  const beganMs = performance.now();
  for (;;) {
    const answer = await api.post<Made>(path, body, { headers: { 'idempotency-key': key } }).catch(() => undefined);
    if (answer?.status === 201) return answer.body;
    const text = `${path} under ${key}: ${answer?.status ?? 'no answer'} ${JSON.stringify(answer?.body)}`;
    const again = answer === undefined || answer.status === 503 || text.includes('"request_in_progress"');
    if (!again || performance.now() - beganMs > patienceMs()) throw new Error(text);
    repeats += 1;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function receivedOf({ receiver }: Endpoint): Map<string, readonly Received[]> {
  const byEvent = new Map<string, Received[]>();
  for (const request of receiver.received) {
    byEvent.set(request.event.id, [...(byEvent.get(request.event.id) ?? []), request]);
  }
  return byEvent;
}

test('everything died, and clients noticed', () => {
  for (const role of ['worker', 'gateway', 'coordinator', 'redis'])
    expect(cluster.output).toContain(`${role} died (SIGKILL)`);
  expect(repeats).toBeGreaterThan(0);
  expect(answers.size).toBeGreaterThanOrEqual(changesMin - clients);
  expect(new Set(answers.values()).size).toBe(answers.size);
});

describe('the event log', () => {
  test('has a sequence without holes, and no event twice', () => {
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const versions = events
      .filter(({ type }) => !type.endsWith('.deposit_received'))
      .map(({ type, resource }) => `${type} ${resource.id} ${resource.version}`);
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('tells of every change that a client was reported', () => {
    const first = new Set(
      events
        .filter(({ type }) => type === 'wallet.created' || type === 'transaction_intent.created')
        .map(({ resource }) => resource.id),
    );
    for (const id of answers.values()) expect(first).toContain(id);
  });
});

describe('every receiver', () => {
  test('has each of its events, and no other', () => {
    for (const endpoint of endpoints) {
      expect(endpoint.meant.length).toBeGreaterThan(10);
      const ids = new Set(endpoint.receiver.received.map(({ event }) => event.id));
      expect([...ids].sort()).toEqual(endpoint.meant.map(({ id }) => id).sort());
    }
  });

  test('got the same bytes every time, which are the event of the log, and could verify all of them', () => {
    for (const endpoint of endpoints) {
      const byEvent = receivedOf(endpoint);
      const webhook = new Webhook(endpoint.hook.secret);
      for (const event of endpoint.meant) {
        const requests = byEvent.get(event.id)!;
        expect(requests[0]!.event).toEqual(event);
        for (const { raw, headers } of requests) {
          expect(raw.equals(requests[0]!.raw)).toBe(true);
          expect(headers['webhook-id']).toBe(event.id);
          expect(webhook.verify(raw, headers as Record<string, string>)).toBeTruthy();
        }
      }
    }
  });
});

test('the delivery log agrees: one delivery an event, delivered, with no more answers than were given', () => {
  for (const endpoint of endpoints) {
    const byEvent = receivedOf(endpoint);
    const expected = endpoint.meant.map(({ id }) => deliveryIdOf(id, endpoint.hook.id));
    expect(endpoint.deliveries.map(({ id }) => id).sort()).toEqual(expected.sort());
    for (const { eventId, status, attempts, attemptCount, sequence } of endpoint.deliveries) {
      expect([eventId, status]).toEqual([eventId, 'delivered']);
      expect(attempts.at(-1)?.status).toBeLessThan(300);
      const answeredTries = attempts.filter((attempt) => attempt.status !== null).length;
      expect(answeredTries).toBeLessThanOrEqual(byEvent.get(eventId)!.length);
      expect(attemptCount).toBe(attempts.length);
      expect(events[sequence - 1]?.id).toBe(eventId);
    }
  }
});
