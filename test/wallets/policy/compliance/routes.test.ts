/** Compliance over HTTP: screening, reports that never change, and lists in versions that every gateway sees. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Door, startWorld, type World } from '../policies/support/door.ts';

const evm = 'eip155:11155111';
const address = '0x52908400098527886E0F7030069857D2E4169EE7';
const sanctioned = '0x000000000000000000000000000000000000dEaD';

let world: World;
let door: Door;

beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  world.newTenant();
  door = await world.open();
});
afterAll(() => world.stop());

const screen = async (subject: object, at: Door = door) => {
  const reply = await at.post('/v1/compliance/screen', { subject: { type: 'address', network: evm, ...subject } });
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  return reply.body;
};
const put = (name: string, kind: string, entries: readonly object[], more: object = {}) =>
  door.post('/v1/compliance/lists', { name, kind, entries, ...more });

describe('screening over HTTP', () => {
  it('asks the entries of every network where none is named', async () => {
    for (const address of [sanctioned, sanctioned.toLowerCase(), '111111111111111111111111111111Hwr']) {
      expect(await screen({ address, network: undefined })).toMatchObject({ decision: 'blocked' });
    }
  });

  it('takes an address of a main network for a list of any network', async () => {
    const mainnet = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
    expect((await put('ours', 'deny', [{ address: mainnet }])).status).toBe(201);
    expect((await screen({ address: mainnet, network: undefined })).decision).toBe('blocked');
  });

  it('takes no list with an address that is none', async () => {
    const reply = await put('short', 'deny', [{ address: sanctioned.slice(0, -1) }]);
    expect(reply).toMatchObject({
      status: 400,
      body: { error: { details: [{ field: 'entries[0].address', issue: 'invalid_format' }] } },
    });
  });

  it.each(['default ', ' x', 'd\u0435fault', 'a\u200bb', 'a  b'])('takes no list of the name %j', async (name) => {
    expect((await put(name, 'deny', [])).status).toBe(400);
  });

  it('keeps 100 versions of a list, and a replaced one for 30 days', async () => {
    const { id } = (await put('ours', 'deny', [{ address }])).body;
    await put('ours', 'deny', []);
    const lives = await world.under.redis.keys(`*${id}.v*`);
    const left = await Promise.all(lives.toSorted().map((key) => world.under.redis.pttl(key)));
    expect(left).toEqual([expect.any(Number), -1]);
    expect(left[0]).toBeGreaterThan(29 * 24 * 3_600_000);
    expect((await door.get(`/v1/compliance/lists/${id}?version=1`)).body).toMatchObject({ version: 1, entry_count: 1 });
    for (let version = 3; version <= 100; version++) expect((await put('ours', 'deny', [])).status).toBe(201);
    expect(await put('ours', 'deny', [])).toMatchObject({
      status: 409,
      body: { error: { details: [{ field: 'name', issue: 'too_many' }] } },
    });
  });

  it('knows the test lists of a sandbox', async () => {
    expect(await screen({ address })).toMatchObject({
      decision: 'clear',
      risk_score: 0,
      matches: [],
      list_versions: { test_sanctions: 1, test_watch: 1 },
    });
    expect(await screen({ address: sanctioned.toLowerCase() })).toMatchObject({
      decision: 'blocked',
      risk_score: 100,
      matches: [{ list_name: 'test_sanctions', kind: 'sanctions', entry: sanctioned }],
    });
    expect(await screen({ type: 'individual', name: 'WATCHED test-person', network: undefined })).toMatchObject({
      decision: 'review',
    });
  });

  it('keeps a report that stays as it was when the lists change', async () => {
    const { report_id: reportId, id } = await screen({ address });
    const report = (await door.get(`/v1/compliance/reports/${reportId}`)).body;
    expect(report).toMatchObject({
      id: reportId,
      screening_id: id,
      decision: 'clear',
      subject: { type: 'address', address, network: evm, name: null },
      intent_id: null,
    });
    await put('ours', 'deny', [{ address }]);
    expect((await door.get(`/v1/compliance/reports/${reportId}`)).body).toEqual(report);
    expect((await screen({ address })).decision).toBe('blocked');
    for (const unknown of [id, reportId.replace('rep', 'dec'), 'rep_none', 'judges']) {
      expect((await door.get(`/v1/compliance/reports/${unknown}`)).status).toBe(404);
    }
    world.newTenant();
    expect((await (await world.open()).get(`/v1/compliance/reports/${reportId}`)).status).toBe(404);
  });

  it('tells of each screening with an event', async () => {
    const screening = await screen({ address });
    const [event] = (await door.get('/v1/events?type=compliance.screening.*')).body.events;
    expect(event).toMatchObject({
      type: 'compliance.screening.completed',
      resource: { id: screening.id },
      data: { object: screening },
    });
  });

  it.each([
    [{ subject: { type: 'address' } }, 'subject.address', 'missing_required'],
    [{ subject: { type: 'individual' } }, 'subject.name', 'missing_required'],
    [{ subject: { type: 'individual', name: '\u200b 12' } }, 'subject.name', 'invalid_value'],
    [{ subject: { type: 'address', address: sanctioned.slice(0, -1) } }, 'subject.address', 'invalid_format'],
    [{ subject: { type: 'address', address: '0x12', network: evm } }, 'subject.address', 'invalid_format'],
    [{ subject: { type: 'address', address, network: evm }, asset: 'DOGE' }, 'asset', 'unknown_asset'],
    [
      { subject: { type: 'address', address, network: evm }, asset: 'USDC', amount: '0.0000001' },
      'amount',
      'too_many_decimals',
    ],
    [{ subject: { type: 'address', address, network: evm }, amount: '-1' }, 'amount', 'invalid_format'],
  ])('refuses %j', async (body, field, issue) => {
    const reply = await door.post('/v1/compliance/screen', body);
    expect([reply.status, reply.body.error.details[0]]).toMatchObject([400, { field, issue }]);
  });

  it('is about an intent of the tenant, or of none', async () => {
    const body = { subject: { type: 'address', address }, intent_id: 'txi_0193abcd-0000-7000-8000-000000000001' };
    expect((await door.post('/v1/compliance/screen', body)).status).toBe(404);
  });

  it('shows a token that is limited to connections its own screenings alone', async () => {
    const scoped = 'svc_sk_test_scoped000000000';
    door.tokens.put(scoped, { id: 'tok_scoped', tenant: world.tenant, providerConnectionIds: ['pcn_1'] });
    const others = await screen({ address });
    expect((await door.get(`/v1/compliance/reports/${others.report_id}`, scoped)).status).toBe(404);
    const own = await door.post('/v1/compliance/screen', { subject: { type: 'address', address } }, scoped);
    expect((await door.get(`/v1/compliance/reports/${own.body.report_id}`, scoped)).status).toBe(200);
    expect((await door.post('/v1/compliance/lists', { name: 'x', kind: 'deny', entries: [] }, scoped)).status).toBe(
      403,
    );
  });
});

describe('compliance lists', () => {
  it('make the next version under the same name, which every gateway sees at once', async () => {
    const other = await world.open();
    const first = await put('ours', 'watch', [{ address, network: evm, note: 'seen twice' }, { name: 'Another Name' }]);
    expect(first.status, JSON.stringify(first.body)).toBe(201);
    expect(first.body).toMatchObject({ name: 'ours', kind: 'watch', version: 1, entry_count: 2 });
    expect((await screen({ address }, other)).decision).toBe('review');
    expect((await put('ours', 'watch', [])).body).toMatchObject({ id: first.body.id, version: 2, entry_count: 0 });
    expect(await screen({ address }, other)).toMatchObject({ decision: 'clear', list_versions: { ours: 2 } });
    expect((await door.get(`/v1/compliance/lists/${first.body.id}?version=1`)).body).toMatchObject({
      version: 1,
      entries: [{ address, network: evm, note: 'seen twice' }, { name: 'Another Name' }],
    });
    expect((await door.get(`/v1/compliance/lists/${first.body.id}`)).body).toMatchObject({ version: 2, entries: [] });
    expect((await door.get(`/v1/compliance/lists/${first.body.id}?version=3`)).status).toBe(404);
    const names = (await door.get('/v1/compliance/lists')).body.lists.map((one: { name: string }) => one.name);
    expect(names.sort()).toEqual(['ours', 'test_sanctions', 'test_watch']);
    const types = (await door.get('/v1/events?type=compliance.list.*')).body.events.map(
      (event: { type: string }) => event.type,
    );
    expect(types).toEqual(['compliance.list.created', 'compliance.list.updated']);
  });

  it('are added to with `append`, each entry once', async () => {
    await put('ours', 'deny', [{ name: 'A' }, { name: 'B' }]);
    const { body } = await put('ours', 'deny', [{ name: 'B', note: 'again' }, { address }], { append: true });
    expect(body).toMatchObject({ version: 2, entry_count: 3 });
    expect((await door.get(`/v1/compliance/lists/${body.id}`)).body.entries).toEqual([
      { name: 'A' },
      { name: 'B', note: 'again' },
      { address },
    ]);
  });

  it('replace a test list under its name', async () => {
    expect((await screen({ address: sanctioned })).decision).toBe('blocked');
    expect((await put('test_sanctions', 'sanctions', [])).body).toMatchObject({ version: 2 });
    expect(await screen({ address: sanctioned })).toMatchObject({
      decision: 'clear',
      list_versions: { test_sanctions: 2, test_watch: 1 },
    });
    const { lists } = (await door.get('/v1/compliance/lists')).body;
    expect(lists.map(({ name }: { name: string }) => name).sort()).toEqual(['test_sanctions', 'test_watch']);
  });

  it('never let an allow list clear what is sanctioned or denied', async () => {
    await put('friends', 'allow', [{ address: sanctioned }, { address: '0x000000000000000000000000000000000000bEEF' }]);
    expect((await screen({ address: sanctioned })).decision).toBe('blocked');
    expect((await screen({ address: '0x000000000000000000000000000000000000bEEF' })).decision).toBe('clear');
  });

  it('keep their kind', async () => {
    await put('ours', 'deny', []);
    const reply = await put('ours', 'allow', []);
    expect([reply.status, reply.body.error.details[0]]).toMatchObject([409, { field: 'kind', issue: 'immutable' }]);
  });

  it('refuse entries that are none, each with its place', async () => {
    const reply = await put('bad', 'deny', [
      { address },
      {},
      { address, name: 'both' },
      { name: '...' },
      { address: sanctioned.replace('dEaD', 'DEad'), network: evm },
      { address: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', network: 'bip122:000000000933ea01ad0ee984209779ba' },
      { name: 'x', network: evm },
    ]);
    expect(reply.status).toBe(400);
    expect(
      reply.body.error.details.map((detail: { field: string; issue: string }) => `${detail.field} ${detail.issue}`),
    ).toEqual([
      'entries[1] invalid_value',
      'entries[2] invalid_value',
      'entries[3].name invalid_value',
      'entries[4].address invalid_checksum',
      'entries[5].address wrong_network',
      'entries[6].network invalid_value',
    ]);
    expect((await put('bad', 'deny', [{ address: 'with space' }])).status).toBe(400);
    expect((await put('bad', 'grey', [])).body.error.details[0].field).toBe('kind');
  });

  it('hold as many entries as fit, and no more than the store takes', async () => {
    const entries = (from: number, count: number) =>
      Array.from({ length: count }, (_, k) => ({ name: `Person ${from + k}` }));
    for (let part = 0; part < 4; part += 1) {
      const reply = await put('long', 'watch', entries(part * 2500, 2500), { append: true });
      expect(reply.body.entry_count).toBe((part + 1) * 2500);
    }
    const screened = await door.post('/v1/compliance/screen', { subject: { type: 'individual', name: 'person 9999' } });
    expect(screened.body.matches).toMatchObject([{ list_name: 'long', list_version: 4 }]);
    const over = await put('long', 'watch', entries(10_000, 1), { append: true });
    expect([over.status, over.body.error.details[0]]).toMatchObject([400, { field: 'entries', issue: 'too_many' }]);
    const wide = (from: number) =>
      Array.from({ length: 450 }, (_, k) => ({ name: `${'é'.repeat(190)} ${from + k}`, note: 'n'.repeat(100) }));
    const replies = [];
    for (let part = 0; part < 5; part += 1)
      replies.push(await put('wide', 'watch', wide(part * 450), { append: true }));
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 400, 400]);
    expect(replies[4]!.body.error.details[0]).toMatchObject({ field: 'entries', issue: 'too_large' });
  });
});
