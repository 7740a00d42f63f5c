/** GET /v1/events: the stored events of a tenant, in order. */
import Type from 'typebox';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { createdQuery, readCreated, readPage } from '../../../gateway/api/pages.ts';
import { type RequestContext, type Route, route } from '../../../gateway/api/route.ts';
import { Closed, ListOf, pageQuery } from '../../../gateway/api/schema-kit.ts';
import type { EventPage, EventQuery } from '../../store/contract.ts';
import { ResourceFilter, readTypes, SequenceText, TypeFilter } from './query.ts';
import { EventEnvelope, eventView } from './view.ts';

const query = Closed({
  type: Type.Optional(TypeFilter),
  resource_id: Type.Optional(ResourceFilter),
  after_sequence: Type.Optional(SequenceText),
  ...createdQuery,
  ...pageQuery,
});

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
