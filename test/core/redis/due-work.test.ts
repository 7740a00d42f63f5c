/**
 * The registry of due work on a real Redis: its protocol (core/redis/due-work.ts), its races, and what a sweep costs.
 *
 * Tenants here keep their entries as the product does, in a sorted set of their own that is written after the
 * registration; a look takes them out.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { holdMs, lateWriteMs, recheckMs, registeredForMs, unsettledMs } from '../../../core/redis/due-work.ts';
import { dueKeys, RedisDueWork } from '../../../core/redis/redis-due-work.ts';
import { randomStream } from '../../../simulation/cluster/random.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';

const { tenantsKey, registeredKey } = dueKeys('work');
const nowMs = 1_800_000_000_000;

let server: TestRedis;
let redis: Redis;
const connections: Redis[] = [];

beforeAll(async () => {
  server = await startRedis();
  redis = connect();
});
afterAll(async () => {
  for (const connection of connections) connection.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushdb();
});

function connect(): Redis {
  const connection = new Redis(server.url);
  connections.push(connection);
  return connection;
}

/** A process: a connection of its own, and time that passes only by hand. */
function startProcess(): { due: RedisDueWork; redis: Redis; time: { elapsedMs: number } } {
  const time = { elapsedMs: 0 };
  const own = connect();
  return { due: new RedisDueWork(own, 'work', { elapsedMs: () => time.elapsedMs }), redis: own, time };
}

const entriesKey = (tenant: string) => `entries:${tenant}`;

/** An entry, registered as the product does. */
async function add({ due, redis: own }: ReturnType<typeof startProcess>, tenant: string, entry: string, atMs: number) {
  await due.registered(tenant, atMs, () => own.zadd(entriesKey(tenant), atMs, entry));
}

/** Takes out what is due by a time. */
async function take(
  own: Redis,
  tenant: string,
  byMs: number,
): Promise<{ taken: string[]; nextAtMs: number | undefined }> {
  const taken: string[] = [];
  for (const entry of await own.zrangebyscore(entriesKey(tenant), '-inf', String(byMs))) {
    if ((await own.zrem(entriesKey(tenant), entry)) === 1) taken.push(entry);
  }
  const next = (await own.zrange(entriesKey(tenant), '0', '0', 'WITHSCORES'))[1];
  return { taken, nextAtMs: next === undefined ? undefined : Number(next) };
}

/** Sweeps once and answers what it has taken, as "tenant/entry". */
async function sweep(process: ReturnType<typeof startProcess>, atMs: number): Promise<string[]> {
  const found: string[] = [];
  await process.due.sweep(atMs, async (tenant) => {
    const { taken, nextAtMs } = await take(process.redis, tenant, atMs);
    found.push(...taken.map((entry) => `${tenant}/${entry}`));
    return nextAtMs;
  });
  return found.sort();
}

const standsAt = async (tenant: string) => {
  const score = await redis.zscore(tenantsKey, tenant);
  return score === null ? undefined : Number(score);
};

/** As if the tenant had been registered so long ago, by the clock of Redis. */
async function settleDown(tenant: string, agoMs = unsettledMs): Promise<void> {
  const [seconds, micros] = await redis.time();
  const ms = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  await redis.hset(registeredKey, tenant, ms - agoMs);
}

