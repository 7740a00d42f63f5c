/** Finds wallets and intents for a caller. The same 404 answers for missing and for invisible ones. */
import type { RequestContext } from '../../../gateway/api/route.ts';
import { mayUseConnection, noSuch } from '../../../gateway/api/visibility.ts';
import { type Balances, StoreTampered } from '../../store/contract.ts';
import { type WalletRecord, walletType } from '../wallets/public.ts';
import { duePrefix } from './effects.ts';
import { type IntentRecord, intentType } from './record.ts';

export interface FoundWallet {
  readonly wallet: WalletRecord;
  readonly balances: Balances;
}

export async function findWallet(context: RequestContext, id: string): Promise<FoundWallet> {
  const found = id.startsWith('wal_')
    ? await context.store.readWithBalances(context.tenant, walletType, id)
    : undefined;
  if (found === undefined || !mayUseConnection(context.principal, found.record.connectionId)) throw noSuch('wallet');
  return { wallet: found.record, balances: found.balances };
}

/** An intent by its own id and its wallet's. */
export async function findIntent(context: RequestContext, params: { id: string; txId: string }): Promise<IntentRecord> {
  const intent = params.txId.startsWith('txi_') ? await readIntent(context, params.txId) : undefined;
  if (intent?.walletId !== params.id || !mayUseConnection(context.principal, intent.connectionId)) {
    throw noSuch('transaction intent');
  }
  return intent;
}

/** One that something else changed falls due at once, so that it fails (tampered-step.ts). */
async function readIntent({ store, tenant, nowMs }: RequestContext, id: string): Promise<IntentRecord | undefined> {
  try {
    return await store.read(tenant, intentType, id);
  } catch (error) {
    if (error instanceof StoreTampered) {
      await store.commit(tenant, { due: [{ member: `${duePrefix}${id}`, atMs: nowMs }] });
    }
    throw error;
  }
}
