/**
 * The facts of a transaction for compliance, risk and policy, and the result of each. They run in that order and see earlier
 * results. All of it is plain data, so that the same functions serve intents, dry runs and the modules' own routes.
 */

import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import type { TokenTerms } from '../../networks/assets.ts';
import type { EvmMessage } from '../../networks/evm-messages.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { EvmCall } from '../../networks/token-calls.ts';
import type { IntentKind, ProviderKind } from '../../providers/port/kinds.ts';
import type { DecidedTransaction } from '../../providers/port/port.ts';

export interface TransactionFacts {
  /** The intent's id; on routes that evaluate a bare transaction, a fresh id. */
  readonly id: string;
  readonly walletId: string;
  readonly walletName: string;
  /** The wallet's provider connection: what is recorded of the transaction is shown to tokens of this connection. */
  readonly connectionId?: string;
  readonly provider: ProviderKind;
  readonly network: NetworkId;
  /** Of a `message` without `message`, a vault is asked to sign it: it has no asset, amount or destination. */
  readonly kind: IntentKind;
  readonly asset: string;
  /** Decimal. */
  readonly amount: string;
  /** Smallest units. */
  readonly units: bigint;
  readonly decimals: number;
  /** The tenant's own token that it is about. */
  readonly token?: TokenTerms | undefined;
  /** What a wallet is to sign instead of a transaction. */
  readonly message?: EvmMessage | undefined;
  /** The call of a contract that it makes. */
  readonly call?: EvmCall | undefined;
  /** The transaction that it is to replace. */
  readonly replaces?: DecidedTransaction['replaces'];
  readonly fromAddress: string;
  readonly toAddress: string;
  /** The wallet's available balance of the asset before this transaction, smallest units. */
  readonly availableUnits: bigint;
  /** The wallet asks for a human approval whatever its policy says. */
  readonly wantsHuman?: boolean;
  /** The caller: see `actorOf`. */
  readonly initiator: string;
  readonly metadata: MetadataValue;
  /** Counted by the caller from the store. */
  readonly history: {
    readonly intentsLastHour: number;
    readonly intentsLastDay: number;
    /** Earlier intents of this wallet to this address. */
    readonly intentsToDestination: number;
  };
  readonly nowMs: number;
}

export type ScreeningDecision = 'clear' | 'review' | 'blocked';

export interface ScreeningMatch {
  readonly listId: string;
  readonly listName: string;
  readonly kind: 'sanctions' | 'deny' | 'allow' | 'watch';
  readonly listVersion: number;
  readonly entry: string;
}

export interface ScreeningResult {
  /** scr_… */
  readonly id: string;
  readonly decision: ScreeningDecision;
  /** 0 to 100. */
  readonly riskScore: number;
  readonly matches: readonly ScreeningMatch[];
  readonly reportId: string;
  readonly listVersions: Readonly<Record<string, number>>;
}

export interface RiskFactor {
  readonly code: string;
  /** Points, may be negative. */
  readonly contribution: number;
  readonly evidence: string;
}

/** An enforced rule that matches: `deny` denies, `review` asks for an approval, whatever the policies say. */
export interface RiskRuleAction {
  /** Its name. */
  readonly rule: string;
  readonly action: 'review' | 'deny';
  /** As in a trace: `true`, or the reason why it could not be evaluated. */
  readonly result: string;
}

export interface RiskResult {
  readonly txId: string;
  /** 0 to 100. */
  readonly score: number;
  readonly level: 'low' | 'medium' | 'high' | 'critical';
  /** The strictest of the level's and the rules' actions, for policies to read; the level's decides nothing by itself. */
  readonly action: 'allow' | 'review' | 'deny';
  readonly ruleActions: readonly RiskRuleAction[];
  readonly factors: readonly RiskFactor[];
  readonly rulesVersion: number;
}

export interface PolicyTraceLine {
  readonly rule: string;
  readonly effect: 'allow' | 'deny' | 'require_approval';
  readonly matched: boolean;
  /**
   * The result of the expression, or the reason why it could not be evaluated (which counts as a match of deny, never of
   * allow).
   */
  readonly result: string;
}

export interface PolicyDecision {
  /** dec_… */
  readonly id: string;
  readonly decision: 'allow' | 'deny' | 'require_approval';
  readonly policy: { readonly name: string; readonly id: string; readonly version: number };
  /** Those that decided beside it: the decision is the strictest of all. */
  readonly alsoPolicies?: readonly PolicyDecision['policy'][];
  readonly mode: 'enforce' | 'dry_run';
  readonly matchedRules: readonly string[];
  readonly trace: readonly PolicyTraceLine[];
  /** With require_approval: how many, from which approvers (empty: any caller with the scope), and for how long. */
  readonly approvals:
    | { readonly quorum: number; readonly approvers: readonly string[]; readonly timeoutS: number }
    | undefined;
  /** Why, in one sentence. */
  readonly reason: string;
  /** The decision of the policy's newest version while it is in mode dry_run: shown and recorded, never applied. */
  readonly dryRun?: DryRunDecision;
}

export interface DryRunDecision {
  readonly policy: PolicyDecision['policy'];
  readonly decision: PolicyDecision['decision'];
  readonly matchedRules: readonly string[];
  readonly trace: readonly PolicyTraceLine[];
}