describe('a sweep', () => {
  test('looks at tenants that have something due, those that wait longest first, and at no others', async () => {
    const one = startProcess();
    for (const [tenant, atMs] of [
      ['c', 3],
      ['a', 1],
      ['b', 2],
      ['later', 11],
    ] as const) {
      await add(one, tenant, 'x', nowMs + atMs);
    }
    const looked: string[] = [];
    expect(await one.due.sweep(nowMs + 10, async (tenant) => void looked.push(tenant), 2)).toBe(true);
    expect(looked.sort()).toEqual(['a', 'b']);
    expect(await one.due.sweep(nowMs + 10, async (tenant) => void looked.push(tenant), 2)).toBe(false);
    expect(looked).toContain('c');
    expect(await sweep(one, nowMs + 11)).toEqual(['later/x']);
  });

  test('moves a tenant to its next entry, and drops one that has none, when no write can be under way', async () => {
    const one = startProcess();
    await add(one, 'a', 'x', nowMs);
    await add(one, 'a', 'y', nowMs + 3_600_000);
    await settleDown('a');
    expect(await sweep(one, nowMs)).toEqual(['a/x']);
    expect(await standsAt('a')).toBe(nowMs + 3_600_000);
    expect(await sweep(one, nowMs + 3_600_000)).toEqual(['a/y']);
    expect(await standsAt('a')).toBeUndefined();
    expect(await redis.hlen(registeredKey)).toBe(0);
  });

  test('looks again soon at a tenant that was registered lately', async () => {
    const one = startProcess();
    await add(one, 'a', 'x', nowMs);
    await settleDown('a', unsettledMs - 5_000);
    expect(await sweep(one, nowMs)).toEqual(['a/x']);
    expect(await standsAt('a')).toBe(nowMs + recheckMs);
  });

  test('whose look throws throws that, settles the others, and looks again', async () => {
    const one = startProcess();
    for (const tenant of ['a', 'b']) {
      await add(one, tenant, 'x', nowMs);
      await settleDown(tenant);
    }
    const looking = one.due.sweep(nowMs, async (tenant) => {
      if (tenant === 'a') throw new Error('no look');
      return undefined;
    });
    await expect(looking).rejects.toThrow('no look');
    expect(await standsAt('a')).toBe(nowMs + recheckMs);
    expect(await standsAt('b')).toBeUndefined();
  });

  test('gives tenants with very much to do their turn behind the others', async () => {
    const one = startProcess();
    for (const [tenant, atMs] of [
      ['big', 1],
      ['small', 2],
    ] as const)
      await add(one, tenant, 'x', nowMs + atMs);
    await one.due.sweep(nowMs + 100, async () => nowMs + 1, 1);
    const looked: string[] = [];
    await one.due.sweep(nowMs + 100, async (tenant) => void looked.push(tenant), 1);
    expect(looked).toEqual(['small']);
  });
});

describe('a registration', () => {
  test('comes before the write, and without it there is no write', async () => {
    const one = startProcess();
    let stood: number | undefined;
    await one.due.registered('a', nowMs, async () => {
      stood = await standsAt('a');
    });
    expect(stood).toBe(nowMs);
    const broken = new RedisDueWork(redis, 'work', { asking: () => Promise.reject(new Error('away')) });
    let written = false;
    const write = async (): Promise<void> => {
      written = true;
    };
    await expect(broken.registered('b', nowMs, write)).rejects.toThrow('away');
    expect(written).toBe(false);
  });

  test('holds for its process a while, unless something is due earlier', async () => {
    const one = startProcess();
    const registrations = async () => (await redis.call('HGET', registeredKey, 'a')) as string;
    const again = async (atMs: number): Promise<boolean> => {
      await redis.hset(registeredKey, 'a', 0);
      await add(one, 'a', `x${atMs}`, atMs);
      return (await registrations()) !== '0';
    };
    expect(await again(nowMs + 10)).toBe(true);
    one.time.elapsedMs += registeredForMs - 1;
    expect(await again(nowMs + 10)).toBe(false);
    expect(await again(nowMs + 9)).toBe(true);
    one.time.elapsedMs += registeredForMs;
    expect(await again(nowMs + 9)).toBe(true);
    one.due.clear();
    expect(await again(nowMs + 9)).toBe(true);
  });

  test('is repeated after a write that took very long', async () => {
    const one = startProcess();
    await one.due.registered('a', nowMs, async () => {
      // The process stood still: meanwhile the tenant was looked at and dropped.
      await redis.del(tenantsKey, registeredKey);
      one.time.elapsedMs += lateWriteMs + 1;
    });
    expect(await standsAt('a')).toBe(nowMs);
    await redis.del(tenantsKey, registeredKey);
    await one.due.registered('a', nowMs, async () => {
      one.time.elapsedMs += 1;
    });
    expect(await standsAt('a')).toBeUndefined();
  });

  test('with a later time than the one that stands changes nothing but the moment', async () => {
    const [one, other] = [startProcess(), startProcess()];
    await add(one, 'a', 'x', nowMs);
    await add(other, 'a', 'y', nowMs + 50);
    expect(await standsAt('a')).toBe(nowMs);
    await add(other, 'a', 'z', nowMs - 50);
    expect(await standsAt('a')).toBe(nowMs - 50);
  });
});

