/** Policies over HTTP: versions, refusals, evaluation with a receipt, and two gateways that see the same. */
import { createLocalJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import { type Door, putWallet, startWorld, type World } from './support/door.ts';

const allowAll = { id: 'all', effect: 'allow', when: 'true' };
const denyEth = { id: 'no_eth', effect: 'deny', when: 'tx.asset == "ETH"' };
const to = '0x52908400098527886E0F7030069857D2E4169EE7';

let world: World;
let door: Door;
let wallet: WalletRecord;

beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  world.newTenant();
  door = await world.open();
  wallet = await putWallet(door.store, world.tenant);
});
afterAll(() => world.stop());

const transaction = (amount = '1.5', address = to) => ({
  transaction: { wallet_id: wallet.id, asset: 'ETH', amount, destination: { address } },
});
const put = async (name: string, rules: readonly object[], mode = 'enforce') => {
  const reply = await door.post('/v1/policies', { name, rules, mode });
  expect(reply.status, JSON.stringify(reply.body)).toBe(201);
  return reply.body;
};

describe('policies', () => {
  it('begin with `default`, which is the same every time and other than another tenant’s', async () => {
    const { body } = await door.get('/v1/policies');
    expect(body).toMatchObject({
      has_more: false,
      policies: [{ name: 'default', version: 1, enforced_version: 1, mode: 'enforce', warnings: [] }],
    });
    const [policy] = body.policies;
    expect(policy.rules.map((rule: { id: string }) => rule.id)).toEqual(['blocked', 'review', 'clear']);
    expect((await door.get(`/v1/policies/${policy.id}`)).body).toEqual(policy);
    world.newTenant();
    const stranger = await world.open();
    expect((await stranger.get('/v1/policies')).body.policies[0].id).not.toBe(policy.id);
    expect((await stranger.get(`/v1/policies/${policy.id}`)).status).toBe(404);
  });

  it('make the next version under the same name and keep all of them', async () => {
    const first = await put('ops', [allowAll]);
    expect(first).toMatchObject({ version: 1, name: 'ops', rules: [allowAll] });
    const second = await put('ops', [denyEth, allowAll]);
    expect(second).toMatchObject({ id: first.id, version: 2, created_at: first.created_at });
    expect((await door.get(`/v1/policies/${first.id}`)).body).toEqual(second);
    expect((await door.get(`/v1/policies/${first.id}?version=1`)).body).toMatchObject({
      version: 1,
      rules: [allowAll],
    });
    expect((await door.get(`/v1/policies/${first.id}?version=3`)).status).toBe(404);
    const events = (await door.get('/v1/events?type=policy.*')).body.events;
    expect(events.map((event: { type: string }) => event.type)).toEqual(['policy.created', 'policy.updated']);
    expect(events[1]).toMatchObject({
      resource: { type: 'policy', id: first.id, version: 2 },
      data: { object: second },
    });
  });

  it('number versions without holes when twenty are made at once', async () => {
    const other = await world.open();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, k) =>
        (k % 2 ? door : other).post('/v1/policies', { name: 'race', rules: [allowAll] }),
      ),
    );
    const made = replies.filter(({ status }) => status === 201).map(({ body }) => body.version as number);
    expect(made.length).toBeGreaterThan(0);
    expect(made.sort((a, b) => a - b)).toEqual(made.map((_, k) => k + 1));
    expect(replies.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect((await door.get('/v1/policies')).body.policies[0]).toMatchObject({ name: 'race', version: made.length });
  });

  it('replace the default policy under its name', async () => {
    const [before] = (await door.get('/v1/policies')).body.policies;
    expect(await put('default', [denyEth])).toMatchObject({ id: before.id, version: 2 });
    expect((await door.get('/v1/policies')).body.policies).toHaveLength(1);
    expect((await door.get(`/v1/policies/${before.id}?version=1`)).body.rules).toEqual(before.rules);
  });

  it('keep a replaced version for 30 days, and the one that decides beside a dry run for good', async () => {
    const { id } = await put('ops', [allowAll]);
    const leaving = async () => {
      const keys = (await world.under.redis.keys(`*${id}.v*`)).toSorted();
      const left = await Promise.all(keys.map((key) => world.under.redis.pttl(key)));
      for (const ms of left) expect(ms === -1 || ms > 29 * 24 * 3_600_000).toBe(true);
      return left.map((ms) => ms !== -1);
    };
    await put('ops', [denyEth], 'dry_run');
    expect(await leaving()).toEqual([false, false]);
    await put('ops', [allowAll], 'dry_run');
    expect(await leaving()).toEqual([false, true, false]);
    await put('ops', [denyEth]);
    expect(await leaving()).toEqual([true, true, true, false]);
  });

  it('list in pages', async () => {
    for (const name of ['a', 'b', 'c']) await put(name, [allowAll]);
    const first = (await door.get('/v1/policies?limit=3')).body;
    expect(first.policies.map((policy: { name: string }) => policy.name)).toEqual(['c', 'b', 'a']);
    const second = (await door.get(`/v1/policies?limit=3&cursor=${first.next_cursor}`)).body;
    expect(second.policies.map((policy: { name: string }) => policy.name)).toEqual(['default']);
    expect(second).toMatchObject({ has_more: false, next_cursor: null });
    expect((await door.get('/v1/policies?limit=4')).body).toMatchObject({ has_more: false, next_cursor: null });
  });

  it('name an approver once', async () => {
    const approvals = { quorum: 2, approvers: ['tok_1', 'tok_2', 'tok_1'] };
    const { rules } = await put('ops', [{ id: 'two', effect: 'require_approval', when: 'true', approvals }]);
    expect(rules[0].approvals).toMatchObject({ quorum: 2, approvers: ['tok_1', 'tok_2'] });
  });

  it('point out rules without effect', async () => {
    const policy = await put('shadowed', [
      denyEth,
      { id: 'small', effect: 'allow', when: 'tx.asset == "ETH" && tx.amount < 5' },
      allowAll,
    ]);
    expect(policy.warnings).toEqual([
      { rule: 'small', code: 'unreachable', message: expect.stringContaining('no_eth') },
    ]);
  });

  it('refuse every mistake at once, with its place', async () => {
    const reply = await door.post('/v1/policies', {
      name: 'bad',
      rules: [
        allowAll,
        { id: 'all', effect: 'allow', when: 'tx.asset ==' },
        { id: 'b', effect: 'require_approval', when: 'true' },
        { id: 'c', effect: 'require_approval', when: 'true', approvals: { quorum: 2, approvers: ['tok_1', 'tok_1'] } },
        { id: 'd', effect: 'deny', when: 'tx.amuont > 5', approvals: { quorum: 1 } },
      ],
    });
    expect(reply.status).toBe(400);
    expect(
      reply.body.error.details.map((detail: { field: string; issue: string }) => `${detail.field} ${detail.issue}`),
    ).toEqual([
      'rules[1].id duplicate',
      'rules[1].when invalid_expression',
      'rules[2].approvals missing_required',
      'rules[3].approvals.quorum too_large',
      'rules[4].approvals not_applicable',
      'rules[4].when invalid_expression',
    ]);
    expect(reply.body.error.details[5].message).toContain('line 1, column 4');
    expect((await door.get('/v1/policies')).body.policies).toHaveLength(1);
  });

  it('refuse more conditions than the limit, before reading them', async () => {
    const rules = Array.from({ length: 30 }, (_, k) => ({ id: `r${k}`, effect: 'allow', when: '!'.repeat(1_990) }));
    const reply = await door.post('/v1/policies', { name: 'long', rules });
    expect([reply.status, reply.body.error.details]).toMatchObject([400, [{ field: 'rules', issue: 'too_large' }]]);
  });

  it.each(['default ', 'd\u0435fault', 'default\u202e'])('refuse the name %j', async (name) => {
    const reply = await door.post('/v1/policies', { name, rules: [{ id: 'a', effect: 'allow', when: 'true' }] });
    expect([reply.status, reply.body.error.details[0].field]).toEqual([400, 'name']);
  });

  it('refuse rules that are too expensive together', async () => {
    const when = 'tx.wallet_name.matches("^a$") || tx.wallet_name.matches("^b$") || tx.wallet_name.matches("^c$")';
    const rules = (count: number) => Array.from({ length: count }, (_, k) => ({ id: `r${k}`, effect: 'allow', when }));
    expect((await door.post('/v1/policies', { name: 'fits', rules: rules(10) })).status).toBe(201);
    const reply = await door.post('/v1/policies', { name: 'costs', rules: rules(30) });
    expect([reply.status, reply.body.error.details[0]]).toMatchObject([400, { field: 'rules', issue: 'too_large' }]);
  });

  it.each([
    [{ rules: [allowAll] }, 'name'],
    [{ name: 'x', rules: [] }, 'rules'],
    [{ name: 'x', rules: [{ ...allowAll, effect: 'permit' }] }, 'rules[0].effect'],
    [{ name: 'x', rules: [{ ...allowAll, note: 'y' }] }, 'rules[0].note'],
    [{ name: 'x', rules: [{ ...allowAll, when: 'x'.repeat(2001) }] }, 'rules[0].when'],
    [{ name: 'x', rules: [{ ...allowAll, id: 'a:b' }] }, 'rules[0].id'],
    [{ name: 'x', rules: Array.from({ length: 101 }, () => allowAll) }, 'rules'],
    [{ name: 'x', rules: [allowAll], mode: 'off' }, 'mode'],
  ])('refuse a body that is not one (%#)', async (body, field) => {
    const reply = await door.post('/v1/policies', body);
    expect(reply.status).toBe(400);
    expect(reply.body.error.details[0].field).toBe(field);
  });
});

