/**
 * Webhooks: each enabled one gets each of its subscribed events at least once, always the same bytes, validly signed; one that
 * was deleted, or answered 410, gets nothing more. Its due events follow from the event log itself.
 */
import { createHmac } from 'node:crypto';
import type { DeliveredRequest } from '../receivers.ts';
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

export interface HookFacts {
  readonly id: string;
  readonly url: string;
  /** Each with the times between which it became the newest; in their order. */
  readonly secrets: HookSecret[];
  /** The time of the answer to its deletion. */
  deletedMs: number | undefined;
  /** It was changed, or its receiver has failed: events may come late. */
  wasDisturbed: boolean;
  /** Deliveries were sent again on request. */
  wasRedelivered?: boolean;
}

interface HookSecret {
  readonly secret: string;
  /** Of the webhook, with it. */
  readonly version: number;
  readonly askedMs: number;
  readonly madeMs: number;
  /** With it the earlier ones ended. */
  readonly revokes: boolean;
}

/** Without faults a delivery leaves this soon after its webhook was read. */
const calmSlackMs = 2_000;
/** Deliveries in progress when a webhook was deleted, or answered 410, may still be sent: open jobs, paused workers. */
const slackMs = 60_000;
/** Five minutes: gateways and workers may have clock offsets, and cache a secret for a while. */
const rotationSlackMs = 300_000;

interface HookState {
  readonly from: number;
  /** All its subscriptions, in order. */
  readonly subscriptions: readonly (readonly string[])[];
  readonly isEnabled: boolean;
  /** By the times of its events. */
  readonly disabled: readonly { readonly fromMs: number; readonly toMs: number }[];
}

/** Throws a Finding. Every due event has had its time. */
export function checkHook(
  hook: HookFacts,
  events: readonly ToldEvent[],
  received: readonly DeliveredRequest[],
  isCalm: boolean,
): void {
  const slack = isCalm ? calmSlackMs : slackMs;
  const mine = received.filter(({ url }) => url === hook.url);
  const known = new Map(events.map((event) => [event.id, event]));
  const state = stateOf(hook, events);
  const bodies = new Map<string, string>();
  let goneMs = Number.POSITIVE_INFINITY;
  for (const one of mine) {
    const event = JSON.parse(one.body) as ToldEvent;
    if (!isSigned(hook, one, slack))
      found('hooks-signed', `event ${event.sequence} came to ${hook.url} with a wrong signature`);
    if (one.headers['webhook-id'] === undefined)
      found('hooks-signed', `event ${event.sequence} came without webhook-id`);
    const told = known.get(event.id);
    if (told === undefined) found('hooks-get-events', `${hook.url} got ${event.id}, which is not in the log`);
    if (JSON.stringify(told) !== one.body) {
      found(
        'hooks-get-events',
        `event ${event.sequence} came to ${hook.url} as ${one.body}, and is ${JSON.stringify(told)}`,
      );
    }
    const before = bodies.get(event.id);
    if (before !== undefined && before !== one.body)
      found('hooks-get-events', `event ${event.sequence} came with two bodies`);
    if (one.status >= 200 && one.status <= 299) bodies.set(event.id, one.body);
    if (hook.deletedMs !== undefined && one.sentMs > hook.deletedMs + slackMs) {
      found(
        'hooks-left-alone',
        `${hook.url} got event ${event.sequence} ${one.sentMs - hook.deletedMs} ms after its deletion`,
      );
    }
    if (one.sentMs > goneMs + slackMs) {
      found(
        'hooks-left-alone',
        `${hook.url} got event ${event.sequence} ${one.sentMs - goneMs} ms after it answered 410`,
      );
    }
    // By the clocks of gateways, which are right without faults.
    const off = isCalm && state.disabled.find(({ fromMs, toMs }) => one.sentMs > fromMs + slack && one.sentMs < toMs);
    if (off) {
      const sinceMs = one.sentMs - off.fromMs;
      found('hooks-left-alone', `${hook.url} got event ${event.sequence} ${sinceMs} ms after it was disabled`);
    }
    if (one.status === 410) goneMs = Math.min(goneMs, one.atMs);
    if (!mayGet(state, told!, hook.id)) {
      found('hooks-get-events', `${hook.url} got event ${event.sequence} ${event.type}, to which it never subscribed`);
    }
  }
  if (!state.isEnabled || goneMs < Number.POSITIVE_INFINITY) return;
  const missing = missingOf(hook, events, bodies);
  if (missing !== undefined)
    found('hooks-get-events', `event ${missing.sequence} ${missing.type} never reached ${hook.url}`);
}

