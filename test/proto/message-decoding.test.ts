/** The compiled decoder: what the library reads, no more and no less, and within bounds. */
import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasTooManyFields } from '../../proto/field-count.ts';
import { FrameSchema } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import {
  DkgShareExchangeRequestSchema,
  InitiateSigningRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { grpcMessageBytesMax, requestFieldsMax } from '../../proto/limits.ts';
import { decodeMessage } from '../../proto/message-decoding.ts';
import { runs } from '../support/thorough.ts';
import { arbitraryOf } from './support/arbitrary-message.ts';

const commitments = (count: number) => ({ sessionId: 's', commitments: Array(count).fill(new Uint8Array()) });
const encoded = (count: number) =>
  toBinary(DkgShareExchangeRequestSchema, create(DkgShareExchangeRequestSchema, commitments(count)));

/** The least of several, in microseconds of this process's CPU: neither other work on the machine nor a first run counts. */
function cpuOf(times: number, work: () => unknown): number {
  const tries = Array.from({ length: times }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...tries);
}

describe('a request', () => {
  test('of a cluster of a hundred nodes decodes', () => {
    expect(decodeMessage(DkgShareExchangeRequestSchema, encoded(100), requestFieldsMax).commitments).toHaveLength(100);
    expect(
      decodeMessage(DkgShareExchangeRequestSchema, encoded(requestFieldsMax - 1), requestFieldsMax).sessionId,
    ).toBe('s');
  });

  test('of more fields than anything needs does not', () => {
    expect(() => decodeMessage(DkgShareExchangeRequestSchema, encoded(requestFieldsMax), requestFieldsMax)).toThrow(
      RangeError,
    );
  });

  test.each([
    ['entries of a list', Uint8Array.of(0x2a, 0)],
    ['unknown fields', Uint8Array.of(0x78, 1)],
    ['unknown groups', Uint8Array.of(0x7b, 0x7c)],
    ['one field repeatedly', Uint8Array.of(0x10, 1)],
    ['an inner message repeatedly', Uint8Array.of(0x32, 0)],
  ])('of the largest size, full of %s, is refused at once', (_, unit) => {
    const bytes = new Uint8Array(grpcMessageBytesMax);
    for (let at = 0; at + unit.length <= bytes.length; at += unit.length) bytes.set(unit, at);
    const refusal = cpuOf(3, () => {
      expect(() => decodeMessage(DkgShareExchangeRequestSchema, bytes, requestFieldsMax)).toThrow('fields');
    });
    // The library takes longer for an eighth.
    const eighth = bytes.subarray(0, Math.floor(bytes.length / 8 / unit.length) * unit.length);
    expect(refusal).toBeLessThan(cpuOf(2, () => fromBinary(DkgShareExchangeRequestSchema, eighth)));
  });

  test('is counted through its inner messages', () => {
    const inner = new BinaryWriter();
    for (let index = 0; index < requestFieldsMax; index += 1) inner.tag(2, WireType.LengthDelimited).string('');
    const bytes = new BinaryWriter().tag(6, WireType.LengthDelimited).bytes(inner.finish()).finish();
    expect(hasTooManyFields(DkgShareExchangeRequestSchema, bytes, requestFieldsMax)).toBe(true);
    // The same bytes in a field that is no message are one field.
    const opaque = new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(inner.finish()).finish();
    expect(hasTooManyFields(DkgShareExchangeRequestSchema, opaque, requestFieldsMax)).toBe(false);
  });

  test('loses the fields that the contract does not know', () => {
    const bytes = new BinaryWriter()
      .tag(1, WireType.LengthDelimited)
      .string('i')
      .tag(99, WireType.Varint)
      .uint32(7)
      .finish();
    const { transactionIntentId, $unknown } = decodeMessage(InitiateSigningRequestSchema, bytes, requestFieldsMax);
    expect([transactionIntentId, $unknown]).toEqual(['i', undefined]);
  });

  test('of any bytes is refused or read, and counted without end or error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(hasTooManyFields(DkgShareExchangeRequestSchema, bytes, requestFieldsMax)).toBe(false);
      }),
      { numRuns: runs(150, 500) },
    );
  });
});

const fieldsMax = 100_000;

/** What the library gives, or 'refused'. */
function byLibrary(schema: DescMessage, bytes: Uint8Array): unknown {
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false });
  } catch {
    return 'refused';
  }
}

function ours(schema: DescMessage, bytes: Uint8Array): unknown {
  try {
    return decodeMessage(schema, bytes, fieldsMax);
  } catch {
    return 'refused';
  }
}

const bodies = FrameSchema.oneofs[0]!.fields.map((field): [string, DescMessage] => [field.localName, field.message!]);

describe.each(bodies)('a body %s', (_, schema) => {
  test('is read as the library reads it', () => {
    fc.assert(
      fc.property(arbitraryOf(schema), (init) => {
        const bytes = toBinary(schema, create(schema, init));
        expect(decodeMessage(schema, bytes, fieldsMax)).toStrictEqual(byLibrary(schema, bytes));
      }),
      { numRuns: runs(20, 50) },
    );
  });

  test('that was cut, changed, or put together twice is read or refused as the library does', () => {
    const change = fc.record({ place: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(arbitraryOf(schema), fc.array(change, { maxLength: 3 }), fc.nat(), (init, changes, cut) => {
        const whole = Buffer.from(toBinary(schema, create(schema, init)));
        for (const { place, byte } of changes) if (whole.length > 0) whole[place % whole.length] = byte;
        for (const read of [whole, whole.subarray(0, cut % (whole.length + 1)), Buffer.concat([whole, whole])]) {
          // The library's views of a Buffer are Buffers, ours never are.
          const bytes = Uint8Array.from(read);
          expect(ours(schema, bytes)).toStrictEqual(byLibrary(schema, bytes));
        }
      }),
      { numRuns: runs(100, 2_000) },
    );
  });
});

test('any bytes are read or refused as the library does', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      expect(ours(FrameSchema, bytes)).toStrictEqual(byLibrary(FrameSchema, bytes));
    }),
    { numRuns: runs(400, 50_000) },
  );
});

test('byte fields are views of what was read, as the library gives them', () => {
  const bytes = toBinary(
    InitiateSigningRequestSchema,
    create(InitiateSigningRequestSchema, { messageHash: new Uint8Array(9) }),
  );
  expect(decodeMessage(InitiateSigningRequestSchema, bytes, fieldsMax).messageHash.buffer).toBe(bytes.buffer);
});
