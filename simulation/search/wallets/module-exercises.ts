/** Vaults, strategies and tokens at rest, each from its creation to its end. docs/vaults.md, docs/treasury.md, docs/tokens.md. */
import { createHash } from 'node:crypto';
import { decimal } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { dated, done, type Exercise, idsOf, refused, sameIds, shows } from './exercise.ts';

/** The digits of prices and values, in US dollars. */
const bpsAll = 10_000n;

/** A vault with two keys: each signs, and after its archive neither does. */
export async function wholeVault(exercise: Exercise): Promise<void> {
  const { draw, tenancy } = exercise;
  const threshold = draw.int(2, 3);
  const metadata = { desk: 'emea' };
  const asked = {
    ...{ name: tenancy.key('exercised vault'), keystore_type: draw.pick(['mpc_frost', 'mock_threshold']) },
    ...{ curve: 'ed25519', threshold, total_nodes: 3, metadata },
  };
  for (const wrong of [{ threshold: 4 }, { threshold: 1 }, { total_nodes: 1, threshold: 1 }]) {
    const { operator } = exercise;
    const body = { ...asked, ...wrong };
    const { status } = await operator.call('POST', '/v1/vaults', body, tenancy.key('exercise'));
    if (status !== 400 && status !== 422)
      found('answers-as-modelled', `a vault of ${body.threshold} of ${body.total_nodes}: ${status}`);
  }
  const vault = await done(exercise, 'POST', '/v1/vaults', asked);
  const usual = { status: 'active', approval_mode: 'unspecified', policy: null, key_count: 1, version: 1 };
  shows(`the new vault ${vault.id}`, vault, { ...asked, ...usual, archived_at: null, archive_reason: null });
  tenancy.told.add(vault.primary_key_id);
  const target = `/v1/vaults/${vault.id}`;
  const key = await done(exercise, 'POST', `${target}/keys`, { name: 'second' });
  const first = { vault_id: vault.id, status: 'active', keystore_type: asked.keystore_type, curve: 'ed25519' };
  shows(`the key ${key.id}`, key, { ...first, name: 'second', key_scheme: 'frost_ed25519', key_exposed: false });
  const point = Buffer.from(key.public_key, 'hex').toString('base64url');
  shows(`the key ${key.id}`, key, { jwk: { kty: 'OKP', crv: 'Ed25519', x: point }, deleted_at: null, owners: [] });
  const { version: _version, updated_at: _updatedAt, ...constant } = vault;
  shows(target, await done(exercise, 'GET', target), { ...constant, key_count: 2 });
  const keys = await idsOf(exercise, `${target}/keys`, 'keys');
  sameIds(`${target}/keys`, keys, [vault.primary_key_id, key.id]);
  const message = Buffer.from(tenancy.key('message'));
  const witness = Buffer.from('seen').toString('base64');
  const sign = { key_id: key.id, message: message.toString('base64'), message_type: 'raw' };
  const made = await done(exercise, 'POST', `${target}/sign`, { ...sign, human_approval_witness: witness });
  const digest = createHash('sha256').update(message).digest('hex');
  shows(`${target}/sign`, made, { vault_id: vault.id, key_id: key.id, message_sha256: digest, message_type: 'raw' });
  if (made.status === 'completed') shows(`${target}/sign`, made, { public_key: key.public_key });
  await refused(exercise, ['POST', `${target}/sign`, { ...sign, message_type: 'digest' }], 400);
  const unknown = { ...sign, key_id: vault.id.replace('vlt_', 'vky_') };
  await refused(exercise, ['POST', `${target}/sign`, unknown], 404);
  const reason = 'no longer used';
  const after = await done(exercise, 'POST', `${target}/archive`, { reason });
  const wanted = { status: 'archived', archive_reason: reason, ...dated(exercise, 'archived_at', after) };
  shows(`${target}/archive`, after, wanted);
  const again = await done(exercise, 'POST', `${target}/archive`, { reason: 'another one' });
  shows(`${target}/archive again`, again, { version: after.version, archive_reason: reason });
  await refused(exercise, ['POST', `${target}/sign`, sign], 409, 'vault_archived');
  await refused(exercise, ['POST', `${target}/keys`, {}], 409, 'vault_archived');
  const live = await idsOf(exercise, '/v1/vaults', 'vaults');
  const ended = await idsOf(exercise, '/v1/vaults?status=archived', 'vaults');
  if (live.includes(vault.id) || !ended.includes(vault.id))
    found('pages-complete', `${vault.id} is archived: listed ${live.includes(vault.id)}, as archived ${ended}`);
  sameIds(`${target}/keys`, await idsOf(exercise, `${target}/keys`, 'keys'), keys);
}

