/**
 * The AI treasury: strategies, positions, plans and their execution. "AI" names the proposer of trades: the planner here
 * computes them, and a model sends its trades as a `proposal`, under the same constraints. This module calls no model.
 */

import type { Route } from '../../../gateway/api/route.ts';
import type { IntentDependencies, IntentQueue } from '../../custody/intents/public.ts';
import type { SimulatedPrices } from '../../providers/market/public.ts';
import { executePlan } from './execution.ts';
import { marketRoutes } from './market-routes.ts';
import { planPrefix } from './plan-record.ts';
import { type PlanDeps, planRoutes } from './plan-routes.ts';
import { positionRoutes } from './position-routes.ts';
import { triggerPrefix } from './strategy-record.ts';
import { type StrategyDeps, strategyRoutes } from './strategy-routes.ts';
import { lookAtStrategy } from './triggers.ts';
import type { VenueAccountDeps } from './venue-account.ts';

export interface TreasuryDeps extends StrategyDeps, Pick<PlanDeps, 'wake' | 'adapters' | 'venue'> {
  readonly market: SimulatedPrices;
  /** Only a sandbox can set prices. */
  readonly isSandbox: boolean;
}

export function treasuryRoutes(deps: TreasuryDeps): readonly Route[] {
  const prices = deps.market;
  return [
    ...strategyRoutes(deps),
    ...positionRoutes({ prices }),
    ...planRoutes({ ...deps, prices }),
    ...(deps.isSandbox ? marketRoutes(deps) : []),
  ];
}

export interface TreasuryJobDeps extends Pick<TreasuryDeps, 'market' | 'venue' | 'wake'> {
  readonly intents: IntentDependencies;
  readonly driver: IntentQueue;
  readonly accounts: VenueAccountDeps;
}

type Job = (tenant: string, member: string) => Promise<void>;

/** The due work of the treasury, by the prefix of its members. */
export function treasuryJobs(deps: TreasuryJobDeps): ReadonlyMap<string, Job> {
  const { store, clock, log } = deps.intents;
  const { market: prices, venue, wake } = deps;
  const triggers = { store, clock, log, prices, venue, wake, adapters: deps.accounts.adapters };
  return new Map<string, Job>([
    [planPrefix, (tenant, member) => executePlan(deps, tenant, member)],
    [triggerPrefix, (tenant, member) => lookAtStrategy(triggers, tenant, member)],
  ]);
}
