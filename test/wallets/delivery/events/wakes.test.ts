/** One suite for the wake-ups of gateways and workers: over a real Redis, and over the one in memory of a simulated world. */
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemPorts } from '../../../../core/actors/live/ports.ts';
import { tenantPrefix } from '../../../../core/redis/event-log.ts';
import { MemoryRedis } from '../../../../simulation/redis/memory-redis.ts';
import { followRelayWakes, RedisWakes } from '../../../../wallets/delivery/events/redis-wakes.ts';
import { RedisTenantStore } from '../../../../wallets/store/redis-tenant-store.ts';
import { openDatabase } from '../../../support/redis-database.ts';
import { eventFor } from '../../../support/store.ts';
import { storePorts } from '../../../support/store-ports.ts';
import { until } from '../../../support/until.ts';

interface World {
  connect(): Redis;
  stop(): Promise<unknown>;
}

const worlds: Readonly<Record<'Redis' | 'memory', () => Promise<World>>> = {
  Redis: async () => {
    const database = await openDatabase();
    const connections: Redis[] = [];
    return {
      connect: () => {
        const connection = new Redis(database.url);
        connections.push(connection);
        return connection;
      },
      stop: () => {
        for (const connection of connections) connection.disconnect();
        return database.stop();
      },
    };
  },
  memory: async () => {
    const memory = new MemoryRedis(systemPorts.clock);
    return { connect: () => memory.client(), stop: async () => undefined };
  },
};

describe.each(['Redis', 'memory'] as const)('wake-ups: %s', (name) => {
  let world: World;
  let redis: Redis;
  let store: RedisTenantStore;
  const ends: (() => void)[] = [];
  beforeEach(async () => {
    world = await worlds[name]();
    redis = world.connect();
    store = new RedisTenantStore(redis, storePorts);
    for (const tenant of ['tn_first', 'tn_a', 'tn_b']) await addWebhook(tenant);
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) end();
    await world.stop();
  });

  const commit = (tenant: string) => store.commit(tenant, { events: [eventFor('e')] });
  /** An entry of the index of webhooks: without one no worker is woken. */
  const addWebhook = (tenant: string) => redis.zadd(`${tenantPrefix(tenant)}ix:webhooks`, 0, 'whk_1');
  /** Every wake-up that a gateway gets: tenant and sequence. */
  async function gateway(...tenants: readonly string[]) {
    const woken: [string, number][] = [];
    const listening = new Set<string>();
    const wakes = new RedisWakes(world.connect());
    ends.push(() => wakes.close());
    wakes.listen({
      onWake: (...wake) => woken.push(wake),
      onListening: (names) => names.forEach((each) => void listening.add(each)),
    });
    for (const tenant of tenants) wakes.follow(tenant);
    await until(() => tenants.every((tenant) => listening.has(tenant)), 'the gateway listens');
    return { wakes, woken };
  }
  /** The tenants of every wake-up that a worker gets. */
  async function worker() {
    const woken: string[] = [];
    const end = followRelayWakes(world.connect(), (tenant) => woken.push(tenant));
    ends.push(end);
    await until(async () => {
      await commit('tn_first');
      return woken.includes('tn_first');
    }, 'the worker listens');
    return { woken, end };
  }

  test('a gateway gets those of the tenants that it follows, with the last sequence of their logs', async () => {
    const { wakes, woken } = await gateway('tn_a', 'tn_b');
    await commit('tn_a');
    await commit('tn_c');
    await commit('tn_b');
    await commit('tn_a');
    await until(() => woken.length >= 3, 'three wake-ups');
    expect(woken).toEqual([
      ['tn_a', 1],
      ['tn_b', 1],
      ['tn_a', 2],
    ]);
    wakes.unfollow('tn_a');
    await commit('tn_a');
    await commit('tn_b');
    await until(() => woken.length >= 4, 'another wake-up');
    expect(woken.slice(3)).toEqual([['tn_b', 2]]);
  });

  test('a worker gets those of all tenants with webhooks from its start on', async () => {
    const { woken } = await worker();
    woken.length = 0;
    for (const tenant of ['tn_a', 'tn_without', 'tn_b', 'tn_a']) await commit(tenant);
    await until(() => woken.filter((tenant) => tenant !== 'tn_first').length >= 3, 'three wake-ups');
    expect(woken.filter((tenant) => tenant !== 'tn_first')).toEqual(['tn_a', 'tn_b', 'tn_a']);
  });

  test('each gets its own, and soon none after its end', async () => {
    const one = await worker();
    const other = await worker();
    const third = await gateway('tn_a');
    /** Whether it gets no wake-up of a commit of which the other worker has got one. A socket takes a moment to close. */
    const isSilent = async (ended: { readonly woken: readonly unknown[] }) => {
      const [before, known] = [ended.woken.length, other.woken.length];
      await commit('tn_a');
      await until(() => other.woken.length > known, 'the wake-up of the other worker');
      return ended.woken.length === before;
    };
    one.end();
    await until(() => isSilent(one), 'a worker that has ended gets nothing');
    await until(async () => !(await isSilent(third)), 'the gateway still gets its own');
    third.wakes.close();
    await until(() => isSilent(third), 'a gateway that has ended gets nothing');
  });
});
