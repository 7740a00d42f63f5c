/** After its healing a world comes to rest: requested work ends, due deliveries arrive, and the run checks all of it. */
import type { CustodyWorld } from '../../service/custody-world.ts';
import { Ballots } from '../../service/invariants/ballots.ts';
import { checkClosedKeys, checkRevoked } from '../../service/invariants/closed-keys.ts';
import { checkConstants } from '../../service/invariants/constants.ts';
import { checkCreated } from '../../service/invariants/created-once.ts';
import { checkSessions, checkTimesTold } from '../../service/invariants/dated.ts';
import { keptShare } from '../../service/invariants/deleted-shares.ts';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { checkDryRuns } from '../../service/invariants/dry-runs.ts';
import { checkEffects as checkEventEffects } from '../../service/invariants/event-effects.ts';
import { found } from '../../service/invariants/finding.ts';
import { checkHook, firstMissing } from '../../service/invariants/hooks.ts';
import { checkOutcomes } from '../../service/invariants/outcomes.ts';
import {
  type BookedWallet,
  disagreement,
  type MovedIntent,
  type ShownMovement,
} from '../../service/invariants/providers.ts';
import { checkSecrets } from '../../service/invariants/secrets.ts';
import { checkTimes } from '../../service/invariants/timely.ts';
import { checkCalls } from './calls.ts';
import { reconnect } from './connection-client.ts';
import { checkOrdered, checkReceipts } from './decisions.ts';
import { checkDeliveries } from './deliveries.ts';
import { drawFrom } from './draw.ts';
import { checkEvaluations, type ReadIntent } from './evaluations.ts';
import { exercise } from './exercises.ts';
import { Model } from './model.ts';
import { calmModules, checkModules, nextVoter, openModules } from './modules.ts';
import { chainBlockMs } from './profiles.ts';
import { readBack } from './read-back.ts';
import { checkReconciled } from './reconciled.ts';
import { checkStreams } from './streams.ts';
import { feeMarket, lowest } from './stuck-exercise.ts';
import type { Tenancy } from './tenancy.ts';
import { VoteClient } from './vote-client.ts';

type Intent = ReadIntent & MovedIntent;

const ends = new Set(['completed', 'denied', 'rejected', 'expired', 'cancelled', 'failed']);
/** Without faults, transfers end and deliveries arrive within this time. */
const restWithinMs = 40 * 60_000;
const lookEveryMs = 5_000;
/** A wait that expires within the first time may expire, and gets the second time to do so. */
const expiresWithinMs = 150_000;
const expiryLateMs = 60_000;
/** Gateways sweep twice a second. */
const lateVoteMs = 300;

export async function settle(world: CustodyWorld, tenancies: readonly Tenancy[], withinMs: number): Promise<void> {
  for (const tenancy of tenancies) await world.run(ready(tenancy), withinMs);
  for (const tenancy of tenancies) await world.run(rest(tenancy), withinMs);
  for (const tenancy of tenancies) await world.run(exercise(tenancy, 1 / tenancies.length), withinMs);
  for (const tenancy of tenancies) await world.run(rest(tenancy), withinMs);
  for (const tenancy of tenancies) await world.run(agreed(tenancy, tenancies), withinMs);
  for (const tenancy of tenancies) await world.run(delivered(tenancy), withinMs);
  const logged = world.logged;
  for (const tenancy of tenancies) await world.run(check(tenancy), withinMs);
  const secrets = tenancies.flatMap((tenancy) => tenancy.secrets);
  checkSecrets(secrets, world.redis, logged, world.receivers.received);
}

/** Nothing keeps work from its end. */
async function ready(tenancy: Tenancy): Promise<void> {
  const { owner } = tenancy;
  for (const { id } of tenancy.wallets) await owner.call('POST', `/v1/wallets/${id}/unfreeze`, {}, tenancy.key('rest'));
  for (const id of tenancy.credentials.keys()) await reconnect(tenancy, owner, id);
  await calmModules(tenancy);
}

