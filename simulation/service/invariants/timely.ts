/**
 * Nothing waits for long without faults: approved transfers are signed, expired ones end, events reach webhooks. A lost wake-up
 * or a lost entry of due work would leave them to a lease, to a later event, or to nothing.
 */

import type { DeliveredRequest } from '../receivers.ts';
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';
import type { HookFacts } from './hooks.ts';
import { dueTo } from './hooks.ts';

/** Sweeps find within a second or two what no wake-up has announced. */
const withinMs = 5_000;
/** Reasons to wait with the signing. */
const waits = new Set(['WALLET_NOT_ACTIVE', 'TOKEN_FROZEN', 'TENANT_FROZEN']);

interface Approved {
  readonly sequence: number;
  readonly atMs: number;
}

/** Throws a Finding. For runs without faults. */
export function checkTimes(
  hooks: readonly HookFacts[],
  events: readonly ToldEvent[],
  received: readonly DeliveredRequest[],
): void {
  const approved = new Map<string, Approved>();
  for (const { type, sequence, timestamp, resource, data } of events) {
    if (!type.startsWith('transaction_intent.')) continue;
    const { id } = resource;
    const { status, sub_status: subStatus, expires_at: expiresAt } = data.object;
    const atMs = Date.parse(timestamp);
    // A chain refuses what it cannot take, never what the service made of a valid transfer.
    if (status === 'failed' && subStatus === 'REJECTED_BY_CHAIN')
      found('orders-end', `event ${sequence}: the chain refuses ${id}`);
    const since = approved.get(id);
    if (since !== undefined && (status !== 'approved' || waits.has(subStatus))) {
      approved.delete(id);
      if (atMs - since.atMs > withinMs && !waits.has(subStatus)) {
        found('orders-end', `${id} was approved by event ${since.sequence} and waits for ${atMs - since.atMs} ms`);
      }
    }
    if (type === 'transaction_intent.approved') approved.set(id, { sequence, atMs });
    const lateMs = status === 'expired' ? atMs - Date.parse(expiresAt) : 0;
    if (lateMs > withinMs) found('orders-end', `${id} expires ${lateMs} ms late`);
  }
  for (const hook of hooks) checkHookTimes(hook, events, received);
}

/** Each event once, and soon; a receiver that failed, or a webhook that was disabled, gets it later. */
function checkHookTimes(hook: HookFacts, events: readonly ToldEvent[], received: readonly DeliveredRequest[]): void {
  const firstMs = new Map<string, number>();
  for (const { url, body, status, sentMs } of received) {
    if (url !== hook.url) continue;
    const { id, sequence } = JSON.parse(body) as ToldEvent;
    const isAgain = firstMs.has(id) && status >= 200 && status <= 299 && !hook.wasDisturbed;
    if (isAgain) found('hooks-get-events', `event ${sequence} came to ${hook.url} twice`);
    firstMs.set(id, Math.min(firstMs.get(id) ?? sentMs, sentMs));
  }
  if (hook.wasDisturbed) return;
  for (const { id, sequence, timestamp } of dueTo(hook, events)) {
    const lateMs = (firstMs.get(id) ?? Number.POSITIVE_INFINITY) - Date.parse(timestamp);
    if (lateMs > withinMs) found('hooks-get-events', `event ${sequence} came to ${hook.url} after ${lateMs} ms`);
  }
}
