/**
 * The last check before an order: a signing order of the cluster, or a transfer submitted to a custodian. It compares the intent's
 * record and its wallet with what the signed receipt decided, and counts the votes whose MACs hold. The adapter that makes the bytes
 * compares these with the same receipt (wallets/providers/self-hosted/decided.ts). Whatever Redis holds, nothing is ordered that was not
 * decided.
 */
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf, isClaimOf } from '../../networks/assets.ts';
import type { DecidedTransaction } from '../../providers/port/port.ts';
import type { WalletRecord } from '../wallets/public.ts';
import type { IntentDependencies } from './dependencies.ts';
import type { DecidedTransfer } from './evaluators.ts';
import type { IntentRecord } from './record.ts';
import { unitsText } from './view.ts';

type Deps = Pick<IntentDependencies, 'evaluators' | 'votes'>;

/** What a receipt decided about an intent; a text: why this one decides nothing about it. */
export function decidedOf({ evaluators }: Deps, tenant: string, record: ReceiptOf): DecidedTransfer | string {
  const decided = evaluators.readReceipt(record.policyReceipt ?? '');
  if (decided === undefined) return 'its policy receipt is not one of this service';
  const { sub, purpose } = decided;
  if (sub !== record.id || purpose !== 'transaction_intent' || decided.tenant !== tenant) {
    return 'its policy receipt is about something else';
  }
  if (decided.approvals === undefined || decided.initiator === undefined || decided.transaction.fee === undefined) {
    return 'an earlier version decided about it, whose receipt does not say who has to approve it: make it again';
  }
  return decided;
}

type ReceiptOf = Pick<IntentRecord, 'id' | 'policyReceipt'>;

/** What may be ordered for this intent; a text: why nothing may. */
export function orderOf(
  deps: Deps,
  tenant: string,
  record: IntentRecord,
  wallet: WalletRecord,
): DecidedTransaction | string {
  const decided = decidedOf(deps, tenant, record);
  if (typeof decided === 'string') return decided;
  const { transaction, initiator, approvals, decision } = decided;
  const differing = Object.entries(termsOf(record)).find(
    ([name, value]) => value !== transaction[name as keyof ReturnType<typeof termsOf>],
  );
  if (differing !== undefined) return `its ${differing[0]} is not the one of its policy receipt`;
  if (wallet.id !== transaction.wallet_id || wallet.network !== transaction.network) {
    return 'its wallet is not the one of its policy receipt';
  }
  const { replaces } = record;
  if (replaces?.id !== transaction.replaces?.id || replaces?.root !== transaction.replaces?.root) {
    return 'the transaction that it replaces is not the one of its policy receipt';
  }
  if (record.call?.contract !== transaction.call?.contract || record.call?.data !== transaction.call?.data) {
    return 'its call is not the one of its policy receipt';
  }
  if (!isClaimOf(transaction.token, record.token)) return 'its token is not the one of its policy receipt';
  const { asset, units } = record.feeReserve;
  if (asset !== transaction.fee?.asset || unitsText(asset, BigInt(units)) !== transaction.fee.limit) {
    return 'its fee is not the one of its policy receipt';
  }
  if (record.initiator !== initiator) return 'its initiator is not the one of its policy receipt';
  if (decision === 'deny') return 'its policy receipt denies it';
  const { quorum = 0, approvers = [] } = approvals ?? {};
  if (decision === 'require_approval' && quorum < 1) return 'its policy receipt asks for approvals and names none';
  const votes = record.approvals.filter((vote) => deps.votes.holds(tenant, record, vote));
  const voters = new Set(votes.filter((vote) => vote.decision === 'approve').map(({ by }) => by));
  const counted = [...voters].filter((by) => by !== initiator && (approvers.length === 0 || approvers.includes(by)));
  return counted.length < quorum ? `it has ${counted.length} of ${quorum} approvals` : transaction;
}

/** The transaction as it would be made now, in the words of a receipt. */
function termsOf({ walletId, kind, asset, amount, units, network, destination, token }: IntentRecord) {
  const known = assetOf(asset) ?? token;
  const moved = known === undefined ? undefined : formatAmount(BigInt(units), known.decimals);
  return {
    wallet_id: walletId,
    kind,
    asset,
    amount: amount === moved ? amount : undefined,
    network,
    to: destination.address,
  };
}
