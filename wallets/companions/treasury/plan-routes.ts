/**
 * The routes of plans. In a plan only its status and its trades' statuses change. The strategy's autonomy determines which
 * callers may execute it; stale plans cannot be executed.
 */

import Type, { type Static } from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { exampleIds } from '../../../gateway/api/examples.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { actorOf } from '../../../gateway/api/principal.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, OneOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { continuing, isAllowedIn, unchangedIn } from '../../../gateway/api/state-changes.ts';
import { noSuch, seesWholeTenant } from '../../../gateway/api/visibility.ts';
import { unfrozenTenant } from '../../custody/tenant/public.ts';
import { assetOf } from '../../networks/assets.ts';
import { create, update } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import { type Actor, actorFrom, principalFrom } from './actor.ts';
import { badField, readUnits, unitsText } from './amounts.ts';
import { planEvent } from './execution.ts';
import {
  nextPlan,
  type PlanRecord,
  planPrefix,
  planStates,
  planStatuses,
  planTransitions,
  planType,
} from './plan-record.ts';
import { type Objection, type PlanInput, type PlannedTrades, planProposal, planTrades } from './planner.ts';
import { Plan, RebalanceBody } from './schemas.ts';
import {
  isCooling,
  type NewPlan,
  type PlanningDeps,
  planFrom,
  planInputOf,
  situationOf,
  stalenessOf,
} from './situation.ts';
import { type StrategyRecord, strategyType, termsOf } from './strategy-record.ts';
import { assertActive, assertIdle, readStrategy } from './strategy-routes.ts';
import { planView } from './view.ts';

const shared = { tag: 'AI treasury' } as const;
const params = Closed({ id: PathId('id of the plan') });

export interface PlanDeps extends PlanningDeps {
  /** Signals that work of this tenant is due now. Returns at once. */
  readonly wake: (tenant: string) => void;
}

export function planRoutes(deps: PlanDeps): readonly Route[] {
  return [rebalance(deps), listPlans, getPlan(deps), executeRoute(deps), cancelPlan];
}

const rebalance = (deps: PlanDeps) =>
  route({
    ...shared,
    method: 'POST',
    path: '/v1/treasury/rebalance',
    operationId: 'rebalance',
    clientName: 'treasury.rebalance',
    example: { strategy_id: exampleIds.strategy, dry_run: true },
    summary: 'Plan the trades that bring a strategy back to its targets',
    description:
      'Trades follow only from holdings, prices and constraints, or from a `proposal` that must meet the same constraints: the service calls no model. With `dry_run: false` the plan is executed at once (autonomy `within_policy`) or waits for another person (`human_approval`). Execution creates only transaction intents.',
    scope: 'treasury:write',
    body: RebalanceBody,
    responses: { 201: { schema: Plan, description: 'the plan' } },
    errors: [404, 409, 422],
    handle: async (context, { body }) => {
      const strategy = await readStrategy(context, body.strategy_id);
      assertActive(strategy);
      const terms = termsOf(strategy);
      const isDryRun = body.dry_run ?? true;
      if (!isDryRun) {
        if (terms.autonomy === 'advisory') throw advisoryOnly();
        assertIdle(strategy);
      }
      const situation = await situationOf(deps, context, terms);
      const input = await planInputOf(deps, context, terms, situation);
      const order: NewPlan = {
        id: context.newId('pln'),
        origin: body.proposal === undefined ? 'request' : 'proposal',
        rationale: body.proposal?.rationale ?? null,
        asker: actorFrom(context.principal),
      };
      const planned = body.proposal === undefined ? planTrades(input) : proposedTrades(input, body.proposal.trades);
      const plan = planFrom(strategy, situation, planned, order, context.nowMs);
      return { status: 201, ...newPlan(deps, context, strategy, plan, isDryRun ? 'proposed' : 'as_autonomy_allows') };
    },
  });

/** A new plan, and its immediate next state. */
export function newPlan(
  deps: Pick<PlanDeps, 'wake'>,
  context: RequestContext,
  strategy: StrategyRecord,
  plan: PlanRecord,
  wanted: 'proposed' | 'as_autonomy_allows',
): { readonly body: object; readonly change: Change; readonly afterCommit?: () => void } {
  const { autonomy } = termsOf(strategy);
  const goesOn = wanted === 'as_autonomy_allows' && autonomy !== 'advisory' && plan.trades.length > 0;
  const proposed = { puts: [create(planType, plan)], events: [planEvent(context, 'proposed', plan)] };
  if (!goesOn) return { body: planView(plan), change: proposed };
  if (autonomy === 'human_approval') {
    const pending: PlanRecord = { ...plan, status: 'pending_approval' };
    return {
      body: planView(pending),
      change: {
        puts: [create(planType, pending)],
        events: [planEvent(context, 'proposed', plan), planEvent(context, 'pending_approval', pending)],
      },
    };
  }
  const executing: PlanRecord = { ...plan, status: 'executing', executor: plan.asker };
  return {
    body: planView(executing),
    change: {
      puts: [create(planType, executing), occupied(strategy, executing, context.nowMs)],
      events: [planEvent(context, 'proposed', plan), planEvent(context, 'executing', executing)],
      due: [{ member: `${planPrefix}${plan.id}`, atMs: context.nowMs }],
    },
    afterCommit: () => deps.wake(context.tenant),
  };
}

