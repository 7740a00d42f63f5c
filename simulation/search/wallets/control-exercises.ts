/**
 * Policies, lists, risk rules and screenings at rest: every version reads as it was written, and evaluations without an effect
 * give the model's decision and score.
 */

import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { Controls, type Decided } from './controls-in-force.ts';
import { done, type Exercise, idsOf, refused, sameIds, shows } from './exercise.ts';
import { type PolicyTerms, policyBody } from './policies.ts';
import { type MadeVersion, networks } from './tenancy.ts';

const approvalDays = 86_400;

/** Every version as it was made, and no other. */
export async function policyVersions(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const one = draw.pick(tenancy.policies);
  const versions = tenancy.policies.filter(({ id }) => id === one.id);
  const target = `/v1/policies/${one.id}`;
  const newest = Math.max(...versions.map(({ version }) => version));
  const shown = await done(exercise, 'GET', `${target}?version=${one.version}`);
  shows(`${target}?version=${one.version}`, shown, {
    id: one.id,
    name: one.name,
    version: one.version,
    ...written(one),
  });
  const enforced = versions.filter(({ content }) => !content.isDryRun).map(({ version }) => version);
  const enforcedVersion = enforced.length === 0 ? null : Math.max(...enforced);
  const present = await done(exercise, 'GET', target);
  shows(target, present, { version: newest, enforced_version: enforcedVersion });
  await refused(exercise, ['GET', `${target}?version=${newest + 1}`], 404);
  const listed = await idsOf(exercise, '/v1/policies', 'policies');
  const all = [...new Set(tenancy.policies.map(({ id }) => id))];
  sameIds('/v1/policies', listed, all);
  const large = {
    ...policyBody(one.name, one.content),
    rules: Array.from({ length: 101 }, () => rule('allow', 'true')),
  };
  await refused(exercise, ['POST', '/v1/policies', large], 400);
  for (const when of ['tx.amount >', 'tx.amont > 1', '"text"', 'true &&']) {
    const body = { name: 'not written', rules: [rule('allow', when)] };
    await refused(exercise, ['POST', '/v1/policies', body], 400, 'invalid_expression');
  }
  const twice = { name: 'not written', rules: [rule('allow', 'true'), rule('deny', 'false')] };
  await refused(exercise, ['POST', '/v1/policies', twice], 400);
}

function rule(effect: string, when: string) {
  return { id: 'one', effect, when };
}

/** What its rules must read as: a rule that asks for approvals has all of its terms. */
function written({ name, content }: MadeVersion<PolicyTerms>): { readonly rules: unknown; readonly mode: string } {
  const { rules, mode = 'enforce' } = policyBody(name, content) as {
    readonly rules: readonly { readonly approvals?: object }[];
    readonly mode?: string;
  };
  const whole = rules.map(({ approvals, ...rest }) =>
    approvals === undefined ? rest : { ...rest, approvals: { approvers: [], timeout_s: approvalDays, ...approvals } },
  );
  return { rules: whole, mode };
}

/** The transfer of an evaluation, and what the model says about it. */
export async function evaluations(exercise: Exercise): Promise<void> {
  const { tenancy, draw, operator } = exercise;
  const events = await operator.list<ToldEvent>('/v1/events', 'events');
  const controls = new Controls(tenancy);
  for (const event of events) controls.take(event);
  const wallet = draw.pick(tenancy.wallets);
  const shown = await done(exercise, 'GET', `/v1/wallets/${wallet.id}`);
  const listed = tenancy.lists.flatMap(({ content }) => content.addresses).filter((one) => one.startsWith('0x'));
  const near = tenancy.wallets.filter(({ network }) => network === wallet.network).map(({ address }) => address);
  const address = draw.pick(wallet.network === networks.evm ? [...near, ...listed] : near);
  const amount = draw.pick(['0.05', '0.2', '0.35', '0.00477', '1', shown.assets[0].available as string]);
  if (Number(amount) === 0) return;
  const asset = shown.assets[0].symbol as string;
  const transaction = { wallet_id: wallet.id, asset, amount, destination: { address } };
  const since = operator.nowMs - 3_600_000;
  const made = events.filter(
    ({ type, data }) => type === 'transaction_intent.created' && data.object.wallet_id === wallet.id,
  );
  const facts = {
    ...{ amount, kind: 'transfer', isAlsoTransfer: false, initiator: operator.actor, wantsHuman: false },
    intentsLastHour: made.filter(({ timestamp }) => Date.parse(timestamp) > since).length,
    intentsToDestination: made.filter(
      ({ data }) => data.object.destination.address.toLowerCase() === address.toLowerCase(),
    ).length,
    available: unitsOf(shown.assets[0].available),
  };
  const one = draw.pick(tenancy.policies);
  const newest = tenancy.policies.filter(({ id }) => id === one.id).reduce((a, b) => (b.version > a.version ? b : a));
  const decided = controls.decideBy([newest], address, facts);
  await evaluated(exercise, newest, transaction, decided, { ...facts, network: wallet.network });
}

