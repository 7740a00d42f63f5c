/** Something else than the service changes records in Redis: a caller that reads them gets their names and the remedy. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listBody } from '../../../gateway/api/pages.ts';
import { connectionView } from '../../../wallets/custody/connections/view.ts';
import { intentView } from '../../../wallets/custody/intents/view.ts';
import { walletView } from '../../../wallets/custody/wallets/view.ts';
import { emptyQueue, liveView } from '../../../wallets/delivery/webhooks/view.ts';
import { storeKeys } from '../../../wallets/store/layout.ts';
import { type RestApp, restApp, tokenOf } from '../../support/rest-app.ts';
import { type StoreUnderTest, startStore } from '../../support/store.ts';
import { notes } from './support/notes.ts';

test.each<readonly [string, (record: never) => unknown]>([
  ['a connection', connectionView],
  ['a wallet', (record) => walletView(record, new Map())],
  ['an intent', intentView],
  ['a webhook', (record) => liveView(record, emptyQueue, 0)],
])('%s without the fields of its kind is named', (_, view) => {
  expect(() => view({ id: 'abc_1', version: 1 } as never)).toThrow(expect.objectContaining({ recordId: 'abc_1' }));
});

test('a list names the record that it cannot show', () => {
  const page = { items: [{ id: 'abc_1' }, { id: 'abc_2' }], balances: new Map(), hasMore: false, nextId: undefined };
  const view = ({ id }: { id: string }) => ({ at: new Date(id === 'abc_1' ? 0 : Number.NaN).toISOString() });
  expect(() => listBody('notes', page, view, {} as never)).toThrow(expect.objectContaining({ recordId: 'abc_2' }));
});

describe('a record that was changed', () => {
  let under: StoreUnderTest;
  let rest: RestApp;
  const token = tokenOf('tampered');

  beforeAll(async () => {
    under = await startStore();
    rest = await restApp({ routes: notes().routes, store: await under.open() });
  });
  afterAll(async () => {
    await rest.app.close();
    await under.stop();
  });

  async function made(): Promise<{ id: string; key: string }> {
    const answer = await rest.app.inject({ method: 'POST', url: '/v1/notes', headers: token, payload: { text: 'a' } });
    const { id } = answer.json() as { id: string };
    const [key] = (await under.redis.keys('*')).filter((one) => one.endsWith(`:r:${id}`));
    expect(key).toBe(storeKeys.record(/\{t:(.*)\}/.exec(key!)![1]!, id));
    return { id, key: key! };
  }

  const changes: Readonly<Record<string, (key: string, other: string) => Promise<unknown>>> = {
    'to a text that is no JSON': (key) => under.redis.hset(key, 'd', 'garbage'),
    'to a number': (key) => under.redis.hset(key, 'd', '9'.repeat(400)),
    'to null': (key) => under.redis.hset(key, 'd', 'null'),
    'to another object': (key) => under.redis.hset(key, 'd', '{"a":{"b":[1]}}'),
    'to what looks packed': (key) => under.redis.hset(key, 'd', '2AAAA'),
    'to a copy of another record': async (key, other) =>
      under.redis.hset(key, 'd', (await under.redis.hget(other, 'd'))!),
  };

  test.each(Object.entries(changes))(
    '%s is named to the caller with the remedy, alone and in its list',
    async (_, change) => {
      const [changed, other] = [await made(), await made()];
      await change(changed.key, other.key);
      for (const url of [`/v1/notes/${changed.id}`, '/v1/notes']) {
        const { statusCode, body } = await rest.app.inject({ method: 'GET', url, headers: token });
        expect([url, statusCode]).toEqual([url, 409]);
        const { error } = JSON.parse(body);
        expect(error).toMatchObject({
          code: 'conflict',
          message: `${changed.id} cannot be read: something else than this service changed it in Redis`,
          details: [{ field: '', issue: 'store_tampered' }],
        });
        expect(error.details[0].message).toContain('The operator');
      }
      expect((await rest.app.inject({ method: 'GET', url: `/v1/notes/${other.id}`, headers: token })).statusCode).toBe(
        200,
      );
      await under.redis.del(changed.key);
      expect((await rest.app.inject({ method: 'GET', url: '/v1/notes', headers: token })).statusCode).toBe(200);
    },
  );

  test.each<readonly [string, string, (stored: string) => string]>([
    ['answer', 'a', (stored) => `${stored.slice(0, -4)}AAAA`],
    ['answer', 'a', () => 'garbage'],
    ['answer', 'a', () => ''],
    ['balances', 'w', () => '{'],
  ])('a stored %s that was changed is a refusal with its name, and no 500', async (_, field, change) => {
    const request = {
      method: 'POST',
      url: '/v1/notes',
      headers: { ...token, 'idempotency-key': `key-${Math.random()}` },
    } as const;
    const before = new Set(await under.redis.keys('*:idem:*'));
    expect((await rest.app.inject({ ...request, payload: { text: 'a' } })).statusCode).toBe(201);
    const key = (await under.redis.keys('*:idem:*')).find((one) => !before.has(one))!;
    await under.redis.hset(key, field, change((await under.redis.hget(key, field)) ?? ''));
    const { statusCode, body } = await rest.app.inject({ ...request, payload: { text: 'a' } });
    expect([statusCode, JSON.parse(body).error.details]).toMatchObject([409, [{ issue: 'store_tampered' }]]);
  });

  test('to a value of another type is named as such', async () => {
    const { id, key } = await made();
    await under.redis.del(key);
    await under.redis.set(key, 'x');
    const { statusCode, body } = await rest.app.inject({ method: 'GET', url: `/v1/notes/${id}`, headers: token });
    expect(statusCode).toBe(409);
    expect(JSON.parse(body).error.details).toMatchObject([{ issue: 'store_tampered' }]);
  });

  test.each([
    ['seq', 'n'],
    ['seq', 'm'],
    ['seq', 'b'],
  ])(
    'a tenant’s %s whose %s is no number is named to a caller who creates, and nothing is written',
    async (name, field) => {
      const { id, key } = await made();
      const of = key.slice(0, key.indexOf('r:'));
      const right = (await under.redis.hget(`${of}${name}`, field))!;
      await under.redis.hset(`${of}${name}`, field, 'garbage');
      const records = async () => (await under.redis.keys(`${of}r:*`)).length;
      const before = await records();
      const create = () =>
        rest.app.inject({ method: 'POST', url: '/v1/notes', headers: token, payload: { text: 'b' } });
      const { statusCode, body } = await create();
      expect([statusCode, JSON.parse(body).error]).toMatchObject([
        409,
        {
          message: `the tenant's key ${name} cannot be read: something else than this service changed it in Redis`,
          details: [{ issue: 'store_tampered' }],
        },
      ]);
      expect(await records()).toBe(before);
      expect((await rest.app.inject({ method: 'GET', url: `/v1/notes/${id}`, headers: token })).statusCode).toBe(200);
      await under.redis.hset(`${of}${name}`, field, right);
      expect((await create()).statusCode).toBe(201);
    },
  );
});
