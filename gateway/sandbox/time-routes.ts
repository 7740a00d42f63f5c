/** /v1/sandbox/clock, /v1/sandbox/snapshots and /v1/sandbox/reset: advances the clock, restores a snapshot, resets. */
import Type from 'typebox';
import { timestamp } from '../../proto/timestamps.ts';
import type { ControlGives, SnapshotStatus } from '../../scenarios/faults/control.ts';
import { invalidFields } from '../api/errors/invalid-fields.ts';
import type { ServiceError } from '../api/errors/service-error.ts';
import { type Route, route } from '../api/route.ts';
import { Closed, ListOf, Name, PathId, Timestamp } from '../api/schema-kit.ts';
import { act, ask } from './control.ts';
import type { SandboxDeps } from './deps.ts';
import { common, wholeList } from './shared.ts';

/** A year. */
const advanceMaxMs = 365 * 86_400_000;

const Clock = Closed(
  {
    offset_ms: Type.Integer({ description: 'the sandbox’s clock, beyond the machine’s' }),
    now: Timestamp,
  },
  { title: 'SandboxClock' },
);

const AdvanceBody = Closed(
  {
    advance_ms: Type.Optional(
      Type.Integer({ minimum: 1, maximum: advanceMaxMs, description: 'milliseconds; this or `advance_s`' }),
    ),
    advance_s: Type.Optional(
      Type.Integer({ minimum: 1, maximum: advanceMaxMs / 1_000, description: 'seconds; this or `advance_ms`' }),
    ),
  },
  { minProperties: 1, description: 'an object with `advance_ms` or `advance_s`' },
);

const SnapshotView = Closed(
  {
    id: Type.String(),
    name: Type.String(),
    taken_at: Timestamp,
    bytes: Type.Integer({ minimum: 0 }),
  },
  { title: 'SandboxSnapshot' },
);

const tookMs = Type.Number({ minimum: 0, description: 'milliseconds that it took' });
const params = Closed({ id: PathId('snapshot id') });

export function timeRoutes({ control }: Pick<SandboxDeps, 'control'>): readonly Route[] {
  return [
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/clock',
      operationId: 'getSandboxClock',
      clientName: 'sandbox.clock',
      summary: 'Read the sandbox’s clock',
      responses: { 200: { description: 'The clock', schema: Clock } },
      handle: async () => ({ status: 200, body: clockView(await ask(control, 'clock.get', {})) }),
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/clock',
      operationId: 'advanceSandboxClock',
      clientName: 'sandbox.advanceClock',
      example: { advance_s: 60 },
      summary: 'Advance every process’s clock, so that expiry needs no waiting',
      description: 'It never goes back, except by a reset. A repeated call advances it again.',
      body: AdvanceBody,
      responses: { 200: { description: 'The clock afterwards', schema: Clock } },
      handle: async (context, { body }) => {
        const { advance_ms: ms, advance_s: s } = body;
        if (ms !== undefined && s !== undefined) throw bothGiven();
        const byMs = ms ?? (s ?? 0) * 1_000;
        return { status: 200, body: clockView(await act(context, control, 'clock.advance', { byMs })) };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/snapshots',
      operationId: 'takeSandboxSnapshot',
      clientName: 'sandbox.takeSnapshot',
      example: { name: 'before-the-test' },
      summary: 'Take a snapshot of everything that is stored: Redis and the nodes’ stores',
      body: Closed({ name: Type.Optional(Name) }),
      bodyOptional: true,
      responses: { 201: { description: 'The snapshot', schema: SnapshotView } },
      handle: async (context, { body }) => {
        const { snapshot } = await act(context, control, 'snapshots.take', { name: body.name ?? '' });
        return { status: 201, body: snapshotView(snapshot) };
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/sandbox/snapshots',
      operationId: 'listSandboxSnapshots',
      clientName: 'sandbox.snapshots',
      summary: 'List the snapshots',
      description: 'Lists all of them in one page.',
      responses: { 200: { description: 'Every snapshot', schema: ListOf('snapshots', SnapshotView) } },
      handle: async () => {
        const { snapshots } = await ask(control, 'snapshots.list', {});
        return { status: 200, body: wholeList('snapshots', snapshots.map(snapshotView)) };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/snapshots/:id/restore',
      operationId: 'restoreSandboxSnapshot',
      clientName: 'sandbox.restoreSnapshot',
      summary: 'Go back to a snapshot',
      description:
        'Requests under way fail, event streams end, all nonces are void. A follower of events begins anew: the log ' +
        'is shorter than it was.',
      params,
      responses: {
        200: { description: 'It is as it was', schema: Closed({ snapshot: SnapshotView, took_ms: tookMs }) },
      },
      handle: async (context, { params: { id } }) => {
        const gives = await act(context, control, 'snapshots.restore', { id });
        return { status: 200, body: { snapshot: snapshotView(gives.snapshot), took_ms: gives.tookMs } };
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      path: '/v1/sandbox/snapshots/:id',
      operationId: 'deleteSandboxSnapshot',
      clientName: 'sandbox.deleteSnapshot',
      summary: 'Remove a snapshot',
      params,
      responses: { 204: { description: 'It is gone' } },
      handle: async (context, { params: { id } }) => {
        await act(context, control, 'snapshots.delete', { id });
        return { status: 204 };
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/sandbox/reset',
      operationId: 'resetSandbox',
      clientName: 'sandbox.reset',
      summary: 'Start afresh: no faults, no data but access tokens, the right time',
      responses: { 200: { description: 'It is as after the first start', schema: Closed({ took_ms: tookMs }) } },
      handle: async (context) => {
        const gives = await act(context, control, 'reset', {});
        return { status: 200, body: { took_ms: gives.tookMs } };
      },
    }),
  ];
}

function clockView({ offsetMs, nowMs }: ControlGives<'clock.get'>) {
  return { offset_ms: offsetMs, now: timestamp(nowMs) };
}

function snapshotView({ id, name, takenMs, bytes }: SnapshotStatus) {
  return { id, name, taken_at: timestamp(takenMs), bytes };
}

function bothGiven(): ServiceError {
  return invalidFields([
    { field: 'advance_s', issue: 'duplicate_field', message: 'takes advance_ms or advance_s, not both' },
  ]);
}
