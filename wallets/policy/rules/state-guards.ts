/**
 * The guards of a decision: when the intent is committed, the values that its rules read must not have changed in a way that
 * could change the decision.
 */
import { ofWalletIndex, type TransactionFacts, toDestinationIndex } from '../../custody/intents/public.ts';
import type { Guard } from '../../store/contract.ts';
import { type FieldRead, rangeAround, type StateReads } from './state-reads.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** For the change that a decision on these facts is committed with. Nothing for rules that read none of it. */
export function stateGuards(facts: TransactionFacts, reads: StateReads): readonly Guard[] {
  const { walletId, toAddress, asset, availableUnits, nowMs, history } = facts;
  const ofWallet = ofWalletIndex(walletId);
  const counted = (index: string, count: number, read: FieldRead, createdAfterMs?: number): Guard => {
    const { min, max } = rangeAround(BigInt(count), read);
    const since = createdAfterMs === undefined ? {} : { createdAfterMs };
    return { kind: 'count', index, min: Number(min), max: max === undefined ? undefined : Number(max), ...since };
  };
  return [...reads].flatMap(([field, read]): Guard[] => {
    switch (field) {
      case 'tx.available':
        return [{ kind: 'available', walletId, asset, ...rangeAround(availableUnits, read) }];
      case 'history.intents_last_hour':
        return [counted(ofWallet, history.intentsLastHour, read, nowMs - hourMs)];
      case 'history.intents_last_day':
        return [counted(ofWallet, history.intentsLastDay, read, nowMs - dayMs)];
      case 'history.intents_to_destination':
        return [counted(toDestinationIndex(walletId, toAddress), history.intentsToDestination, read)];
      default:
        // The score is made from the others, which stand here themselves where they matter.
        return [];
    }
  });
}
