/**
 * Each resource has the call that created it: the log names no creation that no answer showed, and so no call created two. The
 * modules create some by themselves: transfers of orders and plans, the venue's account, automatic plans, findings of jobs.
 */
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

/** Resources that only calls create. */
const ofCalls = new Set([
  'provider_connection',
  'wallet',
  'transaction_intent',
  'webhook',
  'policy',
  'compliance_list',
  'token',
  'token_order',
  'treasury_strategy',
  'treasury_plan',
  'vault',
  'vault_key',
  'recon_job',
]);

/** Throws a Finding. `told`: ids in answers to requests that create something. */
export function checkCreated(told: ReadonlySet<string>, events: readonly ToldEvent[]): void {
  const seen = new Set<string>();
  for (const { sequence, type, resource, data } of events) {
    if (!ofCalls.has(resource.type) || seen.has(resource.id)) continue;
    seen.add(resource.id);
    if (told.has(resource.id) || isOfModules(data.object ?? {})) continue;
    found('one-effect-a-key', `event ${sequence} ${type}: ${resource.id} was made and told to no caller`);
  }
}

function isOfModules({ name, origin }: Readonly<Record<string, unknown>>): boolean {
  const isVenues = typeof name === 'string' && /^Venue(?: |$)/.test(name);
  return isVenues || origin === 'trigger' || (typeof origin === 'object' && origin !== null);
}
