/** Connections after their making: lists, new credentials, checks, the end, and who sees what. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allScopes, withinProviders } from '../../../../gateway/api/scopes.ts';
import { openCredentials } from '../../../../wallets/custody/connections/credentials.ts';
import {
  type ConnectionStatus,
  connectionType,
  openIntentsOfConnectionIndex,
} from '../../../../wallets/custody/connections/record.ts';
import { assertUsable, usableConnection } from '../../../../wallets/custody/connections/usable.ts';
import { providerKinds } from '../../../../wallets/providers/port/kinds.ts';
import { ProviderRejected, ProviderUnavailable } from '../../../../wallets/providers/port/port.ts';
import { create, update } from '../../../../wallets/store/changes.ts';
import { until } from '../../../support/until.ts';
import { type Caller, goodCredentials, startWorld, type World } from './support.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => {
  await world.stop();
});

type Custodian = keyof typeof goodCredentials;

async function connect(caller: Caller, provider: Custodian = 'bitgo', name = 'Main'): Promise<string> {
  const body = { provider, name, credentials: goodCredentials[provider] };
  const made = await caller.call('POST', '/v1/provider-connections', body);
  expect(made.status).toBe(201);
  return made.body.id;
}

async function eventTypes(caller: Caller): Promise<string[]> {
  const { events } = await world.store.events(caller.tenant, { afterSequence: 0, limit: 100, types: [] });
  return events.map(({ type }) => type);
}

async function setStatus(caller: Caller, id: string, status: ConnectionStatus): Promise<void> {
  const before = await world.store.read(caller.tenant, connectionType, id);
  const put = update(connectionType, before!, { ...before!, status, version: before!.version + 1 });
  expect(await world.store.commit(caller.tenant, { puts: [put] })).toMatchObject({ committed: true });
}

describe('GET /v1/providers', () => {
  it('lists every kind with what it takes, and the connections to it', async () => {
    const caller = world.caller();
    const id = await connect(caller, 'copper');
    const { status, body } = await caller.call('GET', '/v1/providers');
    expect(status).toBe(200);
    expect(body.providers.map(({ kind }: { kind: string }) => kind)).toEqual([...providerKinds]);
    const [copper] = body.providers.filter(({ kind }: { kind: string }) => kind === 'copper');
    expect(copper).toMatchObject({
      hosting: 'hosted',
      environments: ['sandbox', 'production'],
      credential_schema: {
        type: 'object',
        additionalProperties: false,
        required: ['api_key'],
        allOf: expect.arrayContaining([
          { oneOf: [{ required: ['api_secret'] }, { required: ['secret'] }, { required: ['private_key'] }] },
        ]),
        properties: { api_secret: { type: 'string', writeOnly: true } },
      },
      connections: [{ id }],
    });
    for (const { kind, connections } of body.providers) if (kind !== 'copper') expect(connections).toEqual([]);
  });
});

describe('lists', () => {
  it('pages through all connections, newest first, each once', async () => {
    const caller = world.caller();
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) ids.push(await connect(caller));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await caller.call('GET', `/v1/provider-connections?limit=3${query}`);
      seen.push(...body.provider_connections.map((one: { id: string }) => one.id));
      cursor = body.next_cursor;
      expect(body.has_more).toBe(cursor !== null);
    } while (cursor !== null);
    expect(seen).toEqual(ids.sort().reverse());
  });

  it('filters by provider and status', async () => {
    const caller = world.caller();
    const bitgo = await connect(caller, 'bitgo');
    const copper = await connect(caller, 'copper');
    await caller.call('POST', `/v1/provider-connections/${copper}/disconnect`);
    const list = async (query: string) => {
      const { body } = await caller.call('GET', `/v1/provider-connections?${query}`);
      return body.provider_connections.map(({ id }: { id: string }) => id);
    };
    expect(await list('provider=bitgo')).toEqual([bitgo]);
    expect(await list('status=disconnected')).toEqual([copper]);
    expect(await list('provider=bitgo&status=disconnected')).toEqual([]);
  });

  it.each(['limit=0', 'limit=101', 'provider=kraken', 'status=gone', 'cursor=AAAA', 'colour=red'])(
    'refuses %s',
    async (query) => {
      const refused = await world.caller().call('GET', `/v1/provider-connections?${query}`);
      expect(refused.status).toBe(400);
      expect(refused.body.error.details[0].field).toBe(query.split('=')[0]);
    },
  );
});

describe('PATCH', () => {
  it('renames, replaces metadata, and leaves the rest', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    const before = (await caller.call('GET', `/v1/provider-connections/${id}`)).body;
    const patch = { name: 'New name', metadata: { a: '1' } };
    const { status, body } = await caller.call('PATCH', `/v1/provider-connections/${id}`, patch);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, ...patch, version: 2, updated_at: body.updated_at });
    expect((await caller.call('GET', `/v1/provider-connections/${id}`)).body).toEqual(body);
    expect(await eventTypes(caller)).toEqual(['provider_connection.created', 'provider_connection.updated']);
  });

  it('replaces the credentials once the provider has taken them', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    const before = (await caller.call('GET', `/v1/provider-connections/${id}`)).body;
    const credentials = { api_key: 'the-next-key' };
    const { status, body } = await caller.call('PATCH', `/v1/provider-connections/${id}`, { credentials });
    expect(status).toBe(200);
    expect(body.credential_fingerprint).not.toBe(before.credential_fingerprint);
    const record = await world.store.read(caller.tenant, connectionType, id);
    expect(openCredentials(world.ring, caller.tenant, id, record!.credentials)).toEqual(credentials);
  });

  it('makes no new version of what is the same already, nor of another version than expected', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    const path = `/v1/provider-connections/${id}`;
    const patch = { name: 'Main', metadata: {} };
    expect((await caller.call('PATCH', path, patch)).body.version).toBe(1);
    const refused = await caller.call('PATCH', path, { name: 'Other', expected_version: 2 });
    expect(refused.status).toBe(409);
    expect(refused.body.error.details).toMatchObject([{ field: 'expected_version', issue: 'version_conflict' }]);
    expect((await caller.call('PATCH', path, { name: 'Other', expected_version: 1 })).body.version).toBe(2);
    expect(await eventTypes(caller)).toEqual(['provider_connection.created', 'provider_connection.updated']);
  });

  it.each([
    [{ credentials: { api_key: 'invalid' } }, 422],
    [{ credentials: { api_key: 'unavailable' } }, 503],
    [{ credentials: { api_secret: 'x' } }, 400],
    [{}, 400],
    [{ provider: 'copper' }, 400],
    [{ name: '' }, 400],
  ])('changes nothing for %j', async (patch, status) => {
    const caller = world.caller();
    const id = await connect(caller);
    const before = (await caller.call('GET', `/v1/provider-connections/${id}`)).body;
    expect((await caller.call('PATCH', `/v1/provider-connections/${id}`, patch)).status).toBe(status);
    expect((await caller.call('GET', `/v1/provider-connections/${id}`)).body).toEqual(before);
  });

  it('keeps every one of many changes at once', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        caller.call('PATCH', `/v1/provider-connections/${id}`, { name: `name ${index}` }),
      ),
    );
    const versions = answers.map(({ body }) => body.version).sort();
    expect(versions).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect((await eventTypes(caller)).filter((type) => type === 'provider_connection.updated')).toHaveLength(8);
  });
});

describe('POST …/test', () => {
  const failures = [
    ['ok', undefined, 'connected'],
    [
      'rejected',
      new ProviderRejected('the key has expired', { issue: 'invalid_credentials', providerCode: 'EXPIRED' }),
      'error',
    ],
    ['unavailable', new ProviderUnavailable('no answer'), 'degraded'],
  ] as const;

  it.each(failures)('says %s and sets the status', async (outcome, failure, status) => {
    const caller = world.caller();
    const id = await connect(caller);
    const bitgo = world.adapters.get('bitgo')!;
    const given: Readonly<Record<string, string>>[] = [];
    world.adapters.set('bitgo', {
      ...bitgo,
      connect: async (...words) => {
        given.push(words[2]);
        if (failure !== undefined) throw failure;
        return bitgo.connect(...words);
      },
    });
    try {
      const tested = await caller.call('POST', `/v1/provider-connections/${id}/test`);
      expect(tested.status).toBe(200);
      expect(tested.body).toMatchObject({ id, status, check: { outcome } });
      expect(tested.body.check.provider_code).toBe(outcome === 'rejected' ? 'EXPIRED' : null);
      expect(given).toEqual([goodCredentials.bitgo]);
    } finally {
      world.adapters.set('bitgo', bitgo);
    }
    expect((await caller.call('GET', `/v1/provider-connections/${id}`)).body.status).toBe(status);
    expect((await eventTypes(caller)).at(-1)).toBe('provider_connection.tested');
  });

  it.each([
    ['lapsing', 'error'],
    ['flaky', 'degraded'],
  ])('finds credentials that are %s wanting a second after the connection was made', async (word, status) => {
    const providers = ['fireblocks', 'bitgo', 'copper', 'sandbox'] as const;
    const ends = providers.map(async (provider) => {
      const caller = world.caller();
      const own = provider === 'sandbox' ? {} : goodCredentials[provider];
      const credentials = { ...own, api_key: `a-${word}-key` };
      const made = await caller.call('POST', '/v1/providers/connect', { type: provider, credentials });
      expect(made.body.status).toBe('connected');
      const test = async () => (await caller.call('POST', `/v1/provider-connections/${made.body.id}/test`)).body.status;
      await until(async () => (await test()) === status, `${provider} is ${status}`);
    });
    await Promise.all(ends);
  });

  it('says that stored credentials cannot be read when no key opens them', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    const before = await world.store.read(caller.tenant, connectionType, id);
    const moved = { ...before!, credentials: before!.credentials.replace('e1.1.', 'e1.9.'), version: 2 };
    await world.store.commit(caller.tenant, { puts: [update(connectionType, before!, moved)] });
    const tested = await caller.call('POST', `/v1/provider-connections/${id}/test`);
    expect(tested.body).toMatchObject({ status: 'error', check: { outcome: 'rejected', provider_code: null } });
    expect(tested.body.check.message).toMatch(/cannot be decrypted: give them again/);
    expect(world.lines).toContainEqual(
      expect.objectContaining({
        message: 'stored credentials cannot be decrypted',
        fields: expect.objectContaining({ connection_id: id }),
      }),
    );
  });

  it('refuses a connection that is disconnected', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    await caller.call('POST', `/v1/provider-connections/${id}/disconnect`);
    const refused = await caller.call('POST', `/v1/provider-connections/${id}/test`);
    expect(refused.status).toBe(409);
    expect(refused.body.error.details).toMatchObject([{ issue: 'connection_disconnected' }]);
  });
});

describe('POST …/disconnect', () => {
  it('forgets the credentials, once, and new ones revive the connection', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    const first = await caller.call('POST', `/v1/provider-connections/${id}/disconnect`);
    expect(first.body).toMatchObject({ status: 'disconnected', version: 2 });
    const again = await caller.call('POST', `/v1/provider-connections/${id}/disconnect`);
    expect(again.body).toEqual(first.body);
    expect((await world.store.read(caller.tenant, connectionType, id))?.credentials).toBe('');
    expect(await eventTypes(caller)).toEqual(['provider_connection.created', 'provider_connection.disconnected']);
    const revived = await caller.call('PATCH', `/v1/provider-connections/${id}`, { credentials: { api_key: 'k' } });
    expect(revived.body.status).toBe('connected');
  });

  it('leaves a job behind that revokes open sessions, where this cluster signs', async () => {
    const caller = world.caller();
    const own = { provider: 'self_hosted', name: 'Ours', credentials: {} };
    const { body } = await caller.call('POST', '/v1/provider-connections', own);
    for (const id of [await connect(caller), body.id]) {
      expect((await caller.call('POST', `/v1/provider-connections/${id}/disconnect`)).status).toBe(200);
    }
    const { members } = await world.store.takeDue(caller.tenant, Date.now() + 1_000, 0, 10);
    expect(members).toEqual([expect.stringContaining(body.id)]);
  });

  it('is refused while an intent of one of its wallets is open', async () => {
    const caller = world.caller();
    const id = await connect(caller);
    const open = { name: 'thing', status: () => '', indices: () => [openIntentsOfConnectionIndex(id)] };
    const thing = { id: 'txi_1', version: 1 };
    await world.store.commit(caller.tenant, { puts: [create(open, thing)] });
    const refused = await caller.call('POST', `/v1/provider-connections/${id}/disconnect`);
    expect(refused.status).toBe(409);
    expect(refused.body.error.details).toMatchObject([{ issue: 'open_intents' }]);
    expect((await caller.call('GET', `/v1/provider-connections/${id}`)).body.status).toBe('connected');
    const closed = { ...open, indices: () => [] };
    await world.store.commit(caller.tenant, {
      removals: [{ type: open, before: thing }],
      puts: [create(closed, { id: 'txi_2', version: 1 })],
    });
    expect((await caller.call('POST', `/v1/provider-connections/${id}/disconnect`)).status).toBe(200);
  });
});

describe('who sees what', () => {
  const paths = (id: string): readonly [string, string, unknown?][] => [
    ['GET', `/v1/provider-connections/${id}`],
    ['PATCH', `/v1/provider-connections/${id}`, { name: 'x' }],
    ['POST', `/v1/provider-connections/${id}/test`],
    ['POST', `/v1/provider-connections/${id}/disconnect`],
  ];

  it('answers another tenant, an unknown id and an id of another kind alike: 404', async () => {
    const owner = world.caller();
    const id = await connect(owner);
    const sandbox = await owner.call('POST', '/v1/providers/connect', { type: 'sandbox' });
    const walletId = sandbox.body.test_wallets[0].id;
    for (const [caller, asked] of [
      [world.caller(), id],
      [owner, 'pcn_01938f2a-7c1e-7d40-9b5e-2f6d8c1a0b3e'],
      [owner, walletId],
      [owner, '..'],
    ] as const) {
      for (const [method, path, body] of paths(encodeURIComponent(asked))) {
        const answer = await caller.call(method, path, body);
        expect(answer.status, `${method} ${path}`).toBe(404);
        expect(answer.body.error.code).toBe('not_found');
      }
    }
  });

  it('shows a limited token its own connections alone, and lets it change none', async () => {
    const owner = world.caller();
    const [mine, theirs, second] = [await connect(owner), await connect(owner), await connect(owner, 'copper')];
    const limited = world.caller({
      tenant: owner.tenant,
      scopes: withinProviders(allScopes),
      connectionIds: [mine, second],
    });
    expect((await limited.call('GET', `/v1/provider-connections/${mine}`)).status).toBe(200);
    expect((await limited.call('GET', `/v1/provider-connections/${theirs}`)).status).toBe(404);
    const idsOf = ({ body }: { body: { provider_connections: { id: string }[] } }) =>
      body.provider_connections.map(({ id }) => id);
    expect(idsOf(await limited.call('GET', '/v1/provider-connections'))).toEqual([second, mine]);
    expect(idsOf(await limited.call('GET', '/v1/provider-connections?provider=bitgo'))).toEqual([mine]);
    const page = await limited.call('GET', '/v1/provider-connections?limit=1');
    expect(page.body).toMatchObject({ has_more: true, provider_connections: [{ id: second }] });
    const rest = await limited.call('GET', `/v1/provider-connections?limit=1&cursor=${page.body.next_cursor}`);
    expect(rest.body).toMatchObject({ has_more: false, next_cursor: null, provider_connections: [{ id: mine }] });
    const { body } = await limited.call('GET', '/v1/providers');
    const shown = body.providers.flatMap(({ connections }: { connections: { id: string }[] }) => connections);
    expect(shown.map(({ id }: { id: string }) => id).sort()).toEqual([mine, second].sort());
    for (const [method, path, change] of paths(mine).slice(1)) {
      expect((await limited.call(method, path, change)).status).toBe(403);
    }
    expect((await limited.call('POST', '/v1/providers/connect', { type: 'sandbox' })).status).toBe(403);
  });

  it('asks for its scope on every route', async () => {
    const reader = world.caller({ scopes: ['providers:read'] });
    const writer = world.caller({ scopes: ['providers:write'] });
    expect((await reader.call('GET', '/v1/providers')).status).toBe(200);
    expect((await writer.call('GET', '/v1/providers')).status).toBe(403);
    expect((await writer.call('GET', '/v1/provider-connections')).status).toBe(403);
    const body = { type: 'sandbox' };
    expect((await reader.call('POST', '/v1/providers/connect', body)).status).toBe(403);
    expect((await writer.call('POST', '/v1/providers/connect', body)).status).toBe(201);
  });
});

describe('a connection for new work', () => {
  it.each([
    ['connected', undefined],
    ['degraded', undefined],
    ['error', 'connection_in_error'],
    ['disconnected', 'connection_disconnected'],
  ] as const)('%s', async (status, issue) => {
    const caller = world.caller();
    const id = await connect(caller);
    await setStatus(caller, id, status);
    const principal = {
      tenant: caller.tenant,
      environment: 'sandbox',
      scopes: new Set(allScopes),
      tokenId: 'tok_1',
      actorId: 'tok_1',
      providerConnectionIds: undefined,
    } as const;
    const asked = usableConnection({ tenant: caller.tenant, principal, store: world.store }, id);
    if (issue === undefined) {
      expect(assertUsable(await asked)).toBeUndefined();
      expect((await asked).id).toBe(id);
    } else {
      await expect(asked).rejects.toMatchObject({
        kind: 'conflict',
        details: [{ field: 'provider_connection_id', issue }],
      });
    }
  });
});
