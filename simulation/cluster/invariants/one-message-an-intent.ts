/**
 * One intent, one message per node: after a node's first partial signature for an intent, each later one for that intent is of
 * the same message, also after sessions or the coordinator's store were lost. A node whose own store was lost or rolled back
 * starts anew.
 */
import type { Checker, Observation } from '../observation.ts';
import { type AskedOf, PartialRequests } from './partial-requests.ts';
import { hexOf } from './sessions.ts';

export function oneMessageAnIntent(): Checker {
  const requests = new PartialRequests();
  /** By node: intents, to the message that it signed. */
  const signed = new Map<string, Map<string, string>>();

  function answered({ node, tenant, request: { order, message } }: AskedOf): string | undefined {
    if (order === undefined) return undefined;
    const { transactionIntentId, walletService } = order;
    const intents = signed.get(node) ?? new Map<string, string>();
    signed.set(node, intents);
    const intent = `${tenant} ${walletService ? 'order' : 'intent'} ${transactionIntentId}`;
    const before = intents.get(intent) ?? hexOf(message);
    intents.set(intent, before);
    return before === hexOf(message)
      ? undefined
      : `${node} signs two messages for the intent ${transactionIntentId} of ${tenant}`;
  }

  return {
    invariant: 'one-message-an-intent',
    observe(observation: Observation) {
      const { kind } = observation;
      if (kind === 'process' && observation.storeLost === true) signed.delete(observation.process);
      if (kind === 'fault' && observation.fault === 'rollback' && observation.what === 'fired') {
        for (const target of observation.targets) signed.delete(target);
      }
      const asked = requests.take(observation);
      const [first] = asked;
      // For a tag with several messages, the signed one is unknown.
      if (first === undefined || asked.some(({ request }) => hexOf(request.message) !== hexOf(first.request.message))) {
        return undefined;
      }
      return answered(first);
    },
  };
}
