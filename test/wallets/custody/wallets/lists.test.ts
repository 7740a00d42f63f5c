/** Reading and listing wallets: filters, pages, and who sees what. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allScopes, withinProviders } from '../../../../gateway/api/scopes.ts';
import type { ConnectionRecord } from '../../../../wallets/custody/connections/record.ts';
import { bitcoin, fresh, startWorld, type Tenant, type World } from './support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

const ids = (reply: { body: { wallets: readonly { id: string }[] } }) => reply.body.wallets.map(({ id }) => id);

describe('filters', () => {
  let tenant: Tenant;
  const connections: ConnectionRecord[] = [];
  const made: Record<string, string> = {};

  beforeAll(async () => {
    tenant = world.tenant();
    connections.push(await tenant.connection(), await tenant.connection({ provider: 'bitgo' }));
    const [sandbox, bitgo] = connections as [ConnectionRecord, ConnectionRecord];
    made.plain = (await tenant.wallet(sandbox)).id;
    world.provider.balances = [{ asset: 'BTC', units: 1n }];
    made.bitgo = (await tenant.wallet(bitgo, { network: bitcoin, external_id: 'erp-7' })).id;
    world.provider.balances = [{ asset: 'ETH', units: 1n }];
    made.frozen = (await tenant.wallet(sandbox, { external_id: 'erp-7' })).id;
    made.archived = (await tenant.wallet(sandbox)).id;
    await tenant.call('POST', `/v1/wallets/${made.frozen}/freeze`);
    await tenant.call('POST', `/v1/wallets/${made.archived}/archive`);
  });

  const cases: readonly [query: string, found: readonly string[]][] = [
    ['', ['frozen', 'bitgo', 'plain']],
    ['?status=active', ['bitgo', 'plain']],
    ['?status=frozen', ['frozen']],
    ['?status=archived', ['archived']],
    ['?provider=bitgo', ['bitgo']],
    ['?provider=sandbox', ['frozen', 'plain']],
    ['?provider=copper', []],
    ['?asset=BTC', ['bitgo']],
    ['?asset=SOL', []],
    ['?external_id=erp-7', ['frozen', 'bitgo']],
    ['?external_id=erp-7&provider=bitgo', ['bitgo']],
    ['?external_id=erp-8', []],
    ['?status=archived&asset=ETH', ['archived']],
    ['?status=active&asset=ETH&provider=sandbox', ['plain']],
  ];

  test.each(cases)('%s', async (query, found) => {
    const reply = await tenant.call('GET', `/v1/wallets${query}`);
    expect(reply.status).toBe(200);
    expect(ids(reply)).toEqual(found.map((name) => made[name]));
    expect(reply.body).toMatchObject({ has_more: false, next_cursor: null });
  });

  test('provider_connection_id', async () => {
    const reply = await tenant.call('GET', `/v1/wallets?provider_connection_id=${connections[1]!.id}`);
    expect(ids(reply)).toEqual([made.bitgo]);
    expect(ids(await tenant.call('GET', `/v1/wallets?provider_connection_id=${fresh('pcn')}`))).toEqual([]);
  });

  test('a list shows wallets as they show one by one', async () => {
    for (const listed of (await tenant.call('GET', '/v1/wallets')).body.wallets) {
      expect((await tenant.call('GET', `/v1/wallets/${listed.id}`)).body).toEqual(listed);
    }
  });

  test.each([
    ['provider', 'not_allowed_value', 'provider=kraken'],
    ['status', 'not_allowed_value', 'status=ACTIVE'],
    ['asset', 'not_allowed_value', 'asset=DOGE'],
    ['provider_connection_id', 'invalid_format', 'provider_connection_id=pcn_1'],
    ['external_id', 'invalid_format', 'external_id='],
    ['limit', 'invalid_format', 'limit=0'],
    ['limit', 'invalid_format', 'limit=101'],
    ['limit', 'invalid_format', 'limit=1e1'],
    ['cursor', 'invalid_format', 'cursor=made-up'],
    ['colour', 'unknown_field', 'colour=blue'],
  ])('refuses %s: %s', async (field, issue, query) => {
    const reply = await tenant.call('GET', `/v1/wallets?${query}`);
    expect(reply.status).toBe(400);
    expect(reply.body.error.details).toMatchObject([{ field, issue }]);
  });
});

describe('pages', () => {
  test('hold every wallet once, newest first, also when wallets are made meanwhile', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    const made: string[] = [];
    for (let index = 0; index < 7; index += 1) made.unshift((await tenant.wallet(connection)).id);
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 10; page += 1) {
      const reply = await tenant.call('GET', `/v1/wallets?limit=3${cursor}`);
      seen.push(...ids(reply));
      await tenant.wallet(connection);
      if (!reply.body.has_more) {
        expect(reply.body.next_cursor).toBeNull();
        break;
      }
      cursor = `&cursor=${reply.body.next_cursor}`;
    }
    expect(seen).toEqual(made);
  });

  test('a cursor belongs to its filters', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    await tenant.wallet(connection);
    await tenant.wallet(connection);
    const { next_cursor: cursor } = (await tenant.call('GET', '/v1/wallets?limit=1')).body;
    expect((await tenant.call('GET', `/v1/wallets?limit=2&cursor=${cursor}`)).status).toBe(200);
    expect((await tenant.call('GET', `/v1/wallets?status=active&cursor=${cursor}`)).status).toBe(400);
  });
});

describe('a token that is limited to connections', () => {
  test('sees their wallets alone; what it does not see is 404 on every route', async () => {
    const tenant = world.tenant();
    const [first, second] = [await tenant.connection(), await tenant.connection()];
    const mine = await tenant.wallet(first);
    const hidden = await tenant.wallet(second);
    const limited = tenant.token({ scopes: withinProviders(allScopes), connections: [first.id, fresh('pcn')] });
    expect(ids(await limited('GET', '/v1/wallets'))).toEqual([mine.id]);
    expect(ids(await limited('GET', `/v1/wallets?provider_connection_id=${second.id}`))).toEqual([]);
    expect((await limited('GET', `/v1/wallets/${mine.id}`)).status).toBe(200);
    await expectHidden(limited, hidden.id);
    expect((await tenant.call('GET', `/v1/wallets/${hidden.id}`)).body).toEqual(hidden);
  });

  test('sees nothing when it has none', async () => {
    const tenant = world.tenant();
    await tenant.wallet(await tenant.connection());
    const none = tenant.token({ scopes: withinProviders(allScopes), connections: [] });
    expect(ids(await none('GET', '/v1/wallets'))).toEqual([]);
  });
});

test('another tenant’s wallet is 404 on every route, as one that does not exist', async () => {
  const [tenant, other] = [world.tenant(), world.tenant()];
  const wallet = await tenant.wallet(await tenant.connection());
  await expectHidden(other.call, wallet.id);
  await expectHidden(other.call, fresh('wal'));
  await expectHidden(other.call, 'nonsense');
  expect(ids(await other.call('GET', '/v1/wallets'))).toEqual([]);
  expect((await tenant.call('GET', `/v1/wallets/${wallet.id}`)).body).toEqual(wallet);
});

test('reading needs wallets:read', async () => {
  const tenant = world.tenant();
  const wallet = await tenant.wallet(await tenant.connection());
  const writer = tenant.token({ scopes: ['wallets:write'] });
  expect((await writer('GET', '/v1/wallets')).status).toBe(403);
  expect((await writer('GET', `/v1/wallets/${wallet.id}`)).status).toBe(403);
});

async function expectHidden(call: Tenant['call'], id: string): Promise<void> {
  const replies = [
    await call('GET', `/v1/wallets/${id}`),
    await call('PATCH', `/v1/wallets/${id}`, { name: 'x' }),
    await call('POST', `/v1/wallets/${id}/archive`),
    await call('POST', `/v1/wallets/${id}/freeze`),
    await call('POST', `/v1/wallets/${id}/unfreeze`),
  ];
  for (const { status, body } of replies) {
    expect(status).toBe(404);
    expect(body.error).toMatchObject({ code: 'not_found', message: 'no such wallet' });
  }
}
