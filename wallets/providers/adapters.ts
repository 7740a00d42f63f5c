/** Every provider adapter, by kind. */

import { bitgoAdapter } from './bitgo/adapter.ts';
import { SimulatedBitgo } from './bitgo/custodian.ts';
import { type BooksOf, custodianBooks } from './books.ts';
import { copperAdapter } from './copper/adapter.ts';
import { SimulatedCopper } from './copper/custodian.ts';
import { fireblocksAdapter } from './fireblocks/adapter.ts';
import { SimulatedFireblocks } from './fireblocks/custodian.ts';
import type { ProviderKind } from './port/kinds.ts';
import type { ProviderAdapter } from './port/port.ts';
import { sandboxAdapter } from './sandbox/adapter.ts';
import type { CustodianRecords } from './simulated/custodian-records.ts';
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
  const { fireblocks, bitgo, copper, sandbox } = custodianBooks(books);
  const adapters = [
    fireblocksAdapter(new SimulatedFireblocks(records('fireblocks'), fireblocks, sleep), fireblocks),
    bitgoAdapter(new SimulatedBitgo(records('bitgo'), bitgo, sleep), bitgo),
    copperAdapter(new SimulatedCopper(records('copper'), copper, sleep), copper),
    selfHosted,
    sandboxAdapter(sandbox),
  ];
  return new Map(adapters.map((adapter) => [adapter.info.kind, adapter]));
}
