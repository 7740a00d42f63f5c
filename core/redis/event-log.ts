/**
 * The event log of a tenant: one stream, two writers (the gateway's tenant store, the coordinator's session store). This file
 * defines the common part: the keys, the arguments of an event, and the one way to append it (append-event.lua), which the
 * script of every change with an event includes. So change, event and sequence are one step, and the sequence has no gaps.
 *
 * Retention: the last 1,000,000 events of a tenant, 1 GiB of them, and the last 30 days before its newest event, whichever is
 * least. Each append trims a bounded number. Ages are relative to event times, since clocks differ.
 *
 * A channel of the tenant wakes streams of events to clients, and another one the relays, if the tenant has webhooks: no event
 * of any other tenant wakes a worker. Channels only save time: a message may be lost, the event is in the log. So a writer also
 * registers the tenant as having events to relay (due-work.ts, kind "webhooks"), before it writes.
 */

/** The prefix of all Redis keys of a tenant; ends in a colon. Its hash tag puts them in one slot. */
export function tenantPrefix(tenant: string): string {
  return `sm:{t:${tenant}}:`;
}

/** An event before it has its sequence. */
export interface LoggedEvent {
  /** evt_… */
  readonly id: string;
  /** e.g. "transaction_intent.approved". */
  readonly type: string;
  /** The log never stores a time earlier than the previous event's. */
  readonly atMs: number;
  readonly resource: { readonly type: string; readonly id: string; readonly version: number };
  readonly correlationId: string;
  /** Provider kind, or null. */
  readonly provider: string | null;
  /** The provider connection of the event, or null. Not in views: tokens limited to connections see only theirs. */
  readonly connectionId: string | null;
  /** The resource as the API shows it. Never a secret. */
  readonly object: object;
}

/** Channels are `sm:wake:<tenant>`; a message is the sequence of the last event of a step. */
export const wakePrefix = 'sm:wake:';
/** Channels of the relays: `sm:relay:<tenant>`. */
export const relayPrefix = 'sm:relay:';

/** The arguments of an event, as append-event.lua takes them. */
export type EventArguments = Readonly<
  Record<'id' | 'type' | 'resourceType' | 'resourceId' | 'correlationId', string>
> & {
  readonly atMs: number;
  readonly resourceVersion: number;
  /** Empty: null. */
  readonly provider: string;
  /** Empty: null. */
  readonly connectionId: string;
  readonly object: string;
};

/** `json`: the object, encoded. */
export function eventArguments(event: LoggedEvent, json: string = JSON.stringify(event.object)): EventArguments {
  const { id, type, atMs, resource, correlationId, provider, connectionId } = event;
  return {
    id,
    type,
    atMs,
    resourceType: resource.type,
    resourceId: resource.id,
    resourceVersion: resource.version,
    correlationId,
    provider: provider ?? '',
    connectionId: connectionId ?? '',
    object: json,
  };
}
