/** /v1/sandbox/recording: what the fault injector saw; and how a receiver of webhooks shall behave now. */
import Type from 'typebox';
import { runEventJson } from '../../scenarios/faults/recording-json.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, Nullable, WholeNumberText } from '../api/schema-kit.ts';
import { ask } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { EventView } from './event-schemas.ts';
import { common, isoTime } from './shared.ts';

const eventsMax = 10_000;
const eventsDefault = 1_000;

const RecordingView = Closed(
  {
    events: Type.Array(EventView, { description: 'oldest first' }),
    next: Type.Integer({ minimum: 0, description: '`after` of the next request' }),
    lost: Type.Boolean({ description: 'events after `after` are no longer retained' }),
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
      }),
      responses: { 200: { description: 'Events', schema: RecordingView } },
      handle: async (_, { query: { after = '0', limit } }) => {
        const takes = { after: Number(after), limit: Number(limit ?? eventsDefault) };
        const { events, next, lost, beganMs } = await ask(control, 'recording.read', takes);
        return { status: 200, body: { events: events.map(runEventJson), next, lost, began_at: isoTime(beganMs) } };
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
