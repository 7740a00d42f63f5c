/** The shallow look at frames says what the whole decoding says, and nothing of what is no frame. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeFrames, encodeFrame, type WireEnvelope, WireError } from '../../../proto/wire.ts';
import { pointOf } from '../../../scenarios/faults/vocabulary/trigger-points.ts';
import { damaged } from '../../../scenarios/injection/damage.ts';
import { scanFrames } from '../../../scenarios/injection/frame-scan.ts';

const ascii = fc.string({ maxLength: 200 });
const envelope: fc.Arbitrary<WireEnvelope> = fc.record({
  from: ascii,
  to: ascii,
  message: fc.record({
    tenant: ascii,
    session: ascii,
    attempt: fc.nat(),
    body: fc.constantFrom<WireEnvelope['message']['body']>(
      { case: 'dkgDiscard', value: {} },
      { case: 'dealNonces', value: { count: 3 } },
      { case: 'callReply', value: { callId: 7n } },
    ),
  }),
  trace: fc.record({ correlationId: ascii, traceparent: ascii }),
});

describe('the scan of a message', () => {
  test('agrees with its decoding', () => {
    fc.assert(
      fc.property(fc.array(envelope, { maxLength: 5 }), (envelopes) => {
        const bytes = Buffer.concat(envelopes.map(encodeFrame));
        const heads = scanFrames(bytes);
        expect(heads?.map(({ begin: _, end: __, ...head }) => head)).toEqual(
          envelopes.map(({ from, to, message: { tenant, session, attempt, body } }) => ({
            ...{ from, to, tenant, session, attempt },
            point: pointOf(body.case),
          })),
        );
        for (const [index, head] of (heads ?? []).entries()) {
          expect(bytes.subarray(head.begin, head.end)).toEqual(Buffer.from(encodeFrame(envelopes[index]!)));
        }
      }),
    );
  });

  test('takes a message that is cut anywhere in its last frame for none', () => {
    const message = {
      tenant: 't',
      session: 's',
      attempt: 300,
      body: { case: 'dealNonces', value: { count: 3 } },
    } as const;
    const trace = { correlationId: 'c', traceparent: '' };
    const frame = Buffer.from(encodeFrame({ from: 'coordinator', to: 'node/1', message, trace }));
    const both = Buffer.concat([frame, frame]);
    for (let end = frame.length + 1; end < both.length; end += 1) {
      expect(scanFrames(both.subarray(0, end)), `${end}`).toBeUndefined();
    }
    // A frame that is shorter than what its fields say.
    for (let length = 1; length < frame.length - 1; length += 1) {
      const short = Buffer.concat([Buffer.from([length]), frame.subarray(1, 1 + length)]);
      const whole = scanFrames(short);
      if (whole !== undefined) expect(() => decodeFrames(short)).not.toThrow();
    }
    expect(scanFrames(both)).toHaveLength(2);
  });

  test('passes over fields of a later version, whatever their wire type', () => {
    const message = {
      tenant: 't',
      session: 's',
      attempt: 1,
      body: { case: 'dealNonces', value: { count: 3 } },
    } as const;
    const trace = { correlationId: 'c', traceparent: '' };
    const frame = Buffer.from(encodeFrame({ from: 'coordinator', to: 'node/1', message, trace }));
    const [head] = scanFrames(frame)!;
    // Fields 100, 101 and 102: 32 bits, 64 bits, a varint. The bytes of the first two look like fields of ours.
    const later = [0xa5, 0x06, 0x0a, 1, 0x0a, 1, 0xa9, 0x06, ...[0x0a, 1, 0x0a, 1, 0x0a, 1, 0x0a, 1], 0xb0, 0x06, 0x7f];
    const longer = Buffer.concat([Buffer.from([frame[0]! + later.length]), frame.subarray(1), Buffer.from(later)]);
    expect(scanFrames(longer)).toEqual([{ ...head, end: longer.length }]);
  });

  test('never throws, and takes nothing that does not decode for a frame with a body', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        scanFrames(Buffer.from(bytes));
      }),
    );
    expect(scanFrames(Buffer.from([5, 0x0a]))).toBeUndefined();
    expect(scanFrames(Buffer.from([2, 0x28, 0x01]))).toBeUndefined();
  });

  test.each(['corrupt', 'truncate'] as const)('a frame that is damaged (%s) does not decode', (how) => {
    fc.assert(
      fc.property(envelope, (sent) => {
        const frame = encodeFrame(sent);
        const before = frame.slice();
        expect(() => decodeFrames(damaged(frame, how))).toThrow(WireError);
        expect(frame).toEqual(before);
      }),
    );
  });
});

describe('a damaged frame', () => {
  test.each([[[3, 10, 1, 97]], [[0x80, 0x01, 10, ...new Array<number>(127).fill(7)]]])(
    'has another tag behind its length, or its first half alone; the frame itself stays',
    (content) => {
      const frame = Uint8Array.from(content);
      const tagAt = content[0]! < 0x80 ? 1 : 2;
      const expected = Uint8Array.from(content);
      expected[tagAt] = 0x0f;
      expect(damaged(frame, 'corrupt')).toEqual(expected);
      expect(damaged(frame, 'truncate')).toEqual(frame.subarray(0, content.length >> 1));
      expect(frame).toEqual(Uint8Array.from(content));
    },
  );
});
