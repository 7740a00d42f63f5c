/** The claims of a policy receipt. docs/wallet-api.md explains how to verify one. */

import type { FeeLimit, PolicyDecision, RiskResult, TransactionFacts } from '../../custody/intents/public.ts';
import { type TokenClaim, tokenClaim } from '../../networks/assets.ts';

export const receiptIssuer = 'signmesh';

/**
 * Only a receipt of purpose `transaction_intent` proves a decision about money; `vault_signature` proves one about a message.
 */
export type ReceiptPurpose = 'transaction_intent' | 'vault_signature' | 'evaluation';

export interface ReceiptClaims {
  readonly iss: typeof receiptIssuer;
  /** Whole seconds since the epoch, RFC 7519. */
  readonly iat: number;
  /** The decision's id. */
  readonly jti: string;
  /** The intent's id; of an evaluation, its own id. */
  readonly sub: string;
  readonly purpose: ReceiptPurpose;
  readonly tenant: string;
  readonly decision: PolicyDecision['decision'];
  readonly policy: { readonly name: string; readonly id: string; readonly version: number };
  /** Further policies that decided, if any. */
  readonly also_policies?: readonly ReceiptClaims['policy'][];
  readonly matched_rules: readonly string[];
  readonly risk_score: number;
  /** Who asked for it; never counts as an approver. */
  readonly initiator: string;
  /** How many have to approve it, and who may: no names are anyone with the scope. */
  readonly approvals: { readonly quorum: number; readonly approvers: readonly string[] };
  readonly transaction: {
    readonly wallet_id: string;
    /** One of `intentKinds`. */
    readonly kind: string;
    readonly asset: string;
    /** Decimal. */
    readonly amount: string;
    readonly network: string;
    readonly to: string;
    /** Of the tenant's own token that it is about. */
    readonly token?: TokenClaim;
    /** Of a replacement: the intent whose transaction it replaces, and the first of those that replace one another. */
    readonly replaces?: TransactionFacts['replaces'];
    /** Of a wallet's message: what is signed. */
    readonly message_hash?: string;
    /** Of a call of a contract: all that is called. */
    readonly call?: TransactionFacts['call'];
    /** The most that it may cost; absent where nothing is sent. */
    readonly fee?: FeeLimit;
  };
}

export function receiptClaims(
  tenant: string,
  purpose: ReceiptPurpose,
  facts: TransactionFacts,
  decision: PolicyDecision,
  risk: RiskResult,
  fee?: FeeLimit,
): ReceiptClaims {
  return {
    iss: receiptIssuer,
    iat: Math.floor(facts.nowMs / 1000),
    jti: decision.id,
    sub: facts.id,
    purpose,
    tenant,
    decision: decision.decision,
    policy: decision.policy,
    ...(decision.alsoPolicies === undefined ? {} : { also_policies: decision.alsoPolicies }),
    matched_rules: decision.matchedRules,
    risk_score: risk.score,
    initiator: facts.initiator,
    approvals: { quorum: decision.approvals?.quorum ?? 0, approvers: decision.approvals?.approvers ?? [] },
    transaction: {
      wallet_id: facts.walletId,
      kind: facts.kind,
      asset: facts.asset,
      amount: facts.amount,
      network: facts.network,
      to: facts.toAddress,
      ...(facts.token !== undefined && { token: tokenClaim(facts.token) }),
      ...(facts.replaces !== undefined && { replaces: facts.replaces }),
      ...(facts.message !== undefined && { message_hash: facts.message.hash }),
      ...(facts.call !== undefined && { call: facts.call }),
      ...(fee !== undefined && { fee }),
    },
  };
}
