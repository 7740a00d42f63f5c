/** The history of a wallet as rules see it. */
import type { RequestContext } from '../../../gateway/api/route.ts';
import type { TransactionFacts } from './facts.ts';
import { ofWalletIndex, toDestinationIndex } from './record.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

type History = TransactionFacts['history'];

/** Intents of a wallet before this one, at the context's time. */
export async function historyOf(
  { store, tenant, nowMs }: Pick<RequestContext, 'store' | 'tenant' | 'nowMs'>,
  walletId: string,
  toAddress: string,
): Promise<History> {
  const ofWallet = ofWalletIndex(walletId);
  const [intentsLastHour, intentsLastDay, intentsToDestination] = await Promise.all([
    store.count(tenant, ofWallet, nowMs - hourMs),
    store.count(tenant, ofWallet, nowMs - dayMs),
    store.count(tenant, toDestinationIndex(walletId, toAddress)),
  ]);
  return { intentsLastHour, intentsLastDay, intentsToDestination };
}

/** The same, without an intent that was made at `ownAtMs`. */
export function withoutOwn(history: History, nowMs: number, ownAtMs: number): History {
  const others = (count: number, sinceMs: number): number => (ownAtMs >= sinceMs ? Math.max(0, count - 1) : count);
  return {
    intentsLastHour: others(history.intentsLastHour, nowMs - hourMs),
    intentsLastDay: others(history.intentsLastDay, nowMs - dayMs),
    intentsToDestination: others(history.intentsToDestination, 0),
  };
}
