/** The book of every simulated custodian, by kind, and the statements that they give. */
import { bitgoWords } from './bitgo/adapter.ts';
import { copperWords } from './copper/adapter.ts';
import { fireblocksWords } from './fireblocks/adapter.ts';
import type { ProviderKind } from './port/kinds.ts';
import { sandboxWords } from './sandbox/adapter.ts';
import { CustodianBook } from './simulated/custodian-book.ts';
import type { CustodianBooks } from './simulated/custodian-books.ts';

/** Returns the books of the custodian of a kind. */
export type BooksOf = (kind: ProviderKind) => CustodianBooks;
export type CustodianKind = Exclude<ProviderKind, 'self_hosted'>;

export function custodianBooks(books: BooksOf): Readonly<Record<CustodianKind, CustodianBook>> {
  return {
    fireblocks: new CustodianBook(books('fireblocks'), fireblocksWords),
    bitgo: new CustodianBook(books('bitgo'), bitgoWords),
    copper: new CustodianBook(books('copper'), copperWords),
    sandbox: new CustodianBook(books('sandbox'), sandboxWords),
  };
}
