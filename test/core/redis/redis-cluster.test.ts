/**
 * The stores, wake-ups and queues on a Redis Cluster of three masters with a replica each: every key in one slot of its
 * tag, a slot that moves, scripts that a server has lost, masters that are failed over and killed under a load of money.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withRedis } from '../../../cli/redis/redis-address.ts';
import { claimRedis } from '../../../cli/redis/redis-owner.ts';
import { openRedisStore } from '../../../coordinator/store/redis-store.ts';
import type { MachineMs } from '../../../core/actors/contract.ts';
import { silentLog, systemClock } from '../../../core/actors/live/ports.ts';
import { watchedConnection } from '../../../core/redis/connect.ts';
import { tenantPrefix } from '../../../core/redis/event-log.ts';
import { readScript } from '../../../core/redis/lua.ts';
import { slotOf, tagOf } from '../../../core/redis/slots.ts';
import { openRedis } from '../../../gateway/redis.ts';
import { bullPrefix } from '../../../wallets/delivery/deliveries/keys.ts';
import { WebhookService } from '../../../wallets/delivery/deliveries/webhook-service.ts';
import { RedisWakes } from '../../../wallets/delivery/events/redis-wakes.ts';
import { webhookType } from '../../../wallets/delivery/webhooks/record.ts';
import { create, remove } from '../../../wallets/store/changes.ts';
import { changeArgument } from '../../../wallets/store/commit-argument.ts';
import { StoreUnavailable } from '../../../wallets/store/contract.ts';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { RecordSeal } from '../../../wallets/store/secrets/record-seal.ts';
import { tenantsWith } from '../../../wallets/store/tenants-with.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import {
  type ClusterServer,
  type SlotMove,
  startRedisCluster,
  type TestRedisCluster,
} from '../../support/redis-cluster.ts';
import { eventFor, thing, thingId, thingType } from '../../support/store.ts';
import { storePorts } from '../../support/store-ports.ts';
import { isThorough } from '../../support/thorough.ts';
import { until } from '../../support/until.ts';
import { type Receiver, sequencesOf, startReceiver } from '../../wallets/delivery/deliveries/support/receiver.ts';
import { eventAt, type HookService, startService } from '../../wallets/delivery/deliveries/support/service.ts';

let cluster: TestRedisCluster;
let redis: Redis;
let store: RedisTenantStore;
/** One tenant for each master. */
let tenants: readonly string[];
let service: HookService;
let target: Receiver;
const connections: Redis[] = [];

beforeAll(async () => {
  cluster = await startRedisCluster();
  redis = connected();
  await until(() => redis.status === 'ready', 'a connection');
  store = new RedisTenantStore(redis, storePorts);
  tenants = await tenantOfEachMaster();
  service = await startService({ url: cluster.url, stop: async () => undefined }, connected());
  await until(() => service.redis.status === 'ready', 'a connection');
  // Jobs that BullMQ loses with its master are added again after this time.
  await service.work({ relay: { overdueMs: 3_000 } });
  target = await startReceiver();
});
afterAll(async () => {
  await target?.stop();
  await service?.stop();
  for (const connection of connections) connection.disconnect();
  await cluster?.stop();
});

function connected(replicas = 0): Redis {
  const connection = openRedis(cluster.url, silentLog, replicas);
  connections.push(connection);
  return connection;
}

async function tenantOfEachMaster(): Promise<readonly string[]> {
  const found = new Map<ClusterServer, string>();
  for (let number = 0; found.size < 3; number += 1) {
    const tenant = `tn-${number}`;
    const { master } = await cluster.ownerOf(tenantPrefix(tenant));
    if (!found.has(master)) found.set(master, tenant);
  }
  return [...found.values()];
}

const first = () => tenants[0]!;

test('the slot of a key is the one that Redis computes', async () => {
  const keys = [
    'a',
    'sm:{t:acme}:r:1',
    '{}',
    '{}x',
    '{',
    'x{y',
    'x{}{y}',
    'x{{y}}',
    'grüße',
    '{sm-hooks}:webhooks:wait',
    '',
  ];
  for (const key of keys) {
    expect(await cluster.servers[0]!.client.cluster('KEYSLOT', key), key).toBe(slotOf(key));
  }
});

test('a command or a script that names keys of two slots is refused', async () => {
  await expect(redis.mget('one', 'another')).rejects.toThrow(/CROSSSLOT|same slot/);
  await expect(redis.eval('return 1', 2, 'one', 'another')).rejects.toThrow(/CROSSSLOT|same slot/);
});

