/** GET /v1/treasury/positions: the holdings of each strategy's wallets, and their distance from its targets. */
import Type from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { listBody, readPage } from '../../../gateway/api/pages.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { seesWholeTenant } from '../../../gateway/api/visibility.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import { usdText } from './amounts.ts';
import { StrategyPosition } from './schemas.ts';
import { type PlanningDeps, planPosition, positionsNow, situationOf } from './situation.ts';
import { type StrategyRecord, strategyType, termsOf } from './strategy-record.ts';
import { readStrategy } from './strategy-routes.ts';
import { positionView, priceView } from './view.ts';

export function positionRoutes(deps: Pick<PlanningDeps, 'prices'>): readonly Route[] {
  return [listPositions(deps)];
}

const listPositions = (deps: Pick<PlanningDeps, 'prices'>) =>
  route({
    tag: 'AI treasury',
    method: 'GET',
    path: '/v1/treasury/positions',
    operationId: 'listPositions',
    clientName: 'treasury.positions',
    summary: 'List what the strategies’ wallets hold, at the present prices, and its drift',
    description:
      'Covers one strategy, or all active ones. Amounts are spendable amounts. Assets without a target do not count.',
    scope: 'treasury:read',
    query: Closed({ strategy_id: Type.Optional(PathId('id of a strategy')), ...pageQuery }),
    responses: { 200: { schema: ListOf('positions', StrategyPosition), description: 'newest strategy first' } },
    errors: [404],
    handle: async (context, { query }) => {
      const request = readPage(context, 'treasury/positions', query);
      const { strategy_id: id } = query;
      const page = await strategiesOf(context, id, request.query);
      const views = new Map(
        await Promise.all(
          page.items.map(async (strategy) => [strategy.id, await strategyPosition(deps, context, strategy)] as const),
        ),
      );
      return { status: 200, body: listBody('positions', page, ({ id }) => views.get(id)!, request) };
    },
  });

async function strategiesOf(context: RequestContext, id: string | undefined, query: { readonly limit: number }) {
  const none = { items: [] as StrategyRecord[], balances: new Map(), hasMore: false, nextId: undefined };
  if (id !== undefined) return { ...none, items: [await readStrategy(context, id)] };
  if (!seesWholeTenant(context.principal)) return none;
  const indices = ['treasury:strategies:status:active'];
  return context.store.list(context.tenant, strategyType, { indices, order: 'newest', ...query });
}

async function strategyPosition(
  deps: Pick<PlanningDeps, 'prices'>,
  context: RequestContext,
  strategy: StrategyRecord,
): Promise<object> {
  const terms = termsOf(strategy);
  const shared = {
    strategy_id: strategy.id,
    strategy_version: terms.strategyVersion,
    name: terms.name,
    as_of: timestamp(context.nowMs),
  };
  try {
    const situation = await situationOf(deps, context, terms);
    const { totalValue, positions } = positionsNow(terms, situation);
    return {
      ...shared,
      total_value_usd: usdText(totalValue),
      assets: positions.map((position) => positionView(planPosition(position))),
      prices: situation.quotes.map(priceView),
      unpriced: null,
    };
  } catch (error) {
    // One strategy without prices does not hide the others.
    if (!(error instanceof ServiceError) || error.kind !== 'conflict') throw error;
    return { ...shared, total_value_usd: null, assets: [], prices: [], unpriced: error.message };
  }
}
