/** The messages of GET /v1/sandbox/stream: a `hello`, then a `batch` whenever there is news. Public values only. */
import Type, { type Static } from 'typebox';
import { streamTopics } from '../../scenarios/faults/stream.ts';
import { Closed, Nullable, OneOf } from '../api/schema-kit.ts';
import { EventView } from './event-schemas.ts';
import { FaultView } from './fault-schemas.ts';
import { IntendedLoad } from './load-routes.ts';
import { NodeView } from './node-routes.ts';
import { RequestLine } from './request-views.ts';

const count = Type.Integer({ minimum: 0 });
const LeftOut = Type.Optional(count);
const Topic = OneOf(streamTopics);
const next = Type.String({
  description: '`after` of the next request: the position after this message, also its `id`',
});
const lost = Type.Boolean({
  description: 'events between `after` and the first ones of this message are no longer retained',
});
const Ids = (description: string) => Type.Array(Type.Integer({ minimum: 1 }), { description });

/** A later message about the same tenant and session replaces it. */
const StreamSession = Closed(
  {
    tenant: Type.String(),
    session: Type.String(),
    kind: OneOf(['dkg', 'signing']),
    cluster: Type.Integer({ minimum: 1 }),
    state: OneOf(['open', 'completed', 'failed'], { description: '`open`: also while a caller has to continue it' }),
    reason_code: Nullable(Type.String({ description: 'of the last answer about it: docs/reason-codes.md' })),
    attempt: Type.Integer({ minimum: 0 }),
    nodes: Ids('nodes that took part'),
    culprits: Ids('nodes that it blames'),
    faults: Type.Array(Type.String(), { description: 'ids of the faults that touched its frames' }),
    frames: Type.Integer({ minimum: 0, description: 'frames seen so far' }),
    began_ms: Type.Number({ description: 'its first frame, as `at_ms` of events' }),
    last_ms: Type.Number({ description: 'its last frame' }),
    retained: OneOf(['all', 'some'], {
      description: 'of its frames, as `GET /v1/sandbox/recording?session=…` gives them',
    }),
  },
  { title: 'SandboxStreamSession' },
);

export const StreamHello = Closed(
  {
    kind: Type.Literal('hello'),
    world: OneOf(['process', 'embedded'], { description: 'a cluster of processes, or a service in one process' }),
    version: Type.String({ description: 'of the service' }),
    began_at: Nullable(Type.String({ format: 'date-time', description: 'when the recording began: `at_ms` 0' })),
    clusters: Type.Array(
      Closed({
        number: Type.Integer({ minimum: 1 }),
        threshold: Type.Integer({ minimum: 1, description: 'the default one of a key' }),
        nodes: Type.Integer({ minimum: 1 }),
      }),
    ),
    processes: Type.Array(NodeView, { description: 'as `GET /v1/sandbox/nodes` lists them' }),
    faults: Type.Array(FaultView, { description: 'as `GET /v1/sandbox/faults` lists them' }),
    sessions: Type.Array(StreamSession, { description: 'the newest ones, oldest first' }),
    requests: Type.Array(RequestLine, { description: 'the last ones that fit, oldest first' }),
    missing: Type.Array(Closed({ topic: Topic, why: Type.String({ description: 'in one line' }) }), {
      description: 'topics that this world cannot show',
    }),
    lost,
    next,
  },
  { title: 'SandboxStreamHello' },
);

export const StreamFigures = Closed(
  {
    over_ms: Type.Number({ description: 'the time that they cover, up to now' }),
    frames: count,
    bytes: Type.Integer({ minimum: 0, description: 'of the frames' }),
    began: Type.Integer({ minimum: 0, description: 'sessions that began' }),
    completed: count,
    failed: count,
    p50_ms: Nullable(
      Type.Number({ description: 'from the first to the last frame of the completed sessions; null: none' }),
    ),
    p99_ms: Nullable(Type.Number()),
    requests: Nullable(
      Closed({
        answered: count,
        refused: Type.Array(Closed({ code: Type.String({ description: '`error.code`' }), count })),
        p50_ms: Nullable(Type.Number({ description: 'of those that the gateway still keeps; null: none' })),
        p99_ms: Nullable(Type.Number()),
      }),
      { description: 'of this gateway, without what pages read; null: it keeps none' },
    ),
    load: Nullable(IntendedLoad, { description: 'what a generator intends now; null: none runs' }),
    processes: Type.Array(
      Closed({
        processes: Type.Array(Type.String(), { description: 'all names in one process of the system' }),
        cpu: Nullable(Type.Number({ description: 'of one core, 1 is all of it; null: not known' })),
        resident_bytes: Nullable(Type.Integer({ minimum: 0 })),
      }),
    ),
  },
  { title: 'SandboxFigures' },
);

export const StreamBatch = Closed(
  {
    kind: Type.Literal('batch'),
    events: Type.Array(EventView, { description: 'oldest first' }),
    positions: Type.Array(count, { description: 'of each event, in the same order' }),
    sessions: Type.Optional(Type.Array(StreamSession, { description: 'those that changed' })),
    processes: Type.Optional(Type.Array(NodeView, { description: 'all, when one changed' })),
    faults: Type.Optional(Type.Array(FaultView, { description: 'all, when one changed' })),
    requests: Type.Optional(
      Type.Array(RequestLine, {
        description: 'of this gateway, oldest first; `GET /v1/sandbox/requests/:id` has the rest of the caller’s own',
      }),
    ),
    figures: Type.Optional(StreamFigures),
    left_out: Closed(
      {
        frames: LeftOut,
        processes: LeftOut,
        faults: LeftOut,
        sessions: LeftOut,
        deliveries: LeftOut,
        requests: LeftOut,
      },
      { description: 'events and sessions that did not fit, by topic' },
    ),
    lost,
    next,
  },
  { title: 'SandboxStreamBatch' },
);

export const StreamMessage = Type.Union([StreamHello, StreamBatch], {
  title: 'SandboxStreamMessage',
  description: 'the `data` of a server-sent event, whose name is its `kind`',
});

export type StreamSessionValue = Static<typeof StreamSession>;
export type StreamHelloValue = Static<typeof StreamHello>;
export type StreamFiguresValue = Static<typeof StreamFigures>;
export type StreamBatchValue = Static<typeof StreamBatch>;