async function rest(tenancy: Tenancy): Promise<void> {
  const { owner, world } = tenancy;
  const sinceMs = world.nowMs;
  for (;;) {
    const intents = await owner.list<Intent>('/v1/transaction-intents', 'transaction_intents');
    const open = intents.filter(({ status, sub_status: sub }) => !ends.has(status) || sub === 'NOT_FINAL');
    for (const intent of open) await decide(tenancy, intent);
    // Plans and orders make their own transfers.
    const begun = [
      ...(await openModules(tenancy)),
      ...open.map((one) => `${one.id} is ${one.status} ${one.sub_status}`),
    ];
    if (begun.length === 0) return;
    const tookMs = world.nowMs - sinceMs;
    if (tookMs > restWithinMs) found('orders-end', `${begun} after ${tookMs} ms`);
    await owner.client.pause(lookEveryMs);
  }
}

/** Approves or rejects records that wait for votes; lets those expire that soon do. */
async function decide(tenancy: Tenancy, intent: Intent): Promise<void> {
  const { id, status, sub_status: subStatus, expires_at: expiresAt } = intent;
  const { world, owner } = tenancy;
  // An exercise has left it, or its votes came late.
  if (subStatus === 'BELOW_MARKET_FEE') await owner.call('POST', feeMarket, { price: lowest });
  if (status !== 'pending_approval') return;
  const leftMs = Date.parse(expiresAt) - world.nowMs;
  if (leftMs < -expiryLateMs) found('orders-end', `${id} is ${status} ${-leftMs} ms after ${expiresAt}`);
  const voter = nextVoter(tenancy, intent);
  const draw = drawFrom(world.random(`rest/${id}`));
  if (voter === undefined) return;
  if (leftMs > 0 && leftMs <= lookEveryMs) await voter.client.pause(leftMs + draw.int(0, lateVoteMs));
  else if (leftMs < expiresWithinMs) return;
  // After its time its vote is refused, also before a sweep has marked the intent as expired (ballots.ts).
  await new VoteClient(tenancy, voter, draw).vote(intent, draw.chance(0.5) ? 'approve' : 'reject');
}

