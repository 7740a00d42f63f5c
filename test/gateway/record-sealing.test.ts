/** Records and tokens of a version without MACs get theirs once, by the first start or a restore, and no other way. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashToken } from '../../gateway/auth/token-format.ts';
import { TokenStore } from '../../gateway/auth/token-store.ts';
import { sealStored } from '../../gateway/record-sealing.ts';
import { create } from '../../wallets/store/changes.ts';
import { storeKeys } from '../../wallets/store/layout.ts';
import { done, newTenant, type StoreUnderTest, startStore, storeWorlds, thing, thingType } from '../support/store.ts';
import { storePorts, testRecordKey } from '../support/store-ports.ts';

const tokenKey = new Uint8Array(32).fill(7);
const keys = { tokenKey, recordKey: testRecordKey };

describe.each(storeWorlds)('on %s', (world) => {
  let under: StoreUnderTest;
  beforeAll(async () => {
    under = await startStore(world);
  });
  afterAll(() => under.stop());

  test('what an earlier version stored is refused until it is sealed, and what was changed since stays refused', async () => {
    const store = await under.open();
    const tenant = newTenant();
    const puts = Array.from({ length: 20 }, (_, index) => create(thingType, thing(`thg_${index}`)));
    await done(store, tenant, { puts });
    const tokens = new TokenStore(under.redis, tokenKey, storePorts);
    const issued = await tokens.issueToken({ tenant, environment: 'sandbox', scopes: ['wallets:read'] });
    const tokenName = `sm:tok:${hashToken(issued.token, tokenKey)}`;
    const strip = async (id: string) => {
      const key = storeKeys.record(tenant, id);
      await under.redis.hset(key, 'd', (await under.redis.hget(key, 'd'))!.slice(23));
    };
    for (const { after } of puts) await strip(after.id);
    await under.redis.hdel(tokenName, 'mac');
    const kept = thing('thg_kept');
    await done(store, tenant, { puts: [create(thingType, kept)] });
    await under.redis.hset(storeKeys.record(tenant, kept.id), 's', 'closed');
    await expect(store.read(tenant, thingType, 'thg_3')).rejects.toThrow('thg_3');
    await expect(tokens.lookup(hashToken(issued.token, tokenKey))).rejects.toThrow(issued.record.id);

    expect(await sealStored(under.redis, keys, storePorts)).toEqual({ tokens: 1, records: 20 });
    for (const { after } of puts) expect(await store.read(tenant, thingType, after.id)).toEqual(after);
    expect(await tokens.lookup(hashToken(issued.token, tokenKey))).toEqual(issued.record);
    await expect(store.read(tenant, thingType, kept.id)).rejects.toThrow(kept.id);

    expect(await sealStored(under.redis, keys, storePorts)).toEqual({ tokens: 0, records: 0 });
    await strip('thg_3');
    await expect(store.read(tenant, thingType, 'thg_3')).rejects.toThrow('thg_3');
  });
});
