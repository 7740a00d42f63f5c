/** Creating wallets: what is taken, what is refused, and that a repeat makes no second one. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { allScopes, withinProviders } from '../../../../gateway/api/scopes.ts';
import { connectionType } from '../../../../wallets/custody/connections/record.ts';
import { ProviderRejected, ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { update } from '../../../../wallets/store/changes.ts';
import { storeKeys } from '../../../../wallets/store/layout.ts';
import { addressOf, evm, fresh, startWorld, type World } from './support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());
beforeEach(() => {
  world.provider.next = () => undefined;
});

describe('a wallet', () => {
  test('of a connection that says production is a sandbox wallet in a sandbox', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection({ environment: 'production' });
    const wallet = await tenant.wallet(connection);
    expect(wallet.environment).toBe('sandbox');
    expect(world.provider.connections.at(-1)).toMatchObject({ id: connection.id, environment: 'sandbox' });
  });

  test('gives its metadata back as it came', async () => {
    const tenant = world.tenant();
    const metadata = JSON.parse('{"__proto__":{"admin":1},"constructor":[null,1.5,{"a":"é💥"}],"":{}}') as object;
    const made = await tenant.wallet(await tenant.connection(), { metadata });
    const path = `/v1/wallets/${made.id}`;
    const read = await tenant.call('GET', path);
    const same = await tenant.call('PATCH', path, { metadata });
    const listed = await tenant.call('GET', '/v1/wallets');
    for (const seen of [made, read.body, same.body, listed.body.wallets[0]]) {
      expect(JSON.stringify(seen.metadata)).toBe(JSON.stringify(metadata));
      expect(seen.version).toBe(1);
    }
  });

  test('is created with its addresses, its balances and its event', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    const { status, body, headers } = await tenant.call('POST', '/v1/wallets', {
      name: 'Treasury',
      provider_connection_id: connection.id,
      network: evm,
      policy: 'treasury',
      approval_mode: 'human_required',
      signing_api: 'intents_only',
      external_id: 'erp-7',
      metadata: { team: 'ops' },
    });
    expect(status).toBe(201);
    expect(headers.location).toBe(`/v1/wallets/${body.id}`);
    expect(body).toEqual({
      id: expect.stringMatching(/^wal_/),
      name: 'Treasury',
      provider: 'sandbox',
      provider_connection_id: connection.id,
      provider_wallet_id: `vault-${body.id.slice(-12)}`,
      status: 'active',
      environment: 'sandbox',
      network: evm,
      addresses: [{ network: evm, address: addressOf(body.id) }],
      public_key: null,
      key_scheme: null,
      key_exposed: false,
      assets: [
        { symbol: 'ETH', balance: '1.5', available: '1.5', pending: '0', network: evm, decimals: 18, contract: null },
      ],
      approval_mode: 'human_required',
      signing_api: 'intents_only',
      policy: 'treasury',
      external_id: 'erp-7',
      metadata: { team: 'ops' },
      version: 1,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: body.created_at,
      archived_at: null,
      archive_reason: null,
    });
    expect((await tenant.call('GET', `/v1/wallets/${body.id}`)).body).toEqual(body);
    expect(await world.addressBook.ownerOf(evm, addressOf(body.id))).toEqual({ tenant: tenant.id, walletId: body.id });
    const { events } = await world.store.events(tenant.id, { afterSequence: 0, limit: 10, types: [] });
    expect(events).toHaveLength(1);
    // So a reader finds the events of a wallet from its time of creation on.
    const since = { createdAfterMs: Date.parse(body.created_at), resourceId: body.id };
    expect((await world.store.events(tenant.id, { afterSequence: 0, limit: 10, types: [], ...since })).events).toEqual(
      events,
    );
    expect(events[0]).toMatchObject({
      type: 'wallet.created',
      resource: { type: 'wallet', id: body.id, version: 1 },
      provider: 'sandbox',
      connectionId: connection.id,
      object: body,
    });
  });

  test('has defaults for everything that is left out', async () => {
    const tenant = world.tenant();
    const body = await tenant.wallet(await tenant.connection());
    expect(body).toMatchObject({
      approval_mode: 'unspecified',
      signing_api: 'allowed',
      policy: null,
      external_id: null,
      metadata: {},
    });
  });

  test('of a production connection is for intents alone, unless it says otherwise', async () => {
    const production = await startWorld('production');
    try {
      const tenant = production.tenant();
      const connection = await tenant.connection({ environment: 'production' });
      expect(await tenant.wallet(connection)).toMatchObject({ environment: 'production', signing_api: 'intents_only' });
      expect(await tenant.wallet(connection, { signing_api: 'allowed' })).toMatchObject({ signing_api: 'allowed' });
    } finally {
      await production.stop();
    }
  });

  test('shows an asset that holds nothing with zeros', async () => {
    const tenant = world.tenant();
    world.provider.balances = [
      { asset: 'ETH', units: 1n },
      { asset: 'USDC', units: 0n },
    ];
    try {
      const { assets } = await tenant.wallet(await tenant.connection());
      expect(assets.map(({ symbol, balance }: Record<string, string>) => [symbol, balance])).toEqual([
        ['ETH', '0.000000000000000001'],
        ['USDC', '0'],
      ]);
    } finally {
      world.provider.balances = [{ asset: 'ETH', units: 1_500_000_000_000_000_000n }];
    }
  });
});

describe('a bad request is a 400 that names the field', () => {
  const cases: readonly [field: string, issue: string, over: Record<string, unknown>][] = [
    ['name', 'missing_required', { name: undefined }],
    ['name', 'wrong_type', { name: 7 }],
    ['name', 'wrong_type', { name: null }],
    ['name', 'too_short', { name: '' }],
    ['name', 'too_long', { name: 'x'.repeat(101) }],
    ['name', 'invalid_format', { name: 'two\nlines' }],
    ['provider_connection_id', 'missing_required', { provider_connection_id: undefined }],
    ['provider_connection_id', 'invalid_format', { provider_connection_id: 'pcn_1' }],
    ['provider_connection_id', 'wrong_type', { provider_connection_id: ['pcn_1'] }],
    ['network', 'missing_required', { network: undefined }],
    ['network', 'not_allowed_value', { network: 'eip155:1' }],
    ['network', 'wrong_type', { network: {} }],
    ['policy', 'not_found', { policy: 'no-such-policy' }],
    ['policy', 'wrong_type', { policy: 1 }],
    ['policy', 'too_short', { policy: '' }],
    ['approval_mode', 'not_allowed_value', { approval_mode: 'sometimes' }],
    ['signing_api', 'not_allowed_value', { signing_api: 'denied' }],
    ['external_id', 'invalid_format', { external_id: 'has space' }],
    ['external_id', 'invalid_format', { external_id: '' }],
    ['external_id', 'invalid_format', { external_id: 'x'.repeat(129) }],
    ['metadata', 'wrong_type', { metadata: [] }],
    ['metadata', 'too_large', { metadata: { a: 'x'.repeat(16_384) } }],
    ['metadata', 'too_deep', { metadata: { a: [[[[[[[[]]]]]]]] } }],
    [
      'metadata',
      'too_many_items',
      { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, ''])) },
    ],
    ['colour', 'unknown_field', { colour: 'blue' }],
    ['status', 'unknown_field', { status: 'archived' }],
  ];

  test.each(cases)('%s: %s', async (field, issue, over) => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    const before = world.provider.orders.length;
    const body = { name: 'w', provider_connection_id: connection.id, network: evm, ...over };
    const reply = await tenant.call('POST', '/v1/wallets', body);
    expect(reply.status).toBe(400);
    expect(reply.body.error).toMatchObject({ code: 'invalid_request', details: [{ field, issue }] });
    expect(world.provider.orders.length).toBe(before);
    expect((await tenant.call('GET', '/v1/wallets')).body.wallets).toEqual([]);
  });

  test.each(['[]', '7', 'null', '"x"', ''])('a body that is no object: %s', async (body) => {
    const { status } = await world.tenant().call('POST', '/v1/wallets', body);
    expect(status).toBe(400);
  });

  test('a network that the provider does not serve', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection({ provider: 'bitgo' });
    const body = { name: 'w', provider_connection_id: connection.id, network: evm };
    const reply = await tenant.call('POST', '/v1/wallets', body);
    expect(reply.status).toBe(400);
    expect(reply.body.error.details).toMatchObject([{ field: 'network', issue: 'not_allowed_value' }]);
  });
});

describe('the connection', () => {
  const order = (id: string) => ({ name: 'w', provider_connection_id: id, network: evm });

  test('must exist, be of the tenant, and be seen by the token: all answer alike', async () => {
    const [tenant, other] = [world.tenant(), world.tenant()];
    const mine = await tenant.connection();
    const theirs = await other.connection();
    const limited = tenant.token({ scopes: withinProviders(allScopes), connections: [fresh('pcn')] });
    const refusals = [
      await tenant.call('POST', '/v1/wallets', order(fresh('pcn'))),
      await tenant.call('POST', '/v1/wallets', order(theirs.id)),
      await limited('POST', '/v1/wallets', order(mine.id)),
    ];
    for (const { status, body } of refusals) {
      expect(status).toBe(404);
      expect({ ...body.error, request_id: '' }).toEqual({ ...refusals[0]!.body.error, request_id: '' });
      expect(body.error.details).toMatchObject([{ field: 'provider_connection_id', issue: 'not_found' }]);
    }
  });

  test('must be usable', async () => {
    const tenant = world.tenant();
    for (const status of ['disconnected', 'error'] as const) {
      const connection = await tenant.connection({ status });
      const reply = await tenant.call('POST', '/v1/wallets', order(connection.id));
      expect(reply.status, status).toBe(409);
      expect(reply.body.error.details).toMatchObject([{ field: 'provider_connection_id' }]);
    }
    await tenant.wallet(await tenant.connection({ status: 'degraded' }));
  });

  test('that is disconnected while the provider works gets no wallet', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    let runs = 0;
    world.provider.next = async () => {
      runs += 1;
      const after = { ...connection, version: 2, status: 'disconnected' } as const;
      if (runs === 1) await world.store.commit(tenant.id, { puts: [update(connectionType, connection, after)] });
    };
    const reply = await tenant.call('POST', '/v1/wallets', order(connection.id));
    expect(reply.status).toBe(409);
    expect(reply.body.error.details).toMatchObject([{ issue: 'connection_disconnected' }]);
    expect((await tenant.call('GET', '/v1/wallets')).body.wallets).toEqual([]);
  });

  test('whose provider refuses or is away: 422 and 503, and no wallet', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    world.provider.next = () => {
      throw new ProviderRejected('vaults are used up', { issue: 'quota', providerCode: 'E42' });
    };
    const refused = await tenant.call('POST', '/v1/wallets', order(connection.id));
    expect(refused.status).toBe(422);
    expect(refused.body.error).toMatchObject({
      code: 'provider_rejected',
      details: [{ issue: 'quota', message: 'E42: vaults are used up' }],
    });
    world.provider.next = () => {
      throw new ProviderUnavailable('maintenance', 5_000);
    };
    const away = await tenant.call('POST', '/v1/wallets', order(connection.id));
    expect(away.status).toBe(503);
    expect(away.headers['retry-after']).toBe('5');
    expect((await tenant.call('GET', '/v1/wallets')).body.wallets).toEqual([]);
  });
});

describe('an idempotency key', () => {
  test('makes one wallet of twenty equal requests at once', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    const body = { name: 'once', provider_connection_id: connection.id, network: evm };
    const headers = { 'idempotency-key': 'k-1' };
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => tenant.call('POST', '/v1/wallets', body, headers)),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
    expect(new Set(replies.map((reply) => reply.body.id)).size).toBe(1);
    expect(replies.filter((reply) => reply.headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect((await tenant.call('GET', '/v1/wallets')).body.wallets).toHaveLength(1);
  });

  test('asks the provider for the same wallet again when the first try failed half way', async () => {
    const tenant = world.tenant();
    const connection = await tenant.connection();
    const body = { name: 'again', provider_connection_id: connection.id, network: evm };
    const headers = { 'idempotency-key': 'k-2' };
    world.provider.orders.length = 0;
    world.provider.next = () => {
      if (world.provider.orders.length === 1) throw new ProviderUnavailable('lost');
    };
    expect((await tenant.call('POST', '/v1/wallets', body, headers)).status).toBe(503);
    const second = await tenant.call('POST', '/v1/wallets', body, headers);
    expect(second.status).toBe(201);
    expect(second.body.id).toBe(world.provider.orders[1]!.walletId);
  });
});

test('creating needs wallets:write, also of a token that is limited to connections', async () => {
  const tenant = world.tenant();
  const connection = await tenant.connection();
  const body = { name: 'w', provider_connection_id: connection.id, network: evm };
  const reader = tenant.token({ scopes: ['wallets:read'] });
  const refused = await reader('POST', '/v1/wallets', body);
  expect(refused.status).toBe(403);
  const limited = tenant.token({ scopes: withinProviders(allScopes), connections: [connection.id] });
  expect((await limited('POST', '/v1/wallets', body)).status).toBe(201);
});

test('a connection without the values of its kind is named in the answer to a new wallet; its wallets can be changed', async () => {
  const tenant = world.tenant();
  const connection = await tenant.connection();
  const wallet = await tenant.wallet(connection);
  const { version: _, ...document } = connection;
  await world.backend.redis.hset(storeKeys.record(tenant.id, connection.id), 'd', JSON.stringify(document));
  const order = { name: 'w', provider_connection_id: connection.id, network: evm };
  const refused = await tenant.call('POST', '/v1/wallets', order);
  expect([refused.status, refused.body.error.details]).toMatchObject([409, [{ issue: 'store_tampered' }]]);
  expect((await tenant.call('PATCH', `/v1/wallets/${wallet.id}`, { name: 'new' })).status).toBe(200);
  expect((await tenant.call('POST', `/v1/wallets/${wallet.id}/freeze`, {})).status).toBe(200);
});