interface Asked {
  readonly wallet_id: string;
  readonly asset: string;
  readonly amount: string;
  readonly destination: { readonly address: string };
}

async function evaluated(
  exercise: Exercise,
  { id, name, version, content }: MadeVersion<PolicyTerms>,
  transaction: Asked,
  { expected, riskScore, listing }: Decided,
  { network }: { readonly network: string },
): Promise<void> {
  const target = `/v1/policies/${id}/evaluate`;
  const made = await done(exercise, 'POST', target, { transaction });
  const about = `${target} of ${transaction.amount} ${transaction.asset}`;
  const policy = { id, name, version };
  const mode = content.isDryRun ? 'dry_run' : 'enforce';
  shows(about, made, { policy, policy_version: version, also_policies: [], mode, decision: expected.effect });
  const isAsked = expected.effect === 'require_approval';
  const { quorum, approvers, timeoutS } = expected;
  shows(about, made, { approvals: isAsked ? { quorum, approvers, timeout_s: timeoutS } : null });
  shows(`${about}, compliance`, made.compliance, { decision: listing });
  shows(`${about}, risk`, made.risk, { score: riskScore, level: levelOf(riskScore) });
  const { wallet_id: walletId, asset, amount } = transaction;
  shows(`${about}, transaction`, made.transaction, { wallet_id: walletId, asset, network });
  if (Number(made.transaction.amount) !== Number(amount)) shows(about, made.transaction, { amount });
  const names = await idsOf(exercise, `/v1/policies/${id}/decisions`, 'decisions');
  if (!names.includes(made.id)) found('pages-complete', `the decisions of ${id} lack ${made.id}`);
  const { body: report } = await exercise.operator.call('GET', `/v1/compliance/reports/${made.compliance.report_id}`);
  shows(`the report of ${made.id}`, report, { decision: listing, asset, wallet_id: walletId });
  const scored = await done(exercise, 'POST', '/v1/risk/evaluate', { transaction });
  shows(`the score of ${transaction.amount}`, scored, { score: riskScore, level: levelOf(riskScore) });
  shows(`the stored score`, await done(exercise, 'GET', `/v1/risk/scores/${scored.tx_id}`), scored);
  const own = `/v1/compliance/reports/rep_${scored.tx_id.slice('rsk_'.length)}`;
  shows(own, await done(exercise, 'GET', own), { decision: listing, asset, wallet_id: walletId });
  const both = { transaction, intent_id: `txi_${made.id.slice('dec_'.length)}` };
  for (const path of [target, '/v1/risk/evaluate']) {
    await refused(exercise, ['POST', path, both], 400, 'invalid_value');
    await refused(exercise, ['POST', path, {}], 400, 'missing_required');
  }
}

function levelOf(score: number): string {
  return score >= 90 ? 'critical' : score >= 70 ? 'high' : score >= 40 ? 'medium' : 'low';
}

function unitsOf(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(18, '0'));
}

interface Listed {
  readonly address?: string;
  readonly network?: string;
  readonly name?: string;
  readonly note?: string;
}

