/** A tenant that stores as much as it may makes nothing new, is told why, and can do everything else. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RedisTenantStore } from '../../../wallets/store/redis-tenant-store.ts';
import { type StoreUnderTest, startMemoryStore } from '../../support/memory-store.ts';
import { type RestApp, restApp, tokenOf } from '../../support/rest-app.ts';
import { storePorts } from '../../support/store-ports.ts';
import { notes } from './support/notes.ts';

let under: StoreUnderTest;
let app: RestApp['app'];
const room = notes();

beforeAll(async () => {
  under = startMemoryStore();
  const store = new RedisTenantStore(under.redis, storePorts, 20_000);
  ({ app } = await restApp({ routes: room.routes, store }));
});
afterAll(async () => {
  await app.close();
  await under.stop();
});

const token = tokenOf('quota');
const post = (of: object, key: string) =>
  app.inject({
    method: 'POST',
    url: '/v1/notes',
    headers: { ...of, 'idempotency-key': key },
    payload: { text: 'x'.repeat(100) },
  });

test('what is new is refused with the limit and the remedy; reads, changes and repeats continue; other tenants too', async () => {
  const first = await post(token, 'k0');
  expect(first.statusCode).toBe(201);
  let [made, refused] = [1, await post(token, 'k1')];
  for (; refused.statusCode === 201 && made < 100; made += 1) refused = await post(token, `k${made + 1}`);
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['retry-after']).toBe('3600');
  expect(refused.json()).toMatchObject({
    error: { code: 'rate_limited', details: [{ issue: 'tenant_quota_exceeded' }] },
  });
  expect(refused.json().error.details[0].message).toContain('SIGNMESH_TENANT_BYTES');
  // A note takes 158 bytes beside what is counted for each record and for each answer that is kept.
  expect(made).toBeGreaterThan(10);
  expect(made).toBeLessThan(24);

  const { id } = first.json() as { id: string };
  const statusOf = async (method: 'GET' | 'POST', url: string) =>
    (await app.inject({ method, url, headers: token })).statusCode;
  expect(await statusOf('GET', `/v1/notes/${id}`)).toBe(200);
  expect(await statusOf('POST', `/v1/notes/${id}/bump`)).toBe(200);
  expect((await post(token, 'k0')).json()).toEqual(first.json());
  expect((await post(tokenOf('quotaother'), 'k')).statusCode).toBe(201);
});
