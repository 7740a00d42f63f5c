/** Connecting providers: what is created, what is refused, and which values are never shown. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectionsMax } from '../../../../wallets/custody/connections/connect.ts';
import { openCredentials } from '../../../../wallets/custody/connections/credentials.ts';
import { type ConnectionRecord, connectionType } from '../../../../wallets/custody/connections/record.ts';
import { addressProblem } from '../../../../wallets/networks/addresses.ts';
import { create } from '../../../../wallets/store/changes.ts';
import { EnvelopeBroken } from '../../../../wallets/store/secrets/envelope.ts';
import { goodCredentials, startWorld, type World } from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => {
  await world.stop();
});

const hosted = ['fireblocks', 'bitgo', 'copper'] as const;

describe('POST /v1/provider-connections', () => {
  it.each(hosted)(
    'connects %s, with an event, and keeps credentials that open for this record alone',
    async (provider) => {
      const caller = world.caller();
      const credentials = goodCredentials[provider];
      const metadata = { team: 'treasury' };
      const made = await caller.call('POST', '/v1/provider-connections', {
        provider,
        name: 'Main',
        credentials,
        metadata,
      });
      expect(made.status).toBe(201);
      expect(made.body).toMatchObject({
        provider,
        name: 'Main',
        environment: 'sandbox',
        status: 'connected',
        metadata,
      });
      expect(made.body.credential_fingerprint).toMatch(/^[0-9a-f]{16}$/);
      expect(made.headers.location).toBe(`/v1/provider-connections/${made.body.id}`);
      const { events } = await world.store.events(caller.tenant, { afterSequence: 0, limit: 10, types: [] });
      expect(events).toHaveLength(1);
      expect(events[0]).toMatchObject({ type: 'provider_connection.created', provider, object: made.body });

      const record = await world.store.read(caller.tenant, connectionType, made.body.id);
      const sealed = (record as ConnectionRecord).credentials;
      expect(openCredentials(world.ring, caller.tenant, made.body.id, sealed)).toEqual(credentials);
      expect(() => openCredentials(world.ring, 'another', made.body.id, sealed)).toThrow(EnvelopeBroken);
      expect(() => openCredentials(world.ring, caller.tenant, 'pcn_other', sealed)).toThrow(EnvelopeBroken);
    },
  );

  it('connects the signer cluster, which takes no credentials', async () => {
    const body = { provider: 'self_hosted', name: 'Ours', credentials: {} };
    expect((await world.caller().call('POST', '/v1/provider-connections', body)).status).toBe(201);
  });

  it('answers a repeat under one idempotency key with the first connection', async () => {
    const caller = world.caller();
    const body = { provider: 'bitgo', name: 'Once', credentials: goodCredentials.bitgo };
    const key = { 'idempotency-key': 'connect-1' };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => caller.call('POST', '/v1/provider-connections', body, key)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(await world.store.count(caller.tenant, 'connections')).toBe(1);
  });

  it('tells two sets of credentials apart, and tenants', async () => {
    const [one, other] = [world.caller(), world.caller()];
    const connect = async (caller: typeof one, apiKey: string) =>
      (
        await caller.call('POST', '/v1/provider-connections', {
          provider: 'bitgo',
          name: 'x',
          credentials: { api_key: apiKey },
        })
      ).body.credential_fingerprint;
    const first = await connect(one, 'key-1');
    expect(await connect(one, 'key-1')).toBe(first);
    expect(await connect(one, 'key-2')).not.toBe(first);
    expect(await connect(other, 'key-1')).not.toBe(first);
  });

  it.each(hosted)('names every missing, empty and unknown credential of %s', async (provider) => {
    const [required, ...more] = Object.keys(goodCredentials[provider]);
    const credentials = { [required!]: '  ', wrong: 'top-secret-value-1', also_wrong: 'top-secret-value-2' };
    const refused = await world.caller().call('POST', '/v1/provider-connections', { provider, name: 'x', credentials });
    expect(refused.status).toBe(400);
    expect(refused.body.error.code).toBe('invalid_request');
    const details = refused.body.error.details as { field: string; issue: string }[];
    expect(details).toContainEqual(expect.objectContaining({ field: 'credentials.wrong', issue: 'unknown_field' }));
    expect(details).toContainEqual(
      expect.objectContaining({ field: 'credentials.also_wrong', issue: 'unknown_field' }),
    );
    expect(details).toContainEqual(expect.objectContaining({ field: `credentials.${required}`, issue: 'too_short' }));
    if (provider !== 'bitgo') {
      expect(details).toContainEqual(
        expect.objectContaining({ field: `credentials.${more[0]}`, issue: 'missing_required' }),
      );
    }
    expect(JSON.stringify(refused.body)).not.toContain('top-secret-value');
  });

  it.each([
    [{}, ['provider', 'name', 'credentials']],
    [{ provider: 'sandbox', name: 'x', credentials: {} }, ['provider']],
    [{ provider: 'kraken', name: 'x', credentials: {} }, ['provider']],
    [{ provider: 'bitgo', name: '', credentials: { api_key: 'k' } }, ['name']],
    [{ provider: 'bitgo', name: 7, credentials: { api_key: 'k' } }, ['name']],
    [{ provider: 'bitgo', name: 'x', credentials: 'k' }, ['credentials']],
    [{ provider: 'bitgo', name: 'x', credentials: { api_key: 5 } }, ['credentials.api_key']],
    [{ provider: 'bitgo', name: 'x', credentials: { api_key: 'k'.repeat(16_385) } }, ['credentials.api_key']],
    [{ provider: 'bitgo', name: 'x', credentials: { api_key: 'k' }, environment: 'staging' }, ['environment']],
    [{ provider: 'bitgo', name: 'x', credentials: { api_key: 'k' }, metadata: [] }, ['metadata']],
    [{ provider: 'bitgo', name: 'x', credentials: { api_key: 'k', access_token: 'k' } }, ['credentials.access_token']],
    [{ provider: 'bitgo', name: 'x', credentials: { api_key: 'k' }, extra: true }, ['extra']],
    [{ provider: 'self_hosted', name: 'x', credentials: { api_key: 'k' } }, ['credentials.api_key']],
  ])('refuses %j', async (body, fields) => {
    const refused = await world.caller().call('POST', '/v1/provider-connections', body);
    expect(refused.status).toBe(400);
    const found = (refused.body.error.details as { field: string }[]).map(({ field }) => field);
    expect(found).toEqual(expect.arrayContaining(fields));
  });

  it.each([
    ['fireblocks', '-7'],
    ['bitgo', 'Unauthenticated'],
    ['copper', 'unauthorized'],
  ] as const)(
    'answers 422 with the own error of %s when it refuses the credentials, and makes nothing',
    async (provider, code) => {
      const caller = world.caller();
      const credentials = { ...goodCredentials[provider], api_key: 'invalid-key-8842' };
      const refused = await caller.call('POST', '/v1/provider-connections', { provider, name: 'x', credentials });
      expect(refused.status).toBe(422);
      expect(refused.body.error).toMatchObject({
        code: 'provider_rejected',
        details: [
          { field: 'credentials.api_key', issue: 'invalid_credentials', message: expect.stringContaining(code) },
        ],
      });
      expect(await world.store.count(caller.tenant, 'connections')).toBe(0);
    },
  );

  it.each(hosted)('answers 503 when %s does not answer', async (provider) => {
    const credentials = { ...goodCredentials[provider], api_key: 'unavailable-key' };
    const refused = await world.caller().call('POST', '/v1/provider-connections', { provider, name: 'x', credentials });
    expect(refused.status).toBe(503);
    expect(refused.body.error.code).toBe('provider_unavailable');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });
});

it('takes as many connections as a tenant may have, and one more once another has ended', async () => {
  const caller = world.caller();
  const body = { type: 'bitgo', credentials: goodCredentials.bitgo };
  const first = await caller.call('POST', '/v1/providers/connect', body);
  const pattern = await world.store.read(caller.tenant, connectionType, first.body.id);
  const puts = Array.from({ length: connectionsMax - 2 }, (_, index) =>
    create(connectionType, { ...pattern!, id: `${first.body.id.slice(0, -4)}${index.toString(16).padStart(4, '0')}` }),
  );
  for (let start = 0; start < puts.length; start += 50) {
    await world.store.commit(caller.tenant, { puts: puts.slice(start, start + 50) });
  }
  const count = await world.store.count(caller.tenant, 'connections');
  for (let made = count; made < connectionsMax; made += 1) {
    expect((await caller.call('POST', '/v1/providers/connect', body)).status).toBe(201);
  }
  const refused = await caller.call('POST', '/v1/providers/connect', body);
  expect(refused.status).toBe(409);
  expect(refused.body.error.details).toMatchObject([{ issue: 'too_many' }]);
  await caller.call('POST', `/v1/provider-connections/${first.body.id}/disconnect`);
  expect((await caller.call('POST', '/v1/providers/connect', body)).status).toBe(201);
});

/** The names that the contract speaks of: API key, secret or private key, workspace. */
const contractNames = [
  { api_key: 'k-1', secret: 's-1', workspace: 'w-1' },
  { api_key: 'k-1', secret: 's-1', workspace_id: 'w-1' },
  { api_key: 'k-1', private_key: 's-1', workspace_id: 'w-1' },
  { api_key: 'k-1', api_secret: 's-1' },
];

