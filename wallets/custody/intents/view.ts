/** Intents as the API and its events show them: the fields of the contract first. */

import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import { partsOfCall } from '../../networks/token-calls.ts';
import type { TypedData } from '../../networks/typed-data.ts';
import type { EvmReceipt } from '../../providers/chains/public.ts';
import { type FeeTerms, readSignedMessage } from '../../providers/port/port.ts';
import { shownRecord } from '../../store/contract.ts';
import type { IntentRecord } from './record.ts';

export interface IntentView {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly policy_receipt: string | null;
  readonly risk_score: number;
  readonly provider_tx_id: string | null;
  readonly sub_status: string | null;
  readonly wallet_id: string;
  readonly provider: string;
  readonly provider_connection_id: string;
  readonly network: string;
  readonly asset: string;
  readonly amount: string;
  readonly from_address: string;
  readonly destination: { readonly address: string };
  readonly token: {
    readonly symbol: string;
    readonly name: string;
    readonly decimals: number;
    readonly supply_cap: string;
    readonly contract: string | null;
  } | null;
  readonly origin: { readonly kind: string; readonly id: string } | null;
  readonly replaces: string | null;
  readonly replaced_by: string | null;
  readonly fee: {
    readonly asset: string;
    readonly reserved: string;
    readonly paid: string | null;
    readonly terms: FeeTermsView | null;
  };
  readonly policy: { readonly name: string; readonly id: string; readonly version: number };
  readonly decision_id: string;
  readonly screening_id: string | null;
  readonly initiator: string;
  readonly approvals: readonly {
    readonly by: string;
    readonly decision: string;
    readonly comment: string | null;
    readonly reason: string | null;
    readonly at: string;
  }[];
  readonly approvals_required: number;
  readonly approvers: readonly string[];
  readonly provider_status: string | null;
  readonly provider_error: { readonly code: string; readonly message: string } | null;
  readonly provider_details: {
    readonly raw_transaction: string;
    readonly signing_session_ids: readonly string[];
    readonly receipt: {
      readonly status: string;
      readonly contract_address: string | null;
      readonly logs: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[];
    } | null;
  } | null;
  readonly message: {
    readonly text: string | null;
    readonly typed_data: TypedData | null;
    readonly hash: string;
    readonly signature: string | null;
    readonly signing_session_ids: readonly string[];
  } | null;
  readonly call: {
    readonly contract: string;
    readonly data: string;
    readonly selector: string;
    readonly function: string;
    readonly arguments: Readonly<Record<string, string>>;
  } | null;
  readonly gap_transaction: {
    readonly provider_tx_id: string;
    readonly raw_transaction: string;
    readonly signing_session_ids: readonly string[];
  } | null;
  readonly cancellation: { readonly by: string; readonly reason: string | null; readonly at: string } | null;
  readonly external_id: string | null;
  readonly metadata: MetadataValue;
  readonly status_history: readonly {
    readonly status: string;
    readonly sub_status: string | null;
    readonly at: string;
  }[];
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly expires_at: string;
}

/** Throws StoreTampered. */
export function intentView(intent: IntentRecord): IntentView {
  return shownRecord(intent.id, () => intentViewOf(intent));
}

