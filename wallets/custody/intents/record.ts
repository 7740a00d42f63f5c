/** A stored transaction intent. */

import { type MetadataValue, metadataIndices } from '../../../gateway/api/metadata.ts';
import type { TokenTerms } from '../../networks/assets.ts';
import type { EvmMessage } from '../../networks/evm-messages.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { EvmCall } from '../../networks/token-calls.ts';
import { type IntentKind, isMessage, type ProviderKind } from '../../providers/port/kinds.ts';
import { type FeeTerms, type FillerTransaction, notFinal, type ReplacedTransfer } from '../../providers/port/port.ts';
import type { RecordType, Versioned } from '../../store/contract.ts';
import { openIntentsOfConnectionIndex } from '../connections/public.ts';
import { openIntentsIndex } from '../wallets/public.ts';
import { type IntentStatus, isFinal, isSubmitted } from './states.ts';

export interface Vote {
  /** The voter: see `actorOf` in gateway/api/principal.ts. */
  readonly by: string;
  readonly decision: 'approve' | 'reject';
  readonly comment: string | null;
  readonly reason: string | null;
  readonly atMs: number;
  /** See votes.ts. */
  readonly mac: string;
}

export interface StatusChange {
  readonly status: IntentStatus;
  readonly subStatus: string | null;
  readonly atMs: number;
}

/**
 * The record of a module for which the intent was made; absent for a caller's own intent. The due member `<kind>/<id>`
 * falls due when the intent is over.
 */
export interface IntentOrigin {
  readonly kind: string;
  readonly id: string;
}

/** The transaction that a replacement is to take the place of, and what it sets aside beyond what that one has. */
interface Replaces extends ReplacedTransfer {
  readonly beyond: readonly { readonly asset: string; readonly units: string }[];
}

export interface IntentRecord extends Versioned {
  readonly kind: IntentKind;
  /** The tenant's own token that it deploys or moves; absent for assets of the registry. */
  readonly token?: TokenTerms;
  readonly origin?: IntentOrigin;
  /** What it signs instead of a transaction. */
  readonly message?: EvmMessage;
  /** The call that it makes; of a `speed_up`, that of the one that it is to replace. */
  readonly call?: EvmCall;
  /** The caller's own id of it, unique in its tenant for good; absent: none. */
  readonly externalId?: string;
  readonly walletId: string;
  readonly connectionId: string;
  readonly provider: ProviderKind;
  readonly network: NetworkId;
  readonly status: IntentStatus;
  /** More precisely, UPPER_SNAKE free of provider words, e.g. "AWAITING_QUORUM"; null when there is nothing to add. */
  readonly subStatus: string | null;
  readonly asset: string;
  /** Decimal, normalized (no trailing zeros beyond need). */
  readonly amount: string;
  /** The amount in the asset's smallest units, a decimal integer. */
  readonly units: string;
  readonly fromAddress: string;
  readonly destination: { readonly address: string };
  /** The largest fee that was set aside: an asset and its smallest units. */
  readonly feeReserve: { readonly asset: string; readonly units: string };
  /** undefined: its network has none, or an earlier version made it. */
  readonly fees?: FeeTerms;
  /** Of a replacement. */
  readonly replaces?: Replaces;
  /** The newest intent to replace it that was not denied at once. */
  readonly replacedBy?: string;
  readonly feePaid: { readonly asset: string; readonly units: string } | null;
  readonly policy: { readonly name: string; readonly id: string; readonly version: number };
  readonly decisionId: string;
  readonly policyReceipt: string | null;
  readonly riskScore: number;
  readonly screeningId: string | null;
  /** Who made the intent; never counts as an approver. */
  readonly initiator: string;
  readonly approvals: readonly Vote[];
  readonly approvalsRequired: number;
  /** Who may approve: empty means any caller with the scope. */
  readonly approvers: readonly string[];
  readonly providerTxId: string | null;
  readonly providerStatus: string | null;
  readonly providerError: { readonly code: string; readonly message: string } | null;
  /** The adapter's data to continue this transfer; only that adapter reads it. Not secret. */
  readonly submission: unknown;
  /** Times that the present step was tried again, at least: see `triedAgain` in machine.ts. */
  readonly attempts: number;
  /**
   * Set while a transfer that failed leaves a hole in its wallet's numbers. `open`: not handled yet. `filled`: an
   * empty transaction takes the number; it must never be released any more.
   */
  readonly gap?: 'open' | 'filled';
  /** The empty transaction that has taken the number of a transfer that failed, and whose fee it has paid. */
  readonly filler?: FillerTransaction;
  readonly cancellation?: { readonly by: string; readonly reason: string | null; readonly atMs: number };
  readonly metadata: MetadataValue;
  readonly correlationId: string;
  readonly statusHistory: readonly StatusChange[];
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Past it an intent that is not signed yet expires. */
  readonly expiresAtMs: number;
}

