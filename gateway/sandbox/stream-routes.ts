/** GET /v1/sandbox/stream: what a running sandbox does, for a page that shows it. */
import Type from 'typebox';
import type { SeenSession, StreamTopic } from '../../scenarios/faults/stream.ts';
import { streamTopics } from '../../scenarios/faults/stream.ts';
import { ServiceError } from '../api/errors/service-error.ts';
import { type Route, route } from '../api/route.ts';
import { Closed } from '../api/schema-kit.ts';
import type { SandboxDeps } from './deps.ts';
import type { IntendedLoads } from './load-routes.ts';
import { bytesPerSecond, SandboxStream } from './sandbox-stream.ts';
import type { SandboxSessions } from './sessions.ts';
import { common } from './shared.ts';
import { pagesMax } from './stream-places.ts';
import { StreamMessage } from './stream-schemas.ts';
import { placeOf, placePattern } from './stream-views.ts';

const lastEventId = 'last-event-id';
const place = (description: string) => Type.Optional(Type.String({ pattern: placePattern, description }));
/** Sessions whose culprits are remembered. */
const rememberedMax = 2_000;

export function streamRoutes(
  { version, control, sessions, timers, places, requests }: SandboxDeps,
  loads: IntendedLoads,
): readonly Route[] {
  const culpritsOf = rememberCulprits(sessions);
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/stream',
      operationId: 'streamSandbox',
      summary: 'Follow what the sandbox does, of all tenants, as server-sent events',
      description:
        'Begins with a message `hello`, which has the present state; then a `batch` whenever there is news: at most 10 a second and ' +
        `${bytesPerSecond / 1_000} KB a second. What does not fit is left out and counted, by whole sessions. A later \`hello\` replaces ` +
        'everything: the process supervisor was away. Each message has its position as `id`: `Last-Event-ID` or `after` continues there, and ' +
        `\`lost\` says when something between is gone. At most ${pagesMax} streams of a gateway.`,
      query: Closed({
        topics: Type.Optional(
          Type.String({
            ...{ minLength: 1, maxLength: 200, examples: ['frames,faults'] },
            description: `of ${streamTopics.join(', ')}, separated by commas; all by default`,
          }),
        ),
        after: place('the `next` of a message: the stream continues after it; by default it begins now'),
        tenant: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 128,
            description: 'frames, sessions and requests of this tenant alone',
          }),
        ),
      }),
      headers: Closed({
        [lastEventId]: place('the last id that the client received; it takes precedence over `after`'),
      }),
      responses: {
        200: { description: 'Messages without end', contentType: 'text/event-stream', schema: StreamMessage },
      },
      handle: async (_, { query, headers }) => {
        const topics = readTopics(query.topics);
        const after = headers[lastEventId] ?? query.after;
        const taken = places.take();
        return {
          status: 200,
          headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
          stream: (caller) =>
            new SandboxStream({
              ...{
                version,
                control,
                culpritsOf,
                timers,
                caller,
                requests,
                loads,
                place: taken,
                topics,
                tenant: query.tenant,
              },
              ...{ after: after === undefined ? undefined : placeOf(after) },
            }),
        };
      },
    }),
  ];
}

/** Throws ServiceError. */
function readTopics(text: string | undefined): readonly StreamTopic[] {
  if (text === undefined) return streamTopics;
  const topics = text.split(',');
  const isKnown = (topic: string): topic is StreamTopic => (streamTopics as readonly string[]).includes(topic);
  if (topics.every(isKnown)) return topics;
  const message = `takes ${streamTopics.join(', ')}, separated by commas`;
  throw new ServiceError('invalidRequest', 'the topics are not valid', {
    details: [{ field: 'topics', issue: 'not_allowed_value', message }],
  });
}

/** The coordinator is asked about sessions that went wrong alone, and once for each of their changes, for all pages. */
function rememberCulprits(sessions: SandboxSessions): (seen: SeenSession) => Promise<readonly number[]> {
  const known = new Map<string, { readonly frames: number; readonly culprits: Promise<readonly number[]> }>();
  return ({ tenant, session, frames, state, isNotable }) => {
    if (!isNotable) return Promise.resolve([]);
    const key = `${tenant}/${session}/${state}`;
    const before = known.get(key);
    if (before?.frames === frames) return before.culprits;
    const caller = { tenant, traceparent: '', requestId: '' };
    const culprits = sessions.inspect(caller, session).then(
      (found) => found.culprits,
      () => before?.culprits ?? [],
    );
    known.delete(key);
    known.set(key, { frames, culprits });
    if (known.size > rememberedMax) known.delete(known.keys().next().value!);
    return culprits;
  };
}
