/** Wallets and transfers at rest: the whole life of one wallet, and what each call about it and its intents answers. */
import { decimal } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { dated, done, type Exercise, idsOf, refused, sameIds, shows } from './exercise.ts';
import { networks, type OwnWallet } from './tenancy.ts';

/** The longest texts. */
const longName = 'n'.repeat(100);
const longId = 'e'.repeat(128);
const longReason = 'r'.repeat(500);
const metadata = { desk: 'emea', tags: ['a', 'b'], nested: { level: 2 } };

/** From its creation to its archive, each change once and repeated. */
export async function wholeWallet(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const { provider, connectionId } = draw.pick(tenancy.wallets.filter((one) => one.provider !== 'sandbox'));
  const network = draw.pick(Object.values(networks));
  const name = draw.chance(0.5) ? longName : tenancy.key('exercised');
  const externalId = draw.chance(0.5) ? longId : tenancy.key('external');
  const known = tenancy.policies.map((policy) => policy.name).filter((one) => one !== 'default');
  const policy = known.length > 0 && draw.chance(0.5) ? draw.pick(known) : null;
  const asked = {
    ...{ name, provider_connection_id: connectionId, network, external_id: externalId, metadata, policy },
    ...(draw.chance(0.5) && { approval_mode: draw.pick(['human_required', 'direct_allowed']) }),
    ...(draw.chance(0.5) && { signing_api: 'intents_only' }),
  };
  await refused(exercise, ['POST', '/v1/wallets', { ...asked, policy: 'no such policy' }], 400, 'not_found');
  const wallet = await done(exercise, 'POST', '/v1/wallets', asked);
  tenancy.adopt(wallet);
  const { id } = wallet;
  const isOfCluster = provider === 'self_hosted';
  const isFrost = network === networks.solana;
  shows(`the new wallet ${id}`, wallet, {
    ...{ approval_mode: 'unspecified', signing_api: 'allowed', ...asked, provider, version: 1, status: 'active' },
    ...{ environment: 'sandbox', archived_at: null, archive_reason: null },
    key_scheme: isOfCluster ? (isFrost ? 'frost_ed25519' : 'mock_ecdsa') : null,
    key_exposed: isOfCluster && !isFrost,
  });
  const target = `/v1/wallets/${id}`;
  const shown = await done(exercise, 'GET', target);
  shows(target, shown, wallet);
  await changed(exercise, target, shown);
  await frozen(exercise, target);
  sameIds('wallets of this external id', await idsOf(exercise, '/v1/wallets?external_id=exercised', 'wallets'), [id]);
  await archived(exercise, target, id);
}

/** "Null removes `policy` and `external_id`. A patch without a change makes no version and no event." */
async function changed(exercise: Exercise, target: string, { version, name }: { version: number; name: string }) {
  const { tenancy } = exercise;
  const from = tenancy.sequence;
  shows(`${target} without a change`, await done(exercise, 'PATCH', target, { name }), { version });
  if (tenancy.sequence !== from) found('events-complete', `${target} without a change makes an event`);
  await refused(exercise, ['PATCH', target, { name: 'late', expected_version: version + 1 }], 409, 'version_conflict');
  const change = { external_id: null, policy: null, metadata: { only: 'this' }, expected_version: version };
  const wanted = { external_id: null, policy: null, metadata: { only: 'this' }, version: version + 1, name };
  shows(`${target} after its change`, await done(exercise, 'PATCH', target, change), wanted);
  await refused(exercise, ['PATCH', target, { policy: 'no such policy' }], 400, 'not_found');
  shows(target, await done(exercise, 'PATCH', target, { external_id: 'exercised' }), { version: version + 2 });
}

/** "freeze: no new intents … unfreeze ends it"; each is idempotent. */
async function frozen(exercise: Exercise, target: string): Promise<void> {
  const first = await done(exercise, 'POST', `${target}/freeze`, {});
  const again = await done(exercise, 'POST', `${target}/freeze`, {});
  shows(`${target}/freeze again`, again, { status: 'frozen', version: first.version, updated_at: first.updated_at });
  const pay = ['POST', `${target}/transaction-intents`, transferOf(first)] as const;
  await refused(exercise, pay, 409, 'frozen');
  const after = await done(exercise, 'POST', `${target}/unfreeze`, {});
  shows(`${target}/unfreeze`, after, { status: 'active', version: first.version + 1 });
  const more = await done(exercise, 'POST', `${target}/unfreeze`, {});
  shows(`${target}/unfreeze again`, more, { status: 'active', version: first.version + 1 });
}

