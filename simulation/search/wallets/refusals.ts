/**
 * Requests that are not valid, for every operation with a body: each rule of docs/wallet-api.md about a field, broken alone, is a
 * 400 that names the field. Unknown resources are 404, and lists take limits of 1 to 100 and known filters only.
 */
import { uuidV7 } from '../../../proto/ids.ts';
import { found } from '../../service/invariants/finding.ts';
import { issuesOf } from './answer-invariants.ts';
import type { Exercise } from './exercise.ts';
import { refused } from './exercise.ts';

/** The rules about a field; texts have at least one character. */
interface Rule {
  readonly kind: 'text' | 'choice' | 'number' | 'flag' | 'object' | 'list';
  readonly isRequired?: boolean;
  /** Of a text: its greatest length; of a number: its greatest value. */
  readonly max?: number;
  readonly min?: number;
  readonly isNullable?: boolean;
}

const text = (max?: number): Rule => ({ kind: 'text', ...(max !== undefined && { max }) });
const choice: Rule = { kind: 'choice' };
const flag: Rule = { kind: 'flag' };
const object: Rule = { kind: 'object' };
const list: Rule = { kind: 'list' };
const number = (min: number, max: number): Rule => ({ kind: 'number', min, max });
const must = (rule: Rule): Rule => ({ ...rule, isRequired: true });
const orNull = (rule: Rule): Rule => ({ ...rule, isNullable: true });
const version = number(1, Number.MAX_SAFE_INTEGER);
const settings = {
  policy: orNull(text(100)),
  ...{ approval_mode: choice, signing_api: choice, external_id: orNull(text(128)), metadata: object },
};
const reason = { reason: text(500) };
const reserve = { reserve_reference: must(object), metadata: object };

/** The fields of each request. */
const bodies: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  'POST /v1/provider-connections': {
    ...{ provider: must(choice), name: must(text(100)), credentials: must(object), metadata: object },
  },
  'PATCH /v1/provider-connections/pcn_': { name: text(100), metadata: object, credentials: object },
  'POST /v1/wallets': {
    ...{ name: must(text(100)), provider_connection_id: must(text(64)), network: must(choice), ...settings },
  },
  'PATCH /v1/wallets/wal_': { name: text(100), ...settings, expected_version: version },
  'POST /v1/wallets/wal_/archive': reason,
  'POST /v1/wallets/wal_/transaction-intents': {
    ...{ asset: must(text(32)), amount: must(text(80)), destination: must(object), policy: text(100) },
    ...{ idempotency_key: text(255), external_id: text(128), metadata: object },
  },
  'POST /v1/wallets/wal_/transaction-intents/txi_/approve': {
    ...{ decision: choice, comment: text(500), ...reason, expected_version: version },
  },
  'POST /v1/wallets/wal_/transaction-intents/txi_/cancel': reason,
  'POST /v1/webhooks': { url: must(text()), events: must(list), description: text() },
  'PATCH /v1/webhooks/whk_': { url: text(), events: list, description: orNull(text()), status: choice },
  'POST /v1/webhooks/whk_/rotate-secret': { revoke_previous: flag },
  'POST /v1/policies': { name: must(text(100)), rules: must(list), mode: choice },
  'POST /v1/compliance/lists': { name: must(text(100)), kind: must(choice), entries: must(list), append: flag },
  'POST /v1/compliance/screen': { subject: must(object), asset: text(20), direction: choice },
  'POST /v1/risk/rules': {
    ...{ name: must(text(100)), when: must(text(2_000)), points: must(number(-100, 100)), action: choice },
    ...{ priority: number(0, 1_000), mode: choice },
  },
  'POST /v1/risk/evaluate': { transaction: object, intent_id: text(64) },
  'PATCH /v1/risk/rules/rul_': { mode: choice, points: number(-100, 100), priority: number(0, 1_000) },
  'POST /v1/recon/jobs': { kind: must(choice), scope: object, tolerance: object },
  'POST /v1/recon/exceptions/rcx_/resolve': { resolution: must(choice), note: text() },
};
const moduleBodies: typeof bodies = {
  'POST /v1/vaults': {
    ...{
      name: must(text(100)),
      keystore_type: must(choice),
      curve: must(choice),
      threshold: number(1, Number.MAX_SAFE_INTEGER),
    },
    ...{ policy: orNull(text(100)), approval_mode: choice, metadata: object },
  },
  'POST /v1/vaults/vlt_/sign': { key_id: must(text(64)), message: must(text()), message_type: must(choice) },
  'POST /v1/vaults/vlt_/archive': reason,
  'POST /v1/treasury/strategies': {
    ...{ name: must(text(100)), wallet_ids: must(list), targets: must(list), autonomy: must(choice) },
    ...{ trigger: object, constraints: object, policy: orNull(text(100)) },
  },
  'POST /v1/treasury/rebalance': { strategy_id: must(text(128)), dry_run: flag, proposal: object },
  'POST /v1/tokens': {
    ...{ symbol: must(text()), name: must(text(100)), network: must(choice), decimals: must(number(0, 18)) },
    ...{ supply_cap: must(text(80)), issuer_wallet_id: must(text(64)) },
  },
  'POST /v1/tokens/tkn_/mint': { amount: must(text(80)), destination: must(object), ...reserve },
  'POST /v1/tokens/tkn_/redeem': { amount: must(text(80)), source: must(object), ...reserve },
  'POST /v1/tokens/tkn_/freeze': reason,
};

