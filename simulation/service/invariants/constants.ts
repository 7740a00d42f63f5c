/** What a resource is made of never changes, and what becomes known of it stays known: by the events of each resource. */
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

/** Of every resource that has them: null until they are known. */
const constant = [
  ...['id', 'kind', 'created_at', 'provider', 'provider_connection_id', 'network', 'wallet_id', 'initiator', 'origin'],
  ...['asset', 'amount', 'from_address', 'destination', 'decision_id', 'screening_id', 'provider_tx_id'],
  ...['symbol', 'decimals', 'token_id', 'transaction_intent_id', 'strategy_id', 'asked_by', 'executed_by', 'dry_run'],
  ...['vault_id', 'key_id', 'curve', 'public_key', 'threshold', 'total_nodes', 'keystore_type', 'message_sha256'],
  ...['archived_at', 'completed_at', 'started_at', 'cancellation', 'policy_receipt', 'addresses'],
] as const;

/** Throws a Finding. */
export function checkConstants(events: readonly ToldEvent[]): void {
  const known = new Map<string, Map<string, string>>();
  for (const { sequence, type, resource, data } of events) {
    if (data.object === null) continue;
    const name = `${resource.type} ${resource.id}`;
    const texts = known.get(name) ?? new Map<string, string>();
    known.set(name, texts);
    for (const field of constant) {
      const value: unknown = data.object[field];
      if (value === undefined) continue;
      const [before, text] = [texts.get(field), JSON.stringify(value)];
      if (before !== undefined && before !== 'null' && before !== text) {
        found('events-complete', `event ${sequence} ${type}: ${field} of ${name} becomes ${text}, it was ${before}`);
      }
      texts.set(field, text);
    }
  }
}