describe('credentials', () => {
  it.each(hosted.flatMap((provider) => contractNames.map((credentials) => [provider, credentials] as const)))(
    'of %s may stand under the names %j',
    async (provider, credentials) => {
      const body = { provider, name: 'x', credentials };
      expect((await world.caller().call('POST', '/v1/provider-connections', body)).status).toBe(201);
    },
  );

  it('are the same under any of their names', async () => {
    const caller = world.caller();
    const prints = new Set<string>();
    for (const credentials of contractNames.slice(0, 3)) {
      const made = await caller.call('POST', '/v1/provider-connections', {
        provider: 'copper',
        name: 'x',
        credentials,
      });
      prints.add(made.body.credential_fingerprint);
    }
    expect(prints.size).toBe(1);
  });

  it.each(hosted)(
    'that %s does not know are answered with the names that it takes, as the schema has them',
    async (provider) => {
      const caller = world.caller();
      const body = { provider, name: 'x', credentials: { apiKey: 'k' } };
      const refused = await caller.call('POST', '/v1/provider-connections', body);
      expect(refused.status).toBe(400);
      const { body: listed } = await caller.call('GET', '/v1/providers');
      const { credential_schema: schema } = listed.providers.find(({ kind }: { kind: string }) => kind === provider);
      const names = Object.keys(schema.properties);
      expect(names).toEqual(expect.arrayContaining(['api_key', 'secret', 'private_key', 'workspace_id', 'workspace']));
      for (const name of names) expect(refused.body.error.message).toContain(name);
      const unknown = refused.body.error.details.find(({ issue }: { issue: string }) => issue === 'unknown_field');
      for (const name of names) expect(unknown.message).toContain(name);
    },
  );

  it.each([
    { api_key: 'your-api-key', private_key: '-----BEGIN PRIVATE KEY-----' },
    { 'API Key': 'x', секрет: '', constructor: ' ' },
    JSON.parse('{"__proto__": "x", "toString": "y"}') as object,
  ])('of a sandbox are any strings under any names: %j', async (credentials) => {
    const caller = world.caller();
    const made = await caller.call('POST', '/v1/providers/connect', { type: 'sandbox', name: 'Play', credentials });
    expect(made.status).toBe(201);
    const record = await world.store.read(caller.tenant, connectionType, made.body.id);
    const kept = openCredentials(world.ring, caller.tenant, made.body.id, (record as ConnectionRecord).credentials);
    expect(JSON.stringify(kept)).toBe(JSON.stringify(credentials));
  });

  it.each([{ api_key: 1 }, { api_key: null }, { api_key: { a: 'b' } }, ['k'], 'k'])(
    'of a sandbox are strings: not %j',
    async (credentials) => {
      const body = { type: 'sandbox', credentials };
      expect((await world.caller().call('POST', '/v1/providers/connect', body)).status).toBe(400);
    },
  );
});

