/** Frames by session: the newest whole, those that matter for longer, within a size; and what an answer says of its session. */
import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DiagnosticReceiptSchema, ReceiptState } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { encodeFrame, type WireBody } from '../../../proto/wire.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { scanFrames } from '../../../scenarios/injection/frame-scan.ts';
import { FrameRecorder } from '../../../scenarios/injection/recorder.ts';
import { Recording } from '../../../scenarios/injection/recording.ts';
import type { BookLimits } from '../../../scenarios/injection/session-book.ts';

type Frame = Extract<RunEvent, { kind: 'frame' }>;

function frame(session: string, more: Partial<Frame> = {}): Frame {
  return {
    ...{ kind: 'frame', atMs: 1, arrivesMs: [1], from: 'coordinator', to: 'node/1', point: 'partial_request' },
    ...{ tenant: 't', session, attempt: 1, bytes: 10, text: '', faults: [] },
    ...more,
  };
}

function recordingOf(limits: Partial<BookLimits>): Recording {
  return new Recording(10, limits);
}

const retained = (recording: Recording) => [...recording.sessions.all()].map(({ session }) => session).sort();

describe('frames of sessions', () => {
  test('stay for the newest sessions, and for those that met a fault, began another attempt or were refused', () => {
    const recording = recordingOf({ newestMax: 3 });
    recording.add(frame('hit', { faults: ['flt_1'] }));
    recording.add(frame('again'));
    recording.add(frame('again', { attempt: 2 }));
    recording.add(frame('refused', { point: 'dkg_refused', from: 'node/2' }));
    for (let count = 0; count < 50; count += 1) recording.add(frame(`plain-${count}`));
    expect(retained(recording)).toEqual(['again', 'hit', 'plain-47', 'plain-48', 'plain-49', 'refused']);
    expect(recording.ofSession('t', 'again')).toMatchObject({ positions: [1, 2], lost: false });
    expect(recording.ofSession('t', 'plain-0')).toMatchObject({ events: [], lost: true });
    expect(recording.ofSession('another', 'again').events).toEqual([]);
  });

  test('are the same of those that matter, asked for at any time or only at the end', () => {
    const step = fc.record({
      session: fc.integer({ min: 0, max: 400 }),
      faulty: fc.integer({ min: 0, max: 60 }),
      isRead: fc.integer({ min: 0, max: 40 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 100, maxLength: 400 }), (steps) => {
        const [asked, unasked] = [new Recording(100), new Recording(100)];
        for (const { session, faulty, isRead } of steps) {
          // Sessions come and go: each for a while.
          const one = frame(`s_${session}`, faulty === 0 ? { faults: ['flt_1'] } : {});
          asked.add(one);
          unasked.add(one);
          if (isRead === 0) expect(asked.sessions.totals(0).frames).toBe(asked.end);
        }
        const notable = (recording: Recording) =>
          [...recording.sessions.all()].filter(({ isNotable }) => isNotable).map(({ session }) => session);
        expect(notable(unasked).sort()).toEqual(notable(asked).sort());
        expect(unasked.sessions.totals(0).frames).toBe(steps.length);
        const newest = steps.at(-1)!.session;
        expect(unasked.ofSession('t', `s_${newest}`).events.at(-1)).toEqual(
          asked.ofSession('t', `s_${newest}`).events.at(-1),
        );
      }),
      { numRuns: 50 },
    );
  });

  test('stay of so many that matter, the oldest goes first', () => {
    const recording = recordingOf({ newestMax: 1, notableMax: 2 });
    for (const session of ['a', 'b', 'c']) recording.add(frame(session, { faults: ['f'] }));
    expect(retained(recording)).toEqual(['b', 'c']);
  });

  test('stay within a size: plain sessions go before those that matter', () => {
    const recording = recordingOf({ bytesMax: 4_000 });
    recording.add(frame('matters', { faults: ['f'] }));
    for (let count = 0; count < 1_000; count += 1) {
      recording.add(frame(`plain-${count}`));
      // Read in between, it takes each into its book; else the last ones alone.
      if (count % 7 === 0) retained(recording);
    }
    expect(retained(recording).length).toBeLessThan(12);
    expect(retained(recording).length).toBeGreaterThan(5);
    expect(retained(recording)).toContain('matters');
    expect(retained(recording)).toContain('plain-999');
  });

  test('of one session are counted beyond its limit, which says so', () => {
    const recording = recordingOf({ framesMax: 5 });
    for (let count = 0; count < 9; count += 1) recording.add(frame('long'));
    expect(recording.ofSession('t', 'long')).toMatchObject({ positions: [0, 1, 2, 3, 4], lost: true });
  });
});

