/** An attacker who writes to Redis, against the records of the tenant store: on a real Redis, and on the one in memory. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { create, update } from '../../../wallets/store/changes.ts';
import type { RecordType, TenantStore } from '../../../wallets/store/contract.ts';
import { storeKeys } from '../../../wallets/store/layout.ts';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import {
  done,
  newTenant,
  next,
  type StoreUnderTest,
  startStore,
  storeWorlds,
  type Thing,
  thing,
  thingType,
} from '../../support/store.ts';
import { storePorts } from '../../support/store-ports.ts';

const otherType: RecordType<Thing> = { ...thingType, name: 'other' };

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  let store: TenantStore;
  beforeAll(async () => {
    under = await startStore(world);
    store = await under.open();
  });
  afterAll(() => under.stop());

  /** A record at version 2, and one beside it. */
  async function made(): Promise<{ tenant: string; key: string; other: string; of: (id: string) => string }> {
    const tenant = newTenant();
    const [first, second] = [thing('thg_1', { tags: ['a'], note: { deep: ['x'] } }), thing('thg_2')];
    await done(store, tenant, { puts: [create(thingType, first), create(thingType, second)] });
    await done(store, tenant, { puts: [update(thingType, first, next(first, { note: { deep: ['y'] } }))] });
    const of = (id: string) => storeKeys.record(tenant, id);
    return { tenant, key: of('thg_1'), other: of('thg_2'), of };
  }

  async function refusal(tenant: string, type: RecordType<Thing> = thingType) {
    const tampered = expect.objectContaining({ name: 'StoreTampered', recordId: 'thg_1' });
    await expect(store.read(tenant, type, 'thg_1')).rejects.toEqual(tampered);
    await expect(store.readWithBalances(tenant, type, 'thg_1')).rejects.toEqual(tampered);
  }

  const text = async (key: string) => (await under.redis.hget(key, 'd'))!;
  const edited = async (key: string, change: (document: Record<string, unknown>) => void): Promise<void> => {
    const stored = await text(key);
    const document = JSON.parse(stored.slice(23)) as Record<string, unknown>;
    change(document);
    await under.redis.hset(key, 'd', stored.slice(0, 23) + JSON.stringify(document));
  };

  test.each<readonly [string, (document: Record<string, unknown>) => void]>([
    ['id', (document) => Object.assign(document, { id: 'thg_9' })],
    ['version', (document) => Object.assign(document, { version: 3 })],
    ['status', (document) => Object.assign(document, { status: 'closed' })],
    ['tags', (document) => Object.assign(document, { tags: [] })],
    ['note', (document) => Object.assign(document, { note: { deep: ['x'] } })],
    ['a further field', (document) => Object.assign(document, { more: 1 })],
    ['a field less', (document) => delete document.note],
  ])('a document with another %s is refused by its name, alone and in a list', async (_, change) => {
    const { tenant, key } = await made();
    await edited(key, change);
    await refusal(tenant);
    const query = { indices: ['things'], order: 'oldest', limit: 10 } as const;
    await expect(store.list(tenant, thingType, query)).rejects.toMatchObject({ recordId: 'thg_1' });
  });

  test.each<readonly [string, (key: string, other: string) => Promise<unknown>]>([
    ['its version', (key) => under.redis.hset(key, 'v', '1')],
    ['its status word', (key) => under.redis.hset(key, 's', 'closed')],
    ['its kind', (key) => under.redis.hset(key, 'k', 'other')],
    ['no version', (key) => under.redis.hdel(key, 'v')],
    ['no status word', (key) => under.redis.hdel(key, 's')],
    ['no kind', (key) => under.redis.hdel(key, 'k')],
    ['no MAC', async (key) => under.redis.hset(key, 'd', (await text(key)).slice(23))],
    ['an empty MAC', async (key) => under.redis.hset(key, 'd', `~${' '.repeat(22)}${(await text(key)).slice(23)}`)],
    ['the text of another record', async (key, other) => under.redis.hset(key, 'd', await text(other))],
    ['the whole of another record', async (key, other) => under.redis.hset(key, await under.redis.hgetall(other))],
  ])('a record with %s changed is refused by its name', async (_, change) => {
    const { tenant, key, other } = await made();
    await change(key, other);
    await refusal(tenant);
  });

  test('a record of another tenant, and one of another kind, pass for none', async () => {
    const [one, other] = [await made(), await made()];
    await under.redis.hset(one.key, await under.redis.hgetall(other.key));
    await refusal(one.tenant);
    // What one kind may hold, another may not say.
    await under.redis.hset(other.key, 'k', 'other');
    await refusal(other.tenant, otherType);
  });

  test('a record that another key has sealed is refused', async () => {
    const { tenant, key } = await made();
    const foreign = new RedisTenantStore(await under.connect(), { ...storePorts, recordKey: new Uint8Array(32) });
    await under.redis.del(key);
    await done(foreign, tenant, { puts: [create(thingType, thing('thg_1'))] });
    await refusal(tenant);
  });

  test('what is refused is an event of its tenant, once in a while, and a line in the log', async () => {
    const { tenant, key } = await made();
    await under.redis.hset(key, 's', 'closed');
    await refusal(tenant);
    await refusal(tenant);
    const query = { afterSequence: 0, limit: 100, types: ['record.tampered'] };
    const { events } = await store.events(tenant, query);
    expect(events.map(({ type, object }) => [type, object])).toEqual([
      ['record.tampered', { id: 'thg_1', kind: 'thing' }],
    ]);
  });

  test('an earlier version of the same record can be put back, and a record deleted: docs/trust.md says so', async () => {
    const tenant = newTenant();
    const first = thing('thg_1');
    await done(store, tenant, { puts: [create(thingType, first)] });
    const key = storeKeys.record(tenant, 'thg_1');
    const old = await under.redis.hgetall(key);
    await done(store, tenant, { puts: [update(thingType, first, next(first, { status: 'closed' }))] });
    await under.redis.hset(key, old);
    expect(await store.read(tenant, thingType, 'thg_1')).toEqual(first);
    await under.redis.del(key);
    expect(await store.read(tenant, thingType, 'thg_1')).toBeUndefined();
  });
});
