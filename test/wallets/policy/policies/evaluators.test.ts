/** The three evaluators behind the port of intents: what they decide, what they record, and what a dry run changes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TransactionFacts } from '../../../../wallets/custody/intents/facts.ts';
import { makeEvaluators } from '../../../../wallets/policy/policies/evaluators.ts';
import type { Change } from '../../../../wallets/store/contract.ts';
import { contextOf, type Door, idOf, putWallet, signer, startWorld, type World } from './support/door.ts';
import { facts } from './support/facts.ts';

const evaluators = makeEvaluators({ signer });
const sanctioned = '0x000000000000000000000000000000000000dEaD';
const watched = '0x000000000000000000000000000000000000bEEF';

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

/** As an intent is judged, all in one commit. */
async function evaluateTransfer(over: Partial<TransactionFacts> = {}, ...policies: string[]) {
  const context = contextOf(door.store, world.tenant);
  const given = facts({ id: idOf('txi'), connectionId: 'pcn_1', nowMs: context.nowMs, ...over });
  const screening = await evaluators.screen(context, given);
  const risk = await evaluators.assess(context, given, screening.result);
  const decision = await evaluators.decide(context, given, screening.result, risk.result, policies);
  const changes = [screening.change, risk.change, decision.change];
  const change: Change = {
    puts: changes.flatMap(({ puts = [] }) => puts),
    events: changes.flatMap(({ events = [] }) => events),
  };
  expect(await door.store.commit(world.tenant, change)).toMatchObject({ committed: true });
  const receipt = evaluators.receipt(context, given, decision.result, risk.result, { asset: 'ETH', limit: '0.1' });
  return { facts: given, screening: screening.result, risk: risk.result, decision: decision.result, change, receipt };
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into claims of every shape.
const claimsOf = (receipt: string): any => JSON.parse(Buffer.from(receipt.split('.')[1]!, 'base64url').toString());
const put = async (name: string, rules: readonly object[], mode = 'enforce') =>
  (await door.post('/v1/policies', { name, rules, mode })).body;
const allow = { id: 'yes', effect: 'allow', when: 'true' };
const deny = { id: 'no', effect: 'deny', when: 'true' };

describe('the judges', () => {
  it('allow what is clear, with one record and no event', async () => {
    const judged = await evaluateTransfer();
    expect(judged.decision).toMatchObject({
      decision: 'allow',
      policy: { name: 'default', version: 1 },
      mode: 'enforce',
      matchedRules: ['clear'],
    });
    expect(judged.change.puts).toHaveLength(1);
    expect(judged.change.events).toHaveLength(0);
  });

  it('ask for a human when the wallet always wants one, and record that', async () => {
    const { decision, change } = await evaluateTransfer({ wantsHuman: true });
    expect(decision).toMatchObject({
      decision: 'require_approval',
      approvals: { quorum: 1, approvers: [], timeoutS: 86_400 },
      matchedRules: ['clear', 'wallet:human_required'],
    });
    expect(decision.trace.at(-1)).toMatchObject({ rule: 'wallet:human_required', matched: true });
    expect(change.puts?.[0]?.after).toMatchObject({ decision: { decision: 'require_approval' } });
    await put('two', [{ ...allow, effect: 'require_approval', approvals: { quorum: 2 } }]);
    expect((await evaluateTransfer({ wantsHuman: true }, 'two')).decision.approvals).toMatchObject({ quorum: 2 });
    await put('none', [deny]);
    expect((await evaluateTransfer({ wantsHuman: true }, 'none')).decision.decision).toBe('deny');
  });

  it('make score, report and decision of an intent readable by its ids', async () => {
    const { facts: given, decision, screening, risk } = await evaluateTransfer();
    expect((await door.get(`/v1/risk/scores/${given.id}`)).body).toMatchObject({ tx_id: given.id, score: risk.score });
    expect((await door.get(`/v1/compliance/reports/${screening.reportId}`)).body).toMatchObject({
      intent_id: given.id,
      screening_id: screening.id,
      decision: 'clear',
      direction: 'outgoing',
    });
    expect((await door.get(`/v1/policies/${decision.policy.id}/decisions`)).body.decisions).toMatchObject([
      { id: decision.id, tx_id: given.id, decision: 'allow' },
    ]);
    for (const [connection, status] of [
      ['pcn_1', 200],
      ['pcn_2', 404],
    ] as const) {
      const token = `svc_sk_test_scoped${connection.replace('_', '')}0000`;
      door.tokens.put(token, { id: `tok_${connection}`, tenant: world.tenant, providerConnectionIds: [connection] });
      expect((await door.get(`/v1/risk/scores/${given.id}`, token)).status).toBe(status);
      expect((await door.get(`/v1/compliance/reports/${screening.reportId}`, token)).status).toBe(status);
    }
  });

  it('ask for an approval of what is watched or risky, deny what is sanctioned, and say so in an event', async () => {
    const review = await evaluateTransfer({ toAddress: watched });
    expect(review.decision).toMatchObject({
      decision: 'require_approval',
      approvals: { quorum: 1, approvers: [], timeoutS: 86_400 },
    });
    expect(review.change.events).toMatchObject([
      { type: 'compliance.screening.completed', connectionId: 'pcn_1', object: { decision: 'review' } },
    ]);
    expect((await evaluateTransfer({ amount: '0.00477' })).decision.decision).toBe('require_approval');
    expect((await evaluateTransfer({ toAddress: sanctioned })).decision).toMatchObject({
      decision: 'deny',
      matchedRules: ['compliance:blocked', 'blocked'],
    });
  });

  it('deny what is sanctioned whatever the policy allows', async () => {
    await put('lax', [allow]);
    expect((await evaluateTransfer({ toAddress: sanctioned }, 'lax')).decision).toMatchObject({
      decision: 'deny',
      matchedRules: ['compliance:blocked', 'default/blocked'],
    });
  });

  it('decide by the default policy too, whatever policy is named: a laxer one is no way round it', async () => {
    await put('lax', [allow]);
    const { decision, receipt } = await evaluateTransfer({ toAddress: watched }, 'lax');
    expect(decision).toMatchObject({
      decision: 'require_approval',
      approvals: { quorum: 1 },
      policy: { name: 'lax' },
      alsoPolicies: [{ name: 'default' }],
      matchedRules: ['lax/yes', 'default/review'],
    });
    expect(decision.trace.map(({ rule }) => rule)).toEqual([
      'lax/yes',
      'default/blocked',
      'default/review',
      'default/clear',
    ]);
    expect(claimsOf(receipt)).toMatchObject({ decision: 'require_approval', also_policies: [{ name: 'default' }] });
    await put('default', [deny]);
    expect((await evaluateTransfer({}, 'lax')).decision).toMatchObject({ decision: 'deny', policy: { name: 'lax' } });
  });

  const risk = (name: string, over: object = {}) =>
    door.post('/v1/risk/rules', { name, when: 'true', points: 0, ...over }).then(({ body }) => body);

  it('deny what an enforced risk rule denies, whatever the policies and other rules say, and name it', async () => {
    await put('lax', [allow]);
    await risk('stop it', { action: 'deny', priority: 1_000 });
    await risk('calm', { action: 'allow', priority: 0, points: -100 });
    await risk('look', { action: 'review', priority: 1 });
    await put('default', [deny], 'dry_run');
    const { decision, risk: scored, receipt } = await evaluateTransfer({ wantsHuman: true }, 'lax');
    expect(scored).toMatchObject({ score: 0, level: 'low', action: 'deny' });
    expect(decision).toMatchObject({ decision: 'deny', approvals: undefined });
    expect(decision.reason).toContain('risk rule stop it: deny');
    expect(decision.matchedRules).toEqual(['lax/yes', 'default/clear', 'risk:look', 'risk:stop it']);
    expect(decision.trace.slice(-2)).toEqual([
      { rule: 'risk:look', effect: 'require_approval', matched: true, result: 'true' },
      { rule: 'risk:stop it', effect: 'deny', matched: true, result: 'true' },
    ]);
    expect(decision.dryRun).toMatchObject({ decision: 'deny', matchedRules: ['no', 'risk:look', 'risk:stop it'] });
    expect(claimsOf(receipt)).toMatchObject({ decision: 'deny', matched_rules: decision.matchedRules });
  });

  it('ask for one approval where a risk rule says review, and keep what policies ask or deny', async () => {
    await risk('look', { action: 'review' });
    const alone = await evaluateTransfer();
    expect(alone.decision).toMatchObject({
      decision: 'require_approval',
      approvals: { quorum: 1, approvers: [], timeoutS: 86_400 },
      matchedRules: ['clear', 'risk:look'],
    });
    await put('two', [{ ...allow, effect: 'require_approval', approvals: { quorum: 2, timeout_s: 600_000 } }]);
    expect((await evaluateTransfer({}, 'two')).decision).toMatchObject({
      ...{ decision: 'require_approval', approvals: { quorum: 2, timeoutS: 600_000 } },
    });
    // No rule of this policy matches: an approval is no way round its denial.
    await put('none', [{ ...allow, when: 'false' }]);
    expect((await evaluateTransfer({}, 'none')).decision.decision).toBe('deny');
  });

  it('decide nothing by a rule in shadow, or by the action of the score’s level', async () => {
    await risk('trial', { action: 'deny', mode: 'shadow' });
    expect((await evaluateTransfer()).decision.decision).toBe('allow');
    await risk('heavy', { points: 95 });
    const { decision, risk: scored } = await evaluateTransfer();
    expect(scored).toMatchObject({ score: 95, action: 'deny' });
    expect(decision).toMatchObject({ decision: 'require_approval', matchedRules: ['review'] });
  });

  it('say of a policy what it and the risk rules decide', async () => {
    await risk('stop', { action: 'deny' });
    const { id } = await put('lax', [allow]);
    const wallet = await putWallet(door.store, world.tenant);
    const transaction = {
      ...{ wallet_id: wallet.id, asset: 'ETH', amount: '0.1' },
      destination: { address: '0x2222222222222222222222222222222222222222' },
    };
    const { body } = await door.post(`/v1/policies/${id}/evaluate`, { transaction });
    expect(body).toMatchObject({ decision: 'deny', matched_rules: ['yes', 'risk:stop'], risk: { action: 'deny' } });
  });

  it('read the amount in decimal as an intent shows it', async () => {
    const { id } = await put('exact', [{ ...allow, when: 'tx.amount_decimal == "1.5"' }]);
    const wallet = await putWallet(door.store, world.tenant);
    const destination = { address: '0x2222222222222222222222222222222222222222' };
    const transaction = { wallet_id: wallet.id, asset: 'ETH', amount: '1.50', destination };
    const { body } = await door.post(`/v1/policies/${id}/evaluate`, { transaction });
    expect(body).toMatchObject({ decision: 'allow', matched_rules: ['yes'] });
  });

  it('refuse a policy that does not exist', async () => {
    await expect(evaluateTransfer({}, 'none')).rejects.toMatchObject({
      kind: 'invalidRequest',
      details: [{ field: 'policy', issue: 'unknown_policy' }],
    });
  });

  it('see the same catalog during one request, and the new one in the next', async () => {
    await put('ops', [allow]);
    expect((await evaluateTransfer({}, 'ops')).decision).toMatchObject({ decision: 'allow', policy: { version: 1 } });
    const context = contextOf(door.store, world.tenant);
    const given = facts({ id: idOf('txi') });
    const { result: screening } = await evaluators.screen(context, given);
    await put('ops', [deny]);
    const { result: risk } = await evaluators.assess(context, given, screening);
    const { result } = await evaluators.decide(context, given, screening, risk, ['ops']);
    expect(result).toMatchObject({ decision: 'allow', policy: { version: 1 } });
    expect((await evaluateTransfer({}, 'ops')).decision).toMatchObject({ decision: 'deny', policy: { version: 2 } });
  });
});

describe('several policies', () => {
  const ask = (quorum: number, approvers: readonly string[], timeout = 3_600) => ({
    id: 'ask',
    effect: 'require_approval',
    when: 'true',
    approvals: { quorum, approvers, timeout_s: timeout },
  });

  it('decide together: the strictest wins, whichever it is, under the name of the first', async () => {
    await put('lax', [allow]);
    const strict = await put('strict', [deny]);
    const { decision, receipt, facts: given } = await evaluateTransfer({}, 'strict', 'lax');
    expect(decision).toMatchObject({
      decision: 'deny',
      policy: { name: 'strict' },
      alsoPolicies: [
        { name: 'lax', version: 1 },
        { name: 'default', version: 1 },
      ],
      matchedRules: ['strict/no', 'lax/yes', 'default/clear'],
    });
    expect(claimsOf(receipt)).toMatchObject({
      decision: 'deny',
      policy: { name: 'strict' },
      also_policies: [{ name: 'lax' }, { name: 'default' }],
    });
    expect((await evaluateTransfer({}, 'lax', 'strict')).decision.decision).toBe('deny');
    expect((await evaluateTransfer({}, 'lax', 'lax')).decision).toMatchObject({
      decision: 'allow',
      alsoPolicies: [{ name: 'default' }],
    });
    expect((await door.get(`/v1/policies/${strict.id}/decisions`)).body.decisions).toContainEqual(
      expect.objectContaining({
        tx_id: given.id,
        also_policies: [expect.objectContaining({ name: 'lax' }), expect.objectContaining({ name: 'default' })],
      }),
    );
  });

  it('ask for approvals together, or deny where no approver satisfies all of them', async () => {
    await put('lax', [allow]);
    await put('one', [ask(1, ['tok_a', 'tok_b'])]);
    await put('two', [ask(2, ['tok_a', 'tok_b', 'tok_c'])]);
    await put('three', [ask(1, ['tok_c'])]);
    const of = async (own: string, other: string) => (await evaluateTransfer({}, own, other)).decision;
    expect(await of('lax', 'one')).toMatchObject({ decision: 'require_approval', approvals: { quorum: 1 } });
    expect((await of('one', 'two')).approvals).toMatchObject({ quorum: 2, approvers: ['tok_a', 'tok_b'] });
    await put('soon', [ask(1, [], 600)]);
    expect((await of('soon', 'two')).approvals).toEqual({
      quorum: 2,
      approvers: ['tok_a', 'tok_b', 'tok_c'],
      timeoutS: 600,
    });
    expect(await of('one', 'three')).toMatchObject({ decision: 'deny', approvals: undefined });
    await put('never', [deny]);
    expect(await of('one', 'never')).toMatchObject({ decision: 'deny', approvals: undefined });
  });
});

it('is denied at once where the initiator’s vote would be needed', async () => {
  const approvals = { quorum: 1, approvers: ['tok_1'] };
  await put('self', [{ id: 'ask', effect: 'require_approval', when: 'true', approvals }]);
  expect((await evaluateTransfer({ initiator: 'tok_1' }, 'self')).decision).toMatchObject({
    decision: 'deny',
    reason: expect.stringContaining('has no vote'),
  });
  expect((await evaluateTransfer({ initiator: 'tok_2' }, 'self')).decision.decision).toBe('require_approval');
});

describe('a dry run', () => {
  it('leaves the newest enforced version to decide, and is shown beside it', async () => {
    const policy = await put('ops', [allow]);
    await put('ops', [deny], 'dry_run');
    const { decision, facts: given } = await evaluateTransfer({}, 'ops');
    expect(decision).toMatchObject({
      decision: 'allow',
      mode: 'enforce',
      policy: { name: 'ops', version: 1 },
      dryRun: { decision: 'deny', policy: { name: 'ops', version: 2 }, matchedRules: ['no'] },
    });
    expect((await door.get(`/v1/policies/${policy.id}/decisions`)).body.decisions).toMatchObject([
      { tx_id: given.id, decision: 'allow', dry_run: { decision: 'deny', trace: [{ rule: 'no', matched: true }] } },
    ]);
    await put('ops', [deny]);
    expect((await evaluateTransfer({}, 'ops')).decision).toMatchObject({ decision: 'deny', policy: { version: 3 } });
  });

  it('that was never enforced leaves the others to decide: it lets nothing through', async () => {
    const trial = await put('trial', [allow], 'dry_run');
    const { decision } = await evaluateTransfer({ toAddress: watched }, 'trial');
    expect(decision).toMatchObject({
      decision: 'require_approval',
      policy: { name: 'default', version: 1 },
      dryRun: { decision: 'allow' },
    });
    expect((await door.get(`/v1/policies/${trial.id}/decisions`)).body.decisions).toMatchObject([{ id: decision.id }]);
  });

  it('of the default policy leaves its version before to decide', async () => {
    await put('default', [deny], 'dry_run');
    expect((await evaluateTransfer()).decision).toMatchObject({
      decision: 'allow',
      policy: { version: 1 },
      dryRun: { decision: 'deny' },
    });
  });
});