describe('an entry is not lost', () => {
  test('when it is written between the look and the settlement', async () => {
    const [writer, sweeper] = [startProcess(), startProcess()];
    await add(writer, 'a', 'x', nowMs);
    await settleDown('a');
    writer.time.elapsedMs += unsettledMs;
    await sweeper.due.sweep(nowMs, async (tenant) => {
      const { nextAtMs } = await take(sweeper.redis, tenant, nowMs);
      // It is registered later than the end of the hold: where the tenant stands does not show it.
      await add(writer, 'a', 'y', nowMs + holdMs + 7_000);
      return nextAtMs;
    });
    expect(await standsAt('a')).toBe(nowMs + recheckMs);
    const found: string[] = [];
    for (let atMs = nowMs; atMs <= nowMs + holdMs + 8_000; atMs += 500) found.push(...(await sweep(sweeper, atMs)));
    expect(found).toEqual(['a/y']);
  });

  test('when its writer was registered before the claim and writes after the settlement', async () => {
    const [writer, sweeper] = [startProcess(), startProcess()];
    // The latest that the protocol allows: just within the window.
    await writer.due.registered('a', nowMs, async () => {
      await settleDown('a', unsettledMs - 3_000);
      expect(await sweep(sweeper, nowMs)).toEqual([]);
      expect(await standsAt('a')).toBe(nowMs + recheckMs);
      await writer.redis.zadd(entriesKey('a'), nowMs, 'x');
    });
    expect(await sweep(sweeper, nowMs + recheckMs)).toEqual(['a/x']);
  });

  test('when the claimer dies before it has looked', async () => {
    const [writer, dying, other] = [startProcess(), startProcess(), startProcess()];
    await add(writer, 'a', 'x', nowMs);
    dying.due.sweep(nowMs, () => new Promise(() => undefined)).catch(() => undefined);
    await expect.poll(() => standsAt('a')).toBe(nowMs + holdMs);
    dying.redis.disconnect();
    expect(await sweep(other, nowMs + holdMs - 1)).toEqual([]);
    expect(await sweep(other, nowMs + holdMs)).toEqual(['a/x']);
  });

  test('when a claimer settles after its hold, with what it saw before', async () => {
    const [writer, slow, other] = [startProcess(), startProcess(), startProcess()];
    await add(writer, 'a', 'x', nowMs);
    await settleDown('a');
    let goOn = (): void => undefined;
    const seen = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let hasLooked = false;
    const slowSweep = slow.due.sweep(nowMs, async (tenant) => {
      const { nextAtMs } = await take(slow.redis, tenant, nowMs);
      hasLooked = true;
      await seen;
      return nextAtMs;
    });
    await expect.poll(() => hasLooked).toBe(true);
    await add(writer, 'a', 'y', nowMs + holdMs + 60_000);
    await settleDown('a');
    expect(await sweep(other, nowMs + holdMs)).toEqual([]);
    expect(await standsAt('a')).toBe(nowMs + holdMs + 60_000);
    goOn();
    await slowSweep;
    expect(await standsAt('a')).toBe(nowMs + holdMs + 60_000);
    expect(await sweep(other, nowMs + holdMs + 60_000)).toEqual(['a/y']);
  });

  test('when a claimer’s clock is an hour ahead, or an hour behind', async () => {
    const [writer, ahead, behind] = [startProcess(), startProcess(), startProcess()];
    const hourMs = 3_600_000;
    await add(writer, 'a', 'x', nowMs + 60_000);
    // It takes the entry early, as its clock says.
    expect(await sweep(ahead, nowMs + hourMs)).toEqual(['a/x']);
    await add(writer, 'a', 'y', nowMs + 90_000);
    expect(await sweep(behind, nowMs - hourMs)).toEqual([]);
    expect(await sweep(ahead, nowMs + hourMs + recheckMs)).toEqual(['a/y']);
    // It dies while it holds the tenant: found when others reach its time, at the latest.
    await add(writer, 'a', 'z', nowMs + 100_000);
    ahead.due.sweep(nowMs + hourMs + 2 * recheckMs, () => new Promise(() => undefined)).catch(() => undefined);
    const heldUntilMs = nowMs + hourMs + 2 * recheckMs + holdMs;
    await expect.poll(() => standsAt('a')).toBe(heldUntilMs);
    expect(await sweep(writer, nowMs + 100_000)).toEqual([]);
    expect(await sweep(writer, heldUntilMs)).toEqual(['a/z']);
    // What is registered anew with a time of its own is not held up by that.
    writer.time.elapsedMs += registeredForMs;
    await sweep(ahead, heldUntilMs + hourMs);
    await add(writer, 'a', 'new', nowMs + 200_000);
    expect(await sweep(writer, nowMs + 200_000)).toEqual(['a/new']);
  });

  test('however many write, claim, die and have other clocks at once; and none is taken twice', async () => {
    const random = randomStream('due work', 'races');
    const below = (bound: number): number => Buffer.from(random(4)).readUInt32LE() % bound;
    const writers = Array.from({ length: 4 }, () => startProcess());
    const written: string[] = [];
    const found: string[] = [];
    let atMs = nowMs;
    let writing = true;
    const write = async (writer: (typeof writers)[number], name: number): Promise<void> => {
      const tenant = `tenant${name}`;
      for (let k = 0; k < 80; k += 1) {
        // Sometimes much time has passed since its last write: its registration holds no more, and it may be dropped.
        if (below(2) === 0) {
          writer.due.clear();
          await settleDown(tenant);
        }
        await add(writer, tenant, `${k}`, atMs + below(500));
        written.push(`${tenant}/${k}`);
      }
    };
    const claim = async (skewMs: number): Promise<void> => {
      let claimer = startProcess();
      while (writing) {
        const own = atMs + skewMs;
        atMs += 20;
        if (below(5) === 0) {
          // It dies with what it holds, and another starts.
          claimer.due.sweep(own, () => new Promise(() => undefined)).catch(() => undefined);
          await claimer.redis.ping();
          claimer = startProcess();
        } else found.push(...(await sweep(claimer, own)));
      }
    };
    const claiming = [-2_000, 0, 2_000].map(claim);
    await Promise.all(writers.map(write));
    writing = false;
    await Promise.all(claiming);
    // What is left is found as time continues.
    const last = startProcess();
    const endMs = atMs + 2_000 + holdMs + 5_000;
    for (; atMs <= endMs; atMs += 500) found.push(...(await sweep(last, atMs)));
    expect(found.toSorted()).toEqual(written.toSorted());
  });
});

