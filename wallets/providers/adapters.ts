/** Every provider adapter, by kind. */

import { bitgo } from './bitgo/custodian.ts';
import { type BooksOf, custodianBooks } from './books.ts';
import { copper } from './copper/custodian.ts';
import { fireblocks } from './fireblocks/custodian.ts';
import type { ProviderKind } from './port/kinds.ts';
import type { ProviderAdapter } from './port/port.ts';
import { sandboxAdapter } from './sandbox/adapter.ts';
import type { CustodianBook } from './simulated/custodian-book.ts';
import type { CustodianRecords } from './simulated/custodian-records.ts';
import { type CustodianTerms, hostedAdapter } from './simulated/hosted.ts';
import type { Sleep } from './simulated/latency.ts';

export interface AdapterDeps {
  /** The adapter of this service's own signer cluster. */
  readonly selfHosted: ProviderAdapter;
  /** The store of a simulated custodian's records. */
  readonly records: (kind: ProviderKind) => CustodianRecords;
  /** The books that it writes. */
  readonly books: BooksOf;
  /** The simulated custodians' latency. */
  readonly sleep: Sleep;
}

export function providerAdapters(deps: AdapterDeps): ReadonlyMap<ProviderKind, ProviderAdapter> {
  const { selfHosted, records, books, sleep } = deps;
  const of = custodianBooks(books);
  const hosted = (terms: CustodianTerms, book: CustodianBook) =>
    hostedAdapter(terms, { records: records(terms.info.kind), book, sleep });
  const adapters = [
    hosted(fireblocks, of.fireblocks),
    hosted(bitgo, of.bitgo),
    hosted(copper, of.copper),
    selfHosted,
    sandboxAdapter(of.sandbox),
  ];
  return new Map(adapters.map((adapter) => [adapter.info.kind, adapter]));
}
