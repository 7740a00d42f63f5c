/**
 * The log of a webhook's deliveries, and what its receiver got: each delivery has the tries that reached the receiver, and when all has
 * come to rest nothing waits. docs/webhooks.md.
 */

import type { Draw } from '../../cluster/draw.ts';
import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import { dueTo, type HookFacts } from '../../service/invariants/hooks.ts';
import type { DeliveredRequest } from '../../service/receivers.ts';
import type { Operator } from './operator.ts';
import type { Tenancy } from './tenancy.ts';

export interface ToldDelivery {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly sequence: number;
  readonly status: string;
  readonly attempt_count: number;
  readonly attempts: readonly { readonly status: number | null }[];
}

/** Tries that a delivery shows. */
const attemptsKept = 20;
const emptyWithinMs = 40 * 60_000;
const lookEveryMs = 5_000;

/** Waits until nothing of an enabled webhook is on its way, then compares. Throws a Finding. */
export async function checkDeliveries(tenancy: Tenancy, events: readonly ToldEvent[], draw: Draw): Promise<void> {
  const { hooks, owner, world, isCalm } = tenancy;
  for (const hook of hooks) {
    const isEnabled = await comesToRest(tenancy, hook);
    if (isEnabled === undefined || draw.chance(0.5)) continue;
    const target = `/v1/webhooks/${hook.id}/deliveries`;
    const listed = await owner.list<ToldDelivery>(target, 'deliveries', draw.int(20, 100));
    // Sessions of the signing API may still expire.
    const deliveries = listed.filter(({ sequence }) => sequence <= events.length);
    const received = world.receivers.received.filter(({ url }) => url === hook.url);
    compare(hook, deliveries, events, received, isCalm);
    const missing = isEnabled && dueTo(hook, events).find(({ id }) => !deliveries.some((one) => one.event_id === id));
    if (missing) found('hooks-get-events', `${target} lists no delivery of event ${missing.sequence} ${missing.type}`);
    const other = isEnabled && deliveries.find(({ status }) => status !== 'delivered');
    if (other)
      found('hooks-get-events', `${target} shows ${other.id} of event ${other.sequence} as ${other.status} at rest`);
    if (deliveries.length > 0) await filtered(owner, target, deliveries, draw);
  }
}

/** Whether it is enabled; undefined: it is gone. */
async function comesToRest({ owner, world }: Tenancy, { id }: HookFacts): Promise<boolean | undefined> {
  for (const sinceMs = world.nowMs; ; await owner.client.pause(lookEveryMs)) {
    const { status, body } = await owner.call('GET', `/v1/webhooks/${id}`);
    if (status !== 200) return undefined;
    if (body.status !== 'enabled') return false;
    const { outstanding, retrying, behind } = body.queue;
    const isEmpty = outstanding + retrying + behind === 0;
    if (isEmpty && body.failing_since === null) return true;
    if (world.nowMs - sinceMs > emptyWithinMs) {
      const queue = JSON.stringify(body.queue);
      found('hooks-get-events', `webhook ${id} is at rest with ${queue}, failing since ${body.failing_since}`);
    }
  }
}

function compare(
  { id: hookId, url }: HookFacts,
  deliveries: readonly ToldDelivery[],
  events: readonly ToldEvent[],
  received: readonly DeliveredRequest[],
  isCalm: boolean,
): void {
  for (const {
    id,
    event_id: eventId,
    event_type: type,
    sequence,
    status,
    attempt_count: count,
    attempts,
  } of deliveries) {
    const about = `delivery ${id} of ${hookId}`;
    const event = events[sequence - 1];
    if (event?.id !== eventId || event.type !== type)
      found('hooks-get-events', `${about} is of ${type} ${sequence}, not of ${event?.type}`);
    if (attempts.length !== Math.min(count, attemptsKept))
      found('hooks-get-events', `${about} shows ${attempts.length} tries of ${count}`);
    const tries = received.filter(({ headers }) => headers['webhook-id'] === eventId);
    const isArrived = tries.some((one) => one.status >= 200 && one.status <= 299);
    if (status === 'delivered' && !isArrived)
      found('hooks-get-events', `${about} counts as delivered, and ${url} never took it`);
    if (!isCalm) continue;
    const [told, made] = [attempts.map((one) => one.status), tries.slice(-attemptsKept).map((one) => one.status)];
    if (told.join() !== made.join())
      found('hooks-get-events', `${about} shows the tries ${told}, and ${url} answered ${made}`);
  }
}

