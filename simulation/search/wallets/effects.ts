/** Whether an answer fits the state of the record that its call is about, by the table of the route. */
import type { Route } from '../../../gateway/api/route.ts';

/** Whether the operation may succeed in the state `from`, and leave `to`; "-": the record is gone. */
export function maySucceed({ method, states }: Pick<Route, 'method' | 'states'>, from: string, to: string): boolean {
  if (method === 'DELETE') return to === '-';
  return states === undefined ? from === to : states[from]?.includes(to) === true;
}

const named = new Set(['frozen', 'archived', 'cancelled', 'completed', 'rejected', 'denied', 'expired', 'failed']);

/**
 * Whether a refusal that names a state names the one in which the record is. A clock may have passed before it shows; a redemption
 * may be refused for its wallet.
 */
export function mayRefuse(operationId: string, from: string, issue: string): boolean {
  if (operationId === 'redeemToken' && (issue === 'frozen' || issue === 'archived')) return true;
  const state = issue.replace(/^(?:wallet|vault|connection)_/, '');
  return !named.has(state) || state === 'expired' || state === from;
}
