/** The generated part of docs/tokens.md: the states of orders, and the names of their sub-statuses. */
import {
  orderStatuses,
  orderStatusTexts,
  orderSubStatusTexts,
  orderTransitions,
} from '../../wallets/companions/tokens/public.ts';
import { code, table, withSections } from './sections.ts';

/** The page as it must be, from the present page. */
export function tokensPage(page: string): string {
  return withSections(
    page,
    new Map([
      ['order states', states()],
      ['order sub statuses', subStatuses()],
    ]),
  );
}

function states(): string {
  const rows = orderStatuses.map((status) => [
    code(status),
    orderTransitions[status].map(code).join(', ') || 'none: it is over',
    orderStatusTexts[status],
  ]);
  return table(['An order is', 'and becomes', 'Meaning'], rows);
}

function subStatuses(): string {
  return table(
    ['Sub-status', 'Meaning'],
    Object.entries(orderSubStatusTexts).map(([word, text]) => [code(word), text]),
  );
}
