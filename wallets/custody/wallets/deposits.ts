/** Money that arrives at a wallet. One transaction credits one wallet once, for any number of reports. */

import type { Reporter } from '../../../gateway/api/event.ts';
import type { IdPrefix } from '../../../proto/ids.ts';
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf, type TokenTerms } from '../../networks/assets.ts';
import { create, update } from '../../store/changes.ts';
import type { Change, TenantStore } from '../../store/contract.ts';
import { walletEvent } from './change.ts';
import { type DepositRecord, depositId, depositType } from './deposit-record.ts';
import type { WalletRead } from './read.ts';
import { type WalletRecord, walletType } from './record.ts';
import { walletView } from './view.ts';

export interface Deposit {
  readonly tenant: string;
  readonly walletId: string;
  /** Symbol of an asset of the registry, or of `token`. */
  readonly asset: string;
  readonly token?: TokenTerms;
  /** Of its movement. Default: deposit. */
  readonly kind?: 'deposit' | 'mint';
  /** Above zero: all that the transaction brings to this wallet. */
  readonly units: bigint;
  /** The transaction's id on its network. */
  readonly txId: string;
  /** null where the network names no sender. */
  readonly fromAddress: string | null;
  readonly nowMs: number;
  readonly newId: (prefix: IdPrefix) => string;
}

export type DepositOutcome = 'credited' | 'credited_before' | 'no_such_wallet';

/** As long as a report of the same transaction may be repeated: well beyond the life of whatever repeats it. */
export const depositKeptMs = 30 * 24 * 3_600_000;
/** The record changes at most once for a new asset; everything else that changes it is rare. */
const conflictRetriesMax = 50;

/** Credits a wallet in any status: a deposit cannot be refused. Throws StoreUnavailable: then report it again. */
export async function creditDeposit(store: TenantStore, deposit: Deposit): Promise<DepositOutcome> {
  for (let run = 0; run <= conflictRetriesMax; run += 1) {
    const found = await store.readWithBalances(deposit.tenant, walletType, deposit.walletId);
    if (found === undefined) return 'no_such_wallet';
    const result = await store.commit(deposit.tenant, depositChange(deposit, found));
    if (result.committed) return 'credited';
    if (result.refusal.kind === 'claimed') return 'credited_before';
    // Its record exists.
    if (result.refusal.kind === 'conflict' && result.refusal.id === depositId(deposit.walletId, deposit.txId)) {
      return 'credited_before';
    }
    if (result.refusal.kind !== 'conflict') throw new Error(`a deposit was refused for ${result.refusal.kind}`);
  }
  throw new Error(`wallet ${deposit.walletId} keeps changing under a deposit`);
}

/** The event shows the balances that this change leaves. The record itself changes only when the asset was not listed before. */
function depositChange(deposit: Deposit, { record, balances }: WalletRead): Change {
  const { walletId, asset, token, units, txId, fromAddress, nowMs, newId, kind = 'deposit' } = deposit;
  const isListed = record.assets.includes(asset);
  const wallet: WalletRecord = isListed
    ? record
    : {
        ...record,
        assets: [...record.assets, asset],
        ...(token !== undefined && { tokens: [...(record.tokens ?? []), token] }),
        version: record.version + 1,
        updatedAtMs: nowMs,
      };
  // The transaction is what the sender's events and the receiver's have in common.
  const reporter: Reporter = { nowMs, newId, requestId: txId };
  const object = { ...walletView(wallet, balances), deposit: depositView(deposit) };
  const movement = { kind, of: depositId(walletId, txId), txId, counterparty: fromAddress } as const;
  return {
    guards: [
      { kind: 'claim', name: `deposit:${txId}:${walletId}`, lifetimeMs: depositKeptMs },
      // The event shows the wallet as it is: one that was frozen meanwhile is read again.
      ...(isListed ? [{ kind: 'version', id: record.id, version: record.version } as const] : []),
    ],
    balancesOf: walletId,
    ledger: [{ walletId, asset, available: units, reserved: 0n, movement }],
    events: [walletEvent(reporter, 'deposit_received', wallet, object)],
    puts: [
      create(depositType, depositRecord(deposit), depositKeptMs),
      ...(isListed ? [] : [update(walletType, record, wallet)]),
    ],
  };
}

function depositRecord({ walletId, txId, asset, units, fromAddress, nowMs }: Deposit): DepositRecord {
  const id = depositId(walletId, txId);
  return { id, version: 1, walletId, asset, units: String(units), txId, fromAddress, createdAtMs: nowMs };
}

function depositView({ asset: symbol, token, units, txId, fromAddress }: Deposit): object {
  const asset = token ?? assetOf(symbol);
  if (asset === undefined || units <= 0n) throw new Error(`no deposit: ${units} of ${symbol}`);
  return { asset: symbol, amount: formatAmount(units, asset.decimals), tx_id: txId, from_address: fromAddress };
}