export const intentType: RecordType<IntentRecord> = {
  name: 'transaction_intent',
  status: ({ status }) => status,
  isPacked: ({ status }) => isFinal(status),
  indices: ({
    kind,
    walletId,
    connectionId,
    status,
    subStatus,
    asset,
    destination,
    gap,
    provider,
    providerTxId,
    filler,
    externalId,
    metadata,
  }) => [
    'intents',
    ofStatusIndex(status),
    ofConnectionIndex(connectionId),
    ofWalletIndex(walletId),
    `${ofWalletIndex(walletId)}:status:${status}`,
    `${ofWalletIndex(walletId)}:asset:${asset}`,
    toDestinationIndex(walletId, destination.address),
    ...(externalId === undefined ? [] : [externalIdIndex(externalId)]),
    ...metadataIndices('intents:metadata', metadata),
    ...(isSettled({ status, subStatus })
      ? []
      : [openIntentsIndex(walletId), openIntentsOfConnectionIndex(connectionId)]),
    ...(isSubmitted(status) && gap === undefined && !isMessage(kind) ? [inFlightIndex(walletId)] : []),
    // A chain knows no ids of ours: its transactions are found by their own.
    ...(provider !== 'self_hosted'
      ? []
      : [providerTxId, filler?.id].flatMap((txId) => (txId == null ? [] : [txIndex(txId)]))),
  ],
};

/** Nothing changes it any more: what depends on its end may act. */
export function isSettled({ status, subStatus }: Pick<IntentRecord, 'status' | 'subStatus'>): boolean {
  return isFinal(status) && subStatus !== notFinal;
}

/** The intent that the number of its transaction was allocated for. */
export function numberedId({ id, replaces }: Pick<IntentRecord, 'id' | 'replaces'>): string {
  return replaces?.root ?? id;
}

/** All intents of the tenant that have this status. */
export function ofStatusIndex(status: IntentStatus): string {
  return `intents:status:${status}`;
}

/** All intents of the connection's wallets. */
export function ofConnectionIndex(connectionId: string): string {
  return `intents:connection:${connectionId}`;
}

/** All intents of a wallet. They never expire, so the index may be counted exactly. */
export function ofWalletIndex(walletId: string): string {
  return `intents:wallet:${walletId}`;
}

/** The one intent of this external id. Intents stay for good, so it has none, or the same one forever. */
export function externalIdIndex(externalId: string): string {
  return `intents:external:${externalId}`;
}

/** `address`: in its canonical spelling. */
export function toDestinationIndex(walletId: string, address: string): string {
  return `intents:to:${walletId}:${address}`;
}

/** The intent that a transaction on a chain of ours belongs to: as its transfer, or as the filler of its gap. */
export function txIndex(txId: string): string {
  return `intents:tx:${txId}`;
}

/** Transfers of a wallet that hold a number and will use it stand in this index. */
export function inFlightIndex(walletId: string): string {
  return `intents:flying:${walletId}`;
}