const listPlans = route({
  ...shared,
  method: 'GET',
  path: '/v1/treasury/plans',
  operationId: 'listPlans',
  clientName: 'treasury.plans',
  summary: 'List the plans',
  scope: 'treasury:read',
  query: Closed({
    strategy_id: Type.Optional(PathId('id of a strategy')),
    status: Type.Optional(OneOf(planStatuses)),
    ...pageQuery,
  }),
  responses: { 200: { schema: ListOf('plans', Plan), description: 'newest first' } },
  handle: async (context, { query }) => {
    const request = readPage(context, 'treasury/plans', query);
    const { strategy_id: strategyId, status } = query;
    const indices = [
      'treasury:plans',
      ...(strategyId === undefined ? [] : [`treasury:plans:strategy:${strategyId}`]),
      ...(status === undefined ? [] : [`treasury:plans:status:${status}`]),
    ];
    const page = seesWholeTenant(context.principal)
      ? await context.store.list(context.tenant, planType, { indices, order: 'newest', ...request.query })
      : { items: [], balances: new Map(), hasMore: false, nextId: undefined };
    return { status: 200, body: listBody('plans', page, (plan) => planView(plan), request) };
  },
});

const getPlan = (deps: PlanDeps) =>
  route({
    ...shared,
    method: 'GET',
    path: '/v1/treasury/plans/:id',
    operationId: 'getPlan',
    clientName: 'treasury.plan',
    summary: 'Read a plan, and the changes since it was made',
    scope: 'treasury:read',
    params,
    responses: { 200: { schema: Plan, description: 'the plan' } },
    errors: [404],
    handle: async (context, { params: { id } }) => {
      const plan = await readPlan(context, id);
      const isOpen = plan.status === 'proposed' || plan.status === 'pending_approval';
      if (!isOpen) return { status: 200, body: planView(plan) };
      const strategy = await readStrategy(context, plan.strategyId);
      return { status: 200, body: planView(plan, await stalenessOf(deps, context, strategy, plan)) };
    },
  });

const executeRoute = (deps: PlanDeps) =>
  route({
    ...shared,
    method: 'POST',
    path: '/v1/treasury/plans/:id/execute',
    operationId: 'executePlan',
    clientName: 'treasury.executePlan',
    summary: 'Have a plan executed',
    description:
      'As the strategy’s autonomy allows: `advisory` never; `human_approval` by another person than the one who asked for the plan, with the scope `intents:approve`; `within_policy` by any caller with this scope. 409 when prices or balances have moved since.',
    scope: 'treasury:write',
    params,
    responses: { 200: { schema: Plan, description: 'the plan, being executed' } },
    errors: [404, 409],
    states: continuing(planTransitions, { ...planStates.execute, ...unchangedIn('executing') }),
    handle: (context, { params: { id } }) => execute(deps, context, id),
  });

async function execute(deps: PlanDeps, context: RequestContext, id: string): Promise<Answer> {
  const before = await readPlan(context, id);
  // A repetition by the same caller is the same decision.
  const by = actorFrom(context.principal);
  if (before.status === 'executing' && sameActor(before.executor, by)) return { status: 200, body: planView(before) };
  const strategy = await readStrategy(context, before.strategyId);
  assertMay(context, strategy, before);
  if (!isAllowedIn(planStates.execute, before.status)) {
    throw refusal(`the plan is ${before.status}`, 'plan.status', before.status);
  }
  if (before.trades.length === 0) throw refusal('the plan has no trades', 'plan.trades', 'empty');
  assertIdle(strategy);
  if (isCooling(strategy, context.nowMs)) throw refusal('the strategy cools down', 'strategy', 'cooldown');
  const stale = await stalenessOf(deps, context, strategy, before);
  if (stale.length > 0) {
    throw new ServiceError('conflict', 'the plan is stale: ask for another one', { details: stale });
  }
  const unfrozen = await unfrozenTenant(context);
  const plan = nextPlan(before, { status: 'executing', executor: by }, context.nowMs);
  return {
    status: 200,
    body: planView(plan),
    change: {
      guards: [unfrozen],
      puts: [update(planType, before, plan), occupied(strategy, plan, context.nowMs)],
      events: [planEvent(context, 'executing', plan)],
      due: [{ member: `${planPrefix}${plan.id}`, atMs: context.nowMs }],
    },
    afterCommit: () => deps.wake(context.tenant),
  };
}

