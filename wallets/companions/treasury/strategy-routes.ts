/** The routes of strategies, and the conversion of a body to the terms of a version. */

import type { Static } from 'typebox';
import Type from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { eventOf } from '../../../gateway/api/event.ts';
import { exampleIds } from '../../../gateway/api/examples.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, OneOf, PathId, pageQuery, WholeNumberText } from '../../../gateway/api/schema-kit.ts';
import { isAllowedIn } from '../../../gateway/api/state-changes.ts';
import { noSuch, seesWholeTenant } from '../../../gateway/api/visibility.ts';
import { walletType } from '../../custody/wallets/public.ts';
import { assetOf } from '../../networks/assets.ts';
import { create, update } from '../../store/changes.ts';
import type { Change, DueEntry } from '../../store/contract.ts';
import { actorFrom } from './actor.ts';
import { badField, readUnits, readUsd } from './amounts.ts';
import { Strategy, StrategyBody } from './schemas.ts';
import {
  type StrategyRecord,
  type StrategyTerms,
  strategyStates,
  strategyType,
  termsOf,
  triggerPrefix,
  versionsMax,
} from './strategy-record.ts';
import { venueWalletIds } from './venue-account.ts';
import { strategyView } from './view.ts';

const exampleStrategy = {
  name: 'half and half',
  wallet_ids: [exampleIds.wallet],
  targets: [
    { asset: 'ETH', weight_bps: 5000, band_bps: 300 },
    { asset: 'USDC', weight_bps: 5000, band_bps: 300 },
  ],
  constraints: { min_trade_usd: '100', cash_floor: { asset: 'USDC', amount: '2000' }, cooldown_s: 3600 },
  autonomy: 'human_approval',
};

const shared = { tag: 'AI treasury' } as const;
const params = Closed({ id: PathId('id of the strategy') });
type Body = Static<typeof StrategyBody>;

export interface StrategyDeps {
  readonly policyExists: (context: RequestContext, name: string) => Promise<boolean>;
}

export function strategyRoutes(deps: StrategyDeps): readonly Route[] {
  return [createStrategy(deps), listStrategies, getStrategy, nextVersion(deps), archiveStrategy];
}

