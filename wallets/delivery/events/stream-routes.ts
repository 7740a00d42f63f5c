/** GET /v1/events/stream: a tenant's events as they happen. */
import Type from 'typebox';
import type { Timers } from '../../../core/actors/contract.ts';
import type { Log } from '../../../core/actors/live/ports.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { type Answer, type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed } from '../../../gateway/api/schema-kit.ts';
import type { EventPage, TenantStore } from '../../store/contract.ts';
import { EventStream, type StreamTimes } from './event-stream.ts';
import { feedLimits, type LiveFeed } from './live-feed.ts';
import { ResourceFilter, readTypes, SequenceText, sequenceText, TypeFilter } from './query.ts';

export interface StreamDeps {
  readonly feed: LiveFeed;
  readonly store: Pick<TenantStore, 'events'>;
  readonly timers: Timers;
  readonly log: Log;
  readonly times?: Partial<StreamTimes>;
}

const lastEventId = 'last-event-id';

const query = Closed({
  type: Type.Optional(TypeFilter),
  resource_id: Type.Optional(ResourceFilter),
  after_sequence: Type.Optional(SequenceText),
});
const headers = Closed({
  [lastEventId]: Type.Optional(
    sequenceText(
      'the last id that the client received: the stream continues after it. It takes precedence over `after_sequence`',
    ),
  ),
});

export function eventStreamRoutes(deps: StreamDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/events/stream',
      operationId: 'streamEvents',
      tag: 'Events',
      summary: 'Follow events as they happen, as server-sent events',
      description:
        'Each message has the event’s sequence as `id`, its type as `event`, and as `data` the event as `GET /v1/events` ' +
        'shows it. It begins with new events, or after `Last-Event-ID` or `after_sequence`, without loss ' +
        'or repetition; a sequence that is no longer stored, or does not exist yet, is a 400. Every 15 s it sends a comment with ' +
        'the position that it has reached in the log. It ends when the token expires, and when the gateway stops: ' +
        `connect again with the last id. At most ${feedLimits.perTenantMax} streams of a tenant in one gateway.`,
      scope: 'events:read',
      query,
      headers,
      responses: {
        200: {
          description: 'Messages without end',
          contentType: 'text/event-stream',
          schema: Type.String({ description: 'server-sent events; `data` is an `Event`' }),
        },
      },
      handle: (context, input) => open(context, input.query, input.headers[lastEventId], deps),
    }),
  ];
}

async function open(
  { tenant, principal }: RequestContext,
  query: { readonly type?: string; readonly resource_id?: string; readonly after_sequence?: string },
  lastId: string | undefined,
  { feed, store, timers, log, times = {} }: StreamDeps,
): Promise<Answer> {
  const types = readTypes(query.type);
  const { environment, providerConnectionIds: connectionIds } = principal;
  const place = feed.take(tenant);
  try {
    const start = lastId ?? query.after_sequence;
    const probe = { afterSequence: Number(start ?? 0), limit: 1, types: [] };
    const page = await store.events(tenant, probe);
    if (start !== undefined) needPlace(Number(start), page, lastId === undefined ? 'after_sequence' : lastEventId);
    const filter = {
      types,
      ...(query.resource_id === undefined ? {} : { resourceId: query.resource_id }),
      ...(connectionIds === undefined ? {} : { connectionIds }),
    };
    const afterSequence = start === undefined ? page.lastSequence : Number(start);
    return {
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
      stream: (caller) =>
        new EventStream({ store, place, caller, filter, afterSequence, environment, timers, log, times }),
    };
  } catch (error) {
    place.leave();
    throw error;
  }
}

/** A stream that began elsewhere than it was asked to would lose events silently. */
function needPlace(afterSequence: number, { floorSequence, lastSequence }: EventPage, field: string): void {
  if (afterSequence + 1 < floorSequence) {
    throw new ServiceError('invalidRequest', `the oldest stored event has the sequence ${floorSequence}`, {
      details: [{ field, issue: 'too_small', message: `takes ${floorSequence - 1} or more` }],
    });
  }
  if (afterSequence > lastSequence) {
    throw new ServiceError('invalidRequest', `the last event has the sequence ${lastSequence}`, {
      details: [{ field, issue: 'too_large', message: `takes ${lastSequence} or less` }],
    });
  }
}
