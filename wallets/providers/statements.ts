/** The statements of every provider, by kind: the input of reconciliation. They need no keys and no credentials. */
import { type BooksOf, custodianBooks } from './books.ts';
import { type Chains, chainStatements } from './chains/public.ts';
import type { ProviderKind } from './port/kinds.ts';
import type { ProviderStatements, StatementsByKind } from './port/statement.ts';

export interface StatementDeps {
  readonly books: BooksOf;
  readonly chains: Chains;
}

export function providerStatements({ books, chains }: StatementDeps): StatementsByKind {
  const custodians = Object.entries(custodianBooks(books)).map(([kind, book]): [ProviderKind, ProviderStatements] => [
    kind as ProviderKind,
    book.statements(),
  ]);
  return new Map([...custodians, ['self_hosted', chainStatements(chains)]]);
}
