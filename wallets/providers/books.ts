/** The book of every simulated custodian, by kind, and the statements that they give. */
import { bitgo } from './bitgo/custodian.ts';
import { copper } from './copper/custodian.ts';
import { fireblocks } from './fireblocks/custodian.ts';
import type { ProviderKind } from './port/kinds.ts';
import { sandboxWords } from './sandbox/adapter.ts';
import { CustodianBook } from './simulated/custodian-book.ts';
import type { CustodianBooks } from './simulated/custodian-books.ts';
import { bookWords } from './simulated/hosted.ts';

/** Returns the books of the custodian of a kind. */
export type BooksOf = (kind: ProviderKind) => CustodianBooks;
export type CustodianKind = Exclude<ProviderKind, 'self_hosted'>;

export function custodianBooks(books: BooksOf): Readonly<Record<CustodianKind, CustodianBook>> {
  return {
    fireblocks: new CustodianBook(books('fireblocks'), bookWords(fireblocks)),
    bitgo: new CustodianBook(books('bitgo'), bookWords(bitgo)),
    copper: new CustodianBook(books('copper'), bookWords(copper)),
    sandbox: new CustodianBook(books('sandbox'), sandboxWords),
  };
}
