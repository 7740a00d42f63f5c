import { afterEach, beforeEach, expect, it } from 'vitest';
import type { MachineMs } from '../../../core/actors/contract.ts';
import { create, merge } from '../../../wallets/store/changes.ts';
import { type RecordType, StoreUnavailable } from '../../../wallets/store/contract.ts';
import { storeKeys, tenantPrefix } from '../../../wallets/store/layout.ts';
import { RedisAddressBook } from '../../../wallets/store/redis-address-book.ts';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import {
  done,
  eventFor,
  newTenant,
  type StoreUnderTest,
  startStore,
  thing,
  thingId,
  thingType,
} from '../../support/store.ts';
import { storePorts } from '../../support/store-ports.ts';
import { until } from '../../support/until.ts';

let server: TestRedis;
let under: StoreUnderTest;

beforeEach(async () => {
  server = await startRedis();
  under = await startStore(server);
});
afterEach(() => under.stop());

it('says that Redis is away, whatever is asked, and continues when a Redis is back that knows no script', async () => {
  const connection = await under.connect();
  const store = new RedisTenantStore(connection, storePorts);
  const book = new RedisAddressBook(connection);
  const tenant = newTenant();
  const made = thing(thingId(1_000));
  await done(store, tenant, { puts: [create(thingType, made)], due: [{ member: 'm', atMs: 1 }] });
  const underWay = Promise.allSettled(
    Array.from({ length: 50 }, () => store.commit(tenant, { events: [eventFor('a')] })),
  );
  await server.stop();
  for (const result of await underWay) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailable);
  }
  const asks: (() => Promise<unknown>)[] = [
    () => store.read(tenant, thingType, made.id),
    () => store.readMany(tenant, thingType, [made.id, 'thg_2']),
    () => store.readWithBalances(tenant, thingType, made.id),
    () => store.numberOf(tenant, made.id),
    () => store.list(tenant, thingType, { indices: ['things'], order: 'newest', limit: 1 }),
    () => store.count(tenant, 'things'),
    () => store.count(tenant, 'things', 1),
    () => store.commit(tenant, { events: [eventFor('a')] }),
    () => store.commit(newTenant(), { due: [{ member: 'm', atMs: 1 }] }),
    () => store.events(tenant, { afterSequence: 0, limit: 1, types: [] }),
    () => store.beginIdempotent(tenant, 'k', 'b', 1, 1 as MachineMs),
    () => store.settleIdempotent(tenant, 'k', 'o', undefined),
    () => store.sweepDue(1, async () => undefined),
    () => store.takeDue(tenant, 1, 1, 1),
    () => book.register('eip155:1', '0x1', { tenant, walletId: 'wal_1' }),
    () => book.ownerOf('eip155:1', '0x1'),
  ];
  for (const ask of asks) await expect(ask()).rejects.toBeInstanceOf(StoreUnavailable);
  const again = await startRedis(server.port);
  try {
    await until(() => connection.status === 'ready', 'the connection is back');
    expect(await done(store, tenant, { puts: [create(thingType, made)], events: [eventFor(made.id)] })).toMatchObject({
      sequence: 1,
    });
    await Promise.all(asks.map((ask) => ask()));
  } finally {
    await again.stop();
  }
});

it('says so too when Redis is full, and then nothing of the change has happened', async () => {
  const store = await under.open();
  const tenant = newTenant();
  const change = merge(
    { puts: [create(thingType, thing(thingId(1_000), { tags: ['a'] }))], events: [eventFor('a')] },
    { ledger: [{ walletId: 'w', asset: 'ETH', available: 1n, reserved: 0n }] },
  );
  await store.beginIdempotent(tenant, 'k', 'b', 1, 1 as MachineMs);
  const before = await under.contents(tenant);
  await under.redis.config('SET', 'maxmemory', '1');
  await expect(store.commit(tenant, change)).rejects.toBeInstanceOf(StoreUnavailable);
  await under.redis.config('SET', 'maxmemory', '0');
  expect(await under.contents(tenant)).toEqual(before);
  await done(store, tenant, change);
});

