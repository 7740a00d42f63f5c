/**
 * The companion modules at the end of a run: all work has ended, supply matches the orders, plans obeyed their strategy's rules,
 * vaults and sessions have their required states.
 */
import { decimal, type ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { Finding, found } from '../../service/invariants/finding.ts';
import { drawFrom } from './draw.ts';
import type { Model } from './model.ts';
import type { Operator } from './operator.ts';
import type { StrategyFacts, Tenancy } from './tenancy.ts';
import { strangersTo, TokenClient } from './token-client.ts';

/** As for transfers (settle.ts). */
const lookEveryMs = 5_000;
const expiresWithinMs = 150_000;
const lateVoteMs = 300;

interface Ballot {
  readonly initiator: string;
  readonly approvers: readonly string[];
  readonly approvals: readonly { readonly by: string }[];
}

interface Order extends Ballot {
  readonly id: string;
  readonly token_id: string;
  readonly status: string;
  readonly kind: 'mint' | 'redeem';
  readonly amount: string;
  readonly transaction_intent_id: string;
  readonly expires_at: string;
}

interface Plan {
  readonly id: string;
  readonly strategy_id: string;
  readonly status: string;
  readonly asked_by: string;
  readonly executed_by: string | null;
  readonly trades: readonly {
    readonly status: string;
    readonly reason: string | null;
    readonly value_usd: string;
    readonly sell: { readonly asset: string; readonly amount: string };
    readonly buy: { readonly asset: string; readonly amount_min: string };
    readonly sold: string | null;
    readonly bought: string | null;
    readonly transaction_intent_ids: readonly string[];
  }[];
}

interface PaidIntent {
  readonly id: string;
  readonly status: string;
  readonly asset: string;
  readonly amount: string;
}

/** Work that must not keep the world from coming to rest. */
export async function calmModules(tenancy: Tenancy): Promise<void> {
  const { modules, owner } = tenancy;
  if (modules === undefined) return;
  const draw = drawFrom(tenancy.world.random(`rest/${tenancy.name}`));
  const venue = draw.chance(0.5) ? { mode: 'partial', fill_bps: 6_000 } : { mode: 'normal' };
  await owner.made('/v1/sandbox/market', { venue }, tenancy.key('market'));
  for (const { id } of modules.tokens) await owner.call('POST', `/v1/tokens/${id}/unfreeze`, {}, tenancy.key('rest'));
}

/** The principal who may still vote on it; undefined: no vote is missing. */
export function nextVoter({ operators }: Tenancy, { initiator, approvers, approvals }: Ballot): Operator | undefined {
  return operators.find(
    ({ actor }) =>
      actor !== initiator &&
      (approvers.length === 0 || approvers.includes(actor)) &&
      !approvals.some(({ by }) => by === actor),
  );
}

/** Open jobs, orders, plans and deployments. Orders that wait for votes get one. */
export async function openModules(tenancy: Tenancy): Promise<string[]> {
  const { modules, owner } = tenancy;
  const open: string[] = [];
  for (const id of modules?.jobs ?? []) {
    const { status, body } = await owner.call('GET', `/v1/recon/jobs/${id}`);
    if (status !== 200 || body.status === 'failed') found('orders-end', `job ${id}: ${status} ${body.status}`);
    if (!['completed', 'cancelled'].includes(body.status)) open.push(`job ${id} is ${body.status}`);
  }
  for (const { id } of modules?.tokens ?? []) {
    const { body: token } = await owner.call('GET', `/v1/tokens/${id}`);
    if (token.status === 'deploying') open.push(`token ${id} is deploying`);
    for (const order of await owner.list<Order>(`/v1/tokens/${id}/orders`, 'orders')) {
      if (['completed', 'rejected', 'failed'].includes(order.status)) continue;
      open.push(`order ${order.id} is ${order.status}`);
      if (order.status === 'pending_approval') await decide(tenancy, order);
    }
  }
  if (modules === undefined) return open;
  const plans = await owner.list<Plan>('/v1/treasury/plans?status=executing', 'plans');
  return [...open, ...plans.map(({ id, status }) => `plan ${id} is ${status}`)];
}

/** First an actor who has no vote tries; an order that soon expires gets a vote when it is too late. */
async function decide(tenancy: Tenancy, order: Order): Promise<void> {
  const { operators, world } = tenancy;
  const draw = drawFrom(world.random(`rest/${order.id}/${order.approvals.length}`));
  const voter = nextVoter(tenancy, order);
  const [stranger] = strangersTo(order, operators);
  if (stranger !== undefined && draw.chance(0.5)) await new TokenClient(tenancy, stranger, draw).vote(order, 'approve');
  if (voter === undefined) return;
  const leftMs = Date.parse(order.expires_at) - world.nowMs;
  if (leftMs > 0 && leftMs <= lookEveryMs) await voter.client.pause(leftMs + draw.int(0, lateVoteMs));
  else if (leftMs < expiresWithinMs) return;
  const client = new TokenClient(tenancy, voter, draw);
  // It cannot be approved while its wallet's balance is too low.
  const isApproved = draw.chance(0.7) && (await client.vote(order, 'approve')) === 200;
  if (!isApproved) await client.vote(order, 'reject');
}

export async function checkModules(
  tenancy: Tenancy,
  model: Model,
  intents: readonly PaidIntent[],
  events: readonly ToldEvent[],
): Promise<void> {
  const { modules, owner } = tenancy;
  if (modules === undefined) return;
  for (const { id, symbol, cap } of modules.tokens) {
    const { body: token } = await owner.call('GET', `/v1/tokens/${id}`);
    const orders = await owner.list<Order>(`/v1/tokens/${id}/orders`, 'orders', 3);
    checkSupply(token, orders, model, intents, cap);
    const wallets = await owner.list<Held>('/v1/wallets', 'wallets');
    const archived = await owner.list<Held>('/v1/wallets?status=archived', 'wallets');
    const held = [...wallets, ...archived].flatMap(({ assets }) => assets).filter((asset) => asset.symbol === symbol);
    const sum = held.reduce((total, { balance }) => total + decimal(balance), 0n);
    if (sum > decimal(token.supply))
      found('supply-adds-up', `${symbol}: wallets hold ${sum}, of a supply of ${token.supply}`);
  }
  const plans = await owner.list<Plan>('/v1/treasury/plans', 'plans', 4);
  const silent = silentPlans(events);
  for (const plan of plans) checkPlan(plan, modules.strategies, intents, silent.has(plan.id));
  checkOneAtATime(events, tenancy);
  checkRunning(events);
}

interface Held {
  readonly assets: readonly { readonly symbol: string; readonly balance: string }[];
}

interface TokenShown {
  readonly id: string;
  readonly supply: string;
  readonly minting: string;
  readonly available_to_mint: string;
}

function checkSupply(
  { id, supply, minting, available_to_mint: left }: TokenShown,
  orders: readonly Order[],
  model: Model,
  intents: readonly PaidIntent[],
  cap: string,
): void {
  let sum = 0n;
  for (const { id: orderId, status, kind, amount, transaction_intent_id: intentId } of orders) {
    const intent = intents.find((one) => one.id === intentId);
    if (model.supplies.orders.get(orderId) !== status)
      found('events-complete', `order ${orderId} is ${status}, its events differ`);
    if ((status === 'completed') !== (intent?.status === 'completed')) {
      found('one-effect-a-key', `order ${orderId} is ${status}, its intent ${intent?.status}`);
    }
    if (status === 'completed') sum += kind === 'mint' ? decimal(amount) : -decimal(amount);
  }
  const isRight = sum === decimal(supply) && decimal(minting) === 0n && decimal(left) === decimal(cap) - sum;
  if (!isRight) {
    found(
      'supply-adds-up',
      `${id}: orders make ${sum}, it shows ${supply}, minting ${minting}, left ${left} of ${cap}`,
    );
  }
}

/** Plans with a trade for which the venue was silent too long: they stay failed when it answers later. */
function silentPlans(events: readonly ToldEvent[]): ReadonlySet<string> {
  const plans = events.filter(({ type }) => type.startsWith('treasury.plan.'));
  const isSilent = ({ data }: ToldEvent) =>
    (data.object as Plan).trades.some(({ reason }) => reason === 'venue_silent');
  return new Set(plans.filter(isSilent).map(({ resource }) => resource.id));
}

function checkPlan(
  plan: Plan,
  strategies: readonly StrategyFacts[],
  intents: readonly PaidIntent[],
  wasSilent: boolean,
): void {
  const { id, strategy_id: strategyId, status, asked_by: asker, executed_by: executor, trades } = plan;
  const strategy = strategies.find((one) => one.id === strategyId);
  if (strategy === undefined)
    throw new Finding('plans-keep-rules', `plan ${id} is of ${strategyId}, which no call made`);
  const { autonomy, maxTrades, maxTradeUsd } = strategy;
  if (trades.length > maxTrades) found('plans-keep-rules', `plan ${id} has ${trades.length} trades, not ${maxTrades}`);
  const large = trades.find(({ value_usd: value }) => maxTradeUsd !== undefined && Number(value) > maxTradeUsd);
  if (large !== undefined) found('plans-keep-rules', `plan ${id} trades ${large.value_usd}, more than ${maxTradeUsd}`);
  const wasExecuted = executor !== null;
  if (wasExecuted && autonomy === 'advisory')
    found('plans-keep-rules', `plan ${id} of an advisory strategy was executed`);
  if (executor === asker && autonomy === 'human_approval') {
    found('plans-keep-rules', `plan ${id} was executed by ${executor}, who asked for it`);
  }
  if (!wasExecuted && trades.some(({ transaction_intent_ids: ids }) => ids.length > 0)) {
    found('plans-keep-rules', `plan ${id} is ${status}, and has transfers`);
  }
  if (!wasExecuted) return;
  const failed = trades.some((trade) => trade.status !== 'completed');
  const isLate = wasSilent && status === 'failed';
  if (status !== (failed ? 'failed' : 'completed') && !isLate)
    found('plans-keep-rules', `plan ${id} is ${status}, its trades ${trades.map((one) => one.status)}`);
  for (const { status: standing, sell, buy, sold, bought, transaction_intent_ids: ids } of trades) {
    const legs = ids.map((one) => intents.find((intent) => intent.id === one));
    const about = `a trade of plan ${id} (${sell.amount} ${sell.asset})`;
    if (legs.includes(undefined)) found('plans-keep-rules', `${about} names a transfer that is not there`);
    const [paid, ...back] = legs;
    if (paid !== undefined && (paid.asset !== sell.asset || decimal(paid.amount) !== decimal(sell.amount))) {
      found('plans-keep-rules', `${about} pays ${paid.amount} ${paid.asset}`);
    }
    if (standing === 'completed' && legs.some((leg) => leg?.status !== 'completed')) {
      found('plans-keep-rules', `${about} is completed, its transfers ${legs.map((leg) => leg?.status)}`);
    }
    if (standing === 'completed') checkReturns(about, { sell, buy, sold, bought }, back);
    if (sold !== null && decimal(sold) > decimal(sell.amount)) found('plans-keep-rules', `${about} sells ${sold}`);
    const isWhole = sold !== null && decimal(sold) === decimal(sell.amount);
    if (isWhole && bought !== null && decimal(bought) < decimal(buy.amount_min)) {
      found('plans-keep-rules', `${about} buys ${bought}, less than ${buy.amount_min}`);
    }
  }
}

/** What the venue has bought comes back, and what it has not sold. */
function checkReturns(
  about: string,
  { sell, buy, sold, bought }: Pick<Plan['trades'][number], 'sell' | 'buy' | 'sold' | 'bought'>,
  back: readonly (PaidIntent | undefined)[],
): void {
  const returned = (asset: string) =>
    back.reduce((sum, leg) => (leg?.asset === asset ? sum + decimal(leg.amount) : sum), 0n);
  const rest = decimal(sell.amount) - decimal(sold ?? '0');
  if (returned(buy.asset) === decimal(bought ?? '0') && returned(sell.asset) === rest) return;
  const legs = back.map((leg) => `${leg?.amount} ${leg?.asset}`);
  found('plans-keep-rules', `${about} sold ${sold}, bought ${bought} ${buy.asset}, and brings back ${legs}`);
}

/** A strategy executes one plan at a time. */
function checkOneAtATime(events: readonly ToldEvent[], { modules, isCalm }: Tenancy): void {
  const executing = new Map<string, string>();
  const lastMs = new Map<string, number>();
  for (const { type, sequence, timestamp, resource, data } of events) {
    const strategy = data.object?.strategy_id as string;
    if (type === 'treasury.plan.executing') {
      const other = executing.get(strategy);
      if (other !== undefined)
        found('plans-keep-rules', `event ${sequence}: ${resource.id} begins while ${other} is executed`);
      executing.set(strategy, resource.id);
      const { cooldownS = 0 } = modules?.strategies.find(({ id }) => id === strategy) ?? {};
      const sinceMs = Date.parse(timestamp) - (lastMs.get(strategy) ?? Number.NEGATIVE_INFINITY);
      lastMs.set(strategy, Date.parse(timestamp));
      if (isCalm && sinceMs < cooldownS * 1_000)
        found(
          'plans-keep-rules',
          `event ${sequence}: ${resource.id} begins ${sinceMs} ms after another, not ${cooldownS} s`,
        );
    }
    const isOver = type === 'treasury.plan.completed' || type === 'treasury.plan.failed';
    if (isOver && executing.get(strategy) === resource.id) executing.delete(strategy);
  }
}

/** "Two jobs of a tenant run at a time, others wait." */
function checkRunning(events: readonly ToldEvent[]): void {
  const running = new Set<string>();
  for (const { type, sequence, resource } of events) {
    if (type === 'recon.job.started') running.add(resource.id);
    if (/^recon\.job\.(?:completed|failed|cancelled)$/.test(type)) running.delete(resource.id);
    if (running.size > 2) found('orders-end', `event ${sequence}: ${running.size} reconciliation jobs run at a time`);
  }
}