test('records of tenants on all masters are changed, listed and found; due work is swept over all of them', async () => {
  const things = tenants.map(() => thing(thingId(Date.now()), { tags: ['x'] }));
  const dueAtMs = Date.now();
  await Promise.all(
    tenants.map((tenant, index) =>
      store.commit(tenant, {
        puts: [create(thingType, things[index]!)],
        events: [eventFor(things[index]!.id)],
        due: [{ member: 'work', atMs: dueAtMs }],
      }),
    ),
  );
  for (const [index, tenant] of tenants.entries()) {
    expect(await store.read(tenant, thingType, things[index]!.id)).toEqual(things[index]);
    expect(
      (await store.list(tenant, thingType, { indices: ['things:tag:x'], order: 'oldest', limit: 9 })).items,
    ).toHaveLength(1);
  }
  expect(await tenantsWith(redis, 'things')).toEqual([...tenants].sort());
  const swept: string[] = [];
  await store.sweepDue(dueAtMs + 1, async (tenant) => {
    swept.push(tenant);
    expect((await store.takeDue(tenant, dueAtMs + 1, 60_000, 9)).members).toEqual(['work']);
    return undefined;
  });
  expect(swept.sort()).toEqual([...tenants].sort());
});

test('scripts that the servers have lost are sent again', async () => {
  for (const { client } of cluster.servers) await client.script('FLUSH');
  for (const tenant of tenants) expect(await store.count(tenant, 'things')).toBe(1);
  for (const tenant of tenants) {
    expect((await store.commit(tenant, { events: [eventFor('e')] })).committed).toBe(true);
  }
});