const badChoice = 'no such choice';

interface Broken {
  readonly body: Readonly<Record<string, unknown>>;
  readonly field: string;
  readonly issue?: string;
}

/** Some operations, each with one broken rule. The ids are unknown: the form of a body comes first. */
export async function brokenRules(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const all = { ...bodies, ...(tenancy.modules !== undefined && moduleBodies) };
  for (let count = 0; count < rulesEach; count += 1) {
    const name = draw.pick(Object.keys(all));
    const [method, target] = name.split(' ') as [string, string];
    const broken = draw.pick([...brokenBy(all[name]!)]);
    await refusedFor(exercise, method, withIds(exercise, target), broken);
  }
}

const rulesEach = 8;

async function refusedFor(exercise: Exercise, method: string, target: string, { body, field, issue }: Broken) {
  const { operator, tenancy } = exercise;
  const key = method === 'POST' ? tenancy.key('broken') : undefined;
  const answer = await operator.call(method, target, body, key);
  const details: readonly { readonly field: string; readonly issue: string }[] = answer.body?.error?.details ?? [];
  const isNamed = details.some((one) => one.field.startsWith(field) && (issue === undefined || one.issue === issue));
  if (answer.status === 400 && isNamed) return;
  const wanted = `400 ${field} ${issue ?? ''}`.trimEnd();
  found(
    'answers-as-modelled',
    `${method} ${target} ${JSON.stringify(body).slice(0, 300)}: ${answer.status} ${issuesOf(answer)}, not ${wanted}`,
  );
}

/** Bodies without other fields: a body with several faults names each. */
function* brokenBy(fields: Readonly<Record<string, Rule>>): Generator<Broken> {
  yield { body: { not_a_field: 1 }, field: 'not_a_field', issue: 'unknown_field' };
  for (const [field, { kind, isRequired, isNullable, min, max }] of Object.entries(fields)) {
    if (isRequired) yield { body: {}, field, issue: 'missing_required' };
    const isText = kind === 'text' || kind === 'choice';
    yield { body: { [field]: isText ? 7 : 'a text' }, field, issue: 'wrong_type' };
    if (!isNullable) yield { body: { [field]: null }, field };
    if (kind === 'choice') yield { body: { [field]: badChoice }, field };
    if (kind === 'text') yield { body: { [field]: '' }, field };
    if (kind === 'text' && max !== undefined) yield { body: { [field]: 'a'.repeat(max + 1) }, field };
    if (kind !== 'number') continue;
    yield { body: { [field]: 0.5 }, field };
    if (min !== undefined) yield { body: { [field]: min - 1 }, field };
    if (max !== undefined && max < Number.MAX_SAFE_INTEGER) yield { body: { [field]: max + 1 }, field };
  }
}

/** With an id of nothing for each prefix. */
function withIds({ draw, operator }: Exercise, target: string): string {
  const random = (length: number) => Uint8Array.from({ length }, () => draw.int(0, 255));
  return target.replaceAll(/([a-z]{3}_)(?=\/|$)/g, (prefix) => `${prefix}${uuidV7(operator.nowMs, random)}`);
}