export async function delivered(tenancy: Tenancy): Promise<void> {
  const { owner, world, hooks } = tenancy;
  const sinceMs = world.nowMs;
  const events = await eventsOf(tenancy);
  for (;;) {
    const { received } = world.receivers;
    const late = hooks
      .map((hook) => ({ hook, event: firstMissing(hook, events, received) }))
      .find(({ event }) => event !== undefined);
    if (late === undefined) break;
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
  await checkDeliveries(tenancy, events, drawFrom(world.random(`deliveries/${tenancy.name}`)));
}

function eventsOf({ owner }: Tenancy): Promise<ToldEvent[]> {
  return owner.list<ToldEvent>('/v1/events', 'events');
}

async function check(tenancy: Tenancy): Promise<void> {
  const { owner, world, posts } = tenancy;
  for (const { operator, target, body, key } of [...posts]) await operator.call('POST', target, body, key);
  const { model, intents, events } = await checkLog(tenancy);
  for (const { walletId, intentId } of tenancy.submitted) {
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
  // These calls write events.
  await checkEvaluations(tenancy, model!, intents, drawFrom(world.random(`evaluations/${tenancy.name}`)));
  if (tenancy.modules !== undefined) await checkReconciled(tenancy, intents, events);
  await readBack(tenancy, await eventsOf(tenancy), drawFrom(world.random(`read back/${tenancy.name}`)));
}

interface CheckedLog {
  readonly model: Model | undefined;
  readonly intents: readonly Intent[];
  readonly events: readonly ToldEvent[];
}

/** Reads intents, wallets and the log, and compares them with each other, with all calls, and with the model if there is one. */
export async function checkLog(tenancy: Tenancy, isModelled = true): Promise<CheckedLog> {
  const { owner, world, hooks, landmarks } = tenancy;
  const intents = await owner.list<Intent>('/v1/transaction-intents', 'transaction_intents', 37);
  const wallets = await allWallets(tenancy);
  const events = await eventsOf(tenancy);
  landmarks.told(events);
  landmarks.delivered(world.receivers.received);
  checkEffects(tenancy, intents, events);
  checkCreated(tenancy.told, events);
  checkClosedKeys(events);
  checkConstants(events);
  if (tenancy.isCalm) checkRevoked(events);
  if (tenancy.isCalm) checkTimesTold(events);
  checkSessions(await owner.list('/v1/sessions', 'sessions', 40), events, tenancy.isCalm);
  checkDryRuns(tenancy.dryRuns, events);
  const model = isModelled ? modelled(tenancy, intents, wallets, events) : undefined;
  if (!isModelled) checkVotes(tenancy, events);
  checkOrdered(intents, events);
  if (model !== undefined) await checkModules(tenancy, model, intents, events);
  checkEventEffects(events);
  if (tenancy.isCalm) checkOutcomes(events);
  checkStreams(tenancy.streams, events);
  if (tenancy.isCalm) checkTimes(hooks, events, world.receivers.received);
  for (const hook of hooks) checkHook(hook, events, world.receivers.received, tenancy.isCalm);
  return { model, intents, events };
}

function modelled(
  tenancy: Tenancy,
  intents: readonly Intent[],
  wallets: readonly BookedWallet[],
  events: readonly ToldEvent[],
): Model {
  const model = new Model(tenancy);
  model.follow(events);
  for (const { id, status, version, approvals } of intents) {
    const last = model.intents.get(id)?.last;
    if (last?.status !== status || last.version !== version || last.votes.length !== approvals.length) {
      found('events-complete', `${id} is ${status} ${version}, its events say ${last?.status} ${last?.version}`);
    }
  }
  for (const { id, version, status } of wallets) {
    const last = model.wallets.get(id)?.last;
    if (last?.version !== version || last.status !== status) {
      found('events-complete', `${id} is ${status} ${version}, its events say ${last?.status} ${last?.version}`);
    }
  }
  for (const wallet of wallets) model.ledger.wasRead(wallet);
  if (model.ledger.faults.length > 0) found('books-as-documented', model.ledger.faults.join('; '));
  checkCalls(tenancy, model);
  checkReceipts(tenancy, model, intents);
  return model;
}

/** The part of the model that needs no more than the log. */
function checkVotes({ clocksOffMs }: Tenancy, events: readonly ToldEvent[]): void {
  const ballots = new Ballots(clocksOffMs);
  for (const event of events) {
    if (event.type.startsWith('transaction_intent.')) ballots.take(event, 'approved');
    if (event.type.startsWith('token.order.')) ballots.take(event, 'reserve_check');
  }
  ballots.end();
}

/** Deposits are credited soon after they are final. */
export async function agreed(tenancy: Tenancy, tenancies: readonly Tenancy[], blockMs = chainBlockMs): Promise<void> {
  const { owner, world, name } = tenancy;
  const draw = drawFrom(world.random(`movements/${name}`));
  const movementsOf = ({ id }: BookedWallet) =>
    owner.list<ShownMovement>(`/v1/wallets/${id}/movements`, 'movements', draw.int(2, 40));
  const intents: Intent[] = [];
  for (const { owner: by } of tenancies)
    intents.push(...(await by.list<Intent>('/v1/transaction-intents', 'transaction_intents')));
  for (const sinceMs = world.nowMs; ; ) {
    const wallets = await allWallets(tenancy);
    const other =
      (await disagreement(name, world.redis, blockMs, world.nowMs, wallets, intents, movementsOf)) ??
      keptShare(world, name, await eventsOf(tenancy));
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

/** Each call created its resource once; and every resource has a call. */
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
  for (const { id, status, message, provider_tx_id: transaction } of intents) {
    if (status !== 'completed' || message != null) continue;
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
  // No call creates the venue's wallets.
  const ofVenue = ({ data }: ToldEvent) => String(data.object.name).startsWith('Venue ');
  const made = events
    .filter((event) => event.type === 'wallet.created' && !ofVenue(event))
    .map(({ resource }) => resource.id);
  const told = wallets.map(({ id }) => id);
  if (made.length !== new Set(made).size || told.some((id) => !made.includes(id))) {
    found('events-complete', `wallets ${told} have the events of ${made}`);
  }
}
