/**
 * Money that arrives at a wallet. One transaction credits one wallet once, for any number of reports.
 *
 * A deposit whose block may still be undone is reserved until it is final: so nothing is spent that could be taken back, and a
 * reorganisation never makes `available` negative.
 */

import type { Reporter } from '../../../gateway/api/event.ts';
import type { IdPrefix } from '../../../proto/ids.ts';
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf, type TokenTerms } from '../../networks/assets.ts';
import { create, update } from '../../store/changes.ts';
import type { Change, LedgerEntry, TenantStore } from '../../store/contract.ts';
import { type WalletHappening, walletEvent } from './change.ts';
import { type DepositRecord, type DepositStanding, depositId, depositType } from './deposit-record.ts';
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
  /** By default it is final. */
  readonly standing?: DepositStanding;
  /** The version of the transfer that says so; 0 by default. */
  readonly transferVersion?: number;
}

type Standing = Deposit & Pick<Required<Deposit>, 'standing' | 'transferVersion'>;

export type DepositOutcome = 'credited' | 'credited_before' | 'changed' | 'no_such_wallet';

/** As long as a report of the same transaction may be repeated: well beyond the life of whatever repeats it. */
export const depositKeptMs = 30 * 24 * 3_600_000;
/** The record changes at most once for a new asset; everything else that changes it is rare. */
const conflictRetriesMax = 50;

/**
 * Credits a wallet in any status: a deposit cannot be refused. One that is known and not final gets its new standing. Throws
 * StoreUnavailable: then report it again.
 */
export async function creditDeposit(store: TenantStore, deposit: Deposit): Promise<DepositOutcome> {
  const { tenant, walletId, txId, standing = 'final', transferVersion = 0 } = deposit;
  const id = depositId(walletId, txId);
  // What was never credited has nothing to take back.
  let mayBeNew = standing !== 'reverted';
  for (let run = 0; run <= conflictRetriesMax; run += 1) {
    const found = await store.readWithBalances(tenant, walletType, walletId);
    if (found === undefined) return 'no_such_wallet';
    const known = mayBeNew ? undefined : await store.read(tenant, depositType, id);
    if (!mayBeNew) {
      const isNews = known?.open !== undefined && known.open.standing !== standing;
      if (!isNews || known.open!.transferVersion > transferVersion) return 'credited_before';
    }
    const result = await store.commit(tenant, depositChange({ ...deposit, standing, transferVersion }, found, known));
    if (result.committed) return known === undefined ? 'credited' : 'changed';
    const isKnown =
      result.refusal.kind === 'claimed' || (result.refusal.kind === 'conflict' && result.refusal.id === id);
    mayBeNew &&= !isKnown;
    if (result.refusal.kind === 'claimed') continue;
    if (result.refusal.kind !== 'conflict') throw new Error(`a deposit was refused for ${result.refusal.kind}`);
  }
  throw new Error(`wallet ${deposit.walletId} keeps changing under a deposit`);
}

/** The event shows the balances that this change leaves. The record itself changes only when the asset was not listed before. */
function depositChange(deposit: Standing, { record, balances }: WalletRead, known: DepositRecord | undefined): Change {
  const { walletId, asset, token, txId, fromAddress, nowMs, newId, kind = 'deposit', standing } = deposit;
  const before = known?.open?.standing;
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
  const cause = { of: depositId(walletId, txId), txId, counterparty: fromAddress };
  const after = depositRecord(deposit);
  return {
    guards: [
      ...(known === undefined
        ? [{ kind: 'claim', name: `deposit:${txId}:${walletId}`, lifetimeMs: depositKeptMs } as const]
        : []),
      // The event shows the wallet as it is: one that was frozen meanwhile is read again.
      ...(isListed ? [{ kind: 'version', id: record.id, version: record.version } as const] : []),
    ],
    balancesOf: walletId,
    ledger: [entryOf(deposit, before, { ...cause, kind: standing === 'reverted' ? 'reorg' : kind })],
    events: [walletEvent(reporter, happeningOf(before, standing), wallet, object)],
    puts: [
      known === undefined
        ? create(depositType, after, depositKeptMs)
        : update(
            depositType,
            known,
            { ...after, version: known.version + 1, createdAtMs: known.createdAtMs },
            depositKeptMs,
          ),
      ...(isListed ? [] : [update(walletType, record, wallet)]),
    ],
  };
}

/** `before`: undefined: it was not credited. */
function entryOf(
  { walletId, asset, units, standing }: Pick<Deposit, 'walletId' | 'asset' | 'units' | 'standing'>,
  before: DepositStanding | undefined,
  movement: NonNullable<LedgerEntry['movement']>,
): LedgerEntry {
  const [was, is] = [before === 'pending' ? units : 0n, standing === 'pending' ? units : 0n];
  const available = standing === 'final' ? units : 0n;
  const entry = { walletId, asset, available, reserved: is - was };
  // What becomes available only changes sides.
  return available + entry.reserved === 0n ? entry : { ...entry, movement };
}

function happeningOf(before: DepositStanding | undefined, standing: DepositStanding): WalletHappening {
  if (standing === 'reverted') return 'deposit_reverted';
  return before === 'pending' ? 'deposit_finalized' : 'deposit_received';
}

function depositRecord(deposit: Standing): DepositRecord {
  const { walletId, txId, asset, units, fromAddress, nowMs, standing, transferVersion } = deposit;
  const id = depositId(walletId, txId);
  return {
    ...{ id, version: 1, walletId, asset, units: String(units), txId, fromAddress, createdAtMs: nowMs },
    ...(standing !== 'final' && { open: { standing, transferVersion } }),
  };
}

function depositView({ asset: symbol, token, units, txId, fromAddress, standing }: Deposit): object {
  const asset = token ?? assetOf(symbol);
  if (asset === undefined || units <= 0n) throw new Error(`no deposit: ${units} of ${symbol}`);
  return {
    asset: symbol,
    amount: formatAmount(units, asset.decimals),
    tx_id: txId,
    from_address: fromAddress,
    status: standing,
  };
}
