/** Tokens and their orders as the API and its events show them. */
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { timestamp } from '../../../proto/timestamps.ts';
import { formatAmount } from '../../networks/amounts.ts';
import type { NetworkId } from '../../networks/networks.ts';
import type { Balances } from '../../store/contract.ts';
import { type OrderRecord, type OwnTokenRecord, type Reserve, supplyOf } from './record.ts';

export function tokenView(token: OwnTokenRecord, balances: Balances) {
  const { left, minting, circulating } = supplyOf(token, balances);
  const text = (units: bigint) => formatAmount(units, token.decimals);
  return { ...tokenFacts(token), supply: text(circulating), minting: text(minting), available_to_mint: text(left) };
}

/** Without the supply, which changes separately: the form in events. */
export function tokenFacts(token: OwnTokenRecord) {
  const { id, symbol, name, network, decimals, supplyCap, contract } = token;
  return {
    id,
    status: token.status,
    symbol,
    name,
    network: network satisfies NetworkId,
    decimals,
    supply_cap: formatAmount(BigInt(supplyCap), decimals),
    contract,
    issuer_wallet_id: token.issuerWalletId,
    transaction_intent_id: token.intentId,
    error: token.error,
    freeze_reason: token.freezeReason,
    metadata: token.metadata satisfies MetadataValue,
    version: token.version,
    created_at: timestamp(token.createdAtMs),
    updated_at: timestamp(token.updatedAtMs),
  };
}

export function orderView(order: OrderRecord) {
  const { draft, reserve, reserveCheck } = order;
  const inReserve = (units: string) => formatAmount(BigInt(units), reserve.decimals);
  return {
    id: order.id,
    kind: order.kind,
    token_id: order.tokenId,
    status: order.status,
    sub_status: order.subStatus,
    asset: order.asset,
    amount: order.amount,
    destination: order.kind === 'mint' ? draft.destination : null,
    source: order.kind === 'redeem' ? { wallet_id: draft.walletId } : null,
    reserve_reference: reserveView(reserve),
    reserve_check:
      reserveCheck === null
        ? null
        : {
            asset: reserve.asset,
            required: inReserve(reserveCheck.requiredUnits),
            held: inReserve(reserveCheck.heldUnits),
            at: timestamp(reserveCheck.atMs),
          },
    wallet_id: draft.walletId,
    transaction_intent_id: draft.id,
    policy: draft.policy,
    decision_id: draft.decisionId,
    risk_score: draft.riskScore,
    screening_id: draft.screeningId,
    initiator: order.initiator,
    approvals: order.approvals.map(({ atMs, mac: _, ...vote }) => ({ ...vote, at: timestamp(atMs) })),
    approvals_required: order.approvalsRequired,
    approvers: order.approvers,
    error: order.error,
    metadata: order.metadata,
    status_history: order.statusHistory.map(({ status, subStatus, atMs }) => ({
      status,
      sub_status: subStatus,
      at: timestamp(atMs),
    })),
    version: order.version,
    created_at: timestamp(order.createdAtMs),
    updated_at: timestamp(order.updatedAtMs),
    expires_at: order.status === 'pending_approval' ? timestamp(order.expiresAtMs) : null,
  };
}

function reserveView(reserve: Reserve) {
  const { type, asset } = reserve;
  if (type === 'wallet') return { type, asset, wallet_id: reserve.walletId };
  const { reference, units, decimals, expiresAtMs } = reserve;
  return { type, asset, reference, amount: formatAmount(BigInt(units), decimals), expires_at: timestamp(expiresAtMs) };
}