describe('asking a policy', () => {
  it('answers with decision, trace and a receipt that verifies, and records it', async () => {
    const policy = await put('ops', [allowAll, denyEth]);
    const { status, body } = await door.post(`/v1/policies/${policy.id}/evaluate`, transaction());
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({
      decision: 'deny',
      matched_rules: ['no_eth'],
      policy_version: 1,
      trace: [
        { rule: 'all', effect: 'allow', matched: true, result: 'true' },
        { rule: 'no_eth', effect: 'deny', matched: true, result: 'true' },
      ],
      compliance: { decision: 'clear' },
      dry_run: null,
      transaction: { wallet_id: wallet.id, amount: '1.5', to },
    });
    const keys = createLocalJWKSet((await door.get('/v1/.well-known/jwks.json')).body);
    const { payload } = await jwtVerify(body.policy_receipt, keys, { issuer: 'signmesh' });
    expect(payload).toMatchObject({
      jti: body.id,
      sub: body.tx_id,
      purpose: 'evaluation',
      tenant: world.tenant,
      decision: 'deny',
    });
    const { policy_receipt: _, ...decision } = body;
    expect((await door.get(`/v1/policies/${policy.id}/decisions`)).body.decisions).toEqual([decision]);
    expect((await door.get(`/v1/compliance/reports/${body.compliance.report_id}`)).body).toMatchObject({
      decision: 'clear',
      wallet_id: wallet.id,
    });
  });

  it('publishes the keys without a token, at both addresses', async () => {
    for (const url of ['/v1/.well-known/jwks.json', '/.well-known/jwks.json']) {
      const response = await door.app.inject({ url });
      expect(response.statusCode).toBe(200);
      expect(response.headers['cache-control']).toBe('public, max-age=300');
      expect(response.json().keys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' });
    }
  });

  it('sees a version of another gateway at once', async () => {
    const other = await world.open();
    const policy = await put('ops', [allowAll]);
    const ask = async (at: Door) => (await at.post(`/v1/policies/${policy.id}/evaluate`, transaction())).body;
    expect(await ask(door)).toMatchObject({ decision: 'allow', policy_version: 1 });
    expect(await ask(other)).toMatchObject({ decision: 'allow', policy_version: 1 });
    await put('ops', [denyEth]);
    expect(await ask(other)).toMatchObject({ decision: 'deny', policy_version: 2 });
    expect(await ask(door)).toMatchObject({ decision: 'deny', policy_version: 2 });
  });

  it('evaluates a dry run as what it is', async () => {
    const policy = await put('trial', [denyEth], 'dry_run');
    expect(policy).toMatchObject({ mode: 'dry_run', enforced_version: null });
    expect((await door.post(`/v1/policies/${policy.id}/evaluate`, transaction())).body).toMatchObject({
      decision: 'deny',
      mode: 'dry_run',
    });
    const { id } = await put('ops', [allowAll]);
    await put('ops', [denyEth], 'dry_run');
    expect((await door.post(`/v1/policies/${id}/evaluate`, transaction())).body).toMatchObject({
      decision: 'deny',
      mode: 'dry_run',
    });
  });

  it('refuses what is no transaction of the tenant', async () => {
    const policy = await put('ops', [allowAll]);
    const path = `/v1/policies/${policy.id}/evaluate`;
    const fieldOf = async (body: object) => {
      const reply = await door.post(path, body);
      return [reply.status, reply.body.error.details?.[0]?.field, reply.body.error.details?.[0]?.issue];
    };
    const given = transaction().transaction;
    expect(await fieldOf({})).toEqual([400, 'transaction', 'missing_required']);
    expect(await fieldOf({ transaction: { ...given, asset: 'BTC' } })).toEqual([
      400,
      'transaction.asset',
      'unknown_asset',
    ]);
    expect(await fieldOf({ transaction: { ...given, amount: '1e3' } })).toEqual([
      400,
      'transaction.amount',
      'invalid_format',
    ]);
    expect(await fieldOf({ transaction: { ...given, amount: '0' } })).toEqual([
      400,
      'transaction.amount',
      'must_be_positive',
    ]);
    expect(await fieldOf({ transaction: { ...given, destination: { address: '0x12' } } })).toEqual([
      400,
      'transaction.destination.address',
      'invalid_format',
    ]);
    expect(
      (await door.post(path, { transaction: { ...given, wallet_id: policy.id.replace('pol', 'wal') } })).status,
    ).toBe(404);
    expect((await door.post(path, { intent_id: policy.id.replace('pol', 'txi') })).status).toBe(404);
    expect((await door.post('/v1/policies/pol_none/evaluate', transaction())).status).toBe(404);
    expect((await door.get('/v1/policies/pol_none/decisions')).status).toBe(404);
    world.newTenant();
    const stranger = await world.open();
    expect((await stranger.post(path, transaction())).status).toBe(404);
    expect((await stranger.get(`/v1/policies/${policy.id}/decisions`)).status).toBe(404);
  });

  it('shows a token that is limited to connections the decisions on its own wallets alone', async () => {
    const policy = await put('ops', [allowAll]);
    const mine = await putWallet(door.store, world.tenant);
    await door.post(`/v1/policies/${policy.id}/evaluate`, transaction());
    const own = { transaction: { ...transaction().transaction, wallet_id: mine.id } };
    const { body } = await door.post(`/v1/policies/${policy.id}/evaluate`, own);
    const scoped = 'svc_sk_test_scoped000000000';
    door.tokens.put(scoped, { id: 'tok_scoped', tenant: world.tenant, providerConnectionIds: [mine.connectionId] });
    const seen = await door.get(`/v1/policies/${policy.id}/decisions`, scoped);
    expect(seen.body.decisions.map((decision: { id: string }) => decision.id)).toEqual([body.id]);
    expect((await door.post('/v1/policies', { name: 'x', rules: [allowAll] }, scoped)).status).toBe(403);
  });
});