/** "archive: final, idempotent." */
async function archived(exercise: Exercise, target: string, id: string): Promise<void> {
  const reason = exercise.draw.chance(0.5) ? longReason : 'no longer used';
  const wallet = await done(exercise, 'POST', `${target}/archive`, { reason });
  const ended = { status: 'archived', archive_reason: reason, ...dated(exercise, 'archived_at', wallet) };
  shows(`${target}/archive`, wallet, ended);
  const again = await done(exercise, 'POST', `${target}/archive`, { reason: 'another one' });
  shows(`${target}/archive again`, again, { version: wallet.version, archive_reason: reason });
  for (const what of ['freeze', 'unfreeze']) await refused(exercise, ['POST', `${target}/${what}`, {}], 409);
  await refused(exercise, ['PATCH', target, { name: 'later' }], 409, 'wallet_archived');
  await refused(exercise, ['POST', `${target}/transaction-intents`, transferOf(wallet)], 409, 'archived');
  const usual = await idsOf(exercise, '/v1/wallets?external_id=exercised', 'wallets');
  if (usual.includes(id)) found('pages-complete', `${id} is archived, and listed without that status`);
}

// biome-ignore lint/suspicious/noExplicitAny: a wallet as the API shows it.
function transferOf({ assets, addresses }: any) {
  return { asset: assets[0].symbol, amount: '0.001', destination: { address: addresses[0].address } };
}

/** An intent that waits for votes, votes with and without their texts, and a cancellation. */
export async function wholeIntent(exercise: Exercise): Promise<void> {
  const { tenancy, draw, operator } = exercise;
  const pending = await asking(exercise);
  if (pending === undefined) return;
  const { wallet, intent, body } = pending;
  const target = `/v1/wallets/${wallet.id}/transaction-intents/${intent.id}`;
  shows(`the new intent ${intent.id}`, intent, {
    ...{ kind: 'transfer', wallet_id: wallet.id, provider: wallet.provider, network: wallet.network },
    ...{ provider_connection_id: wallet.connectionId, from_address: wallet.address, initiator: operator.actor },
    ...{ token: null, origin: null, provider_tx_id: null, provider_details: null, approvals: [], cancellation: null },
    ...{ version: 1, metadata: body.metadata, asset: body.asset, sub_status: 'AWAITING_APPROVAL' },
  });
  const others = tenancy.operators.filter(
    ({ actor }) => actor !== operator.actor && (intent.approvers.length === 0 || intent.approvers.includes(actor)),
  );
  const voter = draw.pick(others);
  const by = { ...exercise, operator: voter };
  await refused(exercise, ['POST', `${target}/approve`, {}], 403, 'initiator_may_not_approve');
  await refused(by, ['POST', `${target}/approve`, { decision: 'reject' }], 400, 'missing_required');
  const stale = { expected_version: intent.version + 1 };
  await refused(by, ['POST', `${target}/approve`, stale], 409, 'version_conflict');
  const inbox = await idsOf(by, '/v1/transaction-intents?awaiting_my_vote=true', 'transaction_intents');
  if (!inbox.includes(intent.id)) found('pages-complete', `${intent.id} is not in the inbox of ${voter.actor}`);
  if (intent.approvals_required > 1) await firstVote(by, target, voter.actor);
  const last = others.find((one) => one !== voter) ?? voter;
  if (draw.chance(0.5)) await cancelled(exercise, target);
  else await rejected({ ...exercise, operator: last }, target, last.actor);
  const { assets } = await done(exercise, 'GET', `/v1/wallets/${wallet.id}`);
  const open = await idsOf(
    exercise,
    `/v1/wallets/${wallet.id}/transaction-intents?status=pending_approval`,
    'transaction_intents',
  );
  if (open.includes(intent.id)) found('pages-complete', `${intent.id} has ended, and is listed as pending`);
  for (const { symbol, balance, available, pending: reserved } of assets) {
    if (decimal(available) + decimal(reserved) === decimal(balance)) continue;
    found('books-as-documented', `${wallet.id}: ${available} and ${reserved} ${symbol} are not ${balance}`);
  }
}

