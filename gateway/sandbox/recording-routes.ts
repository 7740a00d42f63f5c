/** /v1/sandbox/recording: what the fault injector saw; and how a receiver of webhooks shall behave now. */
import Type from 'typebox';
import { timestamp } from '../../proto/timestamps.ts';
import { runEventJson } from '../../scenarios/faults/recording-json.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Nullable, WholeNumberText } from '../api/schema-kit.ts';
import { ask } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { EventView } from './event-schemas.ts';
import { common } from './shared.ts';

const eventsMax = 10_000;
const eventsDefault = 1_000;

const RecordingView = Closed(
  {
    events: Type.Array(EventView, { description: 'oldest first' }),
    positions: Type.Array(Type.Integer({ minimum: 0 }), { description: 'of each event, in the same order' }),
    next: Type.Integer({ minimum: 0, description: '`after` of the next request' }),
    lost: Type.Boolean({ description: 'events after `after`, or frames of the session, are no longer retained' }),
    began_at: Type.String({ format: 'date-time', description: 'when the recording began: `at_ms` 0' }),
  },
  { title: 'SandboxRecording' },
);

const ReceiverView = Closed(
  {
    status: Nullable(Type.Integer({ description: 'answer with this status; null: normal' })),
    slow_ms: Nullable(Type.Integer({ description: 'wait this long before the answer; null: do not wait' })),
    reset: Type.Boolean({ description: 'cut the connection instead' }),
  },
  { title: 'SandboxReceiver' },
);

export function recordingRoutes({ control }: Pick<SandboxDeps, 'control'>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/recording',
      operationId: 'readSandboxRecording',
      clientName: 'sandbox.recording',
      summary: 'Read what the fault injector saw, of all tenants',
      query: Closed({
        after: Type.Optional(
          WholeNumberText(
            '^(0|[1-9][0-9]{0,14})$',
            0,
            999_999_999_999_999,
            'a position: `next` of the previous request; 0 by default, the beginning',
          ),
        ),
        limit: Type.Optional(
          WholeNumberText(
            '^([1-9][0-9]{0,3}|10000)$',
            1,
            eventsMax,
            `events, 1 to ${eventsMax}; ${eventsDefault} by default`,
          ),
        ),
        session: Type.Optional(
          Type.String({
            ...{ minLength: 1, maxLength: 128 },
            description:
              'the frames of this session alone, all of them, which are retained for longer: without `after` and `limit`',
          }),
        ),
        tenant: Type.Optional(
          Type.String({ minLength: 1, maxLength: 128, description: 'whose session it is; the caller’s by default' }),
        ),
      }),
      responses: { 200: { description: 'Events', schema: RecordingView } },
      handle: async (context, { query: { after = '0', limit, session, tenant = context.tenant } }) => {
        const takes = { after: Number(after), limit: Number(limit ?? eventsDefault) };
        const { events, positions, next, lost, beganMs } =
          session === undefined
            ? await ask(control, 'recording.read', takes)
            : await ask(control, 'recording.session', { tenant, session });
        const body = { events: events.map(runEventJson), positions, next, lost, began_at: timestamp(beganMs) };
        return { status: 200, body };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/receiver',
      operationId: 'getSandboxReceiver',
      clientName: 'sandbox.receiver',
      summary: 'Read how your own webhook receiver should behave now, by the armed faults',
      description: 'For receivers of scenarios and tests, which read it before they answer a delivery.',
      responses: { 200: { description: 'Its behaviour', schema: ReceiverView } },
      handle: async () => {
        const { behaviour } = await ask(control, 'receiver.get', {});
        const { status = null, slowMs = null, reset = false } = behaviour ?? {};
        return { status: 200, body: { status, slow_ms: slowMs, reset } };
      },
    }),
  ];
}