test('a sweep costs what is due: with 100,000 idle tenants the same commands as with none', async () => {
  const one = startProcess();
  const calls = async (work: () => Promise<unknown>): Promise<Record<string, number>> => {
    await redis.config('RESETSTAT');
    await work();
    const lines = (await redis.info('commandstats')).matchAll(/cmdstat_(\S+?):calls=(\d+)/g);
    const all = Object.fromEntries([...lines].map(([, name, count]) => [name!, Number(count)]));
    const { info: _info, 'config|resetstat': _reset, ...rest } = all;
    return rest;
  };
  const round = async (atMs: number): Promise<Record<string, number>> => {
    for (const tenant of ['a', 'b', 'c']) await add(one, tenant, 'x', atMs);
    let found: string[] = [];
    const cost = await calls(async () => {
      found = await sweep(one, atMs);
    });
    expect(found).toEqual(['a/x', 'b/x', 'c/x']);
    return cost;
  };
  await round(nowMs - 1_000_000);
  const alone = await round(nowMs);
  // Idle: something is due in an hour, or a year.
  for (let first = 0; first < 100_000; first += 10_000) {
    const idle = Array.from({ length: 10_000 }, (_, k) => [nowMs + (k % 2 === 0 ? 3.6e6 : 3.2e10), `idle${first + k}`]);
    await redis.zadd(tenantsKey, ...idle.flat());
  }
  expect(await round(nowMs + 100_000)).toEqual(alone);
  expect(await calls(() => sweep(one, nowMs + 100_000 - 1))).toEqual({ evalsha: 1, zrangebyscore: 1, time: 1 });
});
