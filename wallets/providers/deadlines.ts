/**
 * Deadlines for requests to hosted providers and to the venue: after it a request fails with ProviderUnavailable, whatever the
 * provider still does. A late answer is dropped; since requests are idempotent by their ids, a repeat finds what it did.
 *
 * The self-hosted adapter needs none: calls of the signer cluster and commands of Redis have their own. Transfers in progress
 * (`advance`, `abandon`) have a deadline that follows from the lease of their driver.
 */
import type { Timers } from '../../core/actors/contract.ts';
import { withinLimit } from '../../core/actors/waiting.ts';
import type { Venue } from './market/public.ts';
import type { ProviderKind } from './port/kinds.ts';
import { type ProviderAdapter, ProviderUnavailable } from './port/port.ts';
import type { CustodianBook } from './simulated/custodian-book.ts';

/** Shorter than the lease of an idempotency key: no repeat of a client runs beside the request that it repeats. */
export const providerTimeoutDefaultMs = 10_000;

/** `changes`: whether the provider may have changed anything. */
export type Deadline = <T>(work: Promise<T>, changes: boolean) => Promise<T>;

export function deadlineOf(timers: Timers, limitMs = providerTimeoutDefaultMs): Deadline {
  return (work, changes) =>
    withinLimit(timers, limitMs, work, () => {
      throw new ProviderUnavailable(`no answer within ${limitMs} ms`, 1_000, changes);
    });
}

export function adaptersInTime(
  adapters: ReadonlyMap<ProviderKind, ProviderAdapter>,
  inTime: Deadline,
): ReadonlyMap<ProviderKind, ProviderAdapter> {
  return new Map(
    [...adapters].map(([kind, adapter]): [ProviderKind, ProviderAdapter] => {
      if (adapter.info.hosting === 'self_hosted') return [kind, adapter];
      const bounded = {
        ...adapter,
        connect: (...asked: Parameters<typeof adapter.connect>) => inTime(adapter.connect(...asked), false),
        createWallet: (...asked: Parameters<typeof adapter.createWallet>) =>
          inTime(adapter.createWallet(...asked), true),
        quote: (...asked: Parameters<typeof adapter.quote>) => inTime(adapter.quote(...asked), false),
      };
      return [kind, bounded];
    }),
  );
}

type Receiving = Pick<CustodianBook, 'receive'>;

/** For deposits that arrive at custodians. */
export function receivingInTime<K extends string>(
  books: Readonly<Record<K, Receiving>>,
  inTime: Deadline,
): Readonly<Record<K, Receiving>> {
  const bounded = Object.entries<Receiving>(books).map(([kind, book]): [string, Receiving] => [
    kind,
    { receive: (...asked) => inTime(book.receive(...asked), true) },
  ]);
  return Object.fromEntries(bounded) as Record<K, Receiving>;
}

export function venueInTime(venue: Venue, inTime: Deadline): Venue {
  return {
    terms: venue.terms,
    trade: (...asked) => inTime(venue.trade(...asked), true),
    settle: (...asked) => inTime(venue.settle(...asked), true),
  };
}
