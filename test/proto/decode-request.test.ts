/** What a request may hold: bounded before it is decoded. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeRequest, hasTooManyFields } from '../../proto/decode-request.ts';
import {
  DkgShareExchangeRequestSchema,
  InitiateSigningRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { grpcMessageBytesMax, requestFieldsMax } from '../../proto/limits.ts';

const commitments = (count: number) => ({ sessionId: 's', commitments: Array(count).fill(new Uint8Array()) });
const encoded = (count: number) =>
  toBinary(DkgShareExchangeRequestSchema, create(DkgShareExchangeRequestSchema, commitments(count)));

/** The least of several, in microseconds of this process's CPU: neither other work on the machine nor a first run counts. */
function cpuOf(times: number, work: () => unknown): number {
  const runs = Array.from({ length: times }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...runs);
}

describe('a request', () => {
  test('of a cluster of a hundred nodes decodes', () => {
    expect(decodeRequest(DkgShareExchangeRequestSchema, encoded(100)).commitments).toHaveLength(100);
    expect(decodeRequest(DkgShareExchangeRequestSchema, encoded(requestFieldsMax - 1)).sessionId).toBe('s');
  });

  test('of more fields than anything needs does not', () => {
    expect(() => decodeRequest(DkgShareExchangeRequestSchema, encoded(requestFieldsMax))).toThrow(RangeError);
  });

  test.each([
    ['entries of a list', Uint8Array.of(0x2a, 0)],
    ['unknown fields', Uint8Array.of(0x78, 1)],
    ['unknown groups', Uint8Array.of(0x7b, 0x7c)],
    ['one field again and again', Uint8Array.of(0x10, 1)],
    ['an inner message again and again', Uint8Array.of(0x32, 0)],
  ])('of the largest size, full of %s, is refused at once', (_, unit) => {
    const bytes = new Uint8Array(grpcMessageBytesMax);
    for (let at = 0; at + unit.length <= bytes.length; at += unit.length) bytes.set(unit, at);
    const refusal = cpuOf(5, () => {
      expect(() => decodeRequest(DkgShareExchangeRequestSchema, bytes)).toThrow('fields');
    });
    const whole = cpuOf(2, () => fromBinary(DkgShareExchangeRequestSchema, bytes));
    expect(refusal).toBeLessThan(whole / 3);
  });

  test('is counted through its inner messages', () => {
    const inner = new BinaryWriter();
    for (let index = 0; index < requestFieldsMax; index += 1) inner.tag(2, WireType.LengthDelimited).string('');
    const bytes = new BinaryWriter().tag(6, WireType.LengthDelimited).bytes(inner.finish()).finish();
    expect(hasTooManyFields(DkgShareExchangeRequestSchema, bytes)).toBe(true);
    // The same bytes in a field that is no message are one field.
    const opaque = new BinaryWriter().tag(5, WireType.LengthDelimited).bytes(inner.finish()).finish();
    expect(hasTooManyFields(DkgShareExchangeRequestSchema, opaque)).toBe(false);
  });

  test('loses the fields that the contract does not know', () => {
    const bytes = new BinaryWriter()
      .tag(1, WireType.LengthDelimited)
      .string('i')
      .tag(99, WireType.Varint)
      .uint32(7)
      .finish();
    const { transactionIntentId, $unknown } = decodeRequest(InitiateSigningRequestSchema, bytes);
    expect([transactionIntentId, $unknown]).toEqual(['i', undefined]);
  });

  test('of any bytes is refused or read, and counted without end or error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(hasTooManyFields(DkgShareExchangeRequestSchema, bytes)).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});
