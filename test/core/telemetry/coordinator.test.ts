/** What the coordinator measures of the envelopes that pass it, and in which trace they go on. */
import { describe, expect, test } from 'vitest';
import { CoordinatorTelemetry } from '../../../coordinator/telemetry.ts';
import type { Envelope } from '../../../core/actors/contract.ts';
import { systemTimers } from '../../../core/actors/live/ports.ts';
import type { WireMessage } from '../../../proto/wire.ts';
import { recordingMetrics, recordingTracer } from '../../support/telemetry.ts';

const client = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

function setUp() {
  let elapsedMs = 0;
  const tracer = recordingTracer();
  const metrics = recordingMetrics();
  const timers = { ...systemTimers, elapsedMs: () => elapsedMs, start: () => () => undefined };
  const seen = new CoordinatorTelemetry({ metrics, tracer, isOn: true }, timers);
  const pass = (ms: number) => {
    elapsedMs += ms;
  };
  return { seen, tracer, metrics, pass };
}

function frame(from: string, to: string, body: object, traceparent = client): Envelope<WireMessage> {
  const message = { tenant: 't', session: from.startsWith('gateway') ? '' : 's', attempt: 1, body } as WireMessage;
  return { from, to, message, trace: { correlationId: '', traceparent } };
}
const call = frame('gateway/a', 'coordinator', {
  case: 'call',
  value: { callId: 7n, request: { case: 'submitSignatureShare', value: {} } },
});
const reply = (traceparent: string, outcome = 'submitSignatureShare') => ({
  ...frame(
    'coordinator',
    'gateway/a',
    {
      case: 'callReply',
      value: { callId: 7n, outcome: { case: outcome, value: { receipt: { sessionId: 's' } } } },
    },
    traceparent,
  ),
});
const ask = (node: number, traceparent: string) =>
  frame('signing/t/s', `node/${node}`, { case: 'partialRequest', value: {} }, traceparent);
const answer = (node: number, traceparent: string) =>
  frame(`node/${node}`, 'signing/t/s', { case: 'partialReply', value: {} }, traceparent);

describe('a call and its round', () => {
  test('are spans of the caller’s trace, one below the other; what answers bring about belongs to the call again', () => {
    const { seen, tracer, metrics, pass } = setUp();
    const within = seen.received(call).trace.traceparent;
    const asked = [1, 2].map((node) => seen.sending(ask(node, within)).trace.traceparent);
    expect(new Set(asked).size).toBe(1);
    pass(3);
    expect(seen.received(answer(1, asked[0]!)).trace.traceparent).toBe(within);
    pass(4);
    expect(seen.received(answer(2, asked[0]!)).trace.traceparent).toBe(within);
    pass(2);
    expect(seen.sending(reply(within)).trace.traceparent).toBe(within);
    const [outer, round] = tracer.spans;
    expect(tracer.spans).toHaveLength(2);
    expect(outer).toMatchObject({ name: 'submitSignatureShare', kind: 'server', parent: client, ended: true });
    expect(outer!.error).toBeUndefined();
    expect(round).toMatchObject({ name: 'round partialRequest', parent: outer!.traceparent, ended: true });
    expect(round!.attributes).toMatchObject({ 'signmesh.nodes_asked': 2, 'signmesh.nodes_answered': 2 });
    const durations = metrics.seen.filter(({ name }) => name.endsWith('_seconds'));
    expect(durations).toEqual([
      { name: 'signmesh_round_duration_seconds', labels: { round: 'partialRequest' }, value: 0.007 },
      {
        name: 'signmesh_coordinator_call_duration_seconds',
        labels: { call: 'submitSignatureShare', outcome: 'answered' },
        value: 0.009,
      },
    ]);
  });

  test('a silent node leaves the round open until the session answers, and the span says so', () => {
    const { seen, tracer } = setUp();
    const within = seen.received(call).trace.traceparent;
    const [asked] = [1, 2].map((node) => seen.sending(ask(node, within)).trace.traceparent);
    seen.received(answer(1, asked!));
    expect(tracer.spans[1]!.ended).toBe(false);
    seen.sending(reply(within, 'error'));
    expect(tracer.spans[1]).toMatchObject({ ended: true, error: 'nodes_silent' });
    expect(tracer.spans[0]).toMatchObject({ ended: true, error: 'call_error' });
  });

  test('another attempt is another round; an answer of the earlier one is none of it', () => {
    const { seen, tracer } = setUp();
    const within = seen.received(call).trace.traceparent;
    seen.sending(ask(1, within));
    const second = { ...ask(2, within), message: { ...ask(2, within).message, attempt: 2 } };
    seen.sending(second);
    seen.received(answer(1, within));
    expect(tracer.spans.map(({ name, ended }) => [name, ended])).toEqual([
      ['submitSignatureShare', false],
      ['round partialRequest', true],
      ['round partialRequest', false],
    ]);
  });

  test('nonces that nodes deal ahead are no round', () => {
    const { seen, tracer, metrics } = setUp();
    const dealt = frame('cluster', 'node/1', { case: 'dealNonces', value: {} });
    const about = { ...dealt, message: { ...dealt.message, session: '' } };
    expect(seen.sending(about)).toBe(about);
    expect(tracer.spans).toEqual([]);
    expect(metrics.seen).toEqual([
      { name: 'signmesh_frames_total', labels: { direction: 'out', message: 'dealNonces' }, value: 1 },
    ]);
  });
});

test('writes of the store are timed with their outcome, and durable changes are counted by their event', async () => {
  const { seen, metrics, pass } = setUp();
  const event = { type: 'signing.session.completed' };
  const write = { kind: 'update', session: { reasonCode: 'SIGNATURE_COMPLETED' }, event } as never;
  const outcomes = [
    () => Promise.resolve({ kind: 'written' as const }),
    () => Promise.resolve({ kind: 'conflict' as const, code: 'FENCED', current: undefined }),
    () => Promise.reject(new Error('gone')),
  ];
  for (const outcome of outcomes) {
    const store = seen.store({ load: () => Promise.resolve(undefined), write: outcome });
    const written = store.write(write);
    pass(2);
    await written.catch(() => undefined);
  }
  expect(metrics.seen.map(({ name, labels }) => [name, labels])).toEqual([
    ['signmesh_session_store_write_duration_seconds', { write: 'update', outcome: 'written' }],
    ['signmesh_session_changes_total', { type: 'signing.session.completed', reason_code: 'SIGNATURE_COMPLETED' }],
    ['signmesh_session_store_write_duration_seconds', { write: 'update', outcome: 'conflict' }],
    ['signmesh_session_store_write_duration_seconds', { write: 'update', outcome: 'unavailable' }],
  ]);
});
