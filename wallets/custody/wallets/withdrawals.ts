/**
 * Units of a wallet that another account moved, as an allowance of the wallet let it (`transferFrom` of ERC-20). One transaction debits
 * one wallet once, for any number of reports.
 *
 * A chain knows no reservations: it takes what the account holds, also what is reserved here for open intents. Then nothing is
 * available, and less is reserved, until these intents fail on the chain for want of it.
 */
import { formatAmount } from '../../networks/amounts.ts';
import { assetOf } from '../../networks/assets.ts';
import { create } from '../../store/changes.ts';
import type { TenantStore } from '../../store/contract.ts';
import { walletEvent } from './change.ts';
import { depositType, withdrawalId } from './deposit-record.ts';
import { type Deposit, depositKeptMs } from './deposits.ts';
import { walletType } from './record.ts';
import { walletView } from './view.ts';

export interface Withdrawal
  extends Pick<Deposit, 'tenant' | 'walletId' | 'asset' | 'token' | 'txId' | 'nowMs' | 'newId'> {
  /** Above zero. */
  readonly units: bigint;
  readonly toAddress: string;
  readonly spender: string;
}

export type WithdrawalOutcome = 'debited' | 'debited_before' | 'no_such_wallet';

const conflictRetriesMax = 50;

/**
 * Debits a wallet in any status. Throws Error while the ledger lacks the deposit that the chain has spent already, and
 * StoreUnavailable: then report it again.
 */
export async function debitWithdrawal(store: TenantStore, withdrawal: Withdrawal): Promise<WithdrawalOutcome> {
  const { tenant, walletId, asset, token, units, txId, toAddress, spender, nowMs, newId } = withdrawal;
  const { decimals } = token ?? assetOf(asset)!;
  const id = withdrawalId(walletId, txId);
  for (let run = 0; run <= conflictRetriesMax; run += 1) {
    const found = await store.readWithBalances(tenant, walletType, walletId);
    if (found === undefined) return 'no_such_wallet';
    const { record, balances } = found;
    const shown = { asset, amount: formatAmount(units, decimals), tx_id: txId, to_address: toAddress, spender };
    const result = await store.commit(tenant, {
      // The event shows the wallet as it is.
      guards: [{ kind: 'version', id: record.id, version: record.version }],
      balancesOf: walletId,
      ledger: [
        {
          ...{ walletId, asset, available: -units, reserved: 0n, overdraws: true },
          movement: { kind: 'transfer', of: id, txId, counterparty: toAddress },
        },
      ],
      puts: [
        create(
          depositType,
          {
            ...{ id, version: 1, walletId, asset, units: String(-units), txId, fromAddress: null },
            createdAtMs: nowMs,
          },
          depositKeptMs,
        ),
      ],
      events: [
        walletEvent({ nowMs, newId, requestId: txId }, 'allowance_used', record, {
          ...walletView(record, balances),
          ...{ withdrawal: shown },
        }),
      ],
    });
    if (result.committed) return 'debited';
    if (result.refusal.kind !== 'conflict') throw new Error(`a withdrawal was refused for ${result.refusal.kind}`);
    if (result.refusal.id === id) return 'debited_before';
  }
  throw new Error(`wallet ${walletId} keeps changing under a withdrawal`);
}
