/** Automatic plans: the due work of strategies whose trigger is `interval` or `drift`. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import { contextOf } from '../../../gateway/api/context.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { merge } from '../../store/changes.ts';
import type { TenantStore } from '../../store/contract.ts';
import { principalFrom } from './actor.ts';
import { newPlan, type PlanDeps } from './plan-routes.ts';
import { type PlannedTrades, planTrades } from './planner.ts';
import { isCooling, type PlanningDeps, planFrom, planInputOf, type Situation, situationOf } from './situation.ts';
import { strategyType, termsOf, triggerPrefix } from './strategy-record.ts';
import { triggerDue } from './strategy-routes.ts';

export interface TriggerDeps extends PlanningDeps, Pick<PlanDeps, 'wake'> {
  readonly store: TenantStore;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * One check of a strategy. It makes a plan if there is a trade to make, and takes it as far as the strategy's autonomy allows,
 * in the name of the version's author. Throws StoreUnavailable: then it is due again.
 */
export async function lookAtStrategy(deps: TriggerDeps, tenant: string, member: string): Promise<void> {
  const { store, clock, log } = deps;
  const strategy = await store.read(tenant, strategyType, member.slice(triggerPrefix.length));
  const nowMs = clock.nowMs();
  if (strategy === undefined || triggerDue(strategy, nowMs).atMs === undefined) {
    await store.commit(tenant, { due: [{ member, atMs: undefined }] });
    return;
  }
  const terms = termsOf(strategy);
  const next = { guards: [versionGuard(strategy)], due: [triggerDue(strategy, nowMs)] };
  if (strategy.executingPlanId !== null || isCooling(strategy, nowMs)) {
    await store.commit(tenant, next);
    return;
  }
  const seed = createHash('sha256').update(`${strategy.id}/${strategy.version}/${nowMs}`).digest();
  const base = {
    tenant,
    principal: principalFrom(terms.author),
    requestId: strategy.id,
    traceparent: '',
    store,
    log,
    cursorKey: new Uint8Array(32),
  };
  const context = contextOf(base, { seed: () => seed, startedMs: nowMs }, nowMs);
  let situation: Situation;
  let planned: PlannedTrades;
  try {
    situation = await situationOf(deps, context, terms);
    planned = planTrades(await planInputOf(deps, context, terms, situation));
  } catch (error) {
    // Without prices, or without a provider's quotes, this check makes no plan.
    if (!(error instanceof ServiceError) || (error.kind !== 'conflict' && error.kind !== 'unavailable')) throw error;
    await store.commit(tenant, next);
    return;
  }
  if (planned.trades.length === 0 && terms.trigger.kind === 'drift') {
    await store.commit(tenant, next);
    return;
  }
  const order = { id: context.newId('pln'), origin: 'trigger', rationale: null, asker: terms.author } as const;
  const plan = planFrom(strategy, situation, planned, order, nowMs);
  const made = newPlan(deps, context, strategy, plan, 'as_autonomy_allows');
  const isExecuting = made.afterCommit !== undefined;
  // An execution changes the strategy itself, which guards it as well.
  const outcome = await store.commit(tenant, merge(made.change, isExecuting ? { due: next.due } : next));
  if (outcome.committed) made.afterCommit?.();
}

function versionGuard({ id, version }: { readonly id: string; readonly version: number }) {
  return { kind: 'version', id, version } as const;
}
