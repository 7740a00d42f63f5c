import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemPorts } from '../../core/actors/live/ports.ts';
import { connectSigning, type SigningRoom } from '../../gateway/signing/connect.ts';
import {
  type CallOutcome,
  callDeadlineDefaultMs,
  callDeadlineMaxMs,
  type SigningCall,
} from '../../gateway/signing/signing-calls.ts';
import { CallReplySchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { InitiateDkgRequestSchema } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { FakeCoordinator, proof } from '../support/fake-coordinator.ts';
import { collectLog } from '../support/log.ts';
import { nowhere, unheededOrders } from '../support/orders.ts';

let coordinator: FakeCoordinator;
let room: SigningRoom;
let lines: ReturnType<typeof collectLog>['lines'];
beforeEach(() => {
  vi.useFakeTimers();
  coordinator = new FakeCoordinator();
  const collected = collectLog();
  lines = collected.lines;
  room = connectSigning({
    link: coordinator,
    orders: unheededOrders(),
    roster: nowhere,
    ...systemPorts,
    log: collected.log,
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const aCall = (leftMs?: number): SigningCall => ({
  request: { case: 'initiateDkg', value: create(InitiateDkgRequestSchema) },
  tenant: 'acme',
  correlationId: 'c',
  traceparent: '',
  ...(leftMs !== undefined && { deadlineMs: systemPorts.timers.elapsedMs() + leftMs }),
});

/** Starts a call; what it was answered stands in the list. */
function started(leftMs?: number): { answers: CallOutcome[]; cancel: () => void } {
  const answers: CallOutcome[] = [];
  const cancel = room.calls.start(aCall(leftMs), (outcome) => answers.push(outcome));
  return { answers, cancel };
}

describe('calls to the coordinator', () => {
  it('have ids of their own, and answers find their call in any order', async () => {
    coordinator.answer = () => 'silence';
    const first = started();
    const second = started();
    const [one, two] = coordinator.sent;
    expect(one?.call.callId).not.toBe(two?.call.callId);
    coordinator.reply(two!, { response: proof });
    expect([first.answers.length, second.answers.length]).toEqual([0, 1]);
    coordinator.reply(one!, { response: proof });
    expect([first.answers.length, second.answers.length]).toEqual([1, 1]);
  });

  it('are answered once: a repeated reply and a reply without a waiting call are dropped', () => {
    coordinator.answer = () => 'silence';
    const { answers } = started();
    coordinator.reply(coordinator.last, { response: proof });
    coordinator.reply(coordinator.last, { response: proof });
    room.calls.onReply(create(CallReplySchema, { callId: 999n }));
    expect(answers).toHaveLength(1);
  });

  it('may be answered within `send`', () => {
    const send = coordinator.send.bind(coordinator);
    coordinator.answer = () => 'silence';
    coordinator.send = (message, trace) => {
      const undelivered = send(message, trace);
      coordinator.reply(coordinator.last, { response: proof });
      return undelivered;
    };
    expect(started().answers[0]?.response).toBeDefined();
    expect(room.calls.inFlight).toBe(0);
  });

  it('answer 504 at their deadline, and drop what comes later', () => {
    coordinator.answer = () => 'silence';
    const { answers } = started(1_000);
    vi.advanceTimersByTime(999);
    expect(answers).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(answers[0]?.failure?.kind).toBe('deadlineExceeded');
    coordinator.reply(coordinator.last, { response: proof });
    expect(answers).toHaveLength(1);
  });

  it.each([0, -1, -1_000_000])('whose caller waits %d ms more are not sent', (leftMs) => {
    expect(started(leftMs).answers[0]?.failure?.kind).toBe('deadlineExceeded');
    expect(coordinator.sent).toEqual([]);
  });

  it.each([
    [undefined, callDeadlineDefaultMs],
    [Number.POSITIVE_INFINITY, callDeadlineDefaultMs],
    [8.64e15, callDeadlineMaxMs],
  ])('whose caller waits %d ms get %d ms', (leftMs, expectedMs) => {
    coordinator.answer = () => 'silence';
    const { answers } = started(leftMs);
    expect(coordinator.last.call.leftMs).toBe(expectedMs);
    vi.advanceTimersByTime(expectedMs);
    expect(answers[0]?.failure?.kind).toBe('deadlineExceeded');
  });

  it('are forgotten when cancelled', () => {
    coordinator.answer = () => 'silence';
    const { answers, cancel } = started();
    cancel();
    cancel();
    expect(room.calls.inFlight).toBe(0);
    vi.advanceTimersByTime(callDeadlineMaxMs);
    expect(answers).toEqual([]);
  });

  it('are forgotten when their signal aborts', () => {
    coordinator.answer = () => 'silence';
    const controller = new AbortController();
    void room.calls.call(aCall(), controller.signal);
    expect(room.calls.inFlight).toBe(1);
    controller.abort();
    expect(room.calls.inFlight).toBe(0);
  });

  it('are not harmed by a door that throws', () => {
    coordinator.answer = () => 'silence';
    room.calls.start(aCall(), () => {
      throw new Error('door');
    });
    const second = started();
    for (const sent of coordinator.sent) coordinator.reply(sent, { response: proof });
    expect(second.answers).toHaveLength(1);
    expect(lines).toMatchObject([{ level: 'error' }]);
  });

  it('are waited for when the gateway stops, but not for ever', async () => {
    coordinator.answer = () => 'silence';
    const { answers } = started();
    const stopped = room.calls.stop(5_000);
    const late = started();
    coordinator.reply(coordinator.sent[0]!, { response: proof });
    expect(answers[0]?.response).toBeDefined();
    await vi.advanceTimersByTimeAsync(5_000);
    await stopped;
    expect(late.answers[0]?.failure?.kind).toBe('unavailable');
    expect(started().answers[0]?.failure?.message).toBe('the gateway is stopping');
  });

  it('carry every order that their gateway gives, those of a deletion too', () => {
    const macs = (value: number) => new Uint8Array(16).fill(value);
    const made = {
      order: { sessionId: 'sig_1', expiresEpochMs: 1n, needsWitness: true, macs: macs(1) },
      witnessMacs: macs(2),
      deletionMacs: macs(3),
    };
    const ordering = connectSigning({ link: coordinator, orders: () => made, roster: nowhere, ...systemPorts });
    ordering.calls.start(aCall(), () => {});
    const { order, witnessMacs, deletionMacs } = coordinator.last.call;
    expect({ order, witnessMacs, deletionMacs }).toEqual(made);
  });

  it('are done before their time when nothing waits', async () => {
    coordinator.answer = () => 'silence';
    started();
    const stopped = room.calls.stop(5_000);
    coordinator.reply(coordinator.last, { response: proof });
    await stopped;
  });
});