const cancelPlan = route({
  ...shared,
  method: 'POST',
  path: '/v1/treasury/plans/:id/cancel',
  operationId: 'cancelPlan',
  clientName: 'treasury.cancelPlan',
  summary: 'Cancel a plan before its execution',
  description: 'Repeating it changes nothing. The transfers of a plan that is being executed are cancelled one by one.',
  scope: 'treasury:write',
  params,
  responses: { 200: { schema: Plan, description: 'the cancelled plan' } },
  errors: [404, 409],
  states: { ...planStates.cancel, ...unchangedIn('cancelled') },
  handle: async (context, { params: { id } }) => {
    const before = await readPlan(context, id);
    if (before.status === 'cancelled') return { status: 200, body: planView(before) };
    if (!isAllowedIn(planStates.cancel, before.status)) {
      throw refusal(`the plan is ${before.status}`, 'plan.status', before.status);
    }
    const plan = nextPlan(before, { status: 'cancelled' }, context.nowMs);
    return {
      status: 200,
      body: planView(plan),
      change: { puts: [update(planType, before, plan)], events: [planEvent(context, 'cancelled', plan)] },
    };
  },
});

async function readPlan(context: RequestContext, id: string): Promise<PlanRecord> {
  const plan = seesWholeTenant(context.principal) ? await context.store.read(context.tenant, planType, id) : undefined;
  if (plan === undefined) throw noSuch('plan');
  return plan;
}

/** Throws ServiceError 403 or 409. */
function assertMay({ principal }: RequestContext, strategy: StrategyRecord, { asker }: PlanRecord): void {
  const { autonomy } = termsOf(strategy);
  if (autonomy === 'advisory') throw advisoryOnly();
  if (autonomy === 'within_policy') return;
  if (!principal.scopes.has('intents:approve')) {
    throw new ServiceError('insufficientScope', 'executing a plan of this strategy needs the scope intents:approve');
  }
  if (actorOf(principal) === actorOf(principalFrom(asker))) {
    throw refusal('a person other than the plan’s requester must execute it', 'plan.asked_by', 'own_plan');
  }
}

function sameActor(one: Actor | null, other: Actor): boolean {
  return one !== null && actorOf(principalFrom(one)) === actorOf(principalFrom(other));
}

function advisoryOnly(): ServiceError {
  return refusal('plans of an advisory strategy are not executed', 'strategy.autonomy', 'advisory');
}

function refusal(message: string, field: string, issue: string): ServiceError {
  return new ServiceError('conflict', message, { details: [{ field, issue, message }] });
}

/** The strategy executes only this plan. */
function occupied(strategy: StrategyRecord, plan: PlanRecord, nowMs: number) {
  return update(strategyType, strategy, {
    ...strategy,
    version: strategy.version + 1,
    executingPlanId: plan.id,
    lastExecutedAtMs: nowMs,
    updatedAtMs: nowMs,
  });
}

type Proposed = NonNullable<Static<typeof RebalanceBody>['proposal']>['trades'];

/** Throws ServiceError 400 for malformed input, 422 with every trade that violates the constraints. */
function proposedTrades(input: PlanInput, proposed: Proposed): PlannedTrades {
  const trades = proposed.map(({ sell, buy, amount }, index) => {
    for (const [side, asset] of Object.entries({ sell, buy })) {
      const field = `proposal.trades[${index}].${side}`;
      if (assetOf(asset) === undefined || !input.priced.has(asset)) {
        throw badField(field, 'unknown_asset', 'takes an asset of the strategy’s targets');
      }
    }
    return { sell, buy, units: readUnits(`proposal.trades[${index}].amount`, sell, amount) };
  });
  const { objections, ...planned } = planProposal(input, trades);
  if (objections.length === 0) return planned;
  const details = objections.map((objection) => objectionIssue(objection, trades[objection.index]!.sell));
  throw new ServiceError('providerRejected', 'the proposal violates the strategy’s constraints', { details });
}

function objectionIssue({ index, constraint, unitsMax }: Objection, asset: string) {
  const most = unitsMax === 0n ? 'no such trade is allowed' : `at most ${unitsText(asset, unitsMax)} ${asset}`;
  return { field: `proposal.trades[${index}]`, issue: constraint, message: most };
}
