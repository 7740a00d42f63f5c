/** After its healing a world comes to rest: what was asked for ends, what is owed arrives, and all of it is checked. */
import type { CustodyWorld } from '../custody-world.ts';
import { DocumentedLedger, type ToldEvent } from '../invariants/documented-ledger.ts';
import { checkDecisions, type DecidedIntent } from './decisions.ts';
import { Draw } from './draw.ts';
import { found } from './finding.ts';
import { checkHook, firstMissing } from './hooks.ts';
import { checkModules } from './module-client.ts';
import { MoneyClient } from './money-client.ts';
import { chainBlockMs } from './profiles.ts';
import { type BookedWallet, disagreement, type MovedIntent } from './providers.ts';
import { checkSecrets } from './secrets.ts';
import type { Tenancy } from './tenancy.ts';

type Intent = DecidedIntent & MovedIntent;

const ends = new Set(['completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']);
/** Once nothing fails any more, transfers end and deliveries arrive within so long. */
const restWithinMs = 40 * 60_000;
const lookEveryMs = 5_000;

export async function settle(world: CustodyWorld, tenancies: readonly Tenancy[], withinMs: number): Promise<void> {
  for (const tenancy of tenancies) await world.run(rest(tenancy), withinMs);
  for (const tenancy of tenancies) await world.run(agreed(tenancy), withinMs);
  for (const tenancy of tenancies) await world.run(delivered(tenancy), withinMs);
  const logged = world.logged;
  for (const tenancy of tenancies) await world.run(check(tenancy), withinMs);
  const secrets = tenancies.flatMap((tenancy) => tenancy.secrets);
  checkSecrets(secrets, world.redis, logged, world.receivers.received);
}

async function rest(tenancy: Tenancy): Promise<void> {
  const { owner, operators, world } = tenancy;
  const sinceMs = world.nowMs;
  for (const { id } of tenancy.wallets) await owner.call('POST', `/v1/wallets/${id}/unfreeze`, {}, tenancy.key('rest'));
  for (;;) {
    const open = (await owner.list<Intent>('/v1/transaction-intents', 'transaction_intents')).filter(
      ({ status }) => !ends.has(status),
    );
    if (open.length === 0) break;
    for (const { id, status, wallet_id: walletId, initiator, approvers } of open) {
      if (status !== 'pending_approval') continue;
      const able = operators.find(
        ({ actor }) => actor !== initiator && (approvers.length === 0 || approvers.includes(actor)),
      );
      if (able === undefined) continue;
      await new MoneyClient(tenancy, able, new Draw(world.random(`rest/${id}`)), []).vote(walletId, id, 'reject');
    }
    const tookMs = world.nowMs - sinceMs;
    if (tookMs > restWithinMs)
      found(
        'orders-end',
        `${open.map(({ id, status, sub_status }) => `${id} is ${status} ${sub_status}`)} after ${tookMs} ms`,
      );
    await owner.client.pause(lookEveryMs);
  }
  await checkModules(tenancy, restWithinMs);
}

async function delivered(tenancy: Tenancy): Promise<void> {
  const { owner, world, hooks } = tenancy;
  const sinceMs = world.nowMs;
  const events = await eventsOf(tenancy);
  for (;;) {
    const { received } = world.receivers;
    const late = hooks
      .map((hook) => ({ hook, event: firstMissing(hook, events, received) }))
      .find(({ event }) => event !== undefined);
    if (late === undefined) return;
    if (world.nowMs - sinceMs > restWithinMs) {
      const { hook, event } = late;
      const tries = received.filter(({ url, body }) => url === hook.url && body.includes(event!.id));
      const statuses = tries.map(({ status, sentMs }) => `${status} at ${sentMs - world.cluster.time.beganMs}`);
      found(
        'hooks-get-events',
        `event ${event!.sequence} ${event!.type} never reached ${hook.url}; tries: ${statuses}`,
      );
    }
    await owner.client.pause(lookEveryMs);
  }
}

function eventsOf({ owner }: Tenancy): Promise<ToldEvent[]> {
  return owner.list<ToldEvent>('/v1/events', 'events');
}