/** By status and type, in small pages. */
async function filtered(
  owner: Operator,
  target: string,
  deliveries: readonly ToldDelivery[],
  draw: Draw,
): Promise<void> {
  const { status, event_type: type } = draw.pick(deliveries);
  const last = Math.max(...deliveries.map(({ sequence }) => sequence));
  const family = `${type.split('.')[0]}.*`;
  const value = draw.pick([type, family]);
  const isMeant = (one: string) => one === value || (value === family && one.startsWith(family.slice(0, -1)));
  const withStatus = draw.chance(0.5);
  const query = `event_type=${encodeURIComponent(value)}${withStatus ? `&status=${status}` : ''}`;
  const pages = await owner.list<ToldDelivery>(`${target}?${query}`, 'deliveries', draw.int(5, 30));
  const listed = pages.filter(({ sequence: at }) => at <= last);
  const wanted = deliveries.filter((one) => isMeant(one.event_type) && (!withStatus || one.status === status));
  const [ids, due] = [listed, wanted].map((some) => some.map(({ id }) => id).join());
  if (ids !== due) found('pages-complete', `${target}?${query} lists ${ids}, not ${due}`);
}

/** "Sends one again", or "all deliveries of a range". */
export async function redeliver({ isCalm }: Tenancy, hook: HookFacts, operator: Operator, draw: Draw): Promise<void> {
  const target = `/v1/webhooks/${hook.id}`;
  const { status: there } = await operator.call('GET', target);
  if (there !== 200) return;
  const deliveries = await operator.list<ToldDelivery>(`${target}/deliveries`, 'deliveries');
  const waiting = deliveries.filter(({ status }) => status === 'queued' || status === 'retrying');
  const last = Math.min(...waiting.map(({ sequence }) => sequence), (deliveries[0]?.sequence ?? 0) + 1);
  const over = deliveries.filter(({ sequence }) => sequence < last);
  if (over.length === 0) return;
  const isFirst = !hook.wasRedelivered;
  hook.wasRedelivered = true;
  hook.wasDisturbed = true;
  if (draw.chance(0.4)) {
    const { id } = draw.pick(over);
    const { status } = await operator.call('POST', `${target}/deliveries/${id}/redeliver`, {});
    if (![202, 404, 409].includes(status)) found('changes-take-effect', `redelivery of ${id}: ${status}`);
    return;
  }
  const [one, other] = [draw.pick(over).sequence, draw.pick(over).sequence];
  const [after, before] = [Math.min(one, other), Math.max(one, other)];
  const body = { status: 'delivered', after_sequence: after, before_sequence: before };
  const answer = await operator.call('POST', `${target}/redeliver`, body);
  if (![202, 404, 409].includes(answer.status)) found('changes-take-effect', `${target}/redeliver: ${answer.status}`);
  const wanted = over.filter(
    ({ sequence, status }) => status === 'delivered' && sequence > after && sequence < before,
  ).length;
  // A repeat after a lost answer finds some of them on their way.
  const isRight = answer.body.queued === wanted || answer.body.has_more || !isFirst || !isCalm;
  if (answer.status === 202 && !isRight) {
    found(
      'hooks-get-events',
      `${target} sends ${answer.body.queued} of ${wanted} events again, of those between ${after} and ${before}`,
    );
  }
}
