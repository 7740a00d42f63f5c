/**
 * A plan as stored, and the tables of its states and of its trades'. docs/wallet-api.md shows both.
 *
 * A trade moves both balances through transfers under the tenant's policies: one pays the venue account, which exchanges,
 * and one or two bring back the bought amount and the rest. Whole numbers of any size are decimal strings.
 */
import { leadingTo } from '../../../gateway/api/state-changes.ts';
import type { VenueRefusal } from '../../providers/market/public.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';
import type { Actor } from './actor.ts';
import type { Skipped, TradeBound } from './planner.ts';

export const planStatuses = ['proposed', 'pending_approval', 'executing', 'completed', 'failed', 'cancelled'] as const;
export type PlanStatus = (typeof planStatuses)[number];

export const planTransitions: Readonly<Record<PlanStatus, readonly PlanStatus[]>> = {
  proposed: ['executing', 'cancelled'],
  pending_approval: ['executing', 'cancelled'],
  executing: ['completed', 'failed'],
  completed: [],
  failed: [],
  cancelled: [],
};

/** By operation; repeated, neither changes anything. */
export const planStates = {
  execute: leadingTo(planTransitions, 'executing'),
  cancel: leadingTo(planTransitions, 'cancelled'),
};

export const tradeStatuses = ['planned', 'paying', 'exchanging', 'returning', 'completed', 'failed'] as const;
export type TradeStatus = (typeof tradeStatuses)[number];

export const tradeTransitions: Readonly<Record<TradeStatus, readonly TradeStatus[]>> = {
  planned: ['paying', 'failed'],
  paying: ['exchanging', 'failed'],
  exchanging: ['returning', 'failed'],
  returning: ['completed', 'failed'],
  completed: [],
  failed: [],
};

export interface TradeRecord {
  readonly sell: { readonly asset: string; readonly walletId: string; readonly units: string };
  /** `units`: expected; `unitsMin`: less is refused. */
  readonly buy: {
    readonly asset: string;
    readonly walletId: string;
    readonly units: string;
    readonly unitsMin: string;
  };
  readonly value: string;
  readonly cost: string;
  readonly bound: TradeBound;
  readonly status: TradeStatus;
  /** The reason why it failed or waits; null: none. */
  readonly reason: string | null;
  /** The transfers, in their order: to the venue account, then back from it. */
  readonly intentIds: readonly string[];
  /** The units that the venue sold. */
  readonly soldUnits: string | null;
  readonly boughtUnits: string | null;
  /** The reason why the venue exchanged nothing. */
  readonly refusal: VenueRefusal | null;
  /** The time that the plan waits for a venue that does not answer. */
  readonly venueDeadlineMs?: number;
  /** The venue was silent beyond it: the plan ends without this trade. */
  readonly overdue?: boolean;
}

export interface PlanPrice {
  readonly asset: string;
  readonly price: string;
  readonly asOfMs: number;
}

export interface PlanRecord extends Versioned {
  readonly strategyId: string;
  readonly strategyVersion: number;
  readonly status: PlanStatus;
  /** `trigger`: the strategy's own; `proposal`: trades that a caller, or a model, has proposed. */
  readonly origin: 'request' | 'trigger' | 'proposal';
  readonly rationale: string | null;
  readonly asker: Actor;
  /** The actor who started its execution. */
  readonly executor: Actor | null;
  readonly prices: readonly PlanPrice[];
  /** The spendable balances when the plan was made; the plan is stale when they change. */
  readonly holdings: readonly { readonly walletId: string; readonly asset: string; readonly units: string }[];
  readonly positions: readonly PlanPosition[];
  readonly totalValue: string;
  readonly trades: readonly TradeRecord[];
  readonly skipped: readonly Skipped[];
  /** The reason for a plan without trades, e.g. "cooldown"; null otherwise. */
  readonly withheld: 'cooldown' | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** After this time it is stale. */
  readonly expiresAtMs: number;
}

export interface PlanPosition {
  readonly asset: string;
  readonly units: string;
  readonly value: string;
  readonly weightBps: number;
  readonly targetBps: number;
  readonly driftBps: number;
  readonly bandBps: number;
  readonly inBand: boolean;
}

export const planType: RecordType<PlanRecord> = {
  name: 'treasury_plan',
  status: ({ status }) => status,
  indices: ({ strategyId, status }) => [
    'treasury:plans',
    `treasury:plans:status:${status}`,
    `treasury:plans:strategy:${strategyId}`,
  ],
};

/** The prefix of plans in the due work; the plan's id follows. The end of a transfer makes its plan due. */
export const planPrefix = 'treasury-plan/';

/** A plan's next version. Throws when the table of states does not allow it: that is a bug of signmesh. */
export function nextPlan(before: PlanRecord, patch: Partial<PlanRecord>, nowMs: number): PlanRecord {
  const status = patch.status ?? before.status;
  if (status !== before.status && !planTransitions[before.status].includes(status)) {
    throw new Error(`a plan cannot become ${status} when it is ${before.status}`);
  }
  for (const [index, trade] of (patch.trades ?? []).entries()) {
    const from = before.trades[index]!.status;
    if (trade.status !== from && !tradeTransitions[from].includes(trade.status)) {
      throw new Error(`a trade cannot become ${trade.status} when it is ${from}`);
    }
  }
  return { ...before, ...patch, version: before.version + 1, updatedAtMs: nowMs };
}
