/** The envelope that is written by hand: byte for byte what protobuf's own encoder gives, and read back the same. */
import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameSchema } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import { NodeOrderSchema, PartialRequestSchema } from '../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import { encodeMessage } from '../../proto/message-encoding.ts';
import { decodeFrames, encodeFrame, type WireBodyInit, type WireEnvelope } from '../../proto/wire.ts';
import { runs } from '../support/thorough.ts';
import { arbitraryOf, bytes, text } from './support/arbitrary-message.ts';

/** As the codec was before: everything through the generic encoder. */
function reference({ to, from, message, trace }: WireEnvelope): Uint8Array {
  const { tenant, session, attempt, body } = message;
  const { correlationId, traceparent } = trace;
  const frame = create(FrameSchema, {
    to,
    from,
    tenant,
    session,
    attempt,
    correlationId,
    traceparent,
    body,
  });
  return new BinaryWriter().bytes(toBinary(FrameSchema, frame)).finish();
}

const body: fc.Arbitrary<WireBodyInit> = fc.oneof(
  fc.constant<WireBodyInit>({ case: 'dkgDiscard', value: {} }),
  fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), bytes).map(([callId, messageHash]): WireBodyInit => {
    return { case: 'call', value: { callId, request: { case: 'sign', value: { walletId: 'w', messageHash } } } };
  }),
  fc.tuple(bytes, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })).map(([partial, attemptTag]): WireBodyInit => {
    return { case: 'partialReply', value: { nodeId: 3, attemptTag, outcome: { case: 'partial', value: partial } } };
  }),
  fc.uint8Array({ minLength: 16_000, maxLength: 17_000 }).map((message): WireBodyInit => {
    return { case: 'partialRequest', value: { scheme: 2, keySession: 'key', message, derivationPath: 'm/0/5' } };
  }),
);
const envelope: fc.Arbitrary<WireEnvelope> = fc.record({
  to: text,
  from: text,
  message: fc.record({
    tenant: text,
    session: text,
    attempt: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
    body,
  }),
  trace: fc.record({
    correlationId: text,
    traceparent: text,
  }),
});

const bodies = FrameSchema.oneofs[0]!.fields.map((field): [string, DescMessage] => [field.localName, field.message!]);

describe.each(bodies)('a body %s', (_, schema) => {
  test('is what the generic encoder makes of it, incomplete, complete, or as it was read', () => {
    fc.assert(
      fc.property(arbitraryOf(schema), (init) => {
        const message = create(schema, init);
        const expected = Buffer.from(toBinary(schema, message));
        expect(Buffer.from(encodeMessage(schema, init))).toEqual(expected);
        expect(Buffer.from(encodeMessage(schema, message))).toEqual(expected);
        expect(Buffer.from(encodeMessage(schema, fromBinary(schema, expected)))).toEqual(expected);
      }),
      { numRuns: runs(20, 50) },
    );
  });
});

test('unknown fields go on as they came, at any depth', () => {
  const unknown = Buffer.from([0xfa, 0x3f, 1, 7]);
  const inner = Buffer.concat([toBinary(NodeOrderSchema, create(NodeOrderSchema, { curve: 'c' })), unknown]);
  const order = Buffer.concat([Buffer.from([12 * 8 + 2, inner.length]), inner]);
  for (const read of [
    fromBinary(PartialRequestSchema, order),
    fromBinary(PartialRequestSchema, Buffer.concat([order, unknown])),
  ]) {
    expect(Buffer.from(encodeMessage(PartialRequestSchema, read))).toEqual(
      Buffer.from(toBinary(PartialRequestSchema, read)),
    );
  }
});

test.each([
  ['a negative unsigned integer', { attempt: 1, derivationPath: 'm', scheme: 1.5 }],
  ['a fixed integer beyond 64 bits', { attemptTag: 2n ** 64n }],
  ['a negative unsigned 64-bit integer', { nonceNumber: -1n }],
])('%s is refused', (_, init) => {
  expect(() => encodeMessage(PartialRequestSchema, init)).toThrow(RangeError);
});

describe('a frame', () => {
  test('is what the generic encoder makes of it', () => {
    fc.assert(
      fc.property(envelope, (each) => {
        expect(Buffer.compare(encodeFrame(each), reference(each))).toBe(0);
      }),
      { numRuns: runs(80, 200) },
    );
  });

  test('is it also where a length or a number takes one byte more', () => {
    const edges = [7, 14, 21, 28, 32].flatMap((bits) => [2 ** bits - 1, 2 ** bits]);
    for (const attempt of edges.filter((edge) => edge < 2 ** 32)) {
      const message = { tenant: 't', session: '', attempt, body: { case: 'dkgDiscard', value: {} } } as const;
      const frame = { to: 'a', from: 'b', message, trace: { correlationId: '', traceparent: '' } };
      expect(Buffer.compare(encodeFrame(frame), reference(frame)), `${attempt}`).toBe(0);
    }
    for (const length of edges.filter((edge) => edge < 20_000).flatMap((edge) => [edge - 8, edge - 4, edge])) {
      const body = { case: 'partialRequest', value: { message: new Uint8Array(length) } } as const;
      const message = { tenant: 'é'.repeat(length / 2), session: 'x'.repeat(length), attempt: 1, body };
      const frame = { to: 'a', from: 'b', message, trace: { correlationId: '', traceparent: '' } };
      expect(Buffer.compare(encodeFrame(frame), reference(frame)), `${length}`).toBe(0);
    }
  });

  test('is read back as it was, several in a row', () => {
    fc.assert(
      fc.property(fc.array(envelope, { maxLength: 4 }), (envelopes) => {
        const read = decodeFrames(Buffer.concat(envelopes.map(encodeFrame)));
        expect(read.map(({ message }) => [message.attempt, message.body.case])).toEqual(
          envelopes.map(({ message }) => [message.attempt, message.body.case]),
        );
      }),
      { numRuns: runs(40, 100) },
    );
  });

  test.each([
    ['a negative attempt', -1],
    ['an attempt that is no integer', 1.5],
    ['an attempt beyond 32 bits', 2 ** 32],
  ])('refuses %s', (_, attempt) => {
    const message = { tenant: 't', session: 's', attempt, body: { case: 'dkgDiscard', value: {} } } as const;
    const trace = { correlationId: '', traceparent: '' };
    expect(() => encodeFrame({ to: 'node/1', from: 'coordinator', message, trace })).toThrow(RangeError);
  });

  test('refuses a body of a kind that no frame has', () => {
    const message = { tenant: '', session: '', attempt: 0, body: { case: 'other', value: {} } } as never;
    const trace = { correlationId: '', traceparent: '' };
    expect(() => encodeFrame({ to: 'node/1', from: 'coordinator', message, trace })).toThrow('other');
  });
});
