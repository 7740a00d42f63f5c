/**
 * The whole product on a Redis Cluster over TLS: clients pay, nodes sign, webhooks arrive, while slots move, and masters hand
 * over to their replicas and are killed (kill -9). A write waits for a replica, so that nothing acknowledged may be lost. In a
 * thorough run.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tenantPrefix } from '../../core/redis/event-log.ts';
import { bullPrefix } from '../../wallets/delivery/deliveries/keys.ts';
import { nodeWaits } from '../support/busy-machine.ts';
import { startCluster, type TestCluster } from '../support/cluster.ts';
import { startRedisCluster, type TestRedisCluster } from '../support/redis-cluster.ts';
import { RestClient } from '../support/rest.ts';
import { isThorough } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../wallets/delivery/deliveries/support/receiver.ts';
import {
  type BookedEvent,
  type BookedIntent,
  type BookedWallet,
  type ChainBooks,
  readAll,
  readChains,
  readOrders,
  readWhenOver,
  Sums,
  tenantOf,
  unitsOf,
} from './support/books.ts';
import { type Answered, drawOrder, endings, PaymentClient } from './support/payment-client.ts';
import { evm, onChain, openFixtures, ownerOf, type PaymentFixtures, testFunds } from './support/payment-fixtures.ts';
import { announcedSeed, Seeded } from './support/seeded.ts';

const clients = 6;

describe.runIf(isThorough)('on a Redis Cluster', () => {
  const seed = announcedSeed('Redis Cluster');
  const answered: Answered[] = [];
  const payers: PaymentClient[] = [];
  const repeats = () => payers.reduce((sum, client) => sum + client.repeats, 0);
  let redis: TestRedisCluster;
  let cluster: TestCluster;
  let receiver: Receiver;
  let fixtures: PaymentFixtures;
  let intents: readonly BookedIntent[];
  let wallets: readonly BookedWallet[];
  let events: readonly BookedEvent[];
  let books: readonly ChainBooks[];
  let registeredAt: number;

  beforeAll(async () => {
    redis = await startRedisCluster({ tls: true });
    receiver = await startReceiver();
    cluster = await startCluster({
      nodes: 3,
      environment: {
        REDIS_URL: redis.tlsUrl,
        NODE_EXTRA_CA_CERTS: redis.caFile,
        SIGNMESH_REDIS_WAIT_REPLICAS: '1',
        SIGNMESH_CHAIN_BLOCK_MS: '100',
        ...nodeWaits(10_000, 400),
      },
    });
    const api = new RestClient(cluster.httpUrl, cluster.token);
    fixtures = await openFixtures(api, new Seeded(`${seed}/fixtures`), 'a-custodian-key');
    await api.made('/v1/webhooks', { url: receiver.url, events: ['transaction_intent.*'] });
    registeredAt = (await readAll<BookedEvent>(api, '/v1/events', 'events')).length;
    let isOver = false;
    const paying = Array.from({ length: clients }, (_, index) => payUntil(() => isOver, `client${index + 1}`));
    try {
      await disturb();
    } finally {
      isOver = true;
    }
    await Promise.all(paying);
    await cluster.untilHealth('ok');
    intents = await readWhenOver(
      api,
      fixtures.wallets.map(({ id }) => id),
    );
    wallets = await readAll<BookedWallet>(api, '/v1/wallets', 'wallets');
    events = await readAll<BookedEvent>(api, '/v1/events', 'events');
    books = await Promise.all((await redis.masters()).map(({ client }) => readChains(client)));
    process.stdout.write(
      `Redis Cluster: ${intents.length} intents, ${repeats()} calls repeated, ${events.length} events\n`,
    );
  });
  afterAll(async () => {
    await cluster?.stop();
    await receiver?.stop();
    await redis?.stop();
  });

  /** The slots of tenant and chain move; the masters of tenant, chain and BullMQ are lost, one after the other. */
  async function disturb(): Promise<void> {
    const enough = async (count: number) => {
      const before = answered.length;
      await until(() => answered.length > before + count, 'payments');
    };
    const walletId = fixtures.wallets[0]!.id;
    const found = await Promise.all(
      (await redis.masters()).map(({ client }) => tenantOf(client, walletId).catch(() => '')),
    );
    const tenant = tenantPrefix(found.find((name) => name !== '')!);
    await enough(10);
    const chain = `sm:{chain:${evm}}:`;
    for (const key of [tenant, chain]) {
      const { master: source } = await redis.ownerOf(key);
      const other = await until(async () => {
        for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
          if ((await redis.ownerOf(name)).master !== source) return name;
        return undefined;
      }, 'another master');
      const move = await redis.beginMove(key, other);
      const calls = () => answered.length + repeats();
      for (let before = calls(); await move.moveKeys(50); before = calls()) {
        await until(() => calls() > before, 'a call, or one more try of it');
      }
      await move.finish();
      await enough(5);
    }
    const { replica } = await redis.ownerOf(tenant);
    await replica.client.cluster('FAILOVER');
    await until(() => replica.isMaster(), 'the replica to be master');
    await redis.whole();
    for (const key of [tenant, chain, bullPrefix]) {
      await enough(5);
      const lost = await redis.ownerOf(key);
      await lost.master.kill();
      await until(() => lost.replica.isMaster(), 'the replica to be master');
      lost.master.start();
      await redis.whole();
    }
    await enough(10);
  }

  async function payUntil(isOver: () => boolean, name: string): Promise<void> {
    const chance = new Seeded(`${seed}/${name}`);
    const { token, approver_token: approverToken } = cluster.ready;
    const client = new PaymentClient({ urls: [cluster.httpUrl], token, approverToken, chance });
    payers.push(client);
    for (let count = 1; !isOver(); count += 1) {
      await client.pay(drawOrder(`${name}-${count}`, chance, fixtures));
      answered.push(...client.answered.splice(0));
    }
  }

  test('every idempotency key made one intent, the one that its client was told, and it ended as it had to', () => {
    const ofKeys = new Map(answered.map(({ order, intentId }) => [order.key, intentId]));
    expect(new Set(answered.map(({ intentId }) => intentId)).size).toBe(ofKeys.size);
    expect(intents.map(({ id, metadata }) => [metadata.order, id]).sort()).toEqual([...ofKeys].sort());
    const byId = new Map(intents.map((intent) => [intent.id, intent]));
    for (const { order, intentId } of answered) {
      expect([order.key, byId.get(intentId)!.status]).toEqual([order.key, endings[order.ending].status]);
    }
    expect(repeats()).toBeGreaterThan(0);
  });

  test('each wallet holds what came in less what went out, and so says its chain; nothing is set aside', () => {
    const expected = new Sums();
    for (const { id, network } of fixtures.wallets) {
      for (const [asset, amount] of Object.entries(testFunds[network]!))
        expected.add(`${id} ${asset}`, unitsOf(asset, amount));
    }
    for (const { wallet_id: id, network, asset, amount, destination, status, fee } of intents) {
      expected.add(`${id} ${fee.asset}`, -unitsOf(fee.asset, fee.paid ?? '0'));
      if (status !== 'completed') continue;
      expected.add(`${id} ${asset}`, -unitsOf(asset, amount));
      const owner = ownerOf(fixtures, network, destination.address);
      if (owner !== undefined) expected.add(`${owner.id} ${asset}`, unitsOf(asset, amount));
    }
    const shown = new Sums();
    for (const { id, assets } of wallets) {
      for (const { symbol, balance } of assets) shown.add(`${id} ${symbol}`, unitsOf(symbol, balance));
    }
    expect(shown.entries).toEqual(expected.entries);
    const held = new Map(books.flatMap((book) => [...book.held]));
    const own = fixtures.wallets.filter(({ hosting }) => hosting === 'self_hosted');
    for (const { id, network, address } of own) {
      for (const asset of Object.keys(testFunds[network]!)) {
        const onIts = held.get(`${network} ${onChain(network, address)} ${asset}`) ?? 0n;
        expect([id, asset, onIts]).toEqual([id, asset, expected.of(`${id} ${asset}`)]);
      }
    }
    expect(wallets.flatMap(({ assets }) => assets).filter(({ pending }) => pending !== '0')).toEqual([]);
  });

  test('no purpose had two messages', async () => {
    const messages = new Map<string, Set<string>>();
    for (const { client } of await redis.masters()) {
      for (const { purpose, message } of await readOrders(client)) {
        messages.set(purpose, (messages.get(purpose) ?? new Set()).add(message));
      }
    }
    expect(messages.size).toBeGreaterThan(0);
    expect([...messages].filter(([, { size }]) => size > 1)).toEqual([]);
  });

  test('events have no hole, and each arrived at the webhook', async () => {
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    const due = events.slice(registeredAt).filter(({ type }) => type.startsWith('transaction_intent.'));
    await until(() => {
      const arrived = new Set(receiver.received.map(({ event }) => event.id));
      return due.every(({ id }) => arrived.has(id));
    }, 'every event at its webhook');
  });
});