/** The first due event without an acknowledgement. */
export function firstMissing(
  hook: HookFacts,
  events: readonly ToldEvent[],
  received: readonly DeliveredRequest[],
): ToldEvent | undefined {
  const taken = received.filter(({ url, status }) => url === hook.url && status >= 200 && status <= 299);
  const isGone = received.some(({ url, status }) => url === hook.url && status === 410);
  if (isGone || !stateOf(hook, events).isEnabled) return undefined;
  const bodies = new Map(taken.map(({ body }) => [(JSON.parse(body) as ToldEvent).id, body]));
  return missingOf(hook, events, bodies);
}

function missingOf(
  hook: HookFacts,
  events: readonly ToldEvent[],
  bodies: ReadonlyMap<string, string>,
): ToldEvent | undefined {
  return dueTo(hook, events).find(({ id }) => !bodies.has(id));
}

/** Events that it must get, whatever its subscription was at the time. */
export function dueTo(hook: HookFacts, events: readonly ToldEvent[]): readonly ToldEvent[] {
  const state = stateOf(hook, events);
  return events.filter(
    (event) =>
      event.sequence > state.from &&
      (isPing(event)
        ? event.resource.id === hook.id
        : state.subscriptions.every((names) => matches(names, event.type))),
  );
}

function stateOf({ id }: HookFacts, events: readonly ToldEvent[]): HookState {
  const own = events.filter(({ type, resource }) => resource.id === id && type !== 'webhook.ping');
  const created = own.find(({ type }) => type === 'webhook.created');
  if (created === undefined) return found('events-complete', `webhook ${id} has no event of its creation`);
  const objects = own.flatMap(({ data }) => (data.object === null ? [] : [data.object]));
  const last = own.at(-1)!;
  return {
    from: created.sequence,
    subscriptions: objects.flatMap(({ events: names }) => (Array.isArray(names) ? [names as string[]] : [])),
    isEnabled: last.type !== 'webhook.deleted' && last.data.object.status === 'enabled',
    disabled: own.flatMap(({ timestamp, data }, at) => {
      if (data.object?.status !== 'disabled') return [];
      const next = own[at + 1];
      const toMs = next === undefined ? Number.POSITIVE_INFINITY : Date.parse(next.timestamp);
      return [{ fromMs: Date.parse(timestamp), toMs }];
    }),
  };
}

function mayGet(state: HookState, event: ToldEvent, hookId: string): boolean {
  if (event.sequence <= state.from) return false;
  if (isPing(event)) return event.resource.id === hookId;
  return state.subscriptions.some((names) => matches(names, event.type));
}

function isPing({ type }: ToldEvent): boolean {
  return type === 'webhook.ping';
}

function matches(names: readonly string[], type: string): boolean {
  return names.some(
    (name) => name === '*' || name === type || (name.endsWith('.*') && type.startsWith(name.slice(0, -1))),
  );
}

/** By the newest secret; in `webhook-signature` by each that is valid, and by none that has ended. */
function isSigned({ secrets }: HookFacts, { headers, body, sentMs }: DeliveredRequest, slack: number): boolean {
  const valid = secrets.filter(({ askedMs }, at) => {
    const next = secrets[at + 1];
    return askedMs <= sentMs && (next === undefined || sentMs <= next.madeMs + rotationSlackMs);
  });
  const isOwn = valid.some(({ secret }) => headers['x-svc-signature'] === hmac(secret, body, 'hex'));
  const id = headers['webhook-id'];
  const stamp = headers['webhook-timestamp'];
  const standard = (headers['webhook-signature'] ?? '').split(' ');
  const signs = ({ secret }: HookSecret): boolean => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return standard.includes(`v1,${hmac(key, `${id}.${stamp}.${body}`, 'base64')}`);
  };
  // After a rotation the earlier secrets sign for a day, which is longer than a run, unless it revoked them.
  const isStandard = secrets.every((secret, at) => {
    const later = secrets.slice(at + 1);
    if (later.some(({ revokes, madeMs }) => revokes && sentMs > madeMs + slack)) return !signs(secret);
    if (secret.madeMs + slack >= sentMs || later.some(({ revokes, askedMs }) => revokes && askedMs <= sentMs))
      return true;
    return signs(secret);
  });
  return isOwn && isStandard && valid.some(signs);
}

function hmac(key: string | Buffer, text: string, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', key).update(text).digest(encoding);
}
