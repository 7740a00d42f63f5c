/**
 * A request inside a call that does not decode costs that call and nothing else: it is refused by its id, the frames beside
 * it arrive, and the link stays.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { callRouterBehaviour } from '../../coordinator/call-router.ts';
import { CallErrorCode, CallSchema } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { FrameSchema } from '../../proto/gen/signmesh/wire/v1/frame_pb.ts';
import { frameFieldsMax } from '../../proto/limits.ts';
import { decodeFrames, encodeFrame, type WireBody, WireError } from '../../proto/wire.ts';
import { runs } from '../support/thorough.ts';

const callField = FrameSchema.field.call.number;
const { initiateSigning } = CallSchema.field;

/** The inside of a frame from a gateway, with these bytes as its call. */
function frameWith(call: Uint8Array): BinaryWriter {
  const frame = new BinaryWriter();
  frame.tag(1, WireType.LengthDelimited).string('coordinator');
  frame.tag(2, WireType.LengthDelimited).string('gateway/1');
  return frame.tag(callField, WireType.LengthDelimited).bytes(call);
}
const delimited = (frame: BinaryWriter) => new BinaryWriter().bytes(frame.finish()).finish();
/** A call 7 with these bytes as its request. */
const callWith = (request: Uint8Array): Uint8Array =>
  new BinaryWriter()
    .tag(CallSchema.field.callId.number, WireType.Varint)
    .uint64(7n)
    .tag(initiateSigning.number, WireType.LengthDelimited)
    .bytes(request)
    .finish();
const hostile = (request: Uint8Array) => delimited(frameWith(callWith(request)));
const beside = encodeFrame({
  from: 'gateway/1',
  to: 'coordinator',
  message: { tenant: 't', session: 's', attempt: 0, body: { case: 'dkgDiscard', value: {} } },
  trace: { correlationId: '', traceparent: '' },
});

/** Field 1 of a wire type that protobuf does not have. */
const brokenTag = Uint8Array.of(0x0f);
/** A text that is no UTF-8, in the first field of a request. */
const brokenText = Uint8Array.of(0x12, 2, 0xc3, 0x28);
const cutShort = Uint8Array.of(0x12, 100, 1);
const tooManyFields = new Uint8Array(2 * (frameFieldsMax + 1)).map((_, index) => (index % 2 === 0 ? 0x70 : 1));

describe('a request that does not decode', () => {
  test.each([
    ['a tag that does not exist', brokenTag],
    ['a text that is no UTF-8', brokenText],
    ['a field that is cut short', cutShort],
    ['more fields than any request has', tooManyFields],
  ])('%s: its call arrives without a request, and the frames beside it arrive', (_what, request) => {
    const frames = decodeFrames(Buffer.concat([beside, hostile(request), beside]));
    expect(frames.map(({ message }) => message.body.case)).toEqual(['dkgDiscard', 'call', 'dkgDiscard']);
    expect(frames[1]).toMatchObject({
      from: 'gateway/1',
      to: 'coordinator',
      message: { body: { value: { callId: 7n, request: { case: undefined } } } },
    });
  });

  test('is refused by name, and the answer carries the id of its call', () => {
    const [envelope] = decodeFrames(hostile(brokenTag));
    const front = callRouterBehaviour({ resumeKey: new Uint8Array(32), sandbox: true });
    const context = { self: 'coordinator', nowMs: 0, random: (length: number) => new Uint8Array(length) };
    const { effects } = front.receive(null, { kind: 'message', ...envelope! }, context);
    const [reply] = effects;
    if (reply?.kind !== 'send' || !('body' in reply.message)) throw new Error('no reply');
    expect(reply.to).toBe('gateway/1');
    const { value } = reply.message.body as Extract<WireBody, { case: 'callReply' }>;
    const error = { code: CallErrorCode.MALFORMED, message: expect.stringContaining('does not decode') };
    expect(value).toMatchObject({ callId: 7n, outcome: { case: 'error', value: error } });
  });

  test('whatever its bytes are, the frame decodes, with the id of the call', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (request) => {
        const [envelope] = decodeFrames(hostile(request));
        expect(envelope!.message.body).toMatchObject({ case: 'call', value: { callId: 7n } });
      }),
      { numRuns: runs(600, 2_000) },
    );
  });
});

describe('what is broken around the request', () => {
  const good = callWith(new Uint8Array());
  test.each([
    ['a call without an id', frameWith(good.subarray(2, good.length - 1)).raw(brokenTag)],
    ['a call whose own fields do not end with it', frameWith(Uint8Array.of(...good, 0x0f))],
    ['a tag of the frame', frameWith(callWith(brokenTag)).raw(brokenTag)],
    [
      'a text of the frame',
      frameWith(callWith(brokenTag)).tag(3, WireType.LengthDelimited).bytes(brokenText.subarray(2)),
    ],
    ['two calls in one frame', frameWith(callWith(brokenTag)).tag(callField, WireType.LengthDelimited).bytes(good)],
    ['a broken body of another kind', new BinaryWriter().tag(callField + 1, WireType.LengthDelimited).bytes(brokenTag)],
  ])('%s: the whole message is refused', (_what, frame) => {
    expect(() => decodeFrames(Buffer.concat([beside, delimited(frame)]))).toThrow(WireError);
  });
});
