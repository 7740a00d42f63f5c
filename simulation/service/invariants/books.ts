/**
 * The invariants of a tenant's books after any run, with any faults, as a client reads them from the API: money, intents, events
 * and webhooks. Each violation is a line of text.
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { DeliveredRequest } from '../receivers.ts';
import { DocumentedLedger, type IntentTold, type ToldEvent, type ToldWallet } from './documented-ledger.ts';
import { DocumentedModules } from './documented-modules.ts';

export interface BookedIntent extends IntentTold {
  readonly id: string;
  readonly provider_tx_id: string | null;
  readonly sub_status?: string | null;
  /** Of a message, which has no transaction. */
  readonly message?: object | null;
  readonly metadata: { readonly key?: string };
}

/** A registered webhook, and the first of its events. */
export interface BookedWebhook {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  /** Its earlier secrets, which may still sign. */
  readonly earlier?: readonly string[];
}

export interface Books {
  readonly wallets: readonly ToldWallet[];
  readonly intents: readonly BookedIntent[];
  readonly events: readonly ToldEvent[];
}

const ends = new Set(['completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']);

/** Events without gaps, and money as the docs say. It does not check the reservations of open intents. */
export function checkMoney({ wallets, intents, events }: Books): string[] {
  const ledger = new DocumentedLedger(undefined, new DocumentedModules());
  ledger.follow(events);
  for (const wallet of wallets) ledger.wasRead(wallet);
  const faults = [...ledger.faults];
  for (const { id, status, version } of intents) {
    const last = ledger.intents.get(id);
    if (last === undefined) faults.push(`intent ${id} has no events`);
    else if (last.status !== status || last.version !== version) {
      faults.push(`intent ${id} is ${status} ${version}, its events say ${last.status} ${last.version}`);
    }
  }
  for (const { id, version } of wallets) {
    const account = ledger.accounts.get(id);
    if (account?.version !== version) faults.push(`wallet ${id} is at ${version}, its events at ${account?.version}`);
    const isAtRest = intents.every(({ wallet_id, status }) => wallet_id !== id || ends.has(status));
    for (const [asset, units] of isAtRest ? (account?.pending ?? []) : []) {
      if (units !== 0n) faults.push(`wallet ${id} still sets ${units} of ${asset} aside`);
    }
  }
  const paid = new Map<string, string>();
  for (const { id, status, message, provider_tx_id: transaction } of intents) {
    if (status !== 'completed' || message != null) continue;
    if (transaction === null) faults.push(`intent ${id} is completed without a transaction`);
    else if (paid.has(transaction)) faults.push(`${id} and ${paid.get(transaction)} name one transaction`);
    else paid.set(transaction, id);
  }
  return faults;
}

/** Hex; by another library than the one that signs deliveries. */
function signatureOf(secret: string, body: string): string {
  const bytes = (text: string) => new TextEncoder().encode(text);
  return Buffer.from(hmac(sha256, bytes(secret), bytes(body))).toString('hex');
}

/** Each event after its registration reached the webhook at least once, signed with its secret, always the same bytes. */
export function checkWebhook(
  { id, url, secret, earlier = [] }: BookedWebhook,
  events: readonly ToldEvent[],
  received: readonly DeliveredRequest[],
): string[] {
  const faults: string[] = [];
  const bodies = new Map<string, string>();
  for (const { url: target, body, headers, status } of received) {
    if (target !== url) continue;
    const event = JSON.parse(body) as ToldEvent;
    const isSigned = [secret, ...earlier].some((key) => signatureOf(key, body) === headers['x-svc-signature']);
    if (!isSigned) faults.push(`event ${event.sequence} came with a wrong signature`);
    if (status < 200 || status > 299) continue;
    const before = bodies.get(event.id);
    if (before !== undefined && before !== body) faults.push(`event ${event.sequence} came with two bodies`);
    bodies.set(event.id, body);
  }
  const from = events.find(({ type, resource }) => type === 'webhook.created' && resource.id === id)?.sequence;
  if (from === undefined) return [...faults, `webhook ${id} has no event of its creation`];
  for (const { id: eventId, sequence } of events) {
    if (sequence > from && !bodies.has(eventId)) faults.push(`event ${sequence} never reached ${url}`);
  }
  return faults;
}
