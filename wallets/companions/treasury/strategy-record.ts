/**
 * A strategy as stored: its terms in every version, the newest last, and its activity. Versions never
 * change; whole numbers of any size are decimal strings.
 */

import { becoming, unchangedIn } from '../../../gateway/api/state-changes.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';
import type { Actor } from './actor.ts';

export const autonomyLevels = ['advisory', 'human_approval', 'within_policy'] as const;
/**
 * `advisory`: plans are never executed. `human_approval`: another person than the one who asked for a plan executes it.
 * `within_policy`: any caller with the scope executes it; each transfer still needs the policies' approval.
 */
export type Autonomy = (typeof autonomyLevels)[number];

export const triggerKinds = ['manual', 'interval', 'drift'] as const;
export type TriggerKind = (typeof triggerKinds)[number];

export const strategyStatuses = ['active', 'archived'] as const;
type StrategyStatus = (typeof strategyStatuses)[number];

/** By operation; an archiving that is repeated changes nothing. */
export const strategyStates = {
  use: unchangedIn<StrategyStatus>('active'),
  archive: becoming<StrategyStatus>('archived', ...strategyStatuses),
};

export interface StrategyTerms {
  readonly strategyVersion: number;
  readonly name: string;
  /** The order in which they pay; the first on an asset's network receives it. */
  readonly walletIds: readonly string[];
  readonly targets: readonly { readonly asset: string; readonly weightBps: number; readonly bandBps: number }[];
  /** `interval`: a plan in each interval; `drift`: a check in each interval, and a plan when an asset is outside its band. */
  readonly trigger: { readonly kind: TriggerKind; readonly everyS: number };
  readonly constraints: {
    /** 10⁻⁸ US dollars. */
    readonly minTradeValue: string;
    readonly maxTradeValue: string | null;
    readonly maxTrades: number;
    readonly maxCostBps: number;
    /** Smallest units. */
    readonly cashFloor: { readonly asset: string; readonly units: string } | null;
    /** From the start of an execution until the next plan has trades. */
    readonly cooldownS: number;
    /** A plan is stale when a price has moved by more. */
    readonly priceToleranceBps: number;
    /** The planner does not use older prices. */
    readonly priceAgeMaxS: number;
    /** A plan is stale this long after it was made. */
    readonly planTtlS: number;
    /** The time that a plan waits for a silent venue. Versions of an earlier format have none. */
    readonly venueDeadlineS?: number;
  };
  readonly autonomy: Autonomy;
  /** Name of a policy that also decides its transfers, or null. */
  readonly policy: string | null;
  /** The author of this version; its own plans run in this name. */
  readonly author: Actor;
  readonly createdAtMs: number;
}

export interface StrategyRecord extends Versioned {
  readonly status: StrategyStatus;
  /** At least one, in order. */
  readonly versions: readonly StrategyTerms[];
  /** The plan in execution: one at a time. */
  readonly executingPlanId: string | null;
  readonly lastExecutedAtMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export const strategyType: RecordType<StrategyRecord> = {
  name: 'treasury_strategy',
  status: ({ status }) => status,
  indices: ({ status }) => ['treasury:strategies', `treasury:strategies:status:${status}`],
};

/** Versions of one strategy, at most: a read loads the whole strategy. */
export const versionsMax = 100;

const venueDeadlineDefaultS = 600;

export function venueDeadlineS(constraints: StrategyTerms['constraints']): number {
  return constraints.venueDeadlineS ?? venueDeadlineDefaultS;
}

export function termsOf({ versions }: StrategyRecord): StrategyTerms {
  return versions.at(-1)!;
}

/** The prefix of triggers in the due work; the strategy's id follows. */
export const triggerPrefix = 'treasury-trigger/';