it('says so when Redis hangs; a change may happen all the same, and its idempotency key knows', async () => {
  const store = await under.open();
  const tenant = newTenant();
  const start = await store.beginIdempotent(tenant, 'k', 'b', 1, 1 as MachineMs);
  const mark = { keyHash: 'k', owner: start.kind === 'run' ? start.owner : '', answer: 'A' };
  // The tenant is registered as having events: the change is all that is sent while Redis hangs.
  await done(store, tenant, { events: [eventFor('earlier')] });
  await under.redis.client('PAUSE', 1_500, 'ALL');
  await expect(store.commit(tenant, { events: [eventFor('a')] }, mark)).rejects.toBeInstanceOf(StoreUnavailable);
  const answered = { kind: 'answered', answer: 'A' };
  await until(async () => {
    const again = await store.beginIdempotent(tenant, 'k', 'b', 2, 2 as MachineMs).catch(() => undefined);
    if (again !== undefined) expect(again).toEqual(answered);
    return again !== undefined;
  }, 'Redis answers again');
  expect(await store.commit(tenant, { events: [eventFor('a')] }, mark)).toMatchObject({
    refusal: { kind: 'overtaken' },
  });
  expect((await store.events(tenant, { afterSequence: 0, limit: 5, types: [] })).lastSequence).toBe(2);
});

it('does not call a mistake of ours an outage', async () => {
  const store = await under.open();
  const tenant = newTenant();
  await under.redis.set(storeKeys.record(tenant, 'thg_1'), 'not a hash');
  const failure = await store.read(tenant, thingType, 'thg_1').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Error);
  expect(failure).not.toBeInstanceOf(StoreUnavailable);
});

it('keeps all that it has of a tenant in one slot of Redis Cluster, whatever names hold', async () => {
  const store = await under.open();
  const tenant = newTenant();
  const made = thing(thingId(1_000), { tags: ['}{', '{t:other}'] });
  const start = await store.beginIdempotent(tenant, 'hash', 'body', 1, 1 as MachineMs);
  const owner = start.kind === 'run' ? start.owner : '';
  const everything = {
    puts: [create(thingType, made, 60_000)],
    guards: [{ kind: 'claim', name: '{x}' }],
    ledger: [{ walletId: made.id, asset: 'ETH', available: 1n, reserved: 1n }],
    allocate: { counter: '{c}', recordId: made.id },
    release: { counter: 'd', number: 1 },
    events: [eventFor(made.id)],
    due: [{ member: 'm', atMs: 1 }],
  } as const;
  expect((await store.commit(tenant, everything, { keyHash: 'hash', owner, answer: 'A' })).committed).toBe(true);
  const keys = (await under.redis.keys('*')).filter((key) => !key.startsWith('sm:{due:'));
  expect(keys.length).toBeGreaterThanOrEqual(13);
  const slots = await Promise.all([...keys, tenantPrefix(tenant)].map((key) => slotOf(key)));
  expect(new Set(slots).size).toBe(1);
  // The formula is Redis's own (its specification gives this value).
  expect(slotOf('123456789')).toBe(0x31c3);
});

it('finds the wallet of an address; the first owner keeps it, and networks have addresses of their own', async () => {
  const book = new RedisAddressBook(await under.connect());
  const owner = { tenant: 'a', walletId: 'wal_1' };
  expect(await book.ownerOf('eip155:1', '0xAb')).toBeUndefined();
  await book.register('eip155:1', '0xAb', owner);
  await book.register('eip155:1', '0xAb', { tenant: 'b', walletId: 'wal_2' });
  expect(await book.ownerOf('eip155:1', '0xAb')).toEqual(owner);
  expect(await book.ownerOf('eip155:2', '0xAb')).toBeUndefined();
});

it('lists what a type names no index for nowhere, and reads it all the same', async () => {
  const store = await under.open();
  const tenant = newTenant();
  const bare: RecordType<{ id: string; version: number }> = { name: 'bare', status: () => '', indices: () => [] };
  await done(store, tenant, { puts: [create(bare, { id: 'bar_1', version: 1 })] });
  expect(await store.read(tenant, bare, 'bar_1')).toEqual({ id: 'bar_1', version: 1 });
  const keys = [...(await under.contents(tenant)).keys()].filter((key) => !key.endsWith(':use'));
  expect(keys).toEqual([storeKeys.record(tenant, 'bar_1')]);
});

/** CRC16 (XMODEM) of the hash tag, or of the whole key, modulo 16384: the Redis Cluster specification. */
function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc % 16_384;
}