function intentViewOf(intent: IntentRecord): IntentView {
  const { feeReserve, feePaid, cancellation } = intent;
  return {
    id: intent.id,
    kind: intent.kind,
    status: intent.status,
    policy_receipt: intent.policyReceipt,
    risk_score: intent.riskScore,
    provider_tx_id: intent.providerTxId,
    sub_status: intent.subStatus,
    wallet_id: intent.walletId,
    provider: intent.provider,
    provider_connection_id: intent.connectionId,
    network: intent.network,
    asset: intent.asset,
    amount: intent.amount,
    from_address: intent.fromAddress,
    destination: intent.destination,
    token: tokenOf(intent.token),
    origin: intent.origin ?? null,
    replaces: intent.replaces?.id ?? null,
    replaced_by: intent.replacedBy ?? null,
    fee: {
      asset: feeReserve.asset,
      reserved: unitsText(feeReserve.asset, BigInt(feeReserve.units)),
      paid: feePaid === null ? null : unitsText(feePaid.asset, BigInt(feePaid.units)),
      terms: feeTermsView(intent.fees),
    },
    policy: intent.policy,
    decision_id: intent.decisionId,
    screening_id: intent.screeningId,
    initiator: intent.initiator,
    approvals: intent.approvals.map(({ atMs, mac: _, ...vote }) => ({ ...vote, at: timestamp(atMs) })),
    approvals_required: intent.approvalsRequired,
    approvers: intent.approvers,
    provider_status: intent.providerStatus,
    provider_error: intent.providerError,
    provider_details: detailsOf(intent.submission),
    message: messageOf(intent),
    call: intent.call === undefined ? null : { ...intent.call, ...partsOfCall(intent.call) },
    gap_transaction: gapTransactionOf(intent.filler),
    cancellation:
      cancellation === undefined
        ? null
        : { by: cancellation.by, reason: cancellation.reason, at: timestamp(cancellation.atMs) },
    external_id: intent.externalId ?? null,
    metadata: intent.metadata,
    status_history: intent.statusHistory.map(({ status, subStatus, atMs }) => ({
      status,
      sub_status: subStatus,
      at: timestamp(atMs),
    })),
    version: intent.version,
    created_at: timestamp(intent.createdAtMs),
    updated_at: timestamp(intent.updatedAtMs),
    expires_at: timestamp(intent.expiresAtMs),
  };
}

interface FeeTermsView {
  readonly fee_level: string | null;
  readonly max_fee_per_gas: string | null;
  readonly max_priority_fee_per_gas: string | null;
  readonly gas_limit: string | null;
  readonly sats_per_vbyte: string | null;
}

export function feeTermsView(fees: FeeTerms | undefined): FeeTermsView | null {
  if (fees === undefined) return null;
  const { fee_level, max_fee_per_gas = null, max_priority_fee_per_gas = null } = fees;
  const { gas_limit = null, sats_per_vbyte = null } = fees;
  return { fee_level, max_fee_per_gas, max_priority_fee_per_gas, gas_limit, sats_per_vbyte };
}

function tokenOf(token: IntentRecord['token']): IntentView['token'] {
  if (token === undefined) return null;
  const { symbol, name, decimals, supplyCap, contract } = token;
  return { symbol, name, decimals, supply_cap: formatAmount(BigInt(supplyCap), decimals), contract };
}

/** What our own signer cluster signed: the one part of a submission that is shown. */
function detailsOf(submission: unknown): IntentView['provider_details'] {
  const { rawTransaction, signingSessionIds } = (submission ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof rawTransaction !== 'string' || !Array.isArray(signingSessionIds)) return null;
  return {
    raw_transaction: rawTransaction,
    signing_session_ids: signingSessionIds as string[],
    receipt: receiptOf(submission),
  };
}

type ReceiptView = NonNullable<IntentView['provider_details']>['receipt'];

/** Of the transaction of an EVM wallet of our cluster, once it is final. */
export function receiptOf(submission: unknown): ReceiptView {
  const { receipt } = (submission ?? {}) as { readonly receipt?: EvmReceipt };
  if (receipt === undefined) return null;
  const { status, contractAddress, logs } = receipt;
  return { status, contract_address: contractAddress, logs };
}

function messageOf({ message, submission }: IntentRecord): IntentView['message'] {
  if (message === undefined) return null;
  const { text = null, typedData = null, hash } = message;
  const { signature = null, signingSessionIds = [] } = readSignedMessage(submission) ?? {};
  return { text, typed_data: typedData, hash, signature, signing_session_ids: signingSessionIds };
}

function gapTransactionOf(filler: IntentRecord['filler']): IntentView['gap_transaction'] {
  if (filler === undefined) return null;
  const { id, rawTransaction, signingSessionIds } = filler;
  return { provider_tx_id: id, raw_transaction: rawTransaction, signing_session_ids: signingSessionIds };
}

/** Units of an asset as a decimal. */
export function unitsText(symbol: string, units: bigint): string {
  const asset = assetOf(symbol);
  if (asset === undefined) throw new Error(`asset ${symbol} is not registered`);
  return formatAmount(units, asset.decimals);
}
