/** The generated part of docs/treasury.md: the states of plans and of their trades. */
import {
  planStatuses,
  planTransitions,
  tradeStatuses,
  tradeTransitions,
} from '../../wallets/companions/treasury/public.ts';
import { code, table, withSections } from './sections.ts';

/** The page as it must be, from the present page. */
export function treasuryPage(page: string): string {
  return withSections(page, new Map([['plan states', states()]]));
}

function states(): string {
  const rows = <S extends string>(statuses: readonly S[], next: Readonly<Record<S, readonly S[]>>): string[][] =>
    statuses.map((status) => [code(status), next[status].map(code).join(', ') || 'none: it is over']);
  return [
    table(['A plan is', 'and becomes'], rows(planStatuses, planTransitions)),
    table(['A trade is', 'and becomes'], rows(tradeStatuses, tradeTransitions)),
  ].join('\n\n');
}
