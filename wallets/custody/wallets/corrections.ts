/** Corrections of a wallet's ledger, found by reconciliation and confirmed by a caller. They have no transfer. */
import type { Reporter } from '../../../gateway/api/event.ts';
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import { create } from '../../store/changes.ts';
import type { Change } from '../../store/contract.ts';
import { walletEvent } from './change.ts';
import { type DepositRecord, depositId, depositType } from './deposit-record.ts';
import { depositKeptMs } from './deposits.ts';
import type { WalletRead } from './read.ts';
import { walletView } from './view.ts';

export interface LedgerCorrection {
  /** Added to the available balance; below zero: taken. */
  readonly entries: readonly { readonly asset: string; readonly units: bigint }[];
  /** What asked for it, e.g. the id of an exception. */
  readonly cause: string;
  readonly note: string | null;
  /** Set when it credits a deposit that was never credited: no later report of its transaction credits it again. */
  readonly deposit?: Pick<DepositRecord, 'txId' | 'asset' | 'units' | 'fromAddress'>;
}

/** The store refuses it as `insufficient` when a balance would fall below zero, as `claimed` when the deposit was credited. */
export function correctionChange(
  reporter: Reporter,
  { record, balances }: WalletRead,
  correction: LedgerCorrection,
): Change {
  const { entries, cause, note, deposit } = correction;
  const { id: walletId } = record;
  const shown = entries.map(({ asset, units }) => ({ asset, amount: formatAmount(units, assetOf(asset)!.decimals) }));
  const object = { ...walletView(record, balances), correction: { cause, note, entries: shown } };
  const { txId = null, fromAddress: counterparty = null } = deposit ?? {};
  const movement = { kind: 'correction', of: cause, txId, counterparty } as const;
  return {
    balancesOf: walletId,
    ledger: entries.map(({ asset, units }) => ({ walletId, asset, available: units, reserved: 0n, movement })),
    events: [walletEvent(reporter, 'balance_corrected', record, object)],
    ...(deposit !== undefined && {
      guards: [{ kind: 'claim', name: `deposit:${deposit.txId}:${walletId}`, lifetimeMs: depositKeptMs }],
      puts: [
        create(
          depositType,
          { id: depositId(walletId, deposit.txId), version: 1, walletId, ...deposit, createdAtMs: reporter.nowMs },
          depositKeptMs,
        ),
      ],
    }),
  };
}