it('gives metadata back as it came, whatever it holds, in answers, later reads and events', async () => {
  const caller = world.caller();
  const text =
    '{"__proto__":{"admin":true},"constructor":{"prototype":[]},"":null,"a b":[1,-0.5,1e-7,"x",[],{}],"ключ":"значение 💥","\\u0000":{"b":{"c":{"d":{}}}}}';
  const metadata = JSON.parse(text) as object;
  const key = { 'idempotency-key': 'metadata-1' };
  const body = { type: 'sandbox', name: 'Play', metadata };
  const made = await caller.call('POST', '/v1/providers/connect', body, key);
  expect(made.status).toBe(201);
  const again = await caller.call('POST', '/v1/providers/connect', body, key);
  expect(again.headers['idempotent-replayed']).toBe('true');
  const path = `/v1/provider-connections/${made.body.id}`;
  const renamed = await caller.call('PATCH', path, { name: 'New', metadata });
  expect(renamed.body.version).toBe(2);
  const same = await caller.call('PATCH', path, { metadata });
  expect(same.body.version).toBe(2);
  const read = await caller.call('GET', path);
  const { events } = await world.store.events(caller.tenant, { afterSequence: 0, limit: 10, types: [] });
  const told = events.filter(({ type }) => type.startsWith('provider_connection.')).map(({ object }) => object);
  expect(told).toHaveLength(2);
  for (const seen of [made.body, again.body, renamed.body, same.body, read.body, ...told]) {
    expect(JSON.stringify((seen as { metadata: object }).metadata)).toBe(JSON.stringify(metadata));
  }
});