/** A strategy in two versions, its positions, plans, and its end. */
export async function wholeStrategy(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const wallets = tenancy.wallets.filter(({ assets }) => assets.length > 1);
  if (wallets.length === 0) return;
  const { id: walletId } = draw.pick(wallets);
  const { body: wallet } = await exercise.operator.call('GET', `/v1/wallets/${walletId}`);
  if (wallet.status !== 'active') return;
  const targets = [
    { asset: 'ETH', weight_bps: 4_000, band_bps: 100 },
    { asset: 'USDC', weight_bps: 6_000, band_bps: 100 },
  ];
  const body = { name: tenancy.key('exercised'), wallet_ids: [walletId], targets, autonomy: 'advisory' };
  const many = { ...body, targets: [targets[0]] };
  await refused(exercise, ['POST', '/v1/treasury/strategies', many], 400, 'weights_sum');
  const made = await done(exercise, 'POST', '/v1/treasury/strategies', body);
  const usual = {
    ...{ min_trade_usd: '10', max_trade_usd: null, max_trades: 10, max_cost_bps: 100, cash_floor: null, cooldown_s: 0 },
    ...{ price_tolerance_bps: 100, price_age_max_s: 60, plan_ttl_s: 300, venue_deadline_s: 600 },
  };
  const rest = { policy: null, executing_plan_id: null, last_executed_at: null, status: 'active' };
  const trigger = { kind: 'manual', every_s: 0 };
  shows(`the strategy ${made.id}`, made, { ...body, ...rest, strategy_version: 1, trigger, constraints: usual });
  const target = `/v1/treasury/strategies/${made.id}`;
  const plan = await planned(exercise, made.id, { strategy_version: 1, status: 'proposed', origin: 'request' });
  const constraints = { max_trades: 3, cash_floor: { asset: 'USDC', amount: '2' } };
  const next = { ...body, name: tenancy.key('exercised'), autonomy: 'human_approval', constraints };
  const later = await done(exercise, 'POST', `${target}/versions`, next);
  const wanted = { ...next, strategy_version: 2, constraints: { ...usual, ...constraints }, id: made.id };
  shows(`${target}/versions`, later, { ...wanted, created_at: made.created_at });
  shows(`${target}?version=1`, await done(exercise, 'GET', `${target}?version=1`), { ...body, strategy_version: 1 });
  shows(target, await done(exercise, 'GET', target), wanted);
  await refused(exercise, ['GET', `${target}?version=3`], 404);
  await stale(exercise, plan.id);
  await positioned(exercise, later, wallet);
  await proposed(exercise, made.id);
  await refused(exercise, ['POST', `/v1/treasury/plans/${plan.id}/execute`, {}], 409);
  await called(exercise, plan.id);
  await ended(exercise, target, made.id);
  tenancy.modules?.strategies.push({
    ...{ id: made.id, autonomy: 'human_approval', maxTrades: 10, maxTradeUsd: undefined, cooldownS: 0 },
    walletIds: [walletId],
  });
}

async function planned(exercise: Exercise, strategyId: string, wanted: Readonly<Record<string, unknown>>) {
  const { operator } = exercise;
  const plan = await done(exercise, 'POST', '/v1/treasury/rebalance', { strategy_id: strategyId });
  const more = {
    strategy_id: strategyId,
    asked_by: operator.actor,
    executed_by: null,
    rationale: null,
    withheld: null,
  };
  shows(`the plan ${plan.id}`, plan, { ...more, ...wanted });
  return plan;
}

/** "`stale` of `GET /v1/treasury/plans/:id` says which": another version here. */
async function stale(exercise: Exercise, planId: string): Promise<void> {
  const target = `/v1/treasury/plans/${planId}`;
  const shown = await done(exercise, 'GET', target);
  const issues = shown.stale.map((one: { readonly issue: string }) => one.issue);
  if (!issues.includes('strategy_changed')) found('answers-as-modelled', `${target} is stale for ${issues}`);
}

