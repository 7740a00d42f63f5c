/** Reads wallets that are visible to a caller, in one round trip to the store each. */
import type { RequestContext } from '../../../gateway/api/route.ts';
import { mayUseConnection, noSuch } from '../../../gateway/api/visibility.ts';
import type { Balances } from '../../store/contract.ts';
import { type WalletRecord, walletType } from './record.ts';

export type WalletReader = Pick<RequestContext, 'tenant' | 'principal' | 'store'>;

export interface WalletRead {
  readonly record: WalletRecord;
  readonly balances: Balances;
}

/** Throws ServiceError 404 for a wallet that does not exist or is not for this token to see. */
export async function readWallet({ tenant, principal, store }: WalletReader, id: string): Promise<WalletRead> {
  const found = await store.readWithBalances(tenant, walletType, id);
  if (found === undefined || !mayUseConnection(principal, found.record.connectionId)) throw noSuch('wallet');
  return found;
}