it('records that a connection of a sandbox says production, and simulates it all the same', async () => {
  const caller = world.caller();
  for (const provider of hosted) {
    const body = { provider, name: 'x', credentials: goodCredentials[provider], environment: 'production' };
    const made = await caller.call('POST', '/v1/provider-connections', body);
    expect(made.status).toBe(201);
    expect(made.body.environment).toBe('production');
    const read = await caller.call('GET', `/v1/provider-connections/${made.body.id}`);
    expect(read.body.environment).toBe('production');
  }
});

describe('POST /v1/providers/connect', () => {
  it('gives a sandbox funded wallets on every network, in one change', async () => {
    const caller = world.caller();
    const made = await caller.call('POST', '/v1/providers/connect', { type: 'sandbox', name: 'Play' });
    expect(made.status).toBe(201);
    expect(made.body.test_wallets.map(({ name }: { name: string }) => name)).toEqual([
      'Sandbox ETH',
      'Sandbox BTC',
      'Sandbox SOL',
    ]);
    for (const { id, network, address } of made.body.test_wallets) {
      expect(addressProblem(network, address)).toBeUndefined();
      expect(await world.addressBook.ownerOf(network, address)).toEqual({ tenant: caller.tenant, walletId: id });
    }
    const { events } = await world.store.events(caller.tenant, { afterSequence: 0, limit: 10, types: [] });
    expect(events.map(({ type }) => type)).toEqual([
      'provider_connection.created',
      'wallet.created',
      'wallet.created',
      'wallet.created',
    ]);
    expect(events[1]?.object).toMatchObject({
      provider_connection_id: made.body.id,
      environment: 'sandbox',
      assets: [
        { symbol: 'ETH', balance: '10' },
        { symbol: 'USDC', balance: '10000' },
      ],
    });
  });

  it('connects a custodian by its kind, without test wallets', async () => {
    const body = { type: 'copper', name: 'C', credentials: goodCredentials.copper };
    const made = await world.caller().call('POST', '/v1/providers/connect', body);
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ provider: 'copper', test_wallets: [] });
  });

  it('makes one set of test wallets for one idempotency key', async () => {
    const caller = world.caller();
    const key = { 'idempotency-key': 'play-1' };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => caller.call('POST', '/v1/providers/connect', { type: 'sandbox' }, key)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    expect(await world.store.count(caller.tenant, 'wallets')).toBe(3);
  });
});

describe('a production installation', () => {
  let production: World;
  beforeAll(async () => {
    production = await startWorld('production');
  });
  afterAll(async () => {
    await production.stop();
  });

  it.each(['sandbox', 'production'] as const)('takes %s connections of custodians', async (environment) => {
    const body = { provider: 'bitgo', name: 'x', credentials: goodCredentials.bitgo, environment };
    const made = await production.caller().call('POST', '/v1/provider-connections', body);
    expect(made.status).toBe(201);
    expect(made.body.environment).toBe(environment);
  });

  it('has no production side of the sandbox', async () => {
    const body = { type: 'sandbox', environment: 'production' };
    const refused = await production.caller().call('POST', '/v1/providers/connect', body);
    expect(refused.status).toBe(400);
    expect(refused.body.error.details).toMatchObject([{ field: 'environment', issue: 'not_allowed_value' }]);
  });
});

it('leaves no credential in clear in Redis, in the log or in an answer', async () => {
  const caller = world.caller();
  const key = { 'idempotency-key': 'secret-search' };
  for (const provider of hosted) {
    const body = { provider, name: 'x', credentials: goodCredentials[provider] };
    const made = await caller.call('POST', '/v1/provider-connections', body, key);
    await caller.call('POST', `/v1/provider-connections/${made.body.id}/test`);
    await caller.call('PATCH', `/v1/provider-connections/${made.body.id}`, { credentials: goodCredentials[provider] });
  }
  const secrets = [
    ...Object.values(goodCredentials).flatMap((credentials) => Object.values(credentials)),
    'invalid-key-8842',
    'top-secret-value',
    'your-api-key',
  ];
  const everything = {
    redis: await world.dump(),
    log: JSON.stringify(world.lines),
    answers: world.answers.join('\n'),
  };
  expect(everything.redis.length).toBeGreaterThan(10_000);
  expect(world.answers.length).toBeGreaterThan(50);
  for (const [place, text] of Object.entries(everything)) {
    for (const secret of secrets) {
      for (const form of [
        secret,
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
        Buffer.from(secret).toString('hex'),
      ]) {
        expect(text.includes(form), `${place} holds a credential`).toBe(false);
      }
    }
  }
});