const createStrategy = (deps: StrategyDeps) =>
  route({
    ...shared,
    method: 'POST',
    path: '/v1/treasury/strategies',
    operationId: 'createStrategy',
    clientName: 'treasury.createStrategy',
    example: exampleStrategy,
    summary: 'Make a strategy',
    description:
      'Targets by weight, with bands, for the wallets that it names. Creating one trades nothing; the triggers `interval` and `drift` create plans automatically. Autonomy `within_policy` also needs the scope `intents:approve`.',
    scope: 'treasury:write',
    body: StrategyBody,
    responses: { 201: { schema: Strategy, description: 'the strategy, in version 1' } },
    handle: async (context, { body }) => {
      const terms = await termsFrom(deps, context, body, 1);
      const { nowMs } = context;
      const strategy: StrategyRecord = {
        id: context.newId('stg'),
        version: 1,
        status: 'active',
        versions: [terms],
        executingPlanId: null,
        lastExecutedAtMs: null,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      return {
        status: 201,
        body: strategyView(strategy),
        headers: { location: `/v1/treasury/strategies/${strategy.id}` },
        change: {
          puts: [create(strategyType, strategy)],
          events: [strategyEvent(context, 'created', strategy)],
          due: [triggerDue(strategy, nowMs)],
        },
      };
    },
  });

const listStrategies = route({
  ...shared,
  method: 'GET',
  path: '/v1/treasury/strategies',
  operationId: 'listStrategies',
  clientName: 'treasury.strategies',
  summary: 'List the strategies in their newest versions',
  scope: 'treasury:read',
  query: Closed({ status: Type.Optional(OneOf(['active', 'archived'])), ...pageQuery }),
  responses: { 200: { schema: ListOf('strategies', Strategy), description: 'newest first' } },
  handle: async (context, { query }) => {
    const request = readPage(context, 'treasury/strategies', query);
    const { status } = query;
    const indices = [status === undefined ? 'treasury:strategies' : `treasury:strategies:status:${status}`];
    const page = seesWholeTenant(context.principal)
      ? await context.store.list(context.tenant, strategyType, { indices, order: 'newest', ...request.query })
      : { items: [], balances: new Map(), hasMore: false, nextId: undefined };
    return { status: 200, body: listBody('strategies', page, (strategy) => strategyView(strategy), request) };
  },
});

const getStrategy = route({
  ...shared,
  method: 'GET',
  path: '/v1/treasury/strategies/:id',
  operationId: 'getStrategy',
  clientName: 'treasury.strategy',
  summary: 'Read a version of a strategy',
  scope: 'treasury:read',
  params,
  query: Closed({ version: Type.Optional(WholeNumberText('^[1-9][0-9]{0,8}$', 1, 999_999_999, 'newest by default')) }),
  responses: { 200: { schema: Strategy, description: 'the version' } },
  errors: [404],
  handle: async (context, { params: { id }, query }) => {
    const strategy = await readStrategy(context, id);
    const terms =
      query.version === undefined
        ? termsOf(strategy)
        : strategy.versions.find(({ strategyVersion }) => strategyVersion === Number(query.version));
    if (terms === undefined) throw noSuch('strategy version');
    return { status: 200, body: strategyView(strategy, terms) };
  },
});

const nextVersion = (deps: StrategyDeps) =>
  route({
    ...shared,
    method: 'POST',
    path: '/v1/treasury/strategies/:id/versions',
    operationId: 'putStrategyVersion',
    clientName: 'treasury.putStrategyVersion',
    example: { ...exampleStrategy, autonomy: 'within_policy' },
    summary: 'Make the next version of a strategy',
    description:
      'Give the whole strategy: versions never change. Plans of the previous version are stale. Autonomy `within_policy` also needs the scope `intents:approve`.',
    scope: 'treasury:write',
    params,
    body: StrategyBody,
    responses: { 201: { schema: Strategy, description: 'the new version' } },
    errors: [404, 409],
    states: strategyStates.use,
    handle: async (context, { params: { id }, body }) => {
      const before = await readStrategy(context, id);
      assertActive(before);
      const { strategyVersion } = termsOf(before);
      if (before.versions.length >= versionsMax) {
        throw new ServiceError('conflict', `a strategy has at most ${versionsMax} versions: make another strategy`, {
          details: [{ field: 'strategy_version', issue: 'too_many' }],
        });
      }
      const terms = await termsFrom(deps, context, body, strategyVersion + 1);
      const { view, change } = changed(context, 'updated', before, { versions: [...before.versions, terms] });
      return { status: 201, body: view, change };
    },
  });

const archiveStrategy = route({
  ...shared,
  method: 'POST',
  path: '/v1/treasury/strategies/:id/archive',
  operationId: 'archiveStrategy',
  clientName: 'treasury.archiveStrategy',
  summary: 'End a strategy for good',
  description: 'Repeating it changes nothing. 409 while a plan of it is executed.',
  scope: 'treasury:write',
  params,
  responses: { 200: { schema: Strategy, description: 'the archived strategy' } },
  errors: [404, 409],
  states: strategyStates.archive,
  handle: async (context, { params: { id } }) => {
    const before = await readStrategy(context, id);
    if (before.status === 'archived') return { status: 200, body: strategyView(before) };
    assertIdle(before);
    const { view, change } = changed(context, 'archived', before, { status: 'archived' });
    return { status: 200, body: view, change };
  },
});

/** Throws ServiceError 404. A token that is limited to provider connections sees no strategy. */
export async function readStrategy(context: RequestContext, id: string): Promise<StrategyRecord> {
  const strategy = seesWholeTenant(context.principal)
    ? await context.store.read(context.tenant, strategyType, id)
    : undefined;
  if (strategy === undefined) throw noSuch('strategy');
  return strategy;
}

/** Throws ServiceError 409. */
export function assertActive({ status }: StrategyRecord): void {
  if (isAllowedIn(strategyStates.use, status)) return;
  throw new ServiceError('conflict', 'the strategy is archived', {
    details: [{ field: 'strategy.status', issue: 'archived' }],
  });
}

/** Throws ServiceError 409. */
export function assertIdle({ executingPlanId }: StrategyRecord): void {
  if (executingPlanId === null) return;
  throw new ServiceError('conflict', `the plan ${executingPlanId} of the strategy is being executed`, {
    details: [{ field: 'strategy.executing_plan_id', issue: 'plan_executing' }],
  });
}

export function strategyEvent(context: RequestContext, happening: string, strategy: StrategyRecord) {
  return eventOf(context, {
    type: `treasury.strategy.${happening}`,
    resource: strategyType.name,
    record: strategy,
    object: strategyView(strategy),
  });
}

/** The time of its trigger's next check; an archived or a manual strategy has none. */
export function triggerDue(strategy: StrategyRecord, nowMs: number): DueEntry {
  const { trigger } = termsOf(strategy);
  const isOff = strategy.status === 'archived' || trigger.kind === 'manual';
  return { member: `${triggerPrefix}${strategy.id}`, atMs: isOff ? undefined : nowMs + trigger.everyS * 1_000 };
}

function changed(
  context: RequestContext,
  happening: string,
  before: StrategyRecord,
  patch: Partial<StrategyRecord>,
): { readonly view: object; readonly change: Change } {
  const after = { ...before, ...patch, version: before.version + 1, updatedAtMs: context.nowMs };
  const change = {
    puts: [update(strategyType, before, after)],
    events: [strategyEvent(context, happening, after)],
    due: [triggerDue(after, context.nowMs)],
  };
  return { view: strategyView(after), change };
}

const usdOne = 10n ** 8n;

/** Throws ServiceError 400 with every fault of the targets, 404 for an unknown wallet. */
async function termsFrom(
  { policyExists }: StrategyDeps,
  context: RequestContext,
  body: Body,
  strategyVersion: number,
): Promise<StrategyTerms> {
  const { constraints = {}, trigger = { kind: 'manual' } } = body;
  // Plans of this autonomy run without a second person, so setting it approves all of them.
  if (body.autonomy === 'within_policy' && !context.principal.scopes.has('intents:approve')) {
    throw new ServiceError('insufficientScope', 'autonomy within_policy needs the scope intents:approve', {
      details: [{ field: 'autonomy', issue: 'insufficient_scope', message: 'needs the scope intents:approve' }],
    });
  }
  const networks = await networksOf(context, body.wallet_ids);
  checkTargets(body, networks);
  if (trigger.kind !== 'manual' && trigger.every_s === undefined) {
    throw badField('trigger.every_s', 'missing_required', `takes seconds with the trigger ${trigger.kind}`);
  }
  if (typeof body.policy === 'string' && !(await policyExists(context, body.policy))) {
    throw badField('policy', 'unknown_policy', 'takes the name of a policy of this tenant');
  }
  const { cash_floor: floor } = constraints;
  if (floor != null && !body.targets.some(({ asset }) => asset === floor.asset)) {
    throw badField('constraints.cash_floor.asset', 'not_allowed_value', 'takes an asset of the targets');
  }
  const minTradeValue =
    constraints.min_trade_usd === undefined
      ? 10n * usdOne
      : readUsd('constraints.min_trade_usd', constraints.min_trade_usd);
  const maxTradeValue =
    constraints.max_trade_usd == null ? null : readUsd('constraints.max_trade_usd', constraints.max_trade_usd);
  if (maxTradeValue !== null && maxTradeValue < minTradeValue) {
    throw badField('constraints.max_trade_usd', 'too_small', 'takes at least min_trade_usd');
  }
  return {
    strategyVersion,
    name: body.name,
    walletIds: body.wallet_ids,
    targets: body.targets.map(({ asset, weight_bps, band_bps }) => ({
      asset,
      weightBps: weight_bps,
      bandBps: band_bps,
    })),
    trigger: { kind: trigger.kind, everyS: trigger.kind === 'manual' ? 0 : trigger.every_s! },
    constraints: {
      minTradeValue: String(minTradeValue),
      maxTradeValue: maxTradeValue === null ? null : String(maxTradeValue),
      maxTrades: constraints.max_trades ?? 10,
      maxCostBps: constraints.max_cost_bps ?? 100,
      cashFloor:
        floor == null
          ? null
          : {
              asset: floor.asset,
              units: String(readUnits('constraints.cash_floor.amount', floor.asset, floor.amount)),
            },
      cooldownS: constraints.cooldown_s ?? 0,
      priceToleranceBps: constraints.price_tolerance_bps ?? 100,
      priceAgeMaxS: constraints.price_age_max_s ?? 60,
      planTtlS: constraints.plan_ttl_s ?? 300,
      ...(constraints.venue_deadline_s !== undefined && { venueDeadlineS: constraints.venue_deadline_s }),
    },
    autonomy: body.autonomy,
    policy: body.policy ?? null,
    author: actorFrom(context.principal),
    createdAtMs: context.nowMs,
  };
}

/** Throws ServiceError 400 for wallets that do not exist for this caller or are not active. */
async function networksOf(context: RequestContext, ids: readonly string[]): Promise<Set<string>> {
  const { store, tenant, principal } = context;
  if (!seesWholeTenant(principal)) {
    throw new ServiceError('insufficientScope', 'a provider-scoped token cannot create records of the whole tenant');
  }
  const wallets = await store.readMany(tenant, walletType, ids);
  const venue = await venueWalletIds(context);
  for (const [index, wallet] of wallets.entries()) {
    if (venue.includes(ids[index]!)) {
      throw badField(
        `wallet_ids[${index}]`,
        'not_allowed_value',
        'takes a wallet other than those of the venue account',
      );
    }
    if (wallet?.status === 'active') continue;
    const issue = wallet === undefined ? 'not_found' : wallet.status;
    throw badField(`wallet_ids[${index}]`, issue, 'takes the id of an active wallet of this tenant');
  }
  return new Set(wallets.map((wallet) => wallet!.network));
}

function checkTargets({ targets }: Body, networks: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const [index, { asset }] of targets.entries()) {
    const field = `targets[${index}].asset`;
    const known = assetOf(asset);
    if (known === undefined) throw badField(field, 'unknown_asset', 'takes the symbol of a registered asset');
    if (seen.has(asset)) throw badField(field, 'duplicate', `${asset} has a target already`);
    if (!networks.has(known.network)) {
      throw badField(field, 'not_allowed_value', `none of the wallets is on the network of ${asset}`);
    }
    seen.add(asset);
  }
  const sum = targets.reduce((total, { weight_bps }) => total + weight_bps, 0);
  if (sum !== 10_000) throw badField('targets', 'weights_sum', `the weights sum up to ${sum}, not to 10000`);
}
