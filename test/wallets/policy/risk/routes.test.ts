/** Risk over HTTP: rules in versions, evaluations that can be read again, and two gateways that see the same. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { WalletRecord } from '../../../../wallets/custody/wallets/record.ts';
import { type Door, putIntent, putWallet, startWorld, type World } from '../policies/support/door.ts';

const to = '0x52908400098527886E0F7030069857D2E4169EE7';
const ethRule = { name: 'eth', when: 'tx.asset == "ETH"', points: 25 };

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

const transaction = (amount = '1.5') => ({
  transaction: { wallet_id: wallet.id, asset: 'ETH', amount, destination: { address: to } },
});
const evaluate = async (at: Door = door, amount?: string) => {
  const reply = await at.post('/v1/risk/evaluate', transaction(amount));
  expect(reply.status, JSON.stringify(reply.body)).toBe(200);
  return reply.body;
};

describe('risk evaluation', () => {
  it('answers with score and factors, and can be read again', async () => {
    const score = await evaluate();
    expect(score).toMatchObject({
      score: 10,
      level: 'low',
      action: 'allow',
      factors: [{ code: 'first_transfer', contribution: 10 }],
      rules_version: 1,
    });
    expect((await door.get(`/v1/risk/scores/${score.tx_id}`)).body).toEqual(score);
    expect((await evaluate(door, '99')).factors.map((factor: { code: string }) => factor.code)).toEqual([
      'balance_share_half',
      'balance_share_nearly_all',
      'first_transfer',
    ]);
    expect((await evaluate(door, '0.004799')).score).toBe(100);
  });

  it('scores an intent as it stands, not counting itself, and shows the newest score', async () => {
    const intent = await putIntent(door.store, world.tenant, wallet);
    const path = `/v1/risk/scores/${intent.id}`;
    expect((await door.get(path)).status).toBe(404);
    const first = await door.post('/v1/risk/evaluate', { intent_id: intent.id });
    expect(first.body, JSON.stringify(first.body)).toMatchObject({
      tx_id: intent.id,
      score: 10,
      factors: [{ code: 'first_transfer' }],
    });
    expect((await door.get(path)).body).toEqual(first.body);
    await putIntent(door.store, world.tenant, wallet);
    await door.post('/v1/risk/rules', { name: 'payroll', when: 'tx.metadata.purpose == "payroll"', points: 33 });
    const second = await door.post('/v1/risk/evaluate', { intent_id: intent.id });
    expect(second.body).toMatchObject({ score: 33, factors: [{ code: 'rule:payroll' }], rules_version: 2 });
    expect((await door.get(path)).body).toEqual(second.body);
    const both = await door.post('/v1/risk/evaluate', { intent_id: intent.id, ...transaction() });
    expect([both.status, both.body.error.details[0].field]).toEqual([400, 'transaction']);
  });

  it('counts what an intent has reserved itself as available, and not what others have', async () => {
    const moved = 90n * 10n ** 18n;
    const entry = { walletId: wallet.id, asset: 'ETH', available: -moved, reserved: moved };
    await door.store.commit(world.tenant, { ledger: [entry] });
    const ten = { amount: '10', units: String(10n ** 19n) };
    const { id } = await putIntent(door.store, world.tenant, wallet, ten);
    expect((await door.post('/v1/risk/evaluate', { intent_id: id })).body.factors).toMatchObject([
      { code: 'balance_share_half', evidence: '50 % of the available ETH' },
      { code: 'first_transfer' },
    ]);
  });

  it('lets a token that is limited to connections evaluate its own intents alone', async () => {
    const mine = await putWallet(door.store, world.tenant);
    const [own, other] = [
      await putIntent(door.store, world.tenant, mine),
      await putIntent(door.store, world.tenant, wallet),
    ];
    const scoped = 'svc_sk_test_scoped000000000';
    door.tokens.put(scoped, { id: 'tok_scoped', tenant: world.tenant, providerConnectionIds: [mine.connectionId] });
    expect((await door.post('/v1/risk/evaluate', { intent_id: own.id }, scoped)).status).toBe(200);
    expect((await door.post('/v1/risk/evaluate', { intent_id: other.id }, scoped)).status).toBe(404);
    expect((await door.post('/v1/risk/evaluate', transaction(), scoped)).status).toBe(404);
    await door.post('/v1/risk/evaluate', { intent_id: other.id });
    expect((await door.get(`/v1/risk/scores/${own.id}`, scoped)).status).toBe(200);
    expect((await door.get(`/v1/risk/scores/${other.id}`, scoped)).status).toBe(404);
    const screening = { subject: { type: 'address', address: to } };
    expect((await door.post('/v1/compliance/screen', { ...screening, intent_id: own.id }, scoped)).status).toBe(200);
    expect((await door.post('/v1/compliance/screen', { ...screening, intent_id: other.id }, scoped)).status).toBe(404);
  });

  it('knows no score of an unknown wallet, and none of another tenant', async () => {
    const { tx_id: id } = await evaluate();
    for (const unknown of ['rsk_none', 'txi_none', 'dec_none', 'judges', id.replace('rsk', 'dec')]) {
      expect((await door.get(`/v1/risk/scores/${unknown}`)).status).toBe(404);
    }
    world.newTenant();
    const stranger = await world.open();
    expect((await stranger.get(`/v1/risk/scores/${id}`)).status).toBe(404);
    expect((await stranger.post('/v1/risk/evaluate', transaction())).status).toBe(404);
  });
});

describe('risk rules', () => {
  it('count from their making, at every gateway, and raise the version of the whole', async () => {
    const other = await world.open();
    const { status, body } = await door.post('/v1/risk/rules', ethRule);
    expect(status, JSON.stringify(body)).toBe(201);
    expect(body).toMatchObject({ ...ethRule, action: null, priority: 100, mode: 'enforce', version: 1, warnings: [] });
    expect(await evaluate(other)).toMatchObject({ score: 35, rules_version: 2 });
    expect((await door.post('/v1/risk/rules', { ...ethRule, points: 5 })).body).toMatchObject({
      id: body.id,
      version: 2,
    });
    expect(await evaluate(other)).toMatchObject({ score: 15, rules_version: 3 });
    expect((await door.get('/v1/risk/rules')).body.rules).toMatchObject([{ id: body.id, version: 2, points: 5 }]);
  });

  it('change mode and points, and go', async () => {
    const { id } = (await door.post('/v1/risk/rules', ethRule)).body;
    expect((await door.call('PATCH', `/v1/risk/rules/${id}`, { mode: 'shadow' })).body).toMatchObject({
      mode: 'shadow',
      version: 2,
    });
    expect(await evaluate()).toMatchObject({ score: 10, factors: [{}, { code: 'rule:eth', contribution: 0 }] });
    expect((await door.call('PATCH', `/v1/risk/rules/${id}`, { mode: 'disabled', points: 1 })).body).toMatchObject({
      mode: 'disabled',
      points: 1,
    });
    expect((await evaluate()).factors).toHaveLength(1);
    expect((await door.call('DELETE', `/v1/risk/rules/${id}`)).status).toBe(204);
    expect((await door.call('DELETE', `/v1/risk/rules/${id}`)).status).toBe(404);
    expect((await door.call('PATCH', `/v1/risk/rules/${id}`, { mode: 'enforce' })).status).toBe(404);
    expect((await door.get('/v1/risk/rules')).body.rules).toEqual([]);
    expect(await evaluate()).toMatchObject({ rules_version: 5 });
    const types = (await door.get('/v1/events?type=risk.*')).body.events.map((event: { type: string }) => event.type);
    expect(types).toEqual(['risk.rule.created', 'risk.rule.updated', 'risk.rule.updated', 'risk.rule.deleted']);
  });

  it('are refused with the place of the mistake', async () => {
    const fieldOf = async (body: object) => {
      const reply = await door.post('/v1/risk/rules', body);
      return [reply.status, reply.body.error.details[0].field, reply.body.error.details[0].issue];
    };
    expect(await fieldOf({ ...ethRule, when: 'risk.score > 5' })).toEqual([400, 'when', 'invalid_expression']);
    expect(await fieldOf({ ...ethRule, when: 'tx.asset = "ETH"' })).toEqual([400, 'when', 'invalid_expression']);
    expect((await fieldOf({ ...ethRule, points: 101 })).slice(0, 2)).toEqual([400, 'points']);
    expect((await fieldOf({ ...ethRule, points: 1.5 })).slice(0, 2)).toEqual([400, 'points']);
    expect((await fieldOf({ ...ethRule, mode: 'disabled' })).slice(0, 2)).toEqual([400, 'mode']);
  });

  it('are pointed out when they do not depend on the transaction', async () => {
    const { body } = await door.post('/v1/risk/rules', { ...ethRule, when: '1 > 2 && tx.asset == "ETH"' });
    expect(body.warnings).toMatchObject([{ rule: 'eth', code: 'never_matches' }]);
  });

  it('stop at a hundred', async () => {
    for (let k = 0; k < 100; k += 1) {
      expect((await door.post('/v1/risk/rules', { ...ethRule, name: `r${k}`, points: 0 })).status).toBe(201);
    }
    expect((await door.post('/v1/risk/rules', ethRule)).body.error.details[0]).toMatchObject({ issue: 'too_many' });
    expect((await door.post('/v1/risk/rules', { ...ethRule, name: 'r5' })).status).toBe(201);
    expect((await evaluate()).factors).toHaveLength(101);
  });
});