test('events of every master wake their readers, also after the subscribed node has gone', async () => {
  const wakes = new RedisWakes(redis);
  const heard = new Set<string>();
  let listening = 0;
  wakes.listen({ onWake: (tenant) => heard.add(tenant), onListening: () => (listening += 1) });
  for (const tenant of tenants) wakes.follow(tenant);
  const allAreHeard = async () => {
    heard.clear();
    await Promise.all(tenants.map((tenant) => store.commit(tenant, { events: [eventFor('e')] })));
    return until(() => heard.size === tenants.length, 'every wake-up');
  };
  await until(() => listening > 0, 'a subscription');
  await allAreHeard();
  const before = listening;
  await Promise.all(cluster.servers.map(({ client }) => client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')));
  await until(() => listening > before, 'another subscription');
  await allAreHeard();
  wakes.close();
});

test('events are delivered, tried again, asked for again, and a removed webhook is cleared away', async () => {
  const tenant = first();
  target.answer = (_, index) => (index % 3 === 0 ? 500 : 200);
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  const sequences = await service.happen(tenant, 20);
  await service.settled(tenant, hook.id);
  expect(sequencesOf(target)).toEqual(sequences);
  target.answer = () => 200;
  const before = target.received.length;
  const webhooks = new WebhookService(service.hooks, service.store, systemClock);
  const outcome = await webhooks.redeliverRange(tenant, hook.id, { statuses: ['delivered', 'failed'], types: [] });
  expect(outcome.redelivered).toBe(20);
  await service.settled(tenant, hook.id);
  expect(target.received).toHaveLength(before + 20);
  const record = await service.webhook(tenant, hook.id);
  await service.store.commit(tenant, { removals: [remove(webhookType, record)] });
  await until(async () => (await redis.exists(`${tenantPrefix(tenant)}hk`)) === 0, 'nothing to be left');
});

test('a coordinator has its fence there, announces itself, and closes keys of tenants on every master', async () => {
  let fenced = false;
  const open = () =>
    openRedisStore({
      ...{ redisUrl: cluster.url, clusterId: 'c-1', resumeKey: new Uint8Array(32) },
      onTampered: () => undefined,
      onStatus: () => undefined,
      onFenced: () => {
        fenced = true;
      },
    });
  const older = await open();
  const newer = await open();
  expect(newer.fence).toBe(older.fence + 1);
  const state = { url: 'ws://127.0.0.1:1', nodesTotal: 3, nodesReady: 3, threshold: 2, keyNodes: 3, load: 0 };
  expect(await newer.registry.announce(1, 'c-1', state)).toBe(undefined);
  expect(await newer.registry.list()).toMatchObject([{ number: 1, clusterId: 'c-1' }]);
  for (const tenant of tenants) {
    expect(await newer.write({ kind: 'closeKey', tenant, keyId: 'k' })).toEqual({ kind: 'written' });
  }
  expect(await older.write({ kind: 'closeKey', tenant: first(), keyId: 'k' })).toMatchObject({ code: 'FENCED' });
  expect(fenced).toBe(true);
  await Promise.all([older.close(), newer.close()]);
});

test('commands of an operator work on it, and say what is wrong with an address', async () => {
  await claimRedis(cluster.url, { clusterId: 'c-1' });
  await expect(claimRedis(cluster.url, { clusterId: 'c-2' })).rejects.toThrow(/holds the state of another cluster/);
  const answer = (url: string) => withRedis(url, (client) => client.get('x')).catch((error: Error) => error.message);
  const [one, two] = cluster.servers.map(({ port }) => `127.0.0.1:${port}`);
  expect(await answer(cluster.url)).toBe(null);
  expect(await answer(`redis://${one},${two}`)).toMatch(/^Redis at 127.*, 127.* asks for a password/);
  expect(await answer(`redis://:wrong@${one},${two}`)).toMatch(/refuses the user or the password/);
  expect(await answer(`redis://:of-the-cluster@${one}`)).toMatch(/list several of its nodes in REDIS_URL/);
  expect(await answer('redis://127.0.0.1:1,127.0.0.1:2')).toMatch(/nothing listens there/);
  const single = await startRedis();
  expect(await answer(`redis://127.0.0.1:${single.port},127.0.0.1:${single.port}`)).toMatch(/is no Redis Cluster/);
  await single.stop();
});

test('one Redis with a replica: a write waits for it, and fails without it; a read does not', async () => {
  const servers: TestRedis[] = [await startRedis()];
  try {
    const [alone] = servers;
    const client = openRedis(alone!.url, silentLog, 1);
    connections.push(client);
    await until(() => client.status === 'ready', 'a connection');
    await expect(client.set('a', '1')).rejects.toThrow(/0 of 1 replicas/);
    expect(await client.get('a')).toBe('1');
    const follows = ['--replicaof', '127.0.0.1', String(alone!.port), '--repl-diskless-sync-delay', '0'];
    servers.push(await startRedis(undefined, follows));
    // A replica that had no CPU in time is late; the change is made all the same.
    const pair = () => Promise.all([client.incr('n'), client.incr('n')]);
    const [first, second] = await until(pair, 'a replica that follows in time');
    expect(second).toBe(first + 1);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
});

test('all keys have one of the declared tags, or no script', async () => {
  const declared = /^(t:[\w-]+|due:[\w:]+|clusters|chain:.+|sm-hooks|sm-recon)$/;
  const alone = /^sm:(tok|addr|fence|probe|worker|cluster)\b/;
  for (const server of await cluster.masters()) {
    for (const key of await server.client.keys('*')) {
      expect(declared.test(tagOf(key)) || alone.test(key), key).toBe(true);
    }
  }
  expect(tagOf(bullPrefix)).toBe('sm-hooks');
});

describe('a slot that moves while it is used', () => {
  const tenant = () => tenants[1]!;
  let kept: string;
  let move: SlotMove;

  beforeAll(async () => {
    kept = thingId(Date.now());
    const ledger = [{ walletId: 'w', asset: 'ETH', available: 100n, reserved: 0n }];
    await store.commit(tenant(), { puts: [create(thingType, thing(kept))], ledger });
    move = await cluster.beginMove(tenantPrefix(tenant()), tenantPrefix(tenants[2]!));
  });

  const spend = { ledger: [{ walletId: 'w', asset: 'ETH', available: -1n, reserved: 0n }] };

  /** Without the key that never exists, as a client would call it. */
  const unguarded = async () => {
    const key = tenantPrefix(tenant());
    const change = JSON.stringify(changeArgument(tenant(), spend, new RecordSeal(storePorts.recordKey)));
    const args = ['', '', '', '1', '1', change];
    await move.destination.client.asking();
    return move.destination.client.eval(readScript('wallets/store/commit.lua').source, 1, key, ...args);
  };

  test('a change is refused and changes nothing, before, while and after half of the keys have gone', async () => {
    for (const count of [0, 3, 1_000]) {
      if (count > 0) await move.moveKeys(count);
      const refusal = await store.commit(tenant(), spend).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(StoreUnavailable);
      expect(refusal).toMatchObject({ changedNothing: true, message: expect.stringMatching(/moving this slot/) });
      // What a script without that key sees depends on what has arrived: here a wallet without money.
      if (count === 0) expect(await unguarded()).toEqual(['insufficient', 'w', 'ETH']);
      expect(await store.read(tenant(), thingType, kept)).toMatchObject({ id: kept });
      expect((await store.commit(first(), { events: [eventFor('e')] })).committed).toBe(true);
    }
  });

  test('afterwards all is there, and changes are made', async () => {
    await move.finish();
    await until(async () => (await store.commit(tenant(), spend)).committed, 'a change');
    expect(await redis.hget(`${tenantPrefix(tenant())}bal:w`, 'ETH')).toBe('99');
  });
});

describe('masters that are lost', () => {
  const opening = 1_000_000n;
  const wallet = 'money';
  const receiver = 'other';
  let strict: RedisTenantStore;
  beforeAll(async () => {
    const connection = connected(1);
    await until(() => connection.status === 'ready', 'a connection');
    strict = new RedisTenantStore(connection, storePorts);
    for (const tenant of tenants) {
      await store.commit(tenant, { ledger: [{ walletId: wallet, asset: 'ETH', available: opening, reserved: 0n }] });
    }
  });

  /** How it ended when its answer came; repeated with its key until then. */
  async function transfer(of: RedisTenantStore, tenant: string, name: string, isOver = () => false): Promise<boolean> {
    const keyHash = createHash('sha256').update(name).digest('hex');
    for (let attempt = 0; !isOver(); attempt += 1) {
      try {
        // A repetition does not wait for the lease of the attempt whose answer was lost.
        const begun = await of.beginIdempotent(
          tenant,
          keyHash,
          'body',
          Date.now(),
          (Date.now() + attempt * 600_000) as MachineMs,
        );
        if (begun.kind === 'answered') return true;
        if (begun.kind !== 'run') throw new Error(`the key of ${name} is ${begun.kind}`);
        const mark = { keyHash, owner: begun.owner, answer: 'done' };
        const ledger = [
          { walletId: wallet, asset: 'ETH', available: -1n, reserved: 0n },
          { walletId: receiver, asset: 'ETH', available: 1n, reserved: 0n },
        ];
        const outcome = await of.commit(tenant, { ledger, events: [eventAt('wallet.moved', Date.now())] }, mark);
        if (outcome.committed) return true;
        if (outcome.refusal.kind !== 'overtaken') throw new Error(JSON.stringify(outcome.refusal));
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    return false;
  }

  /** The fault of the money of a tenant; undefined: nothing. `done`: transfers that were acknowledged. */
  async function wrong(tenant: string, done: number, eventsBefore: number): Promise<string | undefined> {
    const at = (id: string) => redis.hget(`${tenantPrefix(tenant)}bal:${id}`, 'ETH');
    const [left, moved, last] = await Promise.all([
      at(wallet),
      at(receiver),
      redis.hget(`${tenantPrefix(tenant)}seq`, 'n'),
    ]);
    if (BigInt(left ?? 0) + BigInt(moved ?? 0) !== opening) return `money: ${left} and ${moved}`;
    if (Number(moved ?? 0) !== done) return `transfers: ${moved} of ${done} acknowledged`;
    const events = Number(last) - eventsBefore;
    return events === done ? undefined : `events: ${events} of ${done}`;
  }

  const lastEvent = async (tenant: string) => Number((await redis.hget(`${tenantPrefix(tenant)}seq`, 'n')) ?? 0);
  const movedTo = async (tenant: string) =>
    Number((await redis.hget(`${tenantPrefix(tenant)}bal:${receiver}`, 'ETH')) ?? 0);

  /** Transfers of all tenants and their webhooks while `disturb` runs. Each transfer is repeated until it is answered. */
  async function load(of: RedisTenantStore, label: string, disturb: () => Promise<void>): Promise<void> {
    target.answer = () => 200;
    const hooks = await Promise.all(
      tenants.map((tenant) => service.register(tenant, { url: target.url, events: ['wallet.moved'] })),
    );
    await Promise.all(tenants.map((tenant, index) => service.begun(tenant, hooks[index]!.id)));
    const before = await Promise.all(
      tenants.map(async (tenant) => [await lastEvent(tenant), await movedTo(tenant)] as const),
    );
    let isOver = false;
    const made = tenants.map(() => 0);
    const clients = tenants.flatMap((tenant, index) =>
      [0, 1].map(async (client) => {
        for (let count = 0; !isOver; count += 1) {
          await transfer(of, tenant, `${label}-${client}-${count}`);
          made[index]! += 1;
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      }),
    );
    try {
      await until(() => made.every((count) => count > 10), 'transfers');
      await disturb();
      const mark = [...made];
      await until(() => made.every((count, index) => count > mark[index]! + 10), 'transfers after that');
    } finally {
      isOver = true;
      await Promise.all(clients);
    }
    for (const [index, tenant] of tenants.entries()) {
      const [events, moved] = before[index]!;
      expect(await wrong(tenant, moved + made[index]!, events - moved)).toBe(undefined);
      await service.settled(tenant, hooks[index]!.id);
      const record = await service.webhook(tenant, hooks[index]!.id);
      await service.store.commit(tenant, { removals: [remove(webhookType, record)] });
    }
    const transfers = made.reduce((sum, count) => sum + count, 0);
    const ids = new Set(
      target.received.filter(({ event }) => event.type === 'wallet.moved').map(({ event }) => event.id),
    );
    expect(ids.size).toBeGreaterThanOrEqual(transfers);
  }

  test('a master hands over to its replica (CLUSTER FAILOVER) under load: nothing acknowledged is lost', async () => {
    await load(store, 'handed-over', async () => {
      const { replica } = await cluster.ownerOf(tenantPrefix(first()));
      await replica.client.cluster('FAILOVER');
      await until(() => replica.isMaster(), 'the replica to be master');
    });
    await cluster.whole();
  });

  test.runIf(isThorough)(
    'a master is killed under load, and its replica takes over: with a replica waited for, nothing acknowledged is lost',
    async () => {
      const watched = watchedConnection(redis);
      const probe = () => watched.set('sm:probe:test', '1', 'PX', 1_000);
      await probe();
      await load(strict, 'killed', async () => {
        const { master, replica } = await cluster.ownerOf(bullPrefix);
        await master.kill();
        await expect(probe()).rejects.toThrow(/CLUSTERDOWN/);
        await until(() => replica.isMaster(), 'the replica to be master');
        master.start();
        await cluster.whole();
      });
      await probe();
    },
  );

  test.runIf(isThorough)('a master that stands still (SIGSTOP) is left for its replica', async () => {
    const { master, replica } = await cluster.ownerOf(tenantPrefix(first()));
    master.signal('SIGSTOP');
    await until(() => replica.isMaster(), 'the replica to be master');
    await until(
      () => store.commit(first(), { events: [eventFor('e')] }).then(({ committed }) => committed),
      'a change',
    );
    master.signal('SIGCONT');
    await cluster.whole();
  });

  /** The master of the key's slot loses what `write` writes there: its replica is cut off, then takes over. */
  async function lost(key: string, write: () => Promise<void>): Promise<void> {
    const { master, replica } = await cluster.ownerOf(key);
    await until(() => master.client.wait(1, 100), 'a replica that has everything');
    replica.signal('SIGSTOP');
    // What is sent to a process that stands still waits for it.
    await master.client.call('CLIENT', 'KILL', 'TYPE', 'replica');
    await write();
    await master.kill();
    replica.signal('SIGCONT');
    await until(() => replica.isMaster(), 'the replica to be master');
    master.start();
    await cluster.whole();
  }

  test.runIf(isThorough)('registrations of due work that are lost are made again', async () => {
    const registry = 'sm:{due:work}';
    const { master } = await cluster.ownerOf(registry);
    let tenant = 'tn-due-0';
    for (let number = 1; (await cluster.ownerOf(tenantPrefix(tenant))).master === master; number += 1)
      tenant = `tn-due-${number}`;
    const registered = () => redis.zscore(registry, tenant);
    await lost(registry, async () => {
      const due = [{ member: 'work', atMs: Date.now() }];
      expect((await store.commit(tenant, { due })).committed).toBe(true);
      expect(await registered()).not.toBe(null);
    });
    await until(registered, 'its registration');
  });

  test.runIf(isThorough)(
    'without that, the last acknowledged writes may be lost; with it they are not acknowledged',
    async () => {
      const tenant = first();
      const events = await lastEvent(tenant);
      const moved = await movedTo(tenant);
      // The registration of due work lies elsewhere.
      expect((await store.commit(tenant, { events: [eventFor('e')] })).committed).toBe(true);
      await lost(tenantPrefix(tenant), async () => {
        const late = await strict.commit(tenant, { events: [eventFor('e')] }).catch((error: unknown) => error);
        expect(late).toBeInstanceOf(StoreUnavailable);
        expect(late).toMatchObject({ changedNothing: false, message: expect.stringMatching(/fewer replicas/) });
        expect(await transfer(store, tenant, 'lost')).toBe(true);
      });
      await until(() => lastEvent(tenant), 'the tenant at its new master');
      // The checker of money says so.
      expect(await wrong(tenant, moved + 1, events - moved + 1)).toMatch(/transfers: \d+ of \d+ acknowledged/);
      expect(await wrong(tenant, moved, events - moved + 1)).toBe(undefined);
    },
  );
});