interface Position {
  readonly asset: string;
  readonly amount: string;
  readonly value_usd: string;
  readonly weight_bps: number;
  readonly target_bps: number;
  readonly drift_bps: number;
  readonly band_bps: number;
  readonly in_band: boolean;
}

interface StrategyShown {
  readonly id: string;
  readonly name: string;
  readonly strategy_version: number;
  readonly targets: readonly { readonly asset: string; readonly weight_bps: number; readonly band_bps: number }[];
}

/** "What the strategies' wallets hold, at the present prices, and its drift." */
async function positioned(exercise: Exercise, strategy: StrategyShown, wallet: { readonly assets: readonly Held[] }) {
  const target = `/v1/treasury/positions?strategy_id=${strategy.id}`;
  const { positions } = await done(exercise, 'GET', target);
  const all = await exercise.operator.list<{ strategy_id: string }>('/v1/treasury/positions', 'positions', 3);
  const names = all.map(({ strategy_id: id }) => id);
  const active = await idsOf(exercise, '/v1/treasury/strategies?status=active', 'strategies');
  sameIds('/v1/treasury/positions', names, active);
  const [shown] = positions;
  shows(target, shown, { strategy_id: strategy.id, strategy_version: strategy.strategy_version, name: strategy.name });
  if (shown.unpriced !== null) return;
  const total = decimal(shown.total_value_usd);
  let sum = 0n;
  for (const { asset, weight_bps: wanted, band_bps: band } of strategy.targets) {
    const about = `${target}, ${asset}`;
    const position = shown.assets.find((one: Position) => one.asset === asset) as Position;
    const held = wallet.assets.find(({ symbol }) => symbol === asset);
    if (decimal(position.amount) !== decimal(held?.available ?? '0'))
      found('answers-as-modelled', `${about} holds ${position.amount}, and ${held?.available} is available`);
    const drift = position.weight_bps - wanted;
    shows(about, position, { target_bps: wanted, band_bps: band });
    // A share is cut to whole basis points, and so is a drift.
    const isClose = Math.abs(position.drift_bps - drift) <= 1;
    if (!isClose) found('answers-as-modelled', `${about} has drifted ${position.drift_bps}, not ${drift}`);
    if (Math.abs(drift) !== band) shows(about, position, { in_band: Math.abs(drift) < band });
    const { price_usd: price } = shown.prices.find((one: Position) => one.asset === asset);
    const value = (decimal(position.amount) * decimal(price)) / 10n ** 18n;
    if (!near(value, decimal(position.value_usd)))
      found('answers-as-modelled', `${about} is worth ${position.value_usd}`);
    if (total > 0n && !near(BigInt(position.weight_bps), (value * bpsAll) / total, 1n))
      found('answers-as-modelled', `${about} has the weight ${position.weight_bps}`);
    sum += decimal(position.value_usd);
  }
  if (!near(sum, total)) found('answers-as-modelled', `${target} is worth ${shown.total_value_usd} in all`);
}

interface Held {
  readonly symbol: string;
  readonly available: string;
}

/** Values have eight digits. */
function near(one: bigint, other: bigint, by = 10n ** 11n): boolean {
  const difference = one - other;
  return difference <= by && difference >= -by;
}

/** "A proposal must meet the same constraints": an asset of no target, and nothing to sell. */
async function proposed(exercise: Exercise, strategyId: string): Promise<void> {
  const target = '/v1/treasury/rebalance';
  const propose = (trade: object) => ({ strategy_id: strategyId, proposal: { trades: [trade] } });
  for (const trade of [
    { sell: 'BTC', buy: 'USDC', amount: '1' },
    { sell: 'ETH', buy: 'SOL', amount: '1' },
  ])
    await refused(exercise, ['POST', target, propose(trade)], 400, 'unknown_asset');
  const large = propose({ sell: 'ETH', buy: 'USDC', amount: '1000000' });
  await refused(exercise, ['POST', target, large], 422);
}