/** A list of names and addresses in two versions, and searches in it. */
export async function nameLists(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const kind = draw.pick(['watch', 'deny', 'sanctions'] as const);
  const name = tenancy.key('people');
  const first: Listed[] = [{ name: 'Zoë Łukasz-Straße', note: 'an example' }, { name: 'Mallory B. Malone' }];
  const solana = `${'1'.repeat(31)}9`;
  const more: Listed[] = [{ address: solana }];
  const made = await listed(exercise, { name, kind, entries: first, append: false });
  shows(`the list ${name}`, made, { name, kind, version: 1, entry_count: 2 });
  const next = await listed(exercise, { name, kind, entries: more, append: true });
  shows(`the list ${name}`, next, { id: made.id, version: 2, entry_count: 3, created_at: made.created_at });
  const target = `/v1/compliance/lists/${made.id}`;
  const texts = (entries: readonly Listed[]) => entries.map((entry) => JSON.stringify(Object.entries(entry).sort()));
  for (const [version, entries] of [
    ['1', first],
    ['2', [...first, ...more]],
  ] as const) {
    const shown = await done(exercise, 'GET', `${target}?version=${version}`);
    shows(`${target}?version=${version}`, shown, { version: Number(version), entry_count: entries.length });
    sameIds(`${target}?version=${version}`, texts(shown.entries), texts(entries));
  }
  await refused(exercise, ['GET', `${target}?version=3`], 404);
  const other = { name, kind: 'allow', entries: [] };
  await refused(exercise, ['POST', '/v1/compliance/lists', other], 409, 'immutable');
  const all = await idsOf(exercise, '/v1/compliance/lists', 'lists');
  if (!tenancy.lists.every(({ id }) => all.includes(id))) found('pages-complete', `/v1/compliance/lists lists ${all}`);
  const hit = kind === 'watch' ? 'review' : 'blocked';
  await screened(exercise, { type: 'individual', name: 'LUKASZ STRASSE, zoe' }, hit, [name]);
  await screened(exercise, { type: 'individual', name: 'Malone Mallory B' }, hit, [name]);
  await screened(exercise, { type: 'individual', name: 'Mallory Malone' }, 'clear', []);
  await screened(exercise, { type: 'address', address: solana }, hit, [name]);
  await screened(exercise, { type: 'address', address: solana, network: networks.solana }, hit, [name]);
  await refused(exercise, ['POST', '/v1/compliance/screen', { subject: { type: 'address' } }], 400, 'missing_required');
}

async function listed({ tenancy, operator }: Exercise, body: ListBody) {
  const askedMs = operator.nowMs;
  const made = await operator.made('/v1/compliance/lists', body, tenancy.key('list'));
  const { name, kind, append, entries } = body;
  const content = { kind, append, addresses: entries.flatMap(({ address }) => address ?? []) };
  tenancy.lists.push({ id: made.id, name, version: made.version, askedMs, madeMs: operator.nowMs, content });
  return made;
}

interface ListBody {
  readonly name: string;
  readonly kind: 'watch' | 'deny' | 'sanctions';
  readonly entries: readonly Listed[];
  readonly append: boolean;
}

async function screened(exercise: Exercise, subject: object, decision: string, lists: readonly string[]) {
  const asked = { subject, asset: 'ETH', amount: '1.5', direction: 'incoming' };
  const made = await done(exercise, 'POST', '/v1/compliance/screen', asked);
  const about = `a screening of ${JSON.stringify(subject)}`;
  shows(about, made, { decision });
  const names = made.matches.map((match: { readonly list_name: string }) => match.list_name);
  sameIds(about, names, lists);
  const report = await done(exercise, 'GET', `/v1/compliance/reports/${made.report_id}`);
  const whole = { address: null, network: null, name: null, ...subject };
  const { asset, amount, direction } = asked;
  const { id: screeningId, matches, risk_score: score, list_versions: versions, created_at: createdAt } = made;
  shows(`the report of ${made.id}`, report, {
    ...{ screening_id: screeningId, decision, subject: whole, asset, amount, direction, intent_id: null, matches },
    ...{ wallet_id: null, risk_score: score, list_versions: versions, created_at: createdAt },
  });
}