async function check(tenancy: Tenancy): Promise<void> {
  const { owner, world, hooks, submitted, posts } = tenancy;
  for (const { operator, target, body, key } of posts) await operator.call('POST', target, body, key);
  const intents = await owner.list<Intent>('/v1/transaction-intents', 'transaction_intents', 37);
  const wallets = await allWallets(tenancy);
  const events = await eventsOf(tenancy);
  checkEffects(tenancy, intents, events);
  checkStanding(events);
  if (tenancy.modules === undefined) {
    const ledger = new DocumentedLedger();
    ledger.follow(events);
    for (const wallet of wallets) ledger.wasRead(wallet);
    for (const { id, status, version } of intents) {
      const last = ledger.intents.get(id);
      if (last?.status !== status || last.version !== version) {
        found('events-complete', `${id} is ${status} ${version}, its events say ${last?.status} ${last?.version}`);
      }
    }
    for (const { id, version } of wallets) {
      const told = ledger.accounts.get(id)?.version;
      if (told !== version) found('events-complete', `${id} is at ${version}, its events at ${told}`);
    }
    if (ledger.faults.length > 0) found('books-as-documented', ledger.faults.join('; '));
  }
  checkDecisions(tenancy, intents);
  for (const hook of hooks) checkHook(hook, events, world.receivers.received);
  for (const { walletId, intentId } of submitted) {
    if (intentId === null) continue;
    const { status, body } = await owner.call('GET', `/v1/wallets/${walletId}/transaction-intents/${intentId}`);
    const listed = intents.find(({ id }) => id === intentId);
    if (status !== 200 || listed === undefined || JSON.stringify(body) !== JSON.stringify(listed)) {
      found(
        'pages-complete',
        `${intentId} is listed as ${JSON.stringify(listed)} and read as ${status} ${JSON.stringify(body)}`,
      );
    }
  }
}

/** Deposits are credited soon after they are final. */
async function agreed(tenancy: Tenancy): Promise<void> {
  const { owner, world, name } = tenancy;
  const intents = await owner.list<Intent>('/v1/transaction-intents', 'transaction_intents');
  for (const sinceMs = world.nowMs; ; ) {
    const wallets = await allWallets(tenancy);
    const other = await disagreement(name, world.redis, chainBlockMs, world.nowMs, wallets, intents);
    if (other === undefined) return;
    if (world.nowMs - sinceMs > restWithinMs) found('providers-agree', other);
    await owner.client.pause(lookEveryMs);
  }
}

async function allWallets({ owner }: Tenancy): Promise<BookedWallet[]> {
  const lists = await Promise.all(
    ['active', 'frozen', 'archived'].map((status) =>
      owner.list<BookedWallet>(`/v1/wallets?status=${status}`, 'wallets'),
    ),
  );
  return lists.flat();
}

/** Events stand in the order of their commits: no intent begins, and none is approved, while its wallet is not active. */
function checkStanding(events: readonly ToldEvent[]): void {
  const standing = new Map<string, string>();
  for (const { sequence, type, resource, data } of events) {
    if (resource.type === 'wallet') standing.set(resource.id, data.object.status as string);
    const { wallet_id: walletId, approvals } = data.object ?? {};
    const status = standing.get(walletId as string);
    if (status === undefined || status === 'active') continue;
    const isApproval = type === 'transaction_intent.approval_recorded' && approvals.at(-1)?.decision === 'approve';
    if (type === 'transaction_intent.created' || type === 'transaction_intent.signing' || isApproval) {
      found('decided-as-written', `event ${sequence} ${type} of ${resource.id}, and its wallet is ${status}`);
    }
  }
}

/** What a call made, it made once; and nothing is there that no call made. */
function checkEffects({ submitted, wallets }: Tenancy, intents: readonly Intent[], events: readonly ToldEvent[]): void {
  const byKey = new Map<string, string[]>();
  for (const { id, metadata } of intents) {
    if (metadata.key === undefined) continue;
    byKey.set(metadata.key, [...(byKey.get(metadata.key) ?? []), id]);
  }
  for (const { key, intentId } of submitted) {
    const made = byKey.get(key) ?? [];
    if (made.join() !== (intentId ?? ''))
      found('one-effect-a-key', `${key} was told ${intentId} and made ${made.join(', ') || 'nothing'}`);
  }
  const transactions = new Map<string, string>();
  for (const { id, status, provider_tx_id: transaction } of intents) {
    if (status !== 'completed') continue;
    if (transaction === null) found('one-effect-a-key', `${id} is completed without a transaction`);
    const other = transactions.get(transaction!);
    if (other !== undefined) found('one-effect-a-key', `${id} and ${other} name one transaction`);
    transactions.set(transaction!, id);
  }
  const ids = new Set<string>();
  for (const { id, sequence } of events) {
    if (ids.has(id)) found('events-complete', `event ${sequence} has an id of another`);
    ids.add(id);
  }
  const made = events.filter(({ type }) => type === 'wallet.created').map(({ resource }) => resource.id);
  const told = wallets.map(({ id }) => id);
  const orphan = made.find((id) => !told.includes(id));
  if (orphan !== undefined) found('one-effect-a-key', `wallet ${orphan} was made and told to no caller`);
  if (made.length !== new Set(made).size || told.some((id) => !made.includes(id))) {
    found('events-complete', `wallets ${told} have the events of ${made}`);
  }
}