/** One vote of several, with a comment, and its repetition. */
async function firstVote(by: Exercise, target: string, actor: string): Promise<void> {
  const vote = { decision: 'approve', comment: 'matches\nthe invoice' };
  const after = await done(by, 'POST', `${target}/approve`, vote);
  const [made] = after.approvals;
  shows(`${target} after a vote`, made, { by: actor, decision: 'approve', comment: vote.comment, reason: null });
  shows(`${target} after a vote`, after, { status: 'pending_approval' });
  const again = await done(by, 'POST', `${target}/approve`, {});
  shows(`${target} after the vote again`, again, { version: after.version, approvals: after.approvals });
  const inbox = await idsOf(by, '/v1/transaction-intents?awaiting_my_vote=true', 'transaction_intents');
  if (inbox.some((id) => target.endsWith(id))) found('pages-complete', `${target} awaits a second vote of ${actor}`);
}

async function cancelled(exercise: Exercise, target: string): Promise<void> {
  const { operator } = exercise;
  const reason = exercise.draw.chance(0.5) ? longReason : 'paid by other means';
  const after = await done(exercise, 'POST', `${target}/cancel`, { reason });
  shows(`${target}/cancel`, after, { status: 'cancelled', sub_status: null });
  shows(`${target}/cancel`, after.cancellation, { by: operator.actor, reason, ...dated(exercise, 'at', after) });
  await refused(exercise, ['POST', `${target}/cancel`, {}], 409, 'cancelled');
}

async function rejected(by: Exercise, target: string, actor: string): Promise<void> {
  const after = await done(by, 'POST', `${target}/approve`, { decision: 'reject', reason: 'not ours' });
  shows(`${target} after a rejection`, after, { status: 'rejected' });
  const vote = { by: actor, decision: 'reject', reason: 'not ours', comment: null, ...dated(by, 'at', after) };
  shows(`${target} after a rejection`, after.approvals.at(-1), vote);
  await refused(by, ['POST', `${target}/cancel`, {}], 409, 'rejected');
}

/** A transfer that the policies make wait; undefined: they decide otherwise. */
async function asking(exercise: Exercise) {
  const { tenancy, draw } = exercise;
  const wallet = draw.pick(tenancy.wallets);
  const { body: shown } = await exercise.operator.call('GET', `/v1/wallets/${wallet.id}`);
  if (shown.status !== 'active') return undefined;
  const to = draw.pick(tenancy.wallets.filter(({ network }) => network === wallet.network));
  const key = tenancy.key('pay');
  const plain = { destination: { address: to.address }, metadata: { key, note: ['kept', { as: 'given' }] } };
  const body = { asset: wallet.assets[0]!.symbol, amount: draw.pick(['0.21', '0.26']), ...plain };
  const made = await submitted(exercise, wallet, body, key);
  if (made === undefined) return undefined;
  if (made.status === 'pending_approval') return { wallet, intent: made, body };
  return undefined;
}

/** A transfer whose key is in its body. */
async function submitted(exercise: Exercise, wallet: OwnWallet, body: PaidBody, key: string) {
  const { tenancy, operator } = exercise;
  const target = `/v1/wallets/${wallet.id}/transaction-intents`;
  const askedMs = operator.nowMs;
  const given = { ...body, idempotency_key: key };
  const { status, body: made } = await operator.call('POST', target, given, key);
  const intentId = status === 201 ? (made.id as string) : null;
  const times = { askedMs, answeredMs: operator.nowMs };
  tenancy.submitted.push({ key, walletId: wallet.id, initiator: operator.actor, ...times, body, intentId });
  await refused(exercise, ['POST', target, { ...given, idempotency_key: `${key}-other` }], 400, 'duplicate_field');
  return intentId === null ? undefined : made;
}

interface PaidBody {
  readonly asset: string;
  readonly amount: string;
  readonly destination: { readonly address: string };
}