async function called(exercise: Exercise, planId: string): Promise<void> {
  const target = `/v1/treasury/plans/${planId}/cancel`;
  shows(target, await done(exercise, 'POST', target, {}), { status: 'cancelled' });
  const { status, body } = await exercise.operator.call('POST', target, {}, exercise.tenancy.key('exercise'));
  if (status !== 409 && body.status !== 'cancelled') found('answers-as-modelled', `${target} again: ${status}`);
}

/** "End a strategy for good": repeating it changes nothing. */
async function ended(exercise: Exercise, target: string, id: string): Promise<void> {
  const from = exercise.tenancy.sequence;
  const after = await done(exercise, 'POST', `${target}/archive`, {});
  shows(`${target}/archive`, after, { status: 'archived', strategy_version: 2 });
  const again = await done(exercise, 'POST', `${target}/archive`, {});
  shows(`${target}/archive again`, again, { updated_at: after.updated_at });
  if (exercise.tenancy.sequence > from + 1) found('events-complete', `${target}/archive makes two events`);
  await refused(exercise, ['POST', '/v1/treasury/rebalance', { strategy_id: id }], 409, 'archived');
  const body = { name: 'later', wallet_ids: after.wallet_ids, targets: after.targets, autonomy: 'advisory' };
  await refused(exercise, ['POST', `${target}/versions`, body], 409, 'archived');
  const positions = await exercise.operator.list<{ strategy_id: string }>('/v1/treasury/positions', 'positions', 5);
  if (positions.some(({ strategy_id: one }) => one === id))
    found('pages-complete', `${id} is archived, and its positions are listed`);
}

/** A token that is frozen for a while. */
export async function frozenToken(exercise: Exercise): Promise<void> {
  const { tenancy, draw } = exercise;
  const tokens = tenancy.modules?.tokens ?? [];
  if (tokens.length === 0) return;
  const { id } = draw.pick(tokens);
  const target = `/v1/tokens/${id}`;
  const shown = await done(exercise, 'GET', target);
  if (shown.status !== 'active') return;
  const { tokens: listed } = await done(exercise, 'GET', '/v1/tokens?limit=100');
  shows(
    '/v1/tokens',
    listed.find((one: { readonly id: string }) => one.id === id),
    shown,
  );
  const reason = 'the custodian of the reserve is being replaced';
  const frozen = await done(exercise, 'POST', `${target}/freeze`, { reason });
  shows(`${target}/freeze`, frozen, { ...shown, ...changedBy(shown, frozen), status: 'frozen', freeze_reason: reason });
  const again = await done(exercise, 'POST', `${target}/freeze`, { reason: 'another one' });
  shows(`${target}/freeze again`, again, { version: frozen.version, freeze_reason: reason });
  const thawed = await done(exercise, 'POST', `${target}/unfreeze`, { reason: 'replaced' });
  shows(`${target}/unfreeze`, thawed, {
    ...shown,
    ...changedBy(frozen, thawed),
    status: 'active',
    freeze_reason: null,
  });
  const { issuer_wallet_id: walletId, decimals, network, symbol } = shown;
  const issue = { symbol, name: symbol, network, decimals, supply_cap: '10', issuer_wallet_id: walletId };
  for (const [change, status] of [
    [{ decimals: 19 }, 400],
    [{ supply_cap: '0' }, 400],
    [{}, 409],
  ] as const)
    await refused(exercise, ['POST', '/v1/tokens', { ...issue, ...change }], status);
}

function changedBy({ version }: { readonly version: number }, { updated_at }: { readonly updated_at: string }) {
  return { version: version + 1, updated_at };
}

/** "Sets prices of the caller's tenant and the venue's behaviour": what a call leaves out stays. */
export async function market(exercise: Exercise): Promise<void> {
  const target = '/v1/sandbox/market';
  const first = { mode: 'partial', fill_bps: 4_321, slippage_bps: 17 };
  const made = await done(exercise, 'POST', target, { venue: first });
  shows(target, made.venue, first);
  const after = await done(exercise, 'POST', target, { venue: { mode: 'normal' } });
  shows(target, after.venue, { ...first, mode: 'normal' });
  const priced = await done(exercise, 'POST', target, { prices: [{ asset: 'ETH', price_usd: '2345.6' }] });
  shows(target, priced.venue, { ...first, mode: 'normal' });
  shows(target, (await done(exercise, 'GET', target)).venue, priced.venue);
}
