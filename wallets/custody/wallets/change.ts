/** Builds a change of a wallet: its next version and its event. */
import { eventOf, type Reporter } from '../../../gateway/api/event.ts';
import { update } from '../../store/changes.ts';
import type { Balances, Change, NewEvent } from '../../store/contract.ts';
import { type WalletRecord, walletType } from './record.ts';
import { type WalletView, walletView } from './view.ts';

export type WalletHappening =
  | 'created'
  | 'updated'
  | 'frozen'
  | 'unfrozen'
  | 'archived'
  | 'deposit_received'
  | 'deposit_reverted'
  | 'deposit_finalized'
  | 'allowance_used'
  | 'balance_corrected';

/** `object`: the wallet as it is shown, perhaps with more beside it. */
export function walletEvent(
  reporter: Reporter,
  happening: WalletHappening,
  wallet: WalletRecord,
  object: WalletView,
): NewEvent {
  return eventOf(reporter, {
    type: `wallet.${happening}`,
    resource: walletType.name,
    record: wallet,
    object,
    provider: wallet.provider,
    connectionId: wallet.connectionId,
  });
}

/** The next version of a wallet, with its event. `balances` as they were read: event and answer show what it leaves. */
export function walletChanged(
  reporter: Reporter,
  happening: WalletHappening,
  before: WalletRecord,
  patch: Partial<Omit<WalletRecord, 'id' | 'version' | 'createdAtMs' | 'updatedAtMs'>>,
  balances: Balances,
): { readonly view: WalletView; readonly change: Change } {
  const after: WalletRecord = { ...before, ...patch, version: before.version + 1, updatedAtMs: reporter.nowMs };
  const view = walletView(after, balances);
  return {
    view,
    change: {
      puts: [update(walletType, before, after)],
      events: [walletEvent(reporter, happening, after, view)],
      balancesOf: after.id,
    },
  };
}