describe('the answer to a call', () => {
  const reply = (sessionId: string, state: ReceiptState, reasonCode: string): WireBody => {
    const receipt = create(DiagnosticReceiptSchema, {
      ...{ receiptId: 'rcp_1', sessionId, state, reasonCode, message: 'in words', correlationId: 'c', epoch: 7n },
    });
    return {
      case: 'callReply',
      value: {
        callId: 3n,
        outcome: {
          case: 'submitSignatureShare',
          value: { isComplete: false, fullSignature: Buffer.alloc(64), receipt },
        },
      },
    } as unknown as WireBody;
  };

  const told = (recorder: FrameRecorder, body: WireBody, how: 'passed' | 'evaluated' = 'passed') => {
    const envelope = {
      ...{ from: 'coordinator', to: 'gateway/x', trace: { correlationId: 'c', traceparent: '' } },
      message: { tenant: 't', session: '', attempt: 0, body },
    };
    const bytes = Buffer.from(encodeFrame(envelope));
    const head = scanFrames(bytes)![0]!;
    if (how === 'passed') recorder.passed(head, bytes);
    else recorder.evaluated(head, envelope, { arrivals: [], orders: [], faults: [] });
  };

  test.each([
    ...(['BACKEND_FAILED', 'EXPIRED', 'REVOKED'] as const).map((state) => [state, 'failed'] as const),
    ...(['ACCEPTED', 'RESUMED', 'PENDING_HUMAN_APPROVAL', 'DENIED', 'REPLAY_REJECTED'] as const).map(
      (state) => [state, 'open'] as const,
    ),
    ['BACKEND_COMPLETED', 'completed'],
  ] as const)('%s: its session is %s', (state, expected) => {
    const recorder = new FrameRecorder(recordingOf({}));
    recorder.recording.add(frame('sig_1'));
    told(recorder, reply('sig_1', ReceiptState[state], 'WHY'));
    expect(recorder.recording.sessions.find('t', 'sig_1')?.state).toBe(expected);
  });

  test.each(['passed', 'evaluated'] as const)('that %s says how its session stands', (how) => {
    const recorder = new FrameRecorder(recordingOf({ newestMax: 2 }));
    const { recording } = recorder;
    recording.add(frame('sig_1'));
    told(recorder, reply('sig_1', ReceiptState.DENIED, 'DUPLICATE_SHARE'), how);
    expect(recording.sessions.find('t', 'sig_1')).toMatchObject({ state: 'open', reasonCode: 'DUPLICATE_SHARE' });
    told(recorder, reply('sig_1', ReceiptState.BACKEND_FAILED, 'NODES_UNAVAILABLE'), how);
    expect(recording.sessions.find('t', 'sig_1')).toMatchObject({ state: 'failed', reasonCode: 'NODES_UNAVAILABLE' });
    recording.add(frame('sig_2'));
    told(recorder, reply('sig_2', ReceiptState.BACKEND_COMPLETED, 'SIGNATURE_COMPLETED'), how);
    for (const session of ['sig_3', 'sig_4', 'sig_5']) recording.add(frame(session));
    // The one that failed is still there.
    expect(retained(recording)).toEqual(['sig_1', 'sig_4', 'sig_5']);
    expect(recording.sessions.totals(0)).toMatchObject({ began: 5, completed: 1, failed: 1 });
  });
});