/** A risk rule from its creation to its removal. */
export async function wholeRiskRule(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const name = tenancy.key('rule');
  tenancy.riskRules.set(name, { when: 'false', holds: () => false });
  const body = { name, when: 'tx.amount > units("7") && tx.amount < units("6")', points: draw.pick([-100, 100]) };
  const rule = await done(exercise, 'POST', '/v1/risk/rules', body);
  shows(`the risk rule ${name}`, rule, { ...body, action: null, mode: 'enforce', version: 1 });
  const target = `/v1/risk/rules/${rule.id}`;
  const change = { mode: 'shadow', points: 0, priority: draw.pick([0, 1_000]) };
  const after = await done(exercise, 'PATCH', target, change);
  shows(target, after, { ...body, ...change, version: 2, id: rule.id, created_at: rule.created_at });
  const again = await done(exercise, 'POST', '/v1/risk/rules', { ...body, action: 'review', points: 5 });
  shows(target, again, { id: rule.id, version: 3, action: 'review', points: 5, created_at: rule.created_at });
  for (const wrong of [{}, { points: 101 }, { points: -101 }, { priority: 1_001 }, { priority: -1 }, { mode: 'on' }])
    await refused(exercise, ['PATCH', target, wrong], 400);
  await acting(exercise);
  const listed = await idsOf(exercise, '/v1/risk/rules', 'rules');
  if (listed.filter((id) => id === rule.id).length !== 1) found('pages-complete', `/v1/risk/rules lists ${listed}`);
  await done(exercise, 'DELETE', target);
  await refused(exercise, ['DELETE', target], 404);
  await refused(exercise, ['PATCH', target, { points: 1 }], 404);
  const left = await idsOf(exercise, '/v1/risk/rules', 'rules');
  sameIds(
    '/v1/risk/rules',
    left,
    listed.filter((id) => id !== rule.id),
  );
}

/** "The strictest action of all matching rules decides", whatever their priority; one in shadow does nothing. */
async function acting(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const wallet = draw.pick(tenancy.wallets);
  const { asset, address } = { asset: wallet.assets[0]!.symbol, address: wallet.address };
  const transaction = { wallet_id: wallet.id, asset, amount: '0.0777', destination: { address } };
  const when = 'tx.amount == units("0.0777")';
  const holds = ({ amount }: { readonly amount: string }) => Number(amount) === 0.0777;
  const ids: string[] = [];
  for (const [points, action, priority, mode] of [
    [7, 'deny', 1, 'shadow'],
    [3, 'review', 2, 'enforce'],
    [-1, 'allow', 0, 'enforce'],
  ] as const) {
    const name = tenancy.key('acting');
    tenancy.riskRules.set(name, { when, holds, action });
    ids.push((await done(exercise, 'POST', '/v1/risk/rules', { name, when, points, action, priority, mode })).id);
  }
  const first = await done(exercise, 'POST', '/v1/risk/evaluate', { transaction });
  const codes: string[] = first.factors.map(({ code }: { readonly code: string }) => code);
  const others = codes.filter((code) => !code.startsWith('rule:acting'));
  // A rule of the random steps may deny too.
  if (!others.some((code) => tenancy.riskRules.get(code.slice('rule:'.length))?.action === 'deny'))
    shows('a score with a rule in shadow', first, { action: first.score >= 90 ? 'deny' : 'review' });
  const own = first.factors.filter(({ code }: { readonly code: string }) => code.startsWith('rule:acting'));
  const points = own.map(({ contribution }: { readonly contribution: number }) => contribution);
  sameIds('the points of three rules', points.map(String), ['-1', '0', '3']);
  await done(exercise, 'PATCH', `/v1/risk/rules/${ids[0]}`, { mode: 'enforce' });
  const next = await done(exercise, 'POST', '/v1/risk/evaluate', { transaction });
  shows('a score without a rule in shadow', next, { action: 'deny' });
  // Other rules may take more points away than there are.
  if (first.score > 0) shows('a score without a rule in shadow', next, { score: Math.min(100, first.score + 7) });
  for (const id of ids) await done(exercise, 'DELETE', `/v1/risk/rules/${id}`);
}
