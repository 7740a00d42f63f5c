/** The ring of what was seen: bounded, positions for ever, gaps told. */
import { describe, expect, test } from 'vitest';
import { encodeFrame } from '../../../proto/wire.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { scanFrames } from '../../../scenarios/injection/frame-scan.ts';
import { FrameRecorder } from '../../../scenarios/injection/recorder.ts';
import { Recording } from '../../../scenarios/injection/recording.ts';

function frame(atMs: number, session: string, tenant = 't'): RunEvent {
  return {
    ...{ kind: 'frame', atMs, arrivesMs: [atMs], from: 'coordinator', to: 'node/1', point: 'partial_request' },
    ...{ tenant, session, attempt: 1, bytes: 10, text: '', faults: [] },
  } as RunEvent;
}

const times = (events: readonly RunEvent[]) => events.map(({ atMs }) => atMs);

describe('the recording', () => {
  test('is read on from where one was, in pieces', () => {
    const recording = new Recording(10);
    for (let at = 0; at < 6; at += 1) recording.add(frame(at, 's'));
    const first = recording.read(0, 4);
    expect(times(first.events)).toEqual([0, 1, 2, 3]);
    const second = recording.read(first.next, 4);
    expect(times(second.events)).toEqual([4, 5]);
    expect(second).toMatchObject({ positions: [4, 5], next: 6, lost: false });
    expect(recording.read(6, 4)).toEqual({ events: [], positions: [], next: 6, lost: false });
    // A position of an earlier life of the injector.
    expect(recording.read(1_000, 4)).toEqual({ events: [], positions: [], next: 6, lost: false });
  });

  test('drops the oldest, and says so to readers that had not read them', () => {
    const recording = new Recording(10);
    for (let at = 0; at < 25; at += 1) recording.add(frame(at, 's'));
    const read = recording.read(3, 100);
    expect(times(read.events)).toEqual([15, 16, 17, 18, 19, 20, 21, 22, 23, 24]);
    expect(read).toMatchObject({ next: 25, lost: true });
    expect(recording.read(15, 100).lost).toBe(false);
  });

  test('gives a session’s newest frames, and says when there were more', () => {
    const recording = new Recording(10);
    for (let at = 0; at < 9; at += 1) recording.add(frame(at, at % 2 === 0 ? 'even' : 'odd'));
    recording.add(frame(9, 'even', 'another tenant'));
    expect(recording.transcript('t', 'even', 10)).toMatchObject({ truncated: false });
    expect(times(recording.transcript('t', 'even', 10).frames)).toEqual([0, 2, 4, 6, 8]);
    expect(times(recording.transcript('t', 'even', 2).frames)).toEqual([6, 8]);
    expect(recording.transcript('t', 'even', 2).truncated).toBe(true);
    expect(recording.transcript('t', 'unknown', 10)).toEqual({ frames: [], truncated: false });
    // Its frames stay when the ring has passed them.
    for (let at = 10; at < 30; at += 1) recording.add(frame(at, 'odd'));
    expect(recording.transcript('t', 'even', 10)).toMatchObject({ truncated: false });
    expect(times(recording.transcript('t', 'even', 10).frames)).toEqual([0, 2, 4, 6, 8]);
  });

  test('holds what a frame says in public words, and none of its secrets', () => {
    const recorder = new FrameRecorder(new Recording(1_000));
    const secret = new Uint8Array(32).fill(0x5a);
    const bytes = Buffer.from(
      encodeFrame({
        from: 'node/1',
        to: 'signing/t/s',
        message: {
          ...{ tenant: 't', session: 's', attempt: 1 },
          body: { case: 'partialReply', value: { nodeId: 1, outcome: { case: 'partial', value: secret } } },
        },
        trace: { correlationId: 'c', traceparent: '' },
      }),
    );
    const [head] = scanFrames(bytes) ?? [];
    for (let count = 0; count < 600; count += 1) recorder.passed(head!, bytes);
    const { events } = recorder.recording.read(0, 1_000);
    expect(events).toHaveLength(600);
    expect(events[0]).toMatchObject({ kind: 'frame', point: 'partial_reply', text: 'partial of node 1', faults: [] });
    // In a flood only the kind of the frame is said.
    expect(new Set(events.map((event) => (event.kind === 'frame' ? event.text : '')))).toEqual(
      new Set(['partial of node 1', 'a partial signature, or why there is none']),
    );
    expect(JSON.stringify(events)).not.toContain('ZZZZ');
  });
});
