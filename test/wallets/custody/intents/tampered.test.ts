/** Something else than the service changes the record of a provider connection: what its wallets are asked names the record. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { storeKeys } from '../../../../wallets/store/layout.ts';
import { type Door, openDoor, tenant } from './support/door.ts';
import { oneEth, somewhere, startWorld, type World } from './support/world.ts';

let world: World;
let door: Door;
beforeAll(async () => {
  world = await startWorld();
  door = await openDoor(world);
});
afterAll(async () => {
  await door.app.close();
  await world.stop();
});

type Edit = (key: string, document: Record<string, unknown>) => Promise<unknown>;
const edited =
  (change: object): Edit =>
  (key, document) =>
    world.redis.redis.hset(key, 'd', JSON.stringify({ ...document, ...change }));

const edits: Readonly<Record<string, Edit>> = {
  'another provider': edited({ provider: 'unknown' }),
  'no status': edited({ status: undefined }),
  'a status of its own': edited({ status: 'fine' }),
  'no version': edited({ version: undefined }),
  'a text as version': edited({ version: '1' }),
  'no credentials': edited({ credentials: null }),
  'no JSON': (key) => world.redis.redis.hset(key, 'd', '{'),
  'another kind': (key) => world.redis.redis.hset(key, 'k', 'wallet'),
  'another Redis type': async (key) => {
    await world.redis.redis.del(key);
    await world.redis.redis.set(key, 'x');
  },
  'nothing at all': (key) => world.redis.redis.del(key),
};

test.each(Object.entries(edits))(
  'a connection with %s is named in the answer to a transfer; a vote does not need it',
  async (_, edit) => {
    const transfer = { asset: 'ETH', amount: '1', destination: { address: somewhere } };
    const wallet = await world.wallet(tenant, { ETH: 5n * oneEth });
    const path = `${wallet.id}/transaction-intents`;
    world.judges.decision = { decision: 'require_approval', approvals: { quorum: 1, approvers: [], timeoutS: 60 } };
    const { body: intent } = await door.post(path, transfer);
    const key = storeKeys.record(tenant, wallet.connectionId);
    await edit(key, JSON.parse((await world.redis.redis.hget(key, 'd'))!.slice(23)) as Record<string, unknown>);
    const refused = await door.post(path, transfer);
    expect([refused.status, refused.body.error.details]).toMatchObject([409, [{ issue: 'store_tampered' }]]);
    expect((await door.post(`${path}/${intent.id}/approve`, {}, 'ann')).body.status).toBe('approved');
  },
);
