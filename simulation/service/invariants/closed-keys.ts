/**
 * "The key of an archived wallet signs nothing from the answer on"; "archiving a vault closes all its keys in the same change: from then
 * on no session of them begins or completes". Sessions write into the same log.
 */
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

const working = new Set([
  'signing.session.accepted',
  'signing.session.completed',
  'signing.session.pending',
  'signing.session.resumed',
]);

/** Throws a Finding. */
export function checkClosedKeys(events: readonly ToldEvent[]): void {
  const closed = new Map<string, number>();
  const keysOf = new Map<string, string[]>();
  for (const { type, sequence, resource, data } of events) {
    if (type === 'vault.key_created') {
      const { vault_id: vault } = data.object;
      keysOf.set(vault, [...(keysOf.get(vault) ?? []), resource.id]);
    }
    if (type === 'wallet.archived') closed.set(resource.id, sequence);
    if (type === 'vault.archived') for (const key of keysOf.get(resource.id) ?? []) closed.set(key, sequence);
    const since = working.has(type) ? closed.get(data.object.wallet_id) : undefined;
    if (since !== undefined) {
      found('decided-as-written', `event ${sequence} ${type} of ${resource.id}: event ${since} has closed its key`);
    }
  }
}

interface OpenSession {
  readonly walletId: string;
  readonly beganMs: number;
}

interface Terms {
  readonly status: string;
  readonly signing_api: string;
  readonly approval_mode: string;
}

/** Without faults sessions are revoked this soon: in two rounds, the second 2 s after the change. */
const revokedWithinMs = 5_000;

/**
 * "Sessions that clients have open at the signing API with the key of a wallet are revoked" when it is frozen, and after a PATCH to
 * `intents_only` or `human_required`. For runs without faults. Throws a Finding.
 */
export function checkRevoked(events: readonly ToldEvent[]): void {
  const stricter = new Map<string, number[]>();
  const wallets = new Map<string, Terms>();
  const sessions = new Map<string, OpenSession>();
  for (const { type, sequence, timestamp, resource, data } of events) {
    const atMs = Date.parse(timestamp);
    const { id } = resource;
    if (resource.type === 'wallet') {
      const [before, after] = [wallets.get(id), data.object as Terms];
      wallets.set(id, after);
      if (before !== undefined && isStricter(before, after)) stricter.set(id, [...(stricter.get(id) ?? []), atMs]);
    }
    if (!type.startsWith('signing.session.')) continue;
    const { wallet_id: walletId, transaction_intent_id: intent } = data.object;
    // The wallet's own transfers go on.
    if (!sessions.has(id) && !intent.startsWith('txi_')) sessions.set(id, { walletId, beganMs: atMs });
    const session = sessions.get(id);
    if (session === undefined || type !== 'signing.session.completed') continue;
    const since = stricter.get(session.walletId)?.find((one) => session.beganMs < one && atMs > one + revokedWithinMs);
    if (since === undefined) continue;
    found(
      'decided-as-written',
      `event ${sequence}: ${id} of ${walletId} signs ${atMs - since} ms after it was to be revoked`,
    );
  }
}

function isStricter(before: Terms, after: Terms): boolean {
  return (
    (before.status === 'active' && after.status !== 'active') ||
    (before.signing_api !== 'intents_only' && after.signing_api === 'intents_only') ||
    (before.approval_mode !== 'human_required' && after.approval_mode === 'human_required')
  );
}
