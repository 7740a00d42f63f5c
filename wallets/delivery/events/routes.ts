/** The stored events of a tenant: in order, and one by its id. */
import Type from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { createdQuery, readCreated, readPage } from '../../../gateway/api/pages.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, PathId, pageQuery } from '../../../gateway/api/schema-kit.ts';
import { noSuch } from '../../../gateway/api/visibility.ts';
import { idTimeMs } from '../../../proto/ids.ts';
import type { EventPage, EventQuery, StoredEvent } from '../../store/contract.ts';
import { ResourceFilter, readTypes, SequenceText, TypeFilter } from './query.ts';
import { EventEnvelope, eventView } from './view.ts';

const query = Closed({
  type: Type.Optional(TypeFilter),
  resource_id: Type.Optional(ResourceFilter),
  after_sequence: Type.Optional(SequenceText),
  ...createdQuery,
  ...pageQuery,
});

/** A search for one event reads at most this many pages, of a thousand events each: an invented id must cost little. */
const searchPagesMax = 20;

type Query = Type.Static<typeof query>;

export function eventRoutes(): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/events',
      operationId: 'listEvents',
      clientName: 'events.list',
      tag: 'Events',
      summary: 'List events, oldest first',
      description:
        'Events are stored for 30 days, at most 1,000,000 a tenant. To follow them, repeat the request with ' +
        '`after_sequence` = the highest sequence seen, or use `GET /v1/events/stream`. `created_after` is inclusive, `created_before` is not. Without ' +
        '`after_sequence` the list begins with the oldest stored event.',
      scope: 'events:read',
      query,
      responses: { 200: { description: 'A page of events', schema: ListOf('events', EventEnvelope) } },
      handle: async (context, input) => ({ status: 200, body: await listEvents(context, input.query) }),
    }),
    route({
      method: 'GET',
      path: '/v1/events/:id',
      operationId: 'getEvent',
      clientName: 'events.get',
      tag: 'Events',
      summary: 'Reads an event',
      description: 'Deliveries and resources name events by their ids. 404 also when the event is no longer stored.',
      scope: 'events:read',
      limitClass: 'reads',
      params: Closed({ id: PathId('id of the event') }),
      responses: { 200: { description: 'the event', schema: EventEnvelope } },
      errors: [404],
      handle: async (context, { params }) => {
        const event = await findEvent(context, params.id);
        if (event === undefined) throw noSuch('event');
        return { status: 200, body: eventView(event, context.principal.environment) };
      },
    }),
  ];
}

async function listEvents(context: RequestContext, query: Query): Promise<object> {
  const { tenant, store, principal } = context;
  const request = readPage(context, 'events', query, isSequence);
  const { limit, afterId: afterCursor } = request.query;
  const start = afterCursor ?? query.after_sequence;
  const types = readTypes(query.type);
  const { providerConnectionIds: connectionIds } = principal;
  const asked: EventQuery = {
    afterSequence: Number(start ?? 0),
    limit,
    types,
    ...(query.resource_id === undefined ? {} : { resourceId: query.resource_id }),
    ...(connectionIds === undefined ? {} : { connectionIds }),
    ...readCreated(query),
  };
  const page = await store.events(tenant, asked);
  if (start !== undefined) needKept(asked.afterSequence, page, afterCursor === undefined ? 'after_sequence' : 'cursor');
  return {
    events: page.events.map((event) => eventView(event, principal.environment)),
    has_more: page.hasMore,
    next_cursor: page.hasMore ? request.cursorOf(String(page.nextAfterSequence)) : null,
  };
}

/** How far a gateway's clock may go back between an id and its event. */
const clockBackMs = 5 * 60_000;

/**
 * The log is searched from the time in the id on. An event is written within moments of the making of its id, and later only where
 * a request was repeated under its idempotency key; earlier, by the clock, where the clock was set back in between.
 */
async function findEvent(context: RequestContext, eventId: string): Promise<StoredEvent | undefined> {
  const madeMs = eventId.startsWith('evt_') ? idTimeMs(eventId) : undefined;
  if (madeMs === undefined) return undefined;
  return (
    (await eventSince(context, eventId, madeMs)) ?? eventSince(context, eventId, Math.max(0, madeMs - clockBackMs))
  );
}

async function eventSince(
  context: RequestContext,
  eventId: string,
  createdAfterMs: number,
): Promise<StoredEvent | undefined> {
  const { tenant, store, principal } = context;
  const { providerConnectionIds: connectionIds } = principal;
  let afterSequence = 0;
  for (let page = 0; page < searchPagesMax; page += 1) {
    const asked = { afterSequence, limit: 1, types: [], eventId, createdAfterMs };
    const found = await store.events(tenant, { ...asked, ...(connectionIds !== undefined && { connectionIds }) });
    if (found.events[0] !== undefined || !found.hasMore) return found.events[0];
    afterSequence = found.nextAfterSequence;
  }
  return undefined;
}

/** What `SequenceText` takes: a safe integer. */
function isSequence(id: string): boolean {
  return /^(0|[1-9][0-9]{0,14})$/.test(id);
}

/** A follower must learn that events are lost, instead of reading on behind the gap. */
function needKept(afterSequence: number, { floorSequence }: EventPage, field: string): void {
  if (afterSequence + 1 >= floorSequence) return;
  throw new ServiceError('invalidRequest', `the oldest stored event has the sequence ${floorSequence}`, {
    details: [{ field, issue: 'too_small', message: `takes ${floorSequence - 1} or more` }],
  });
}