const unknown: readonly (readonly [method: string, target: string, body?: unknown])[] = [
  ['GET', '/v1/provider-connections/pcn_'],
  ['PATCH', '/v1/provider-connections/pcn_', { name: 'another' }],
  ['POST', '/v1/provider-connections/pcn_/test', {}],
  ['POST', '/v1/provider-connections/pcn_/disconnect', {}],
  ['GET', '/v1/wallets/wal_'],
  ['PATCH', '/v1/wallets/wal_', { name: 'another' }],
  ['POST', '/v1/wallets/wal_/freeze', {}],
  ['POST', '/v1/wallets/wal_/unfreeze', {}],
  ['POST', '/v1/wallets/wal_/archive', {}],
  ['GET', '/v1/wallets/wal_/transaction-intents'],
  ['GET', '/v1/webhooks/whk_'],
  ['GET', '/v1/webhooks/whk_/deliveries'],
  ['PATCH', '/v1/webhooks/whk_', { events: ['*'] }],
  ['DELETE', '/v1/webhooks/whk_'],
  ['POST', '/v1/webhooks/whk_/ping', {}],
  ['POST', '/v1/webhooks/whk_/rotate-secret', {}],
  ['GET', '/v1/policies/pol_'],
  ['GET', '/v1/policies/pol_/decisions'],
  ['GET', '/v1/compliance/lists/lst_'],
  ['GET', '/v1/compliance/reports/rep_'],
  ['GET', '/v1/risk/scores/txi_'],
  ['POST', '/v1/risk/evaluate', 'intent'],
  ['PATCH', '/v1/risk/rules/rul_', { points: 1 }],
  ['DELETE', '/v1/risk/rules/rul_'],
  ['GET', '/v1/recon/jobs/rcj_'],
  ['POST', '/v1/recon/jobs/rcj_/cancel', {}],
  ['GET', '/v1/recon/exceptions/rcx_'],
  ['POST', '/v1/recon/exceptions/rcx_/resolve', { resolution: 'matched' }],
  ['GET', '/v1/sessions/sig_'],
];
const unknownOfModules: typeof unknown = [
  ['GET', '/v1/vaults/vlt_'],
  ['GET', '/v1/vaults/vlt_/keys'],
  ['POST', '/v1/vaults/vlt_/keys', {}],
  ['POST', '/v1/vaults/vlt_/archive', {}],
  ['GET', '/v1/treasury/strategies/stg_'],
  ['GET', '/v1/treasury/plans/pln_'],
  ['GET', '/v1/treasury/positions?strategy_id=stg_'],
  ['POST', '/v1/treasury/plans/pln_/cancel', {}],
  ['POST', '/v1/treasury/plans/pln_/execute', {}],
  ['POST', '/v1/treasury/strategies/stg_/archive', {}],
  ['GET', '/v1/tokens/tkn_'],
  ['GET', '/v1/tokens/tkn_/orders'],
  ['POST', '/v1/tokens/tkn_/freeze', {}],
  ['POST', '/v1/tokens/tkn_/unfreeze', {}],
];

/** "It does not exist": 404, in each path. */
export async function unknownIds(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const all = [...unknown, ...(tenancy.modules === undefined ? [] : unknownOfModules)];
  for (let count = 0; count < unknownEach; count += 1) {
    const [method, path, given] = draw.pick(all);
    const body = given === 'intent' ? { intent_id: withIds(exercise, 'txi_') } : given;
    await refused(exercise, [method, withIds(exercise, path), body], 404);
  }
}

const unknownEach = 5;

const lists: readonly (readonly [path: string, filters: readonly string[]])[] = [
  ['/v1/wallets', ['status=lost', 'provider=none', 'provider_connection_id=1', 'network=eip155:1']],
  ['/v1/transaction-intents', ['status=lost', 'created_after=yesterday', 'awaiting_my_vote=maybe']],
  ['/v1/provider-connections', ['status=lost', 'provider=none']],
  ['/v1/events', ['type=Nothing', 'after_sequence=-1', 'created_before=tomorrow', 'after_sequence=1.5']],
  ['/v1/webhooks', ['status=enabled']],
  ['/v1/policies', ['mode=enforce']],
  ['/v1/compliance/lists', ['kind=deny']],
  ['/v1/risk/rules', ['mode=enforce']],
  ['/v1/recon/jobs', ['status=lost', 'kind=nothing']],
  ['/v1/recon/exceptions', ['status=lost', 'type=nothing', 'severity=none']],
  ['/v1/sessions', ['state=lost']],
];
const wrongPages = ['limit=0', 'limit=101', 'limit=1.5', 'limit=-1', 'limit=many', 'cursor=invented', 'page=2'];
const reversed = 'created_after=2023-11-15T00:00:00.000Z&created_before=2023-11-14T00:00:00.000Z';

/** Queries that are not valid are 400. */
export async function wrongQueries(exercise: Exercise): Promise<void> {
  const { draw } = exercise;
  for (let count = 0; count < unknownEach; count += 1) {
    const [path, filters] = draw.pick(lists);
    await refused(exercise, ['GET', `${path}?${draw.pick([...wrongPages, ...filters])}`], 400);
  }
  const timed = draw.pick(['/v1/transaction-intents', '/v1/events']);
  await refused(exercise, ['GET', `${timed}?${reversed}`], 400);
}

/** Keys of 1 to 255 visible characters; an invented token is 401; nothing is on another path. */
export async function envelope(exercise: Exercise): Promise<void> {
  const { tenancy, operator, draw } = exercise;
  const { id } = draw.pick(tenancy.wallets);
  const target = `/v1/wallets/${id}/unfreeze`;
  for (const key of ['k'.repeat(256), 'two words', 'ümlaut']) {
    const { status } = await operator.call('POST', target, {}, key);
    if (status !== 400) found('one-answer-a-key', `${target} takes the key ${key}: ${status}`);
  }
  const stranger = tenancy.world.client('not-a-token', { triesMax: 3 });
  const { status, headers } = await stranger.call('GET', `/v1/wallets/${id}`);
  if (status !== 401) found('tenants-apart', `an invented token gets ${status}`);
  if (headers['www-authenticate'] === undefined) found('answers-as-modelled', 'a 401 has no WWW-Authenticate');
  await refused(exercise, ['GET', '/v1/nothing'], 404);
  await refused(exercise, ['DELETE', `/v1/wallets/${id}`], 405);
}
